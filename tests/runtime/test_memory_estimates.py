"""Tests that compare the memory that requests use with the memory that they reserve."""

from __future__ import annotations

import json
from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from cases import cases
from costs import kept, taken
from short_requests import short_answer

from axiscast.checks.batch_columns import answer_columns
from axiscast.checks.batch_rows import check_rows
from axiscast.checks.check import answer_check, check_to_dict
from axiscast.checks.estimates import compare_memory_estimate, json_memory_estimate, memory_estimate
from axiscast.checks.limits import validate_request
from axiscast.comparison.compare import answer_compare
from axiscast.engine.views import gradient_bytes, input_gradients
from axiscast.messages import CheckRequest, CompareRequest, TranslateRequest
from axiscast.messages.tensors import BackpropRequest, BroadcastRequest, CheckBatchRequest, CheckColumnsRequest
from axiscast.messages.validation import validate
from axiscast.translation.translate import answer_translate
from axiscast.wire import dtypes, prescan
from axiscast.wire.codec import Encoding, decode, encode
from axiscast.wire.problems import Problem
from axiscast.wire.tensors import Tensor, json_parts
from axiscast_service.endpoints.backprop import _gradients
from axiscast_service.endpoints.broadcast import outputs, request_size_of
from axiscast_service.endpoints.tensor_response import Outgoing, OutgoingArray
from axiscast_service.runtime.budget import MemoryBudget, MemoryReservation

KiB, MiB = 2**10, 2**20
JSON, MSGPACK = Encoding.JSON, Encoding.MSGPACK
WIDE = "\N{GRINNING FACE}"
SLACK = 300 * KiB
"""The memory of caches that are filled on first use, and of NumPy's own buffers."""


class Reserved:
    """A reservation that adds up the requested bytes."""

    def __init__(self) -> None:
        self.nbytes = self.most = 0

    def __call__(self, nbytes: int) -> None:
        self.nbytes += nbytes
        self.most = max(self.most, self.nbytes)


def sent(tensor: Outgoing, reserved: Reserved) -> None:
    """Create the data that is sent for a tensor."""
    reserved(tensor.copied)
    body = tensor.in_msgpack()
    reserved(body.held)
    deque(body.pieces, maxlen=0)


# --- bodies --------------------------------------------------------------------------------------

N = 8000
ONE = {"inputs": [[1]]}
NGRAPH = {"name": "ngraph.Broadcast", "shape": [1], "broadcast_axes": [*range(N)]}
MXNET = {"name": "mxnet.broadcast_axis", "axis": [None] * N, "size": 1}
XARRAY = {"name": "xarray.broadcast", "dims": []}
BYTE: dict[str, Any] = {"dtype": "int8", "shape": [1]}
BODIES: dict[str, tuple[Any, Any]] = {
    "empty shapes": (CheckRequest, {"inputs": [[]] * N}),
    "numbers": (CheckRequest, {"inputs": [[2**62 + number for number in range(N)]]}),
    "floats": (CheckRequest, {"inputs": [[number + 0.5 for number in range(N)]]}),
    "no shapes": (CheckRequest, {"inputs": [[None] * N]}),
    "one symbol": (CheckRequest, {"inputs": [["2.."]] * N}),
    "symbols": (CheckRequest, {"inputs": [[f"N{number}" for number in range(N)]]}),
    "wide characters": (CheckRequest, {"inputs": [[WIDE]] * N}),
    "axes": (CheckRequest, ONE | {"op": NGRAPH}),
    "what is no axis": (CheckRequest, ONE | {"op": MXNET}),
    "names": (CheckRequest, ONE | {"op": XARRAY | {"dims": [[f"a{number}"] for number in range(N)]}}),
    "what is no name": (CheckRequest, ONE | {"op": XARRAY | {"dims": [[1] * N]}}),
    "what are no names": (CheckRequest, ONE | {"op": XARRAY | {"exclude": [1] * N}}),
    "unknown fields": (CheckRequest, {f"k{number}": 1 for number in range(2500)}),
    "a long name of an op": (CheckRequest, ONE | {"op": WIDE + "a" * MiB}),
    "tensors": (BroadcastRequest, {"inputs": [{"shape": []}] * N}),
    "full tensors": (BroadcastRequest, {"inputs": [BYTE | {"strides": [1], "data": [1]}] * N}),
    "base64": (BroadcastRequest, {"inputs": [BYTE | {"base64": "A" * MiB}]}),
    "wide base64": (BroadcastRequest, {"inputs": [BYTE | {"base64": WIDE + "A" * MiB}]}),
    "escaped base64": (BroadcastRequest, {"inputs": [BYTE | {"base64": '"' + "A" * MiB}]}),
    "windows": (BroadcastRequest, {"inputs": [BYTE], "window": [[1, 2]] * N}),
    "what is no window": (BroadcastRequest, {"inputs": [BYTE], "window": [[]] * N}),
    "gradients": (BackpropRequest, {"inputs": [[]] * N, "gradients": [{"shape": []}] * N}),
    "what is no target": (CompareRequest, ONE | {"shape": [None] * N}),
    "rows": (CheckBatchRequest, {"requests": [{"inputs": [[1], [2]]}] * N}),
    "maps": (CheckBatchRequest, {"requests": [{"a": number} for number in range(N)]}),
    "keys": (CheckBatchRequest, {"requests": [{f"k{key}": 1 for key in range(200)}] * (N // 200)}),
}


@cases("media", Encoding)
@cases(("model", "value"), BODIES.values(), ids=BODIES)
def test_a_body_needs_at_most_the_reserved_memory(model: Any, value: Any, media: Encoding) -> None:
    body = encode(value, media)
    if media is JSON and value is BODIES["wide characters"][1]:
        body = json.dumps(value, ensure_ascii=False).encode()

    def is_within() -> bool:
        reserved = Reserved()
        return taken(lambda: validate(model, decode(body, media, reserved))) <= reserved.most + 64 * KiB

    assert is_within() or is_within()  # Python's own table of interned strings may have grown, by 2 MiB, once


@cases("dtype", [*dtypes.NUMPY_NAMES, *dtypes.ML_NAMES, "datetime64[ns]", "timedelta64[s]", "str<4>",
                                   "str<100>", "bytes<3>", "bytes<100>", None])  # fmt: skip
def test_lists_become_an_array_within_the_reserved_memory(dtype: str | None) -> None:
    element: Any = 1
    if dtype is not None:
        element = {"b": True, "c": [1, 2], "d": "2020-01-01T00:00:00", "s": WIDE * 4}.get(dtype[0], 1)
        element = "AAAA" if dtype.startswith("bytes") else True if dtype == "bool" else element
        element = 1.5 if dtype.startswith(("bfloat", "float")) and "e8m0" not in dtype else element
    data = json.loads(json.dumps([[element]] * 5000))
    dtypes.dtype_from_name(dtype or "int8")  # ml_dtypes is imported
    tensor = Tensor(dtype=dtype, shape=(5000, 1), data=data)
    peak = taken(lambda: tensor.to_array("/inputs/0"))
    assert tensor.decoded_bytes() > 0
    assert peak <= tensor.decoded_bytes() + 5000 * prescan.NUMBER_BYTES  # flattening was reserved with the values


def test_lists_of_long_items_need_three_times_their_width() -> None:
    tensor = Tensor(dtype="str<262144>", shape=(1000,), data=[""] * 1000)
    assert tensor.decoded_bytes() == 1000 * (3 * 2**20 + 80)


def test_received_bytes_need_memory_only_to_be_joined_or_decoded() -> None:
    assert Tensor(dtype="int8", shape=(6,), data=b"abcdef").decoded_bytes() == 0
    assert Tensor(dtype="int8", shape=(6,), data=[b"abc", b"def"]).decoded_bytes() == 6
    assert Tensor(dtype="int8", shape=(6,), base64="YWJjZGVm").decoded_bytes() == 8


def test_a_shape_that_no_list_has_needs_no_more_memory_than_the_body() -> None:
    for dtype in ("int8", "no-such-dtype"):
        assert Tensor(dtype=dtype, shape=(10**12,), data=[1]).decoded_bytes() <= 2**17 * 83


# --- answers -------------------------------------------------------------------------------------

RANK_4, RANK_64 = [[2**62] * 4] * 2000, [[1] * 64] * 100
LONG = [f"{WIDE * 96}{axis:03}" for axis in range(64)]
ANSWERS: dict[str, tuple[Any, Any, Any]] = {
    "check, one input": (answer_check, CheckRequest, {"inputs": [[3]]}),
    "check, scalars": (answer_check, CheckRequest, {"inputs": [[]] * 2500}),
    "check, rank 4": (answer_check, CheckRequest, {"inputs": RANK_4, "dtype": "int64", "explain": True}),
    "check, rank 64": (answer_check, CheckRequest, {"inputs": RANK_64, "dtype": "int64", "explain": True}),
    "check, conflicts": (answer_check, CheckRequest, {"inputs": [[2] * 64, *([[3] * 64] * 155)], "explain": True}),
    "check, long names": (
        answer_check, CheckRequest,
        {"inputs": [[2] * 64, *[[]] * 99], "op": {"name": "xarray.broadcast", "dims": [LONG, *[[]] * 99]}},
    ),
    "check, symbols": (answer_check, CheckRequest, {"inputs": [["N"]] * 2000}),
    "check, long symbols": (answer_check, CheckRequest, {"inputs": [[f"{'N' * 96}{row}"] * 16 for row in range(40)]}),
    "check, many conditions": (answer_check, CheckRequest, {"inputs": [[f"N{row}"] for row in range(20)]}),
    "check, conditions without names": (answer_check, CheckRequest, {"inputs": [["?"]] * 20}),
    "check, conditions on a target": (
        answer_check, CheckRequest, {"inputs": [["?"] * 40], "op": {"name": "numpy.broadcast_to", "shape": ["?"] * 40}},
    ),
    "compare": (answer_compare, CompareRequest, {"inputs": [[]] * 2000}),
    "compare, rank 64": (answer_compare, CompareRequest, {"inputs": RANK_64}),
    "compare, squares": (answer_compare, CompareRequest, {"inputs": [[5], [5, 1]]}),
    "compare, symbols": (answer_compare, CompareRequest, {"inputs": [[f"N{row}", "M"] for row in range(10)]}),
    "compare, long symbols": (
        answer_compare, CompareRequest, {"inputs": [[f"{'N' * 96}{row}"] * 16 for row in range(4)]},
    ),
    "compare, a target": (answer_compare, CompareRequest, {"inputs": [[1] * 64], "shape": [5] * 64}),
    "translate": (
        answer_translate, TranslateRequest,
        {"inputs": [[1] * 64] * 50, "to": "einops.repeat", "op": "torch.broadcast_tensors"},
    ),
    "translate to names": (answer_translate, TranslateRequest, {"inputs": [[1] * 32] * 100, "to": "xarray.broadcast"}),
}  # fmt: skip


@cases(("work", "model", "question"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_needs_at_most_the_reserved_memory(work: Any, model: Any, question: Any) -> None:
    request = validate(model, question)
    shown = {"exclude_none": True} if work is answer_translate else {"exclude_unset": True}
    request_size = validate_request(request.op, tuple(request.inputs)) if work is not answer_compare else None
    reserved = Reserved()

    def answer() -> None:
        reserved(compare_memory_estimate(request.shapes) if work is answer_compare else memory_estimate(request_size))
        fields = work(request).model_dump(**shown)
        for media in Encoding:  # one after the other: the peak is that of the larger
            encode(fields, media)

    with suppress(Problem):
        answer()  # the first answer imports modules and fills caches
    reserved = Reserved()
    assert taken(answer) <= reserved.most + SLACK


def test_checks_of_many_inputs_free_all_memory() -> None:
    def work() -> None:
        for row in range(8):
            check_to_dict(CheckRequest(inputs=[*[(2, 1)] * row, *[(1, 2, 1, 2, 1, 2, 1, 2, 1, 2)] * 300]))

    assert kept(work) < SLACK


def test_rows_need_at_most_the_reserved_memory() -> None:
    rows = [{"inputs": [[8, 1, 6, 1], [7, 1, 5]], "dtype": "int8"}] * 300 + [{"inputs": [[2, 3]] * 500}] * 4
    reserved = Reserved()
    assert taken(lambda: encode({"results": list(check_rows(rows, reserved))}, JSON)) <= reserved.most


SYMBOLIC_ROWS: dict[str, dict[str, Any]] = {
    "names": {"inputs": [["N"], ["M"]]},
    "two axes": {"op": "onnx.Add", "inputs": [["batch", "seq"], ["n", "m"]]},
    "four axes": {"inputs": [["a", "b", "c", "d"], ["e", "f", "g", "h"]]},
    "no names": {"inputs": [["?"] * 4, ["?"] * 4]},
    "ranges": {"inputs": [["2..5", "2.."], ["1..8", 5]]},
    "long names": {"inputs": [[f"{'N' * 96}{axis}" for axis in range(4)], [f"{'M' * 96}{axis}" for axis in range(4)]]},
    "a target": {"op": {"name": "numpy.broadcast_to", "shape": ["A", "B", "C"]}, "inputs": [["X", "Y", "Z"]]},
    "a product": {"op": "numpy.matmul", "inputs": [["a", "b", "c"], ["d", "e", "f"]]},
    "three inputs": {"op": "onnx.Where", "inputs": [["a", "b"], ["c", "d"], ["e", "f"]]},
}


@pytest.fixture(autouse=True, scope="module")
def loaded() -> None:
    """Load the ops and the modules that these tests need, whose memory does not belong to a request."""
    with_hints, with_warnings = {"op": "numpy.matmul", "inputs": [[2, 3], [2, 3]]}, {"inputs": [[5], [5, 1]]}
    encode(list(check_rows([*SYMBOLIC_ROWS.values(), with_hints, with_warnings])), JSON)


@cases("row", SYMBOLIC_ROWS.values(), ids=SYMBOLIC_ROWS)
def test_symbolic_rows_need_most_of_the_reserved_memory(row: dict[str, Any]) -> None:
    reserved = Reserved()
    answers: list[Any] = []
    rows = [row] * 15  # within the limit on the time for symbolic sizes
    peak = taken(lambda: encode(answers.extend(check_rows(rows, reserved)) or answers, JSON))
    assert all(answer["conditions"] for answer in answers)
    assert peak <= reserved.most <= 4 * peak


def test_rows_with_hints_need_at_most_the_reserved_memory() -> None:
    rows = [{"op": {"name": "numpy.matmul"}, "inputs": [[2, 3], [2, 3]]}] * 50
    reserved = Reserved()
    answers: list[Any] = []
    peak = taken(lambda: encode(answers.extend(check_rows(rows, reserved)) or answers, JSON))
    assert [len(answer["conflict"]["hints"]) for answer in answers] == [3] * 50
    assert peak <= reserved.most


def test_rows_with_warnings_need_at_most_the_reserved_memory() -> None:
    reserved = Reserved()
    answers: list[Any] = []
    peak = taken(
        lambda: encode(answers.extend(check_rows([{"inputs": [[5], [5, 1]]}] * 100, reserved)) or answers, JSON)
    )
    assert all(answer["warnings"][0]["hint"] for answer in answers)
    assert peak <= reserved.most


def test_a_row_that_exceeds_the_memory_does_not_affect_the_others() -> None:
    rows = [{"inputs": [[3]]}, {"inputs": [[1]] * 2000}, {"inputs": [[4]]}]
    first, second, third = check_rows(rows, MemoryReservation(MemoryBudget(2 * MiB)).reserve_response)
    assert (first["compatible"], third["compatible"]) == (True, True)
    assert second["error"]["code"] == "output-too-large"


@cases("inputs", [1, 2, 20])
def test_columns_need_at_most_the_reserved_memory(inputs: int) -> None:
    column = {"dtype": "int64", "shape": [50_000, 3], "data": np.ones((50_000, 3), "<i8").tobytes()}
    request = validate(CheckColumnsRequest, {"inputs": [column] * inputs})
    reserved = Reserved()
    assert taken(lambda: answer_columns(request, reserved)) <= reserved.most


BACKPROPS = {
    "a sum over rows": ("numpy.broadcast_to", [100_000], [[8, 100_000]], None),
    "no sum": ("numpy.broadcast_to", [500_000], [[500_000]], None),
    "a transposition": ("stablehlo", [500, 1000], [[1000, 2, 500]], None),
    "transposed memory": ("numpy.broadcast_to", [800, 800], [[2, 800, 800]], [1, 2, 1600]),
    "replicated": ("numpy.broadcast_to", [10**12, 500], [[3, 10**12, 500]], [500, 0, 1]),
}


@cases("dtype", ["int8", "float16", "bfloat16", "float32", "complex64", "complex128"])
@cases(("op", "shape", "gradients", "strides"), BACKPROPS.values(), ids=BACKPROPS)
def test_a_backprop_needs_at_most_the_reserved_memory(
    op: str, shape: list[int], gradients: list[list[int]], strides: list[int] | None, dtype: str
) -> None:
    named: Any = {"name": op, "shape": gradients[0]}
    if op == "stablehlo":
        named = {"name": "stablehlo.broadcast_in_dim", "shape": gradients[0], "broadcast_dimensions": [2, 0]}
    tensors = []
    for size in gradients:
        count = (
            int(np.prod(size))
            if strides is None
            else 1 + sum((n - 1) * step for n, step in zip(size, strides, strict=True))
        )
        tensor: dict[str, Any] = {
            "dtype": dtype,
            "shape": size,
            "data": bytes(count * dtypes.dtype_from_name(dtype).itemsize),
        }
        tensors.append(tensor if strides is None else tensor | {"strides": strides})
    request = validate(BackpropRequest, {"op": named, "inputs": [shape], "gradients": tensors})
    reserved = Reserved()

    def work() -> None:
        request_size = validate_request(request.op, tuple(request.inputs))
        reserved(memory_estimate(request_size, request.gradients))
        plan, arrays = _gradients(request, request_size)
        reserved(gradient_bytes(plan, arrays))
        for array in input_gradients(plan, arrays):
            sent(OutgoingArray(array, array.shape, strides is not None and 0 in array.strides), reserved)

    work()  # ml_dtypes is imported
    reserved.nbytes = reserved.most = 0
    peak = taken(work)
    assert peak <= reserved.most + SLACK


def test_memory_is_reserved_for_a_strided_answer_that_is_copied() -> None:
    tensor = {"dtype": "int8", "shape": [1000, 2000], "data": bytes(2 * 10**6)}
    op = {"name": "stablehlo.broadcast_in_dim", "shape": [2000, 1000], "broadcast_dimensions": [1, 0]}
    request = validate(BroadcastRequest, {"op": op, "inputs": [tensor], "layout": "strided"})
    request_size, reserved = request_size_of(request), Reserved()
    reserved(memory_estimate(request_size, request.inputs))
    peak = taken(lambda: [sent(output, reserved) for output in outputs(request, request_size, 2**40)])
    assert 2 * 10**6 < peak <= reserved.most + SLACK


@cases("dtype", ["int8", "float64", "str<100000>"])
def test_a_gathered_window_needs_at_most_the_reserved_memory(dtype: str) -> None:
    size = 8 * MiB // dtypes.dtype_from_name(dtype).itemsize
    data = memoryview(bytes(size * dtypes.dtype_from_name(dtype).itemsize + 1))[1:]  # where it lies in a message
    tensor = {"dtype": dtype, "shape": [size], "data": data}
    op = {"name": "einops.repeat", "pattern": "a -> (a r)", "axes_lengths": {"r": 3}}
    request = validate(BroadcastRequest, {"op": op, "inputs": [tensor], "window": [[1, 2 * size]]})
    request_size, reserved = request_size_of(request), Reserved()
    reserved(memory_estimate(request_size, request.inputs))
    peak = taken(lambda: [sent(output, reserved) for output in outputs(request, request_size, 2**40)])
    assert MiB // 2 < peak <= reserved.most + SLACK
    assert reserved.most <= 3 * MiB


TEXT = {"dtype": "str<500>", "shape": [1], "data": ["a"]}
AT_ONCE: dict[str, tuple[str, Any]] = {
    "lists of wide elements": (
        "/v1/broadcast", {"inputs": [{"dtype": "str<262144>", "shape": [1000], "data": [""] * 1000}]},
    ),
    "long texts": ("/v1/broadcast", {"inputs": [TEXT], "op": {"name": "numpy.broadcast_to", "shape": [400]}}),
    "a gradient that is put together": (
        "/v1/backprop",
        {
            "op": {"name": "einops.repeat", "pattern": "(a b) -> a b", "axes_lengths": {"a": 1024}},
            "inputs": [[2**20]],
            "gradients": [{"dtype": "int8", "shape": [1024, 1024], "strides": [0, 0], "data": [1]}],
            "layout": "strided",
        },
    ),
}  # fmt: skip


@cases(("path", "question"), AT_ONCE.values(), ids=AT_ONCE)
def test_responses_without_a_reservation_need_little_memory(path: str, question: Any) -> None:
    body = encode(question, JSON)
    assert len(body) < 4096
    answers: list[object] = []
    short_answer(path, b"")  # this creates the service
    assert taken(lambda: answers.append(short_answer(path, body))) < MiB
    assert answers == [None]


@cases("as_base64", [False, True])
@cases("dtype", [*dtypes.NUMPY_NAMES, *dtypes.ML_NAMES, "datetime64[ns]", "datetime64[as]",
                                   "timedelta64[s]", "str<4>", "str<100>", "bytes<3>", "bytes<100>"])  # fmt: skip
def test_a_json_answer_needs_at_most_the_reserved_memory(dtype: str, as_base64: bool) -> None:
    kind = dtypes.dtype_from_name(dtype)
    raw = np.random.default_rng(0).integers(2**62, size=(5000, 1))
    if kind.kind == "U":
        array: Any = np.full((5000, 1), WIDE * 100, kind)
    else:
        with np.errstate(all="ignore"):
            array = raw.view(kind) if kind.kind in "mM" else (raw % 100 if kind.itemsize < 8 else raw).astype(kind)
    b"".join(json_parts(array[:1], False, as_base64))
    peak = taken(lambda: b"".join(json_parts(array, False, as_base64)))
    assert peak <= json_memory_estimate(5000, 10_000, array.nbytes)
