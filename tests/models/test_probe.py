"""Probe: trials of a model at several sets of sizes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from cases import cases
from onnx_models import parsed, saved

import axiscast
from axiscast import Report, UnusableModel
from axiscast.messages.findings import Contradiction, SizeRule, Unchecked
from axiscast.words.operation_code import operation_code

Check = Callable[..., Report]


def model(graph: str, **constants: Any) -> Any:
    """Return a model with constants. A tuple is the shape of a weight, and a list or a number is integers."""
    made = parsed(graph)
    for name, value in constants.items():
        array = np.ones(value, np.float32) if isinstance(value, tuple) else np.array(value, np.int64)
        made.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return made


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Return the report of check_model for a graph with constants."""

    def run(graph: str, options: dict[str, Any] | None = None, **constants: Any) -> Report:
        return axiscast.check_model(saved(tmp_path / "model.onnx", model(graph, **constants)), **(options or {}))

    return run


POSITIONS = "(float[batch,seq,8] x) => (float[a,b,8] y) {h = Relu(x) y = Add(h, pos)}"


def rules(report: Report) -> dict[str, list[str]]:
    """Return the rules of each node that fails in a trial, as text."""
    found = {finding.node: finding.failure for finding in report.findings}
    return {node: [text(rule) for rule in failure.rules] for node, failure in found.items() if failure}


def text(rule: SizeRule) -> str:
    sides = [*(f"{factor}{name}" for name, factor in rule.terms), *([str(rule.size)] if rule.size else [])]
    return f"{rule.name} {rule.kind} {' + '.join(sides)}"


def test_a_size_that_the_file_declares_free_but_fixes_is_pinned(check: Check) -> None:
    report = check(POSITIONS, pos=(1, 12, 8))
    (finding,) = report.findings
    assert (finding.node, finding.kinds, report.exit_status(), report.exit_status("incompatible")) == (
        "y", ("pinned",), 1, 1,
    )  # fmt: skip
    assert (rules(report), finding.failure and finding.failure.rules[0].or_one) == ({"y": ["seq equal 12"]}, True)
    assert len(report.sizes) == 3


PINNED: list[tuple[str, str, dict[str, Any]]] = [
    ("Add", "y = Add(x, w)", {"w": (1, 12, 8)}),
    ("Concat", "z = ConstantOfShape(to) y = Concat<axis = 2>(x, z)", {"to": [1, 12, 8]}),
    ("Reshape", "y = Reshape(x, to)", {"to": [1, 12, 8]}),
    ("Expand", "y = Expand(x, to)", {"to": [1, 12, 8]}),
    ("MatMul", "y = MatMul(w, x)", {"w": (3, 12)}),
    ("Einsum", 'y = Einsum<equation = "bsd,sd->bd">(x, w)', {"w": (12, 8)}),
    ("LayerNormalization", "y = LayerNormalization<axis = 1>(x, w)", {"w": (12, 8)}),
    ("Split", "y, z = Split<axis = 1>(x, parts)", {"parts": [5, 7]}),
    ("ScatterND", "y = ScatterND(w, index, x)", {"w": (1, 12, 8), "index": [[0]]}),
    ("BatchNormalization", "y = BatchNormalization(x, w, w, w, w)", {"w": (12,)}),
]


@cases(("op", "nodes", "constants"), PINNED, ids=[op for op, _, _ in PINNED])
def test_the_kind_and_the_exit_status_of_a_pinned_size_do_not_depend_on_the_op(
    check: Check, op: str, nodes: str, constants: dict[str, Any]
) -> None:
    report = check(f"(float[1,seq,8] x) => (float[] o) {{{nodes}}}", **constants)
    assert [(finding.op, finding.kinds) for finding in report.findings] == [(op, ("pinned",))]
    assert (rules(report), report.exit_status()) == ({report.findings[0].node: ["seq equal 12"]}, 1)


NEEDS: list[tuple[str, str, dict[str, Any], str]] = [
    ("two names", "y = Add(x, z)", {}, "t equal 1seq"),
    ("a table that is sliced", "s = Shape<start = 1, end = 2>(x) p = Slice(w, zero, s, one) y = Add(x, p)",
     {"w": (1, 100, 8), "zero": [0], "one": [1]}, "seq at-most 100"),
    ("the best of fewer", "y, i = TopK<axis = 1>(x, k)", {"k": [10]}, "seq at-least 10"),
    ("a row that is not there", "y = Gather<axis = 1>(x, k)", {"k": 21}, "seq at-least 22"),
    ("the last rows", "y = Gather<axis = 1>(x, k)", {"k": [-1, -30]}, "seq at-least 30"),
    ("windows", "y = Reshape(x, to)", {"to": [1, -1, 7, 8]}, "seq multiple 7"),
    ("a reflection", 'y = Pad<mode = "reflect">(x, pads)', {"pads": [0, 20, 0, 0, 0, 0]}, "seq at-least 21"),
    ("a join", "c = Concat<axis = 1>(x, x) y = Add(c, z)", {}, "t equal 2seq"),
    ("one more", "c = Concat<axis = 1>(x, w) y = Add(c, z)", {"w": (1, 1, 8)}, "t equal 1seq + 1"),
]  # fmt: skip


@cases(("name", "nodes", "constants", "rule"), NEEDS, ids=[name for name, *_ in NEEDS])
def test_a_rule_for_a_size_is_found(check: Check, name: str, nodes: str, constants: dict[str, Any], rule: str) -> None:
    report = check(f"(float[1,seq,8] x, float[1,t,8] z) => (float[] o) {{{nodes}}}", **constants)
    assert ([*rules(report).values()], report.exit_status(), report.exit_status("needs")) == ([[rule]], 0, 1)
    assert {kind for finding in report.findings for kind in finding.kinds} == {"needs"}


def test_a_product_of_two_names_is_solved_for(check: Check) -> None:
    graph = """(float[batch,3,h,w] x) => (float[a,b,8] y) {c = Conv<strides = [16,16], kernel_shape = [16,16]>(x, k)
        f = Reshape(c, flat) t = Transpose<perm = [0,2,1]>(f) y = Add(t, pos)}"""
    report = check(graph, k=(8, 3, 16, 16), flat=[0, 8, -1], pos=(1, 196, 8))
    assert rules(report) == {"y": ["h equal 224", "w equal 224"]}


def test_sizes_without_a_solution_are_incompatible(check: Check) -> None:
    report = check("(float[n,8] x) => (float[] o) {c = Concat<axis = 0>(x, x) y = Add(c, w)}", w=(7, 8))
    (finding,) = report.findings
    assert (finding.kinds, report.exit_status("incompatible")) == (("incompatible",), 1)
    assert (finding.failure and (len(finding.failure.sizes) > 0, finding.failure.rules)) == (True, ())


def test_a_node_that_only_onnx_refuses_is_unchecked_without_the_text_of_onnx(check: Check) -> None:
    report = check("(float[N,3] x) => (float[] o) {y = Transpose<perm = [0,1,2]>(x)}")
    (finding,) = report.findings
    assert (finding.kinds, report.exit_status()) == (("unchecked",), 3)
    assert (finding.unchecked, finding.failure) == (Unchecked("refused"), None)


def test_equal_sizes_that_are_equal_by_chance_are_no_square(check: Check) -> None:
    graph = """(float[{points},3] x) => (float[a,b] y)
        {{m = MatMul(x, w) s = ReduceSum<keepdims = 0>(m, axis) y = Mul(s, q)}}"""
    for points in (20, 21):
        assert check(graph.format(points=points), w=(3, 1), axis=[1], q=(20, 1)).findings == []
    alone = (
        "(float[20,3] x) => (float[a,b] y) {s = ReduceSum<keepdims = 0>(x, axis) t = ReduceSum(x, axis) y = Mul(s, t)}"
    )
    assert [finding.kinds for finding in check(alone, axis=[1]).findings] == [("square",)]


def test_without_a_probe_only_named_sizes_are_compared(check: Check) -> None:
    report = check(POSITIONS, {"probe": False}, pos=(1, 12, 8))
    (finding,) = report.findings
    assert (finding.kinds, report.exit_status(), report.exit_status("needs"), report.sizes) == (("needs",), 0, 1, ())


def test_constants_of_many_integers_do_not_make_the_sizes_large(check: Check) -> None:
    graph = """(int64[batch,seq] ids) => (int64[a,b] y)
        {s = Shape<start = 1, end = 2>(ids) p = Slice(pos, zero, s, zero) y = Add(ids, p)}"""
    report = check(graph, pos=[*range(77)], zero=[0])
    assert report.exit_status() == 0
    assert max(report.sizes[0].values()) < 20


def test_an_example_is_tried_as_a_solution(check: Check) -> None:
    graph = "(float[h,w,8] x) => (float[] o) {y = Reshape(x, to)}"
    assert rules(check(graph, to=[240, 8])) == {"y": ["h equal 8", "w equal 30"]}
    assert rules(check(graph, {"example": {"h": 12, "w": 20}}, to=[240, 8])) == {"y": ["h equal 12", "w equal 20"]}


@cases(("one", "other"), [("x_axis_1", "z_axis_1"), ("s17", "s43"), ("batch", "beams")])
def test_names_that_must_be_equal_are_a_need(check: Check, one: str, other: str) -> None:
    report = check(f"(float[{one},8] x, float[{other},8] z) => (float[a,8] y) {{y = Add(x, z)}}")
    assert (rules(report), report.exit_status()) == ({"y": [f"{other} equal 1{one}"]}, 0)
    square = check(f"(float[{one},{other}] x) => (float[a,b] y) {{t = Transpose(x) y = Add(x, t)}}")
    assert rules(square) == {"y": [f"{other} equal 1{one}"]}


def test_two_pairs_of_names_that_must_be_equal_are_one_finding(check: Check) -> None:
    report = check("(float[a,b,8] x, float[c,d,8] z) => (float[] o) {y = Add(x, z)}")
    assert rules(report) == {"y": ["d equal 1b", "c equal 1a"]}


CACHE = """(float[batch,seq,8] q, float[batch,seq,8] k, float[batch,past,8] pk, float[batch,seq,{total}] m)
    => (float[a,b,c] y) {{kk = Concat<axis = 1>(pk, k) kt = Transpose<perm = [0,2,1]>(kk) s = MatMul(q, kt)
    y = Add(s, m)}}"""


def test_an_expression_of_names_has_the_value_of_the_names(tmp_path: Path) -> None:
    made = model(CACHE.format(total="total"))
    made.graph.input[3].type.tensor_type.shape.dim[2].dim_param = "past + seq"
    report = axiscast.check_model(saved(tmp_path / "model.onnx", made))
    assert (report.exit_status("needs"), report.findings, [*report.sizes[0]]) == (0, [], ["batch", "seq", "past"])


def test_a_name_that_must_be_a_sum_is_a_need(check: Check) -> None:
    report = check(CACHE.format(total="total"))
    assert (report.exit_status(), rules(report)) == (0, {"y": ["total equal 1seq + 1past"]})
    assert check(CACHE.format(total="seq")).exit_status() == 1


UNET = """(float[n,4,h,w] x) => (float[a,4,b,c] y) {
    d1 = MaxPool<kernel_shape = [2,2], strides = [2,2]>(x) d2 = MaxPool<kernel_shape = [2,2], strides = [2,2]>(d1)
    u1 = ConvTranspose<kernel_shape = [2,2], strides = [2,2]>(d2, k) s1 = Add(u1, d1)
    u0 = ConvTranspose<kernel_shape = [2,2], strides = [2,2]>(s1, k) y = Add(u0, x)}"""


def test_sizes_that_must_be_multiples_of_strides_are_a_need(check: Check) -> None:
    report = check(UNET, k=(4, 4, 2, 2))
    assert (report.exit_status(), report.exit_status("needs")) == (0, 1)
    assert rules(report) == {node: ["w multiple 4", "h multiple 4"] for node in ("s1", "y")}


def test_a_failure_behind_a_node_that_needs_multiples_is_found(check: Check) -> None:
    graph = """(float[n,w,4] x) => (float[a,b,4,4] y) {r = Reshape(x, to) y = Add(r, mask)}"""
    assert rules(check(graph, to=[0, -1, 4, 4], mask=(1, 1, 4, 1))) == {"r": ["w multiple 4"]}
    report = check(graph, to=[0, -1, 4, 4], mask=(1, 8, 4, 1))
    assert rules(report) == {"r": ["w multiple 4"], "y": ["w equal 32"]}


def test_values_from_which_shapes_are_computed_are_propagated_through_any_op(check: Check) -> None:
    """The exporter of torch writes `expand(-1, n)` like this, and onnx infers nothing about it."""
    graph = """(float[batch,1] x, float[batch,{n}] z) => (float[a,b] y)
        {{s = Shape(x) o = ConstantOfShape<value = int64[1] {{1}}>(two) k = Mul(o, minus) e = Equal(k, want)
          w = Where(e, s, want) g = Expand(x, w) y = Add(g, z)}}"""
    assert check(graph.format(n=6), two=[2], minus=[-1, -1], want=[-1, 6]).exit_status("needs") == 0
    report = check(graph.format(n=5), two=[2], minus=[-1, -1], want=[-1, 6])
    assert [finding.node for finding in report.findings if "incompatible" in finding.kinds] == ["y"]


def test_a_model_without_free_sizes_is_tried_once(check: Check) -> None:
    graph = """(float[3,1] x, float[3,{n}] z) => (float[a,b] y)
        {{e = Equal(minus, want) w = Where(e, six, want) g = Expand(x, w) y = Add(g, z)}}"""
    constants = {"minus": [-1, -1], "want": [3, -1], "six": [6, 6]}
    assert check(graph.format(n=6), **constants).exit_status("needs") == 0
    report = check(graph.format(n=5), **constants)
    assert [(finding.node, finding.kinds) for finding in report.findings] == [("y", ("incompatible",))]
    (found,) = report.findings
    assert (operation_code(found), found.failure and found.failure.sizes) == ("g (3, 6) + z (3, 5)", {})


MULTIPLES = {
    "y = DepthToSpace<blocksize = 2>(x)": ["C multiple 4"],
    "y = SpaceToDepth<blocksize = 4>(x)": ["H multiple 4"],
    "y = GroupNormalization<num_groups = 8>(x, one, one)": ["C multiple 8"],
}


@cases(("node", "rule"), MULTIPLES.items())
def test_a_channel_or_a_height_that_must_be_a_multiple_is_a_need(check: Check, node: str, rule: list[str]) -> None:
    report = check(f"(float[2,C,H,8] x) => (float[a,b,c,d] y) {{{node}}}", one=(1,))
    assert rules(report) == {"y": rule}


@cases("target", ["Constant<value_ints = [8, -1]>()", "Constant<value = int64[2] {8, -1}>()"])
def test_a_constant_node_may_be_the_target_of_a_reshape(check: Check, target: str) -> None:
    report = check(f"(float[n,4] x) => (float[a,b] y) {{t = {target} y = Reshape(x, t)}}")
    assert rules(report) == {"y": ["n multiple 2"]}


def test_subgraphs_are_tried(check: Check) -> None:
    loop = """(float[batch,8] x, int64 n, bool go) => (float[a,8] y) {y = Loop(n, go, zeros)
        <body = b (int64 i, bool c, float[2,8] s) => (bool k, float[2,8] t) {k = Identity(c) t = Add(s, x)}>}"""
    assert rules(check(loop, zeros=(2, 8))) == {"y/body/t": ["batch equal 2"]}
    branch = """(float[batch,8] x) => (float[a,8] y) {s = Shape(x) n = ReduceMin<keepdims = 0>(s) c = Greater(n, big)
        y = If(c) <then_branch = t () => (float[p,8] u) {u = Add(x, two)},
                   else_branch = e () => (float[q,8] v) {v = Relu(x)}>}"""
    assert check(branch, big=1000, two=(2, 8)).findings == []
    assert rules(check(branch, big=6, two=(2, 8))) == {"y/then_branch/u": ["batch at-most 6"]}


def test_a_stated_shape_that_contradicts_the_inferred_one_is_reported(check: Check) -> None:
    report = check("(float[N,8] x) => (float[N,9] y) {y = Relu(x)}")
    (finding,) = report.findings
    assert (finding.node, finding.kinds, report.exit_status()) == ("y", ("contradicted",), 1)
    assert finding.contradiction == Contradiction("y", ("N", 9), ("N", 8))
    assert check("(float[N,8] x) => (float[8] y) {y = Relu(x)}").exit_status() == 1
    assert check("(float[N,8] x) => (float[M,8] y) {y = Relu(x)}").exit_status() == 0


@cases("op", ["Xor", "And", "Equal", "Constant", "Shape", "Reshape", "Loop", "Scan", "If", "LSTM"])
@cases("emptied", ["input", "output", "attribute"])
def test_a_node_without_its_inputs_or_outputs_does_not_crash(tmp_path: Path, op: str, emptied: str) -> None:
    broken = parsed("(float[N,3] x, float[N,3] z) => (float[N,3] o) {a = Add(x, z) o = Relu(x)}")
    broken.graph.node[0].op_type = op
    if emptied != "attribute":
        del getattr(broken.graph.node[0], emptied)[:]
    with suppress(UnusableModel):
        assert axiscast.check_model(saved(tmp_path / "model.onnx", broken)).exit_status() in (0, 3)


def test_an_impossible_size_gets_no_number(tmp_path: Path) -> None:
    broken = parsed("(float[N,3] x) => (float[a] o) {o = Relu(x)}")
    broken.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "4294967296*N*4294967296"
    assert axiscast.check_model(saved(tmp_path / "model.onnx", broken)).exit_status() == 1  # another rank


def test_tried_sizes_are_inside_the_assumed_ranges(check: Check) -> None:
    graph = "(float[batch,seq,8] x) => (float[a,b,8] y) {y = Add(x, pos)}"
    report = check(graph, {"assume": {"seq": "12..12", "batch": "2..4"}}, pos=(1, 12, 8))
    assert report.exit_status() == 0
    assert all(sizes["seq"] == 12 and 2 <= sizes["batch"] <= 4 for sizes in report.sizes)


def test_unknown_names_and_invalid_sizes_are_refused(check: Check) -> None:
    with pytest.raises(axiscast.InvalidRequest, match="example/K: the model has no size of this name"):
        check(POSITIONS, {"example": {"K": 3}}, pos=(1, 12, 8))
    with pytest.raises(axiscast.InvalidRequest, match="example/seq: must be an integer"):
        check(POSITIONS, {"example": {"seq": "2.."}}, pos=(1, 12, 8))
