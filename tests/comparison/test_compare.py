"""Comparisons have a result for each op and mode that needs only inputs and a target."""

from __future__ import annotations

import json
from collections.abc import Mapping

import httpx
import pytest
from cases import cases
from click.testing import CliRunner

import axiscast
from axiscast import Client, InvalidRequest
from axiscast.cli import main
from axiscast.comparison.compare import answer_compare, compare_to_dict
from axiscast.drawing.answer_lists import Comparisons
from axiscast.messages import CompareRequest
from axiscast.wire.codec import Encoding, encode


def verdicts(*shapes: tuple[int, ...], shape: tuple[int, ...] | None = None) -> dict[str, object]:
    """Return the shape of the first output, or the code of the conflict, by op and mode."""
    results = answer_compare(CompareRequest(inputs=shapes, shape=shape)).results
    return {
        " ".join([op["name"], *([op["mode"]] if "mode" in op else [])]): (
            result.conflict.code if result.conflict else [*result.shape] if result.broadcast_inputs else True
        )
        for result in results
        for op in [result.op, *result.also]
    }


FRAMEWORKS = (
    "numpy ngraph mindspore poputil openvino onnx torch tensorflow keras jax stablehlo xla linalg paddle mxnet "
    "dask xarray einops"
)


def told(verdicts: Mapping[str, object]) -> dict[str, object]:
    """Return the results of the frameworks in this file."""
    return {name: verdict for name, verdict in verdicts.items() if name.split(".")[0] in FRAMEWORKS.split()}


def test_a_target_is_compared_for_every_op_that_takes_one() -> None:
    assert told(verdicts((2, 3), shape=(2, 1))) == {
        "numpy.broadcast_to": "size-mismatch",
        "mindspore.broadcast_to": "size-mismatch",
        "poputil.broadcastToMatch": "size-mismatch",
        "openvino.Broadcast-1 numpy": "size-mismatch",
        "openvino.Broadcast-1 pdpd": [2, 3],
        "openvino.Broadcast-3 numpy": "size-mismatch",
        "openvino.Broadcast-3 bidirectional": [2, 3],
        "onnx.Expand": [2, 3],
        "torch.expand": "size-mismatch",
        "torch.broadcast_to": "size-mismatch",
        "tensorflow.broadcast_to": "size-mismatch",
        "keras.ops.broadcast_to": "size-mismatch",
        "jax.numpy.broadcast_to": "size-mismatch",
        "paddle.expand": "size-mismatch",
        "paddle.broadcast_to": "size-mismatch",
        "mxnet.broadcast_to": "size-mismatch",
        "mxnet.np.broadcast_to": "size-mismatch",
        "dask.array.broadcast_to": "size-mismatch",
    }


def test_several_shapes_are_compared_for_the_ops_that_take_this_number() -> None:
    assert told(verdicts((3,), (2, 1))) == {
        "numpy.broadcast_arrays": [2, 3],
        "numpy.broadcast_shapes": [2, 3],
        "numpy.add": [2, 3],
        "mindspore.add": [2, 3],
        "mindspore.maximum": [2, 3],
        "openvino.Add-1": [2, 3],
        "onnx.Add": [2, 3],
        "onnx.Sum": [2, 3],
        "onnx.Max": [2, 3],
        "onnx.Min": [2, 3],
        "onnx.Mean": [2, 3],
        "onnx.PRelu": "rank-mismatch",
        "xla.Add": "rank-mismatch",
        "mxnet.broadcast_add": [2, 3],
        "poputil.expandToMatchRanks": [1, 3],
        "poputil.broadcastToMatch": [2, 3],
        "poputil.canBroadcastToMatch": True,
        "torch.expand_as": "size-mismatch",
        "torch.broadcast_tensors": [2, 3],
        "torch.broadcast_shapes": [2, 3],
        "torch.add": [2, 3],
        "torch.masked_fill": [2, 3],
        "tensorflow.broadcast_static_shape": [2, 3],
        "tensorflow.add": [2, 3],
        "keras.ops.add": [2, 3],
        "jax.numpy.broadcast_arrays": [2, 3],
        "jax.numpy.broadcast_shapes": [2, 3],
        "jax.numpy.add": [2, 3],
        "jax.lax.add": "rank-mismatch",
        "paddle.expand_as": "size-mismatch",
        "paddle.broadcast_tensors": [2, 3],
        "paddle.add": [2, 3],
        "mxnet.broadcast_like": "rank-mismatch",
        "dask.array.broadcast_arrays": [2, 3],
    }
    assert set(told(verdicts((3,), (2, 1), (1,)))) == {
        "numpy.broadcast_arrays", "numpy.broadcast_shapes", "poputil.broadcastToMatch", "torch.broadcast_tensors",
        "onnx.Sum", "onnx.Max", "onnx.Min", "onnx.Mean", "onnx.Where",
        "torch.broadcast_shapes", "jax.numpy.broadcast_arrays", "jax.numpy.broadcast_shapes",
        "paddle.broadcast_tensors", "dask.array.broadcast_arrays",
        "mxnet.np.where", "numpy.where", "mindspore.where", "torch.masked_fill", "tensorflow.where",
        "keras.ops.where", "paddle.where",
    }  # fmt: skip


def test_ops_of_one_framework_with_equal_results_share_an_entry() -> None:
    results = answer_compare(CompareRequest(inputs=[(2, 1), (3,)])).results
    assert {
        result.op["name"]: [op["name"] for op in result.also] for result in results if result.op["name"][:2] == "ja"
    } == {"jax.numpy.broadcast_arrays": ["jax.numpy.broadcast_shapes", "jax.numpy.add"], "jax.lax.add": []}
    ones = (1,) * 33
    assert {
        result.op["name"]: result.compatible
        for result in answer_compare(CompareRequest(inputs=[ones, ones])).results
        if result.op["name"].startswith("numpy")
    } == {"numpy.broadcast_arrays": False, "numpy.add": True, "numpy.matmul": True}


def test_symbolic_sizes_are_compared_with_their_conditions(client: Client) -> None:
    results = {result.op["name"]: result for result in client.compare(("N", 1), ("M", "2.."))}
    told = {
        name: (result.compatible, [[each.equal for each in condition.any] for condition in result.conditions])
        for name, result in results.items()
        if name in ("numpy.broadcast_arrays", "poputil.expandToMatchRanks", "torch.expand_as")
    }
    assert told == {
        "numpy.broadcast_arrays": (None, [[("N", "M"), ("N", 1), ("M", 1)]]),
        "poputil.expandToMatchRanks": (True, []),
        "torch.expand_as": (None, [[("N", "M"), ("N", 1)]]),
    }
    assert [op["name"] for op in results["jax.numpy.broadcast_arrays"].also][-1] == "jax.lax.add"
    kept = {result.op["name"]: result for result in client.compare(("N", 3), shape=("2..", -1))}
    assert (kept["torch.expand"].compatible, kept["torch.expand"].shape) == (None, ("2..", 3))
    assert kept["numpy.broadcast_to"].compatible is False
    known = {result.op["name"]: result for result in client.compare(("N", 3), ("M", 3), assume={"N": "2.."})}
    conditions = [
        [[each.equal for each in condition.any] for condition in known[name].conditions]
        for name in ("numpy.broadcast_arrays", "torch.expand_as")
    ]
    assert conditions == [[[("N", "M"), ("M", 1)]], [[("N", "M")]]]
    with pytest.raises(InvalidRequest, match="assume/K: no shape contains this name"):
        client.compare(("N", 3), assume={"K": 2})


def test_an_op_that_supports_integer_sizes_only_is_listed_as_left_out(http: httpx.Client) -> None:
    answer = http.post("/v1/compare", json={"inputs": [["N", 3]], "shape": ["M", 3]}).json()
    assert answer["left_out"] == ["mxnet.broadcast_to"]
    assert "mxnet.broadcast_to" not in {result["op"]["name"] for result in answer["results"]}
    assert "left_out" not in http.post("/v1/compare", json={"inputs": [["N", 3]], "shape": [2, 3]}).json()
    lines = CliRunner().invoke(main, ["compare", "N,3", "--shape", "M,3"]).output.splitlines()[-2:]
    assert lines == ["-    skipped, because they support integer sizes only", "     mxnet.broadcast_to"]


def test_ops_with_the_same_result_are_printed_together() -> None:
    printed = CliRunner().invoke(main, ["compare", "3", "2,1", "--ops", "torch,paddle,jax.lax"]).output
    lines = printed.splitlines()
    assert lines[:2] == [
        "yes  (2, 3)",
        "     torch.broadcast_tensors, broadcast_shapes, add, masked_fill; paddle.broadcast_tensors, add",
    ]
    refused = [number for number, line in enumerate(lines) if line.startswith("no   ")]
    assert [lines[end - 1] for end in (refused[1], len(lines))] == [
        "     torch.expand_as; paddle.expand_as",
        "     jax.lax.add",
    ]


def test_each_requested_op_that_is_not_compared_is_listed_with_the_reason(client: Client, http: httpx.Client) -> None:
    def skipped(*shapes: tuple[int, ...], ops: list[str], shape: tuple[int, ...] | None = None) -> dict[str, str]:
        request = {"inputs": shapes, "ops": ops} | ({} if shape is None else {"shape": shape})
        answer = http.post("/v1/compare", json=request).json()
        for results in (client.compare(*shapes, shape=shape, ops=ops), axiscast.compare(*shapes, shape=shape, ops=ops)):
            assert isinstance(results, Comparisons)
            assert [each.model_dump() for each in results.skipped] == answer.get("skipped", [])
        return {
            " ".join(each["op"].values()): each["reason"].removesuffix(", so check it separately")
            for each in answer.get("skipped", [])
        }

    assert skipped((3,), shape=(3, 2), ops=["ngraph", "openvino", "julia"]) == {
        "ngraph.Broadcast": "needs the attribute broadcast_axes",
        "ngraph.BroadcastLike": "takes 2 inputs, not 1",
        "openvino.Broadcast-1 explicit": "needs the attribute axes_mapping",
        "openvino.Broadcast-3 explicit": "needs the attribute axes_mapping",
        "julia.broadcast": "has no attribute for a target shape",
    }
    assert skipped((3,), (3,), ops=["torch", "torch.expand", "xarray.broadcast", "stablehlo"]) == {
        "torch.expand": "takes 1 input, not 2",
        "stablehlo.broadcast_in_dim": "takes 1 input, not 2",
        "xarray.broadcast": "needs the attribute dims",
    }
    assert skipped((3,), ops=["numpy.broadcast_to", "numpy.broadcast_arrays"]) == {
        "numpy.broadcast_to": "needs a target shape"
    }
    assert skipped((3,), (3,), ops=["numpy", "onnx.Add"]) == {}
    assert "skipped" not in http.post("/v1/compare", json={"inputs": [[3], [3]]}).json()


def test_the_command_says_which_ops_are_skipped() -> None:
    words = ["compare", "3", "--shape", "3,2", "--ops", "ngraph.Broadcast,tfjs,openvino.Broadcast-3"]
    assert CliRunner().invoke(main, words).output.splitlines()[-4:] == [
        "-    skipped: needs the attribute broadcast_axes, so check it separately",
        "     ngraph.Broadcast",
        "-    skipped: needs the attribute axes_mapping, so check it separately",
        "     openvino.Broadcast-3 (explicit)",
    ]
    quiet = CliRunner().invoke(main, [*words, "--json"])
    assert "ngraph.Broadcast: skipped: needs the attribute broadcast_axes" in quiet.stderr
    assert {result["op"]["name"] for result in json.loads(quiet.stdout)} == {"tfjs.broadcastTo", "openvino.Broadcast-3"}


def test_matrix_products_are_the_last_groups_and_have_a_label() -> None:
    lines = CliRunner().invoke(main, ["compare", "3", "3,2", "--ops", "numpy,julia"]).output.splitlines()
    assert lines[:2] == ["yes  (3, 2)", "     julia.broadcast"]
    assert lines[-2:] == ["yes  matrix product: (2,)", "     numpy.matmul"]
    refused = str(axiscast.compare((2, 3), (4, 3), ops=["numpy.add", "numpy.matmul"])).splitlines()
    assert ["matrix product:" in line for line in refused if line[:2] == "no"] == [False, True]


def test_a_group_shows_the_hint_that_its_ops_share() -> None:
    lines = str(axiscast.compare((3,), (3, 2), ops=["numpy", "torch.add", "onnx.PRelu"])).splitlines()
    group = lines.index("     numpy.broadcast_arrays, broadcast_shapes, add; torch.add")
    assert [number for number, line in enumerate(lines) if "hint:" in line] == [group - 1]
    named = str(axiscast.compare(("N", "C", "W"), ("C",), ops=["numpy.add"])).splitlines()
    assert named[1].startswith("     hint: ")


def test_an_op_without_outputs_has_the_verdict_true() -> None:
    lines = str(axiscast.compare((3,), (2, 3), ops=["poputil.canBroadcastToMatch"])).splitlines()
    assert lines == ["yes  True", "     poputil.canBroadcastToMatch"]


def test_no_line_of_a_printed_comparison_is_longer_than_100_characters() -> None:
    assert max(map(len, str(axiscast.compare((8, 1, 6, 1), (7, 1, 5))).split("warning")[0].splitlines())) <= 100


def test_ops_select_ops_aliases_and_frameworks(client: Client, http: httpx.Client) -> None:
    def names(*shapes: tuple[int, ...], ops: list[str]) -> list[str]:
        return [op["name"] for result in client.compare(*shapes, ops=ops) for op in [result.op, *result.also]]

    assert names((3,), (2, 1), ops=["jax.lax", "torch.mul", "onnx.Add"]) == ["onnx.Add", "torch.add", "jax.lax.add"]
    every = {result.op["name"].split(".")[0] for result in client.compare((3,), (2, 1), ops=["torch", "xla"])}
    assert every == {"torch", "xla"}
    assert names((2, 3), (4, 3), ops=["torch"]).count("torch.matmul") == 0
    (product,) = client.compare((2, 3), (4, 3), ops=["torch.matmul"])  # a named product is shown with its conflict
    assert product.conflict
    assert product.conflict.sizes == (3, 4)
    for value, problem in (
        (["tensorflw"], "did you mean tensorflow"),
        ([3], "must be a string"),
        (["ngraph"], "can't take 2 inputs"),
    ):
        answer = http.post("/v1/compare", json={"inputs": [[3], [2, 1]], "ops": value})
        assert answer.status_code == 422
        assert problem in answer.json()["detail"]


def test_the_service_and_the_client_have_the_same_comparison(client: Client, http: httpx.Client) -> None:
    ours = [
        result.model_dump(mode="json", exclude_unset=True)
        for result in answer_compare(CompareRequest(inputs=[(1, 3)], shape=(2, -1))).results
    ]
    assert [
        result.model_dump(mode="json", exclude_unset=True) for result in client.compare((1, 3), shape=(2, -1))
    ] == ours
    assert http.post("/v1/compare", json={"inputs": [[1, 3]], "shape": [2, -1]}).json() == {"results": ours}
    fits = {result["op"]["name"]: True for result in ours if result["compatible"]}
    assert list(told(fits)) == ["mindspore.broadcast_to", "torch.expand", "paddle.expand"]


@cases(("inputs", "shape"), [([(3,), (3,)], (3,)), ([], None)])
def test_a_comparison_without_any_op_is_an_invalid_request(
    client: Client, inputs: list[tuple[int, ...]], shape: tuple[int, ...]
) -> None:
    with pytest.raises(InvalidRequest, match="no op takes"):
        client.compare(*inputs, shape=shape)


def test_each_op_has_the_message_of_its_own_rule() -> None:
    for inputs, shape in (([(3, 1)], (1, 4)), ([(3,)], (2, -1)), ([(1, 3)], (3,)), ([(2, 1)], (0, 3))):
        for result in answer_compare(CompareRequest(inputs=inputs, shape=shape)).results:
            for other in result.also:
                conflict = axiscast.check(other, *inputs).conflict
                message = conflict and conflict.message.replace(other["name"], result.op["name"])
                assert message == (result.conflict and result.conflict.message)


@cases(
    "asked",
    [
        {"inputs": [(8, 1, 6, 1), (7, 1, 5)], "warn": ["mutual-stretch", "rank-promotion"]},
        {"inputs": [(2, 3), (3, 2)]},
        {"inputs": [(2, 3), (4, 3)]},
        {"inputs": [("N", 1), (4, "?")], "assume": {"N": "2.."}},
        {"inputs": [("N", 3)], "shape": (2, -1)},
        {"inputs": [(2, 3)], "shape": (5,)},
        {"inputs": [()]},
    ],
)
def test_plain_values_have_the_fields_of_the_typed_response_in_order(asked: dict[str, object]) -> None:
    request = CompareRequest(**asked)
    typed = answer_compare(request).model_dump(exclude_unset=True)
    assert encode(compare_to_dict(request), Encoding.JSON) == encode(typed, Encoding.JSON)
