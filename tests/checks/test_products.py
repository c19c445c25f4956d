"""Matrix products: the result, the summed axes, the drawing and the hints.

tests/vectors/matmul.jsonl has the results of the frameworks, and tests/vectors/einsum.jsonl those of einsum.
"""

from __future__ import annotations

import json
import re
from itertools import product
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
from cases import cases
from click.testing import CliRunner
from facts import formulas
from test_vectors import vectors

import axiscast
from axiscast import CheckAnswer, Client
from axiscast.cli import main
from axiscast.drawing.terminal_text import check_as_text, is_product
from axiscast.ops import OPS, Op, einops, numpy, onnx, tensorflow, torch

Shape = tuple[int | str, ...]
EXECUTED = [vector for name in ("matmul", "einsum") for vector in vectors(name) if "product" in vector]
GEMMS = [vector for vector in vectors("onnx-families") if vector["op"]["name"] == "onnx.Gemm"]


def op_of(vector: dict[str, Any]) -> Op:
    return OPS[vector["op"]["name"]].model_validate(vector["op"])


def ask(op: Op, *shapes: Shape, **options: Any) -> CheckAnswer:
    return axiscast.check(op, *shapes, **options)


# --- the result


def test_the_result_of_a_check_is_the_shape_that_the_framework_computed() -> None:
    assert len(EXECUTED) > 2300
    for vector in EXECUTED:
        answer = ask(op_of(vector), *vector["inputs"])
        assert list(answer.shape) == vector["product"], vector["id"]
    for vector in GEMMS:
        answer = ask(op_of(vector), *vector["inputs"])
        assert [[*output.shape] for output in answer.outputs] == [each["shape"] for each in vector.get("outputs", ())]


def test_the_library_the_service_and_the_client_give_the_same_result(http: httpx.Client, client: Client) -> None:
    packed = {"Content-Type": "application/vnd.msgpack"}
    for vector in EXECUTED[::7]:
        request = {"op": vector["op"], "inputs": vector["inputs"]}
        (short,) = http.post("/v1/check", json=request).json()["outputs"]  # answered at once
        (long,) = http.post("/v1/check", json=request | {"dtype": "float32"}).json()["outputs"]  # by way of the schema
        in_bytes = msgpack.unpackb(http.post("/v1/check", content=msgpack.packb(request), headers=packed).content)
        assert [short] == in_bytes["outputs"]
        assert (short["shape"], short["elements"]) == (vector["product"], long["elements"])
        assert long == short | {"nbytes": 4 * short["elements"]}
        assert client.check(op_of(vector), *vector["inputs"]) == ask(op_of(vector), *vector["inputs"])


def test_the_elements_of_a_result_beyond_63_bits_are_a_decimal_string() -> None:
    (result,) = ask(numpy.matmul(), (2**40, 1), (1, 2**40), dtype="int16").outputs
    assert (result.shape, result.elements, result.nbytes) == ((2**40, 2**40), str(2**80), str(2**81))


RESULTS: list[tuple[Op, tuple[Shape, ...], list[int | str], list[str]]] = [
    (numpy.matmul(), (("N", 3, 4), ("N", 4, "K")), ["N", 3, "K"], []),
    (numpy.matmul(), (("N", "K"), ("K",)), ["N"], []),
    (numpy.matmul(), (("K",), ("K",)), [], []),
    (numpy.matmul(), ((2, 3), ("K", "M")), [2, "M"], ["K == 3"]),
    (numpy.matmul(), (("N", "K"), ("M", "K")), ["N", "K"], ["K == M"]),
    (numpy.matmul(), ((5, 2, 3), ("N", 3, "2..4")), [5, 2, "2..4"], ["N == 5 or N == 1"]),
    (tensorflow.matmul(transpose_b=True), (("N", "K"), ("M", "K")), ["N", "M"], []),
    (onnx.Gemm(transA=1), (("K", "N"), ("K", "M")), ["N", "M"], []),
    (onnx.Gemm(), (("N", 3), (3, "M"), (7,)), ["N", 7], ["M == 7"]),
]


@cases(("op", "shapes", "shape", "conditions"), RESULTS)
def test_a_result_of_symbolic_sizes_has_their_names(
    op: Op, shapes: tuple[Shape, ...], shape: list[int | str], conditions: list[str]
) -> None:
    answer = ask(op, *shapes)
    assert (list(answer.shape), formulas(answer.conditions)) == (shape, conditions)


def test_a_symbolic_result_covers_the_result_for_every_size() -> None:
    names = ("N", "K")
    sizes = (0, 1, 2, 3)
    for left, right in product(product((*names, 2), repeat=2), repeat=2):
        symbolic = ask(numpy.matmul(), left, right)
        for values in product(sizes, repeat=2):
            known = dict(zip(names, values, strict=True))
            shapes = [tuple(known.get(size, size) for size in shape) for shape in (left, right)]  # type: ignore[call-overload]
            answer = ask(numpy.matmul(), *shapes)
            if not answer:
                assert symbolic.compatible is not True
                continue
            assert tuple(known.get(size, size) for size in symbolic.shape) == answer.shape  # type: ignore[call-overload]


def test_the_text_and_the_command_print_the_result() -> None:
    assert check_as_text(ask(numpy.matmul(), (1, 3, 4), (2, 4, 5))) == "compatible: (2, 3, 5)"
    written = CliRunner().invoke(main, ["check", "1,3,4", "2,4,5", "--op", "numpy.matmul"])
    assert "result   2   3         5" in written.output
    assert "compatible: (2, 3, 5)" in written.output
    plain = CliRunner().invoke(main, ["check", "2,3", "3,4", "--op", "onnx.Gemm", "--alpha", "0.5", "--json"])
    assert json.loads(plain.output)["outputs"] == [{"shape": [2, 4], "elements": 8}]


def test_a_comparison_lists_only_the_products_that_broadcast() -> None:
    def products(*shapes: tuple[int, ...]) -> dict[str, list[int]]:
        found = [result for result in axiscast.compare(*shapes) if is_product(result)]
        return {result.op["name"]: list(result.shape) for result in found if result}

    names = ("numpy.matmul", "onnx.MatMul", "torch.matmul", "tensorflow.matmul")
    for shapes, shape, listed in (
        (((1, 3, 4), (2, 4, 5)), [2, 3, 5], names),
        (((2, 3), (3, 4)), [2, 4], (*names, "onnx.Gemm")),
    ):
        found = products(*shapes)
        assert {name: found.get(name) for name in listed} == dict.fromkeys(listed, shape)
        assert all(result == shape for result in found.values())
        assert not [name for name in found if OPS[name].has_common_output_axes]
    assert products((2, 3), (4, 3)) == {}
    written = CliRunner().invoke(main, ["compare", "1,3,4", "2,4,5"]).output
    assert re.search(r"^yes  matrix product: \(2, 3, 5\)\n     numpy\.matmul; ", written, re.MULTILINE)


# --- conflicts, drawings and hints


def test_a_conflict_of_summed_axes_names_both_operands() -> None:
    conflict = ask(torch.matmul(), (2, 3), (4, 5)).conflict
    assert conflict is not None
    assert (conflict.code, conflict.axis) == ("size-mismatch", None)
    assert (conflict.inputs, conflict.axes, conflict.sizes, conflict.hints) == ((0, 1), (1, 0), (3, 4), [])
    stacked = ask(onnx.Gemm(transA=1, transB=1), (3, 2), (5, 4)).conflict
    assert stacked is not None
    assert (stacked.inputs, stacked.axes, stacked.sizes) == ((0, 1), (0, 1), (3, 4))


def test_a_conflict_of_summed_axes_of_symbolic_sizes_names_both_operands() -> None:
    conflict = ask(numpy.matmul(), ("N", "K"), (3, "M"), assume={"K": "4.."}).conflict
    assert conflict is not None
    assert (conflict.inputs, conflict.axes, conflict.sizes) == ((0, 1), (1, 0), ("K", 3))


def test_integers_of_summed_axes_conflict_equally_beside_symbolic_sizes() -> None:
    conflict = ask(torch.matmul(), ("N", 2, 3), ("N", 4, 5)).conflict
    assert conflict is not None
    assert (conflict.axis, conflict.inputs, conflict.axes, conflict.sizes) == (None, (0, 1), (2, 1), (3, 4))


def test_a_conflict_of_one_input_names_its_axis() -> None:
    conflict = ask(einops.repeat(pattern="h (a b) -> h a b", axes_lengths={"a": 2}), (2, 5)).conflict
    assert conflict is not None
    assert (conflict.axis, conflict.inputs, conflict.axes, conflict.sizes) == (None, (0,), (1,), (5,))
    smallest = ask(einops.repeat(pattern="(a b) -> a b", axes_lengths={"a": 2}), (1,)).conflict
    assert smallest is not None
    assert (smallest.inputs, smallest.axes, smallest.sizes) == ((0,), (0,), (1,))


DRAWINGS: list[tuple[Op, tuple[Shape, ...], str]] = [
    (numpy.matmul(), ((1, 3, 4), (2, 4, 5)), """\
axis     0   1   sum   2
input 0  1*  3     4
input 1  2         4   5
         ----------------
result   2   3         5
* stretched"""),
    (torch.matmul(), ((2, 3), (4, 5)), """\
axis     0   sum   1
input 0  2     3
input 1        4   5
               ^
^ conflict"""),
    (torch.matmul(), ((4, 2, 3), (5, 3, 2)), """\
axis     0   1   sum   2
input 0  4   2     3
input 1  5         3   2
         ^
^ conflict"""),
    (numpy.matmul(), ((3,), (3,)), """\
axis     sum
input 0    3
input 1    3
         ----
result    ()"""),
    (numpy.matmul(), ((7, 2, 3), (3,)), """\
axis     0   1   sum
input 0  7   2     3
input 1  +         3
         ------------
result   7   2
+ new axis"""),
    (tensorflow.matmul(transpose_a=True), ((3, 2), (3, 5)), """\
axis     0   sum   1
input 0  2     3
input 1        3   5
         ------------
result   2         5"""),
    (onnx.Gemm(), ((2, 3), (3, 4), (4,)), """\
axis     0   1   sum
input 0  2         3
input 1      4     3
input 2  +   4
         ------------
result   2   4
+ new axis"""),
    (onnx.Gemm(), ((2, 3), (5, 4)), """\
axis     0   1   sum
input 0  2         3
input 1      4     5
                   ^
^ conflict"""),
    (einops.repeat(pattern="h (a b) -> h a b", axes_lengths={"a": 2}), ((2, 5),), """\
axis     0   1
input 0  2   5
             ^
^ conflict"""),
]  # fmt: skip


@cases(("op", "shapes", "drawing"), DRAWINGS)
def test_a_diagram_has_a_column_for_the_summed_axes(op: Op, shapes: tuple[Shape, ...], drawing: str) -> None:
    assert ask(op, *shapes, explain=True).diagram == drawing


HINTS: list[tuple[Op, tuple[Shape, ...], str, Op, list[tuple[int, ...]]]] = [
    (torch.matmul(), ((2, 3), (4, 3)), "transpose",
     torch.matmul(), [(2, 3), (3, 4)]),
    (numpy.matmul(), ((3, 2), (3, 4)), "transpose",
     numpy.matmul(), [(2, 3), (3, 4)]),
    (numpy.matmul(), ((3, 2), (4, 3)), "transpose",
     numpy.matmul(), [(2, 3), (3, 4)]),
    (numpy.matmul(), ((3, 4), (2, 3)), "exchange-inputs",
     numpy.matmul(), [(2, 3), (3, 4)]),
    (numpy.matmul(), ((7, 2, 3), (7, 4, 3)), "transpose",
     numpy.matmul(), [(7, 2, 3), (7, 3, 4)]),
    (numpy.matmul(), ((10, 3, 4), (10, 4)), "reshape",
     numpy.matmul(), [(10, 3, 4), (10, 4, 1)]),
    (numpy.matmul(), ((3,), (1, 4)), "reshape",
     numpy.matmul(), [(3, 1), (1, 4)]),
    (numpy.matmul(), ((2, 1), (3,)), "reshape",
     numpy.matmul(), [(2, 1), (1, 3)]),
    (tensorflow.matmul(), ((2, 3), (3,)), "reshape",
     tensorflow.matmul(), [(2, 3), (3, 1)]),
    (tensorflow.matmul(), ((3,), (3, 2)), "reshape",
     tensorflow.matmul(), [(1, 3), (3, 2)]),
    (tensorflow.matmul(), ((2, 3), (4, 3)), "attributes",
     tensorflow.matmul(transpose_b=True), [(2, 3), (4, 3)]),
    (tensorflow.matmul(transpose_a=True), ((2, 3), (3, 4)), "attributes",
     tensorflow.matmul(), [(2, 3), (3, 4)]),
    (onnx.Gemm(), ((2, 3), (4, 3), (4,)), "attributes",
     onnx.Gemm(transB=1), [(2, 3), (4, 3), (4,)]),
    (onnx.Gemm(alpha=0.5), ((3, 2), (4, 3)), "attributes",
     onnx.Gemm(alpha=0.5, transA=1, transB=1), [(3, 2), (4, 3)]),
    (onnx.Gemm(), ((2, 3), (3, 4), (2,)), "reshape",
     onnx.Gemm(), [(2, 3), (3, 4), (2, 1)]),
]  # fmt: skip


@cases(("op", "shapes", "code", "other", "inputs"), HINTS, ids=str)
def test_a_hint_transposes_an_operand_or_adds_an_axis_to_a_vector(
    op: Op, shapes: tuple[Shape, ...], code: str, other: Op, inputs: list[tuple[int, ...]]
) -> None:
    conflict = ask(op, *shapes).conflict
    assert conflict is not None
    (hint,) = (hint for hint in conflict.hints if hint.request and hint.request.inputs == inputs)
    assert hint.request is not None
    assert (hint.code, hint.request.op) == (code, other)
    assert axiscast.check(hint.request).shape == hint.output


def test_no_hint_transposes_operands_with_conflicting_stacks() -> None:
    conflict = ask(numpy.matmul(), (7, 2, 3), (5, 4, 3)).conflict
    assert conflict is not None
    assert conflict.axis == 0
    assert not any(hint.code == "transpose" for hint in conflict.hints)


def test_conflicting_stacks_of_symbolic_sizes_get_a_new_axis() -> None:
    conflict = ask(numpy.matmul(), (2, 8, "S", 64), (2, 64, "S")).conflict
    assert conflict is not None
    assert [(hint.input, hint.shape) for hint in conflict.hints] == [(1, (2, 1, 64, "S"))]


def test_every_hint_of_a_product_broadcasts_and_all_are_different() -> None:
    shapes = [(), (2,), (3,), (2, 3), (3, 2), (4, 3), (2, 2, 3), (2, 3, 4), (5, 1, 3), (5, 2), (0, 3), (1, 1)]
    hints = 0
    for op, *inputs in product(
        (numpy.matmul(), tensorflow.matmul(), tensorflow.matmul(transpose_b=True), onnx.Gemm()), shapes, shapes
    ):
        answer = ask(op, *inputs)
        proposed = answer.conflict.hints if answer.conflict else []
        requests = [hint.request for hint in proposed if hint.request is not None]
        assert len({(request.op, *request.inputs) for request in requests}) == len(requests) == len(proposed)
        assert all(axiscast.check(request).compatible for request in requests)
        hints += len(requests)
    assert hints > 100


# --- optional inputs and attributes


def test_gemm_takes_two_inputs_and_attributes_without_effect_on_shapes(http: httpx.Client) -> None:
    op = {"name": "onnx.Gemm", "alpha": 0.5, "beta": 0, "transB": 1}
    answer = http.post("/v1/check", json={"op": op, "inputs": [[2, 3], [4, 3]]}).json()
    own = {"name": "onnx.Gemm", "transA": 0, "transB": 1, "alpha": 0.5, "beta": 0}
    outputs = [{"shape": [2, 4], "elements": 8}]
    assert answer == {
        "compatible": True, "op": own, "shape": [2, 4], "outputs": outputs, "broadcast_inputs": [], "warnings": [],
    }  # fmt: skip
    in_url = http.get("/v1/check?op=onnx.Gemm&input=2,3&input=4,3&transB=1&alpha=2.5e-1")
    assert in_url.json() == answer | {"op": {"name": "onnx.Gemm", "transA": 0, "transB": 1, "alpha": 0.25}}
    for value in ("x", True, None, [1]):
        refused = http.post("/v1/check", json={"op": {"name": "onnx.Gemm", "alpha": value}, "inputs": [[2, 3], [3, 4]]})
        assert refused.status_code == (200 if value is None else 422)
    for text, words in (("x", "must be a number"), ("nan", "finite")):
        refused = http.get(f"/v1/check?op=onnx.Gemm&input=2,3&input=3,4&alpha={text}")
        assert (refused.status_code, words in refused.json()["detail"]) == (422, True)
    boolean = http.get("/v1/check?op=tensorflow.matmul&input=2,3&input=4,3&transpose_b=true").json()
    assert boolean["shape"] == [2, 4]


def test_a_product_that_broadcasts_no_input_has_no_tensors(client: Client) -> None:
    answer = client.check_columns("onnx.Gemm", [[2, 3], [2, 4]], [[3, 4], [3, 4]])
    assert (answer.compatible.tolist(), answer.broadcast_inputs) == ([True, False], [])
    assert answer.shape.tolist() == [[2, 4], [-1, -1]]
    with pytest.raises(axiscast.InvalidRequest, match="broadcasts no input"):
        client.broadcast("onnx.Gemm", np.zeros((2, 3)), np.zeros((3, 4)))
