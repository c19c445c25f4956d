"""The examples in the documentation of nGraph, MindSpore, Poplar and OpenVINO, for every endpoint and every encoding.

All expected values were written by hand from the documentation. A comment cites the sentence of each example.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx
import msgpack
import numpy as np
from cases import cases
from http_requests import JSON, MSGPACK

Shape = list[int]
Flat = list[float]


class Seed(NamedTuple):
    """A request that the documentation accepts. Data and gradients are flat lists in C order."""

    op: dict[str, Any]
    inputs: list[Shape]
    data: list[Flat]
    outputs: list[Shape]
    """The shapes that the function returns or updates in place."""
    axes: list[list[int]]
    """For each input, the output axis that each of its axes becomes."""
    broadcast_axes: list[list[int]]
    values: list[Flat]
    """The values of each output."""
    upstream: list[Flat]
    """The gradient of each output."""
    gradients: list[Flat]
    """The gradient of each input: `upstream` summed over `broadcast_axes`."""


def _ngraph(shape: Shape, axes: list[int]) -> dict[str, Any]:
    return {"name": "ngraph.Broadcast", "shape": shape, "broadcast_axes": axes}


def _mindspore(shape: Shape) -> dict[str, Any]:
    return {"name": "mindspore.broadcast_to", "shape": shape}


def _openvino(mode: str, target_shape: Shape, **axes_mapping: list[int]) -> dict[str, Any]:
    return {"name": "openvino.Broadcast-1", "mode": mode, "target_shape": target_shape, **axes_mapping}


MATCH = {"name": "poputil.broadcastToMatch"}
MATCH_RANKS = {"name": "poputil.expandToMatchRanks"}
CAN_MATCH = {"name": "poputil.canBroadcastToMatch"}
TO_45 = [float(value) for value in range(45)]
ROWS = {
    # nGraph: "if arg is [a, b, c] then", with a, b, c = 1, 2, 3
    "ngraph, Shape{2, 3}, AxisSet{0}": Seed(
        _ngraph([2, 3], [0]), [[3]], [[1, 2, 3]], [[2, 3]], [[1]], [[0]],
        [[1, 2, 3, 1, 2, 3]], [[1, 2, 3, 10, 20, 30]], [[11, 22, 33]],
    ),
    "ngraph, Shape{3, 2}, AxisSet{1}": Seed(
        _ngraph([3, 2], [1]), [[3]], [[1, 2, 3]], [[3, 2]], [[0]], [[1]],
        [[1, 1, 2, 2, 3, 3]], [[1, 10, 2, 20, 3, 30]], [[11, 22, 33]],
    ),
    # nGraph: broadcast_axes = {1, 3}, p([d0, d1, d2, d3, d4]) = [d0, d2, d4], output_C = arg_p(C). The sum for
    # arg[d0, 0, d4] is over the six elements of the gradient 0 to 23 whose number is 12 d0 + d4 plus an even number.
    "ngraph, p(C) with {1, 3}": Seed(
        _ngraph([2, 3, 1, 2, 2], [1, 3]), [[2, 1, 2]], [[1, 2, 3, 4]], [[2, 3, 1, 2, 2]], [[0, 2, 4]], [[1, 3]],
        [[1, 2] * 6 + [3, 4] * 6], [[float(number) for number in range(24)]], [[30, 36, 102, 108]],
    ),
    # MindSpore: "With an input shape (2, 3), target shape (2, 3), the inferred output shape is (2, 3)."
    "mindspore, equal shapes": Seed(
        _mindspore([2, 3]), [[2, 3]], [[1, 2, 3, 4, 5, 6]], [[2, 3]], [[0, 1]], [[]],
        [[1, 2, 3, 4, 5, 6]], [[6, 5, 4, 3, 2, 1]], [[6, 5, 4, 3, 2, 1]],
    ),
    # MindSpore, case 1: "With an input shape (3, 3), target shape (-1, 3), the output shape is (3, 3)."
    "mindspore, case 1": Seed(
        _mindspore([-1, 3]), [[3, 3]], [[1, 2, 3, 4, 5, 6, 7, 8, 9]], [[3, 3]], [[0, 1]], [[]],
        [[1, 2, 3, 4, 5, 6, 7, 8, 9]], [[9, 8, 7, 6, 5, 4, 3, 2, 1]], [[9, 8, 7, 6, 5, 4, 3, 2, 1]],
    ),
    # MindSpore, case 2: "With an input shape (1, 3), target shape (8, 3), the output shape is (8, 3)."
    "mindspore, case 2": Seed(
        _mindspore([8, 3]), [[1, 3]], [[1, 2, 3]], [[8, 3]], [[0, 1]], [[0]],
        [[1, 2, 3] * 8], [[1, 10, 100] * 8], [[8, 80, 800]],
    ),
    # MindSpore: "With target shape (3, 1, 4, 1, 5, 9), input shape (1, 5, 9), the filled input shape will be
    # (1, 1, 1, 1, 5, 9) and thus the output shape is (3, 1, 4, 1, 5, 9)."
    "mindspore, dimensions filled": Seed(
        _mindspore([3, 1, 4, 1, 5, 9]), [[1, 5, 9]], [TO_45], [[3, 1, 4, 1, 5, 9]], [[3, 4, 5]], [[0, 1, 2]],
        [TO_45 * 12], [TO_45 * 6 + [1.0] * 45 * 6], [[6 * value + 6 for value in TO_45]],
    ),
    # MindSpore, examples: [1, 2, 3] to (2, 3), and [[1], [2]] to (-1, 2)
    "mindspore, example 1": Seed(
        _mindspore([2, 3]), [[3]], [[1, 2, 3]], [[2, 3]], [[1]], [[0]],
        [[1, 2, 3, 1, 2, 3]], [[1, 2, 3, 10, 20, 30]], [[11, 22, 33]],
    ),
    "mindspore, example 2": Seed(
        _mindspore([-1, 2]), [[2, 1]], [[1, 2]], [[2, 2]], [[0, 1]], [[1]],
        [[1, 1, 2, 2]], [[1, 10, 2, 20]], [[11, 22]],
    ),
    # Poplar: broadcastToMatch(a, shape), (a, b) and (a, b, c): "This will be updated in place"
    "poputil, one tensor and a shape": Seed(
        MATCH | {"shape": [2, 3, 2]}, [[3, 1]], [[1, 2, 3]], [[2, 3, 2]], [[1, 2]], [[0, 2]],
        [[1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3]], [[1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60]], [[33, 77, 121]],
    ),
    "poputil, two tensors": Seed(
        MATCH, [[3, 1], [2]], [[1, 2, 3], [4, 5]], [[3, 2], [3, 2]], [[0, 1], [1]], [[1], [0]],
        [[1, 1, 2, 2, 3, 3], [4, 5, 4, 5, 4, 5]], [[1, 2, 3, 4, 5, 6], [1, 2, 10, 20, 100, 200]],
        [[3, 7, 11], [111, 222]],
    ),
    "poputil, three tensors": Seed(
        MATCH, [[2, 1], [3], [1, 1, 1]], [[1, 2], [3, 4, 5], [6]], [[1, 2, 3]] * 3, [[1, 2], [2], [0, 1, 2]],
        [[0, 2], [0, 1], [1, 2]],
        [[1, 1, 1, 2, 2, 2], [3, 4, 5, 3, 4, 5], [6] * 6], [[1, 2, 3, 4, 5, 6]] * 3,
        [[6, 15], [5, 7, 9], [21]],
    ),
    # Poplar: "The tensor with the lower rank has singleton dimensions inserted as the outermost dimensions."
    "poputil, expandToMatchRanks": Seed(
        MATCH_RANKS, [[2, 2], [4, 3, 1]], [[1, 2, 3, 4], [*range(12)]], [[1, 2, 2], [4, 3, 1]], [[1, 2], [0, 1, 2]],
        [[0], []], [[1, 2, 3, 4], [*range(12)]], [[4, 3, 2, 1], [*range(12)]], [[4, 3, 2, 1], [*range(12)]],
    ),
    "poputil, canBroadcastToMatch": Seed(CAN_MATCH, [[3, 1], [2]], [], [], [], [], [], [], []),
    # OpenVINO: "axes_mapping = [1] enables broadcasting of a tensor with shape [C] to shape [N,C,H,W]"
    "openvino, [C] to [N,C,H,W]": Seed(
        _openvino("explicit", [2, 3, 1, 2], axes_mapping=[1]), [[3]], [[1, 2, 3]], [[2, 3, 1, 2]], [[1]], [[0, 2, 3]],
        [[1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3]], [[1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60]], [[33, 77, 121]],
    ),
    # OpenVINO: "broadcasting of tensor with shape [H,W] to shape [N,H,W,C] with axes_mapping = [1, 2]"
    "openvino, [H,W] to [N,H,W,C]": Seed(
        _openvino("explicit", [2, 2, 2, 2], axes_mapping=[1, 2]), [[2, 2]], [[1, 2, 3, 4]], [[2, 2, 2, 2]], [[1, 2]],
        [[0, 3]], [[1, 1, 2, 2, 3, 3, 4, 4] * 2], [[1, 2, 3, 4, 5, 6, 7, 8, 10, 20, 30, 40, 50, 60, 70, 80]],
        [[33, 77, 121, 165]],
    ),
    # OpenVINO: "the standard one-directional numpy broadcasting rules"
    "openvino, numpy mode": Seed(
        _openvino("numpy", [2, 3, 2]), [[3, 1]], [[1, 2, 3]], [[2, 3, 2]], [[1, 2]], [[0, 2]],
        [[1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3]], [[1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60]], [[33, 77, 121]],
    ),
}  # fmt: skip


class Refused(NamedTuple):
    """A request that the documentation refuses."""

    op: dict[str, Any]
    inputs: list[Shape]
    code: str
    axis: int | None
    sizes: list[int]


REFUSED = {
    # nGraph: "The remaining axes in shape must be the same as the shape of arg."
    "ngraph, other size": Refused(_ngraph([2, 3], [0]), [[2]], "size-mismatch", 1, [2, 3]),
    "ngraph, other rank": Refused(_ngraph([2, 3], []), [[3]], "rank-mismatch", None, []),
    "ngraph, size 1": Refused(_ngraph([2, 3], [0]), [[1]], "size-mismatch", 1, [1, 3]),
    # MindSpore: "-1 is corresponding to a non-existing dim so they're not broadcastable"
    "mindspore, -1 on a new axis": Refused(_mindspore([3, -1, 4, 1, 5, 9]), [[1, 5, 9]], "invalid-dimension", 1, [-1]),
    # MindSpore, case 3: "broadcasting from the input shape to the target shape is not supported"
    "mindspore, case 3": Refused(_mindspore([2, 3]), [[2, 2]], "size-mismatch", 1, [2, 3]),
    # MindSpore: "The dim of input shape must be smaller than or equal to that of target shape."
    "mindspore, too many axes": Refused(_mindspore([2, 3]), [[1, 2, 3]], "rank-mismatch", None, []),
    # Poplar: "If neither of these conditions hold then an exception is thrown."
    "poputil, one tensor": Refused(MATCH | {"shape": [2, 3]}, [[2]], "size-mismatch", 1, [2, 3]),
    "poputil, two tensors": Refused(MATCH, [[3, 2], [4, 1, 3]], "size-mismatch", 2, [2, 3]),
    "poputil, three tensors": Refused(MATCH, [[1], [2], [3]], "size-mismatch", 0, [2, 3]),
    # Poplar: "false if they cannot be matched with the broadcastToMatch() rules"
    "poputil, canBroadcastToMatch": Refused(CAN_MATCH, [[3], [2]], "size-mismatch", 0, [3, 2]),
    # OpenVINO: "input tensor data is broadcasted to target_shape but not vice-versa"
    "openvino, not vice versa": Refused(_openvino("numpy", [1, 3]), [[2, 3]], "size-mismatch", 0, [2, 1]),
    # OpenVINO: "The size of axis_mapping should match the rank of input data tensor"
    "openvino, one axis too few": Refused(
        _openvino("explicit", [2, 3, 4], axes_mapping=[1]), [[3, 4]], "axes-count", None, []
    ),
}


# --- encodings -------------------------------------------------------------------------------------


def _json(http: httpx.Client, path: str, request: dict[str, Any]) -> httpx.Response:
    return http.post(path, json=request, headers={"Accept": JSON})


def _msgpack(http: httpx.Client, path: str, request: dict[str, Any]) -> httpx.Response:
    headers = {"Content-Type": MSGPACK, "Accept": MSGPACK}
    return http.post(path, content=msgpack.packb(request), headers=headers)


def _query(http: httpx.Client, path: str, request: dict[str, Any]) -> httpx.Response:
    attributes = {name: value for name, value in request["op"].items() if name != "name"}
    params = [("op", request["op"]["name"]), *(("input", _text(shape)) for shape in request["inputs"])]
    return http.get(path, params=[*params, *((name, _text(value)) for name, value in attributes.items())])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ",".join(map(str, value)) or "()"


Send = Callable[[httpx.Client, str, dict[str, Any]], httpx.Response]
BODIES = cases("send", [_json, _msgpack], ids=["json", "msgpack"])
ENCODINGS = cases("send", [_json, _msgpack, _query], ids=["json", "msgpack", "query"])


def _read(answer: httpx.Response) -> dict[str, Any]:
    read: dict[str, Any] = (
        msgpack.unpackb(answer.content) if MSGPACK in answer.headers["content-type"] else answer.json()
    )
    return read


def _tensor(values: Flat, shape: Shape, send: Send) -> dict[str, Any]:
    array = np.array(values, "<f4").reshape(shape)
    return {"dtype": "float32", "shape": shape, "data": array.tobytes() if send is _msgpack else array.tolist()}


def _flat(tensor: dict[str, Any]) -> Flat:
    assert tensor["dtype"] == "float32"
    data = np.frombuffer(tensor["data"], "<f4") if isinstance(tensor["data"], bytes) else np.array(tensor["data"])
    values: Flat = data.reshape(tensor["shape"]).ravel().tolist()
    return values


# --- endpoints -------------------------------------------------------------------------------------


@ENCODINGS
@cases("name", ROWS)
def test_a_check(http: httpx.Client, name: str, send: Send) -> None:
    row = ROWS[name]
    answer = _read(send(http, "/v1/check", {"op": row.op, "inputs": row.inputs}))
    assert (answer["compatible"], answer["op"], answer["warnings"]) == (True, row.op, [])
    assert answer.get("shape") == (row.outputs[0] if row.outputs else None)
    assert [output["shape"] for output in answer["outputs"]] == row.outputs
    assert answer["broadcast_inputs"] == [
        {"input": number, "shape": shape, "axes": axes, "broadcast_axes": broadcast_axes}
        for number, (shape, axes, broadcast_axes) in enumerate(
            zip(row.outputs, row.axes, row.broadcast_axes, strict=True)
        )
    ]


@ENCODINGS
@cases("name", REFUSED)
def test_a_check_that_is_refused(http: httpx.Client, name: str, send: Send) -> None:
    row = REFUSED[name]
    response = send(http, "/v1/check", {"op": row.op, "inputs": row.inputs})
    answer = _read(response)
    conflict = answer["conflict"]
    assert (response.status_code, answer["compatible"], "shape" in answer) == (200, False, False)
    assert (conflict["code"], conflict.get("axis"), conflict["sizes"]) == (row.code, row.axis, row.sizes)


@BODIES
@cases("name", [name for name in ROWS if ROWS[name].outputs])
def test_a_broadcast(http: httpx.Client, name: str, send: Send) -> None:
    row = ROWS[name]
    inputs = [_tensor(values, shape, send) for values, shape in zip(row.data, row.inputs, strict=True)]
    outputs = _read(send(http, "/v1/broadcast", {"op": row.op, "inputs": inputs}))["broadcast_inputs"]
    assert [tensor["shape"] for tensor in outputs] == row.outputs
    assert [_flat(tensor) for tensor in outputs] == row.values


@BODIES
@cases("name", [name for name in ROWS if ROWS[name].outputs])
def test_gradients(http: httpx.Client, name: str, send: Send) -> None:
    row = ROWS[name]
    upstream = [_tensor(values, shape, send) for values, shape in zip(row.upstream, row.outputs, strict=True)]
    request = {"op": row.op, "inputs": row.inputs, "gradients": upstream}
    gradients = _read(send(http, "/v1/backprop", request))["gradients"]
    assert [tensor["shape"] for tensor in gradients] == row.inputs
    assert [_flat(tensor) for tensor in gradients] == row.gradients


@BODIES
@cases("name", [name for name in REFUSED if REFUSED[name].op != CAN_MATCH])
def test_a_broadcast_and_a_gradient_that_are_refused(http: httpx.Client, name: str, send: Send) -> None:
    row = REFUSED[name]
    ones = [_tensor([1] * int(np.prod(shape)), shape, send) for shape in row.inputs]
    gradients = [_tensor([1], [1], send) for _ in row.inputs]
    for path, request in (
        ("/v1/broadcast", {"inputs": ones}),
        ("/v1/backprop", {"inputs": row.inputs, "gradients": gradients}),
    ):
        response = send(http, path, {"op": row.op, **request})
        problem = _read(response)
        assert (response.status_code, problem["code"]) == (422, "incompatible-shapes")
        assert (problem["conflict"]["code"], problem["conflict"].get("axis")) == (row.code, row.axis)


@BODIES
def test_a_test_for_a_match_has_no_tensor_to_return(http: httpx.Client, send: Send) -> None:
    request = {"op": CAN_MATCH, "inputs": [_tensor([1], [1], send)] * 2}
    response = send(http, "/v1/broadcast", request)
    assert (response.status_code, _read(response)["code"]) == (422, "invalid-request")


@BODIES
@cases(
    "name", [name for name, row in (ROWS | REFUSED).items() if not row.op.keys() & {"broadcast_axes", "axes_mapping"}]
)
def test_a_comparison(http: httpx.Client, name: str, send: Send) -> None:
    """A comparison has no axes, so nGraph's Broadcast and OpenVINO's explicit mode are left out."""
    row: Any = ROWS.get(name) or REFUSED[name]
    target = row.op.get("shape", row.op.get("target_shape"))
    request = {"inputs": row.inputs, "ops": [row.op["name"]], **({} if target is None else {"shape": target})}
    results = _read(send(http, "/v1/compare", request))["results"]
    (result,) = [each for each in results if row.op in (each["op"], *each.get("also", ()))]
    assert result["compatible"] is (name in ROWS)
    assert [output["shape"] for output in result.get("outputs", ())] == (row.outputs if name in ROWS else [])


TRANSLATIONS: list[tuple[str, str, list[dict[str, Any]]]] = [
    ("ngraph, Shape{2, 3}, AxisSet{0}", "numpy.broadcast_to", [{"name": "numpy.broadcast_to", "shape": [2, 3]}]),
    ("ngraph, Shape{3, 2}, AxisSet{1}", "numpy.broadcast_to",
     [{"name": "reshape", "shape": [3, 1]}, {"name": "numpy.broadcast_to", "shape": [3, 2]}]),
    ("ngraph, p(C) with {1, 3}", "stablehlo.broadcast_in_dim",
     [{"name": "stablehlo.broadcast_in_dim", "shape": [2, 3, 1, 2, 2], "broadcast_dimensions": [0, 2, 4]}]),
    ("mindspore, dimensions filled", "torch.expand", [{"name": "torch.expand", "size": [3, 1, 4, 1, 5, 9]}]),
    ("mindspore, example 1", "ngraph.Broadcast", [_ngraph([2, 3], [0])]),
    ("poputil, two tensors", "numpy.broadcast_arrays", [{"name": "numpy.broadcast_arrays"}]),
    ("openvino, [C] to [N,C,H,W]", "ngraph.Broadcast", [_ngraph([2, 3, 1, 2], [0, 2, 3])]),
    ("openvino, [H,W] to [N,H,W,C]", "ngraph.Broadcast", [_ngraph([2, 2, 2, 2], [0, 3])]),
    ("openvino, numpy mode", "numpy.broadcast_to", [{"name": "numpy.broadcast_to", "shape": [2, 3, 2]}]),
]  # fmt: skip


@BODIES
@cases(("name", "to", "steps"), TRANSLATIONS, ids=[f"{name} as {to}" for name, to, _ in TRANSLATIONS])
def test_a_translation(http: httpx.Client, name: str, to: str, steps: list[dict[str, Any]], send: Send) -> None:
    row = ROWS[name]
    answer = _read(send(http, "/v1/translate", {"op": row.op, "inputs": row.inputs, "to": to}))
    assert [step["op"] for step in answer["steps"]] == steps


@BODIES
@cases(
    ("op", "inputs", "axes", "broadcast_axes"),
    [
        (_ngraph(["d0", "d1", "d2", "d3", "d4"], [1, 3]), ["d0", "d2", "d4"], [0, 2, 4], [1, 3]),  # type: ignore[list-item]
        (_openvino("explicit", ["N", "C", "H", "W"], axes_mapping=[1]), ["C"], [1], [0, 2, 3]),  # type: ignore[list-item]
        (_openvino("explicit", ["N", "H", "W", "C"], axes_mapping=[1, 2]), ["H", "W"], [1, 2], [0, 3]),  # type: ignore[list-item]
    ],
    ids=["p(C)", "[C] to [N,C,H,W]", "[H,W] to [N,H,W,C]"],
)
def test_a_check_with_the_names_of_the_documentation(
    http: httpx.Client, op: dict[str, Any], inputs: list[str], axes: list[int], broadcast_axes: list[int], send: Send
) -> None:
    answer = _read(send(http, "/v1/check", {"op": op, "inputs": [inputs]}))
    target = op.get("shape", op.get("target_shape"))
    assert (answer["compatible"], answer["shape"]) == (True, target)
    (placed,) = answer["broadcast_inputs"]
    assert (placed["shape"], placed["axes"], placed["broadcast_axes"]) == (target, axes, broadcast_axes)


@cases("shape", [3, "2,3", {"0": 2}, 2.0, None])
def test_a_target_shape_of_mindspore_that_is_not_a_list_is_invalid(http: httpx.Client, shape: Any) -> None:
    """In Python, this is a TypeError: tests/test_attribute_types.py."""
    request = {"op": {"name": "mindspore.broadcast_to", "shape": shape}, "inputs": [[3]]}
    for send in (_json, _msgpack):
        response = send(http, "/v1/check", request)
        assert (response.status_code, _read(response)["code"]) == (422, "invalid-request"), json.dumps(shape)
