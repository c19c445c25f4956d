"""The nodes of an ONNX model that broadcast, tested against written verdicts, onnx and onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from facts import formulas
from onnx import helper
from onnx_models import Check, checks, parsed, verdicts

import axiscast


@pytest.fixture
def check(tmp_path: Path) -> Check:
    return checks(tmp_path)


MUTUAL = {
    "FLOAT": "Add Sub Mul Div Pow Equal Less LessOrEqual Greater GreaterOrEqual Max Min Mean Sum Mod",
    "BOOL": "And Or Xor",
    "UINT8": "BitShift BitwiseAnd BitwiseOr BitwiseXor",
    "STRING": "StringConcat",
}
PAIRS = [
    ((8, 1, 6, 1), (7, 1, 5), [8, 7, 6, 5]),
    ((), (2, 3), [2, 3]),
    ((0,), (1,), [0]),
    ((3,), (4,), "size-mismatch"),
    ((0,), (3,), "size-mismatch"),
    ((2, 3), (3, 2), "size-mismatch"),
    ((1,) * 40, (2,), [1] * 39 + [2]),
]


@pytest.mark.parametrize("opset", [21, 27])
def test_multidirectional_ops_broadcast_all_inputs_to_each_other(check: Check, opset: int) -> None:
    nodes, inputs, expected = [], [], {}
    for dtype, ops in MUTUAL.items():
        for number, (one, other, output) in enumerate(PAIRS):
            names = [f"{dtype}{number}{side}" for side in "ab"]
            inputs += [
                helper.make_tensor_value_info(name, getattr(onnx.TensorProto, dtype), shape)
                for name, shape in zip(names, (one, other), strict=True)
            ]
            for op in ops.split():
                attributes = {"direction": "LEFT"} if op == "BitShift" else {}
                nodes.append(helper.make_node(op, names, [f"{op}{number}"], **attributes))
                expected[f"{op}{number}"] = output
    graph = helper.make_graph(nodes, "graph", inputs, [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    assert verdicts(check(model)) == expected


def test_where_max_min_mean_and_sum_broadcast_three_inputs(check: Check) -> None:
    graph = """(bool[2,1] c, float[3] x, float[4,1,1] y, float[4] z) => (float[] o)
        {w = Where(c, x, y) v = Where(c, x, z) m = Max(x) s = Sum(x, y, x, y) t = Mean(x, y, z) u = Min(y, x, z)}"""
    assert verdicts(check(graph)) == {
        "w": [4, 2, 3], "v": "size-mismatch", "m": [3], "s": [4, 1, 3], "t": "size-mismatch", "u": "size-mismatch",
    }  # fmt: skip


def test_the_slope_of_prelu_expands_to_x_and_x_does_not_expand(check: Check) -> None:
    graph = """(float[2,3] x, float[3] a, float[2,1] b, float[1,3] c, float[4,2,3] d, float[1] e) => (float[] o)
        {xa = PRelu(x, a) xb = PRelu(x, b) cx = PRelu(c, x) xd = PRelu(x, d) xe = PRelu(x, e) ae = PRelu(a, e)}"""
    report = check(graph)
    assert verdicts(report) == {
        "xa": [2, 3], "xb": [2, 3], "cx": "size-mismatch", "xd": "rank-mismatch", "xe": [2, 3], "ae": [3],
    }  # fmt: skip
    assert [(value.role, value.name) for value in report.nodes[2].operands] == [("input 0", "c"), ("input 1", "x")]


def test_expand_broadcasts_with_the_shape_in_its_second_input(check: Check) -> None:
    graph = """(float[3,1] x, float[N,5] n, int64[2] two, int64[K] some) => (float[] o)
        <int64[3] init = {2,1,6}, int64[2] bad = {2,6}, int64[2] negative = {3,-1}>
        {a = Expand(x, init)
         b = Expand(x, bad)
         c = Expand(x, negative)
         inline = Constant<value_ints = [4,3,2]>()
         d = Expand(x, inline)
         shape = Shape(n)
         e = Expand(x, shape)
         f = Expand(x, two)
         g = Expand(x, some)
         zero = Constant<value_ints = [0]>()
         first = Gather(shape, zero)
         joined = Concat<axis = 0>(first, init)
         h = Expand(x, joined)}"""
    assert verdicts(check(graph)) == {
        "a": [2, 3, 6],
        "b": "size-mismatch",
        "c": "invalid-dimension",
        "d": [4, 3, 2],
        "e": ([3, 5], ["N == 3 or N == 1"]),
        "f": ([3, "?"], ["shape[0] == 3 or shape[0] == 1"]),
        "g": ("unknown-rank", "some"),
        "h": ["N", 2, 3, 6],
    }


def test_an_op_of_an_opset_with_another_rule_is_unchecked(check: Check) -> None:
    graph = """(float[2,3] x, float[2,3] y) => (float[] o)
        {a = Sum(x, x, x) b = Add<broadcast = 1>(x, y) c = PRelu(x, y) d = Mod(x, y)}"""
    assert verdicts(check(graph, opset=7)) == {
        "a": ("undefined", "7", "Sum"), "b": [2, 3], "c": [2, 3],
        "d": ("undefined", "7", "Mod"),
    }  # fmt: skip
    old = verdicts(check(graph, opset=6))
    assert (old["b"], old["c"]) == (("undefined", "6", "Add"), ("undefined", "6", "PRelu"))


def test_ops_of_other_domains_are_skipped_and_both_names_of_onnx_domain_count(check: Check) -> None:
    graph = "(float[2] x, float[3] y) => (float[] o) {a = my.Add(x, y) b = ai.onnx.Add(x, y)}"
    assert verdicts(check(graph)) == {"b": "size-mismatch"}


# --- Against onnx and onnxruntime ------------------------------------------------------------

LIGHT = sorted(Path(onnx.__file__).parent.glob("backend/test/data/light/*.onnx"))


def test_findings_of_onnx_own_models_agree_with_its_inference() -> None:
    compared = 0
    for path in LIGHT:
        model = onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True)
        inferred = {value.name: _sizes(value) for value in (*model.graph.value_info, *model.graph.output)}
        report = axiscast.check_model(path)
        assert report.exit_status("needs") == 0
        nodes = {node.name or node.output[0]: node for node in model.graph.node}
        for name, shape in verdicts(report).items():
            assert shape == inferred[nodes[name].output[0]], (path.name, name)
            compared += 1
    assert compared > 400


def _sizes(value: Any) -> list[int | str]:
    return [
        size.dim_value if size.HasField("dim_value") else size.dim_param for size in value.type.tensor_type.shape.dim
    ]


def test_onnxruntime_returns_the_reported_shapes(check: Check) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    graph = """(float[N,1,3] x, float[M,1] y) => (float[] a, float[] b, float[] c, float[] d)
        <float[3] slope = {1,2,3}>
        {a = Add(x, y) b = PRelu(x, slope) s = Shape(x) c = Expand(y, s) l = Less(x, y) d = Where(l, x, y)}"""
    said = verdicts(check(graph))
    session = onnxruntime.InferenceSession(parsed(graph).SerializeToString(), providers=["CPUExecutionProvider"])
    for names in ({"N": 5, "M": 4}, {"N": 1, "M": 1}, {"N": 0, "M": 7}):
        x, y = np.ones((names["N"], 1, 3), np.float32), np.ones((names["M"], 1), np.float32)
        made = dict(zip("abcd", session.run(None, {"x": x, "y": y}), strict=True))
        shapes = {name: tuple(names.get(size, size) for size in said[name]) for name in "abcd"}
        assert {name: array.shape for name, array in made.items()} == shapes


# --- Matrices -----------------------------------------------------------------------------------


def test_the_c_of_gemm_expands_to_the_product(check: Check) -> None:
    graph = """(float[N,16] x, float[32,16] w, float[32] row, float[N,1] column, float[2,N,32] three, float scalar)
        => (float[] o)
        {a = Gemm<transB = 1>(x, w, row) b = Gemm<transB = 1>(x, w, column) c = Gemm<transB = 1>(x, w, three)
         d = Gemm<transB = 1>(x, w, scalar) e = Gemm<transB = 1>(x, w) f = Gemm<transA = 1>(x, x, row)
         g = Gemm(x, w, row) h = Gemm<transB = 1>(x, w, "")}"""
    report = check(graph)
    assert verdicts(report) == {
        "a": ["N", 32], "b": ["N", 32], "c": "rank-mismatch", "d": ["N", 32], "f": "size-mismatch",
        "g": "size-mismatch",
    }  # fmt: skip
    assert report.errors == ()


def test_before_opset_7_gemm_is_unchecked(check: Check) -> None:
    graph = "(float[2,3] x, float[3,4] w, float[4] c) => (float[] o) {o = Gemm<broadcast = 1>(x, w, c)}"
    assert verdicts(check(graph, opset=6)) == {"o": ("undefined", "6", "Gemm")}


def test_matmul_broadcasts_all_axes_except_the_last_two(check: Check) -> None:
    graph = """(float[B,8,S,64] q, float[B,1,64,S] k, float[64,3] w, float[3,S,64] three, float[64] v, float[8,T,3] t)
        => (float[] o)
        {a = MatMul(q, k) b = MatMul(q, w) c = MatMul(three, k) d = MatMul(w, w) e = MatMul(q, v) f = MatMul(q, t)}"""
    found = verdicts(check(graph))
    assert found == {
        "a": ["B", 8, "S", "S"], "b": ["B", 8, "S", 3], "c": ["B", 3, "S", "S"], "e": ["B", 8, "S"],
        "d": ("refused",),
        "f": (["B", 8, "S", 3], ["T == 64"]),
    }  # fmt: skip


def test_thousands_of_symbolic_nodes_are_checked(check: Check) -> None:
    nodes = range(3000)
    inputs = ", ".join(f"float[N{node}, A{node}] x{node}, float[M{node}, B{node}] y{node}" for node in nodes)
    outputs = ", ".join(f"float[?, ?] z{node}" for node in nodes)
    graph = f"({inputs}) => ({outputs}) {{ {' '.join(f'z{node} = Add(x{node}, y{node})' for node in nodes)} }}"
    report = check(graph)
    assert [finding.verdict for finding in report.nodes] == ["needs"] * 3000
    last = report.nodes[-1].answer
    assert last is not None
    assert formulas(last.conditions) == [
        "N2999 == M2999 or N2999 == 1 or M2999 == 1",
        "A2999 == B2999 or A2999 == 1 or B2999 == 1",
    ]
