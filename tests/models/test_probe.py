"""Probe: trials of a model at several sets of sizes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from conftest import Served
from onnx_models import parsed, saved

import axiscast
from axiscast import Client, Report, UnusableModel

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


def test_a_node_that_fails_at_every_set_of_sizes_is_incompatible(check: Check) -> None:
    report = check(POSITIONS, pos=(1, 12, 8))
    (finding,) = report.findings
    assert (finding.node, finding.kinds, report.exit_status()) == ("y", ("incompatible",), 1)
    assert finding.tried is not None
    assert (finding.tried.outcome, finding.tried.sets, sorted(finding.tried.sizes)) == ("fails", 2, ["batch", "seq"])
    batch, seq = finding.tried.sizes["batch"], finding.tried.sizes["seq"]
    assert [operand.shape for operand in finding.operands] == [(batch, seq, 8), (1, 12, 8)]
    assert (finding.pins[0].name, finding.pins[0].size) == ("seq", 12)
    assert f"does not broadcast for batch={batch}, seq={seq}: axis -2" in str(report)
    assert (
        "It fails for both sets of tried sizes. Use --example to try other sizes. "
        "It works only with seq = 12, although the file declares seq as dynamic." in str(report)
    )


def test_without_a_probe_a_pinned_size_is_a_warning(check: Check) -> None:
    report = check(POSITIONS, {"probe": False}, pos=(1, 12, 8))
    (finding,) = report.findings
    assert (finding.kinds, report.exit_status(), report.exit_status("pinned"), report.sizes) == (("pinned",), 0, 1, ())
    assert [(pin.name, pin.size, pin.or_one) for pin in finding.pins] == [("seq", 12, True)]


@pytest.mark.parametrize("limit", [4, 6, 16, 40, 100])
def test_a_size_with_an_upper_limit_is_a_note(check: Check, limit: int) -> None:
    """A table of positions, for one, can be cut for fewer tokens than it has rows, but not for more."""
    graph = """(float[batch,seq,8] x) => (float[a,b,8] y)
        {s = Shape<start = 1, end = 2>(x) p = Slice(pos, zero, s, one) y = Add(x, p)}"""
    report = check(graph, pos=(1, limit, 8), zero=[0], one=[1])
    assert (report.exit_status(), [finding.kinds for finding in report.findings]) == (0, [("depends",)])


def test_constants_of_many_integers_do_not_make_the_sizes_large(check: Check) -> None:
    graph = """(int64[batch,seq] ids) => (int64[a,b] y)
        {s = Shape<start = 1, end = 2>(ids) p = Slice(pos, zero, s, zero) y = Add(ids, p)}"""
    report = check(graph, pos=[*range(77)], zero=[0])
    assert report.exit_status() == 0
    assert max(report.sizes[0].values()) < 20


def test_an_example_at_which_the_model_runs_turns_an_error_into_a_warning(check: Check) -> None:
    report = check(POSITIONS, {"example": {"seq": 12}}, pos=(1, 12, 8))
    assert (report.findings[0].kinds, report.exit_status(), report.exit_status("pinned")) == (("pinned",), 0, 1)
    assert report.sizes[-1]["seq"] == 12
    assert check(POSITIONS, {"example": {"seq": 14}}, pos=(1, 12, 8)).exit_status() == 1


def test_the_sizes_in_the_metadata_of_ultralytics_are_tried(tmp_path: Path) -> None:
    grid = model("(float[batch,3,h,w] x) => (float[a,3,b,c] y) {y = Add(x, grid)}", grid=(1, 3, 34, 60))
    assert axiscast.check_model(saved(tmp_path / "model.onnx", grid)).exit_status() == 1
    grid.metadata_props.add(key="imgsz", value="[34, 60]")
    grid.metadata_props.add(key="batch", value="2")
    report = axiscast.check_model(saved(tmp_path / "model.onnx", grid))
    assert (report.exit_status(), report.sizes[-1]) == (0, {"batch": 2, "h": 34, "w": 60})


EXPORTERS = [
    ("x_dynamic_axes_1", "z_dynamic_axes_1"), ("s17", "s43"), ("unk__23", "unk__25"), ("?", "?"),
    ("batch", "z_dynamic_axes_1"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), EXPORTERS)
def test_generated_names_of_one_axis_are_also_tried_as_equal(check: Check, one: str, other: str) -> None:
    report = check(f"(float[{one},8] x, float[{other},8] z) => (float[a,8] y) {{y = Add(x, z)}}")
    assert report.exit_status() == 0
    (finding,) = report.findings
    assert (finding.kinds, finding.tried and finding.tried.outcome) == (("depends",), "partly")


def test_generated_names_of_different_axes_differ(check: Check) -> None:
    report = check("(float[s17,s43] x) => (float[a,b] y) {t = Transpose(x) y = Add(x, t)}")
    assert [finding.kinds for finding in report.findings] == [("incompatible",)]


def test_given_names_differ(check: Check) -> None:
    report = check("(float[batch,8] x, float[beams,8] z) => (float[a,8] y) {y = Add(x, z)}")
    assert [finding.kinds for finding in report.findings] == [("incompatible",)]


CACHE = """(float[batch,seq,8] q, float[batch,seq,8] k, float[batch,past,8] pk, float[batch,seq,{total}] m)
    => (float[a,b,c] y) {{kk = Concat<axis = 1>(pk, k) kt = Transpose<perm = [0,2,1]>(kk) s = MatMul(q, kt)
    y = Add(s, m)}}"""


def test_an_expression_of_names_has_the_value_of_the_names(tmp_path: Path) -> None:
    made = model(CACHE.format(total="total"))
    made.graph.input[3].type.tensor_type.shape.dim[2].dim_param = "past + seq"
    report = axiscast.check_model(saved(tmp_path / "model.onnx", made))
    assert (report.exit_status("depends"), report.findings, [*report.sizes[0]]) == (0, [], ["batch", "seq", "past"])


def test_a_name_that_must_be_a_sum_is_tried_as_that_sum(check: Check) -> None:
    report = check(CACHE.format(total="total"))
    assert (report.exit_status(), report.notes) == (0, ("total was tried as seq + past",))
    assert check(CACHE.format(total="seq")).exit_status() == 1


UNET = """(float[n,4,h,w] x) => (float[a,4,b,c] y) {
    d1 = MaxPool<kernel_shape = [2,2], strides = [2,2]>(x) d2 = MaxPool<kernel_shape = [2,2], strides = [2,2]>(d1)
    u1 = ConvTranspose<kernel_shape = [2,2], strides = [2,2]>(d2, k) s1 = Add(u1, d1)
    u0 = ConvTranspose<kernel_shape = [2,2], strides = [2,2]>(s1, k) y = Add(u0, x)}"""


def test_sizes_that_must_be_multiples_of_strides_are_a_note(check: Check) -> None:
    report = check(UNET, k=(4, 4, 2, 2))
    assert (report.exit_status(), report.exit_status("depends")) == (0, 1)
    assert {finding.kinds for finding in report.findings} == {("depends",)}
    assert "needs h to be a multiple of 4 and w to be a multiple of 4" in str(report)


def test_a_failure_behind_a_node_that_needs_multiples_is_found(check: Check) -> None:
    graph = """(float[n,w,4] x) => (float[a,b,4,4] y) {r = Reshape(x, to) y = Add(r, mask)}"""
    assert check(graph, to=[0, -1, 4, 4], mask=(1, 1, 4, 1)).exit_status() == 0
    report = check(graph, to=[0, -1, 4, 4], mask=(1, 8, 4, 1))
    assert [finding.kinds for finding in report.findings if finding.op == "Add"] == [("incompatible",)]


def test_an_op_that_pins_a_size_is_a_warning_and_the_other_nodes_are_tried(check: Check) -> None:
    report = check("(float[batch,seq,8] x) => (float[a,8] y) {r = Reshape(x, to) y = Add(r, v)}", to=[-1, 8], v=(8,))
    assert report.exit_status("depends") == 0
    report = check("(float[batch,4] x) => (float[a,4] y) {r = Reshape(x, to) y = Add(r, v)}", to=[2, 4], v=(4,))
    (finding,) = report.findings
    assert (finding.node, finding.op, finding.kinds) == ("r", "Reshape", ("pinned",))
    assert (finding.pins[0].name, finding.pins[0].size, report.exit_status(), report.exit_status("pinned")) == (
        "batch", 2, 0, 1,
    )  # fmt: skip


def test_a_size_that_must_be_a_multiple_is_tried_with_multiples_and_noted(check: Check) -> None:
    graph = "(float[n,w,4] x) => (float[a,b,4] y) {r = Reshape(x, to) m = Mul(r, r) y = Reshape(m, back)}"
    report = check(graph, to=[0, -1, 7, 4], back=[0, -1, 4])
    assert (report.exit_status(), {sizes["w"] % 7 for sizes in report.sizes}) == (0, {0})
    assert report.notes == ("w was tried only with multiples of 7, because Reshape r needs such a size",)
    assert "w was tried only with multiples of 7" in str(report)


def test_joined_axes_that_differ_are_unchecked(check: Check) -> None:
    report = check("(float[h,w] x) => (float[a,b] y) {t = Transpose(x) y = Concat<axis = 1>(x, t)}")
    (finding,) = report.findings
    assert (finding.op, finding.verdict, report.exit_status()) == ("Concat", "unchecked", 3)
    assert "It fails for both sets of tried sizes. Use --example to try other sizes." in str(report)


def test_values_from_which_shapes_are_computed_are_propagated_through_any_op(check: Check) -> None:
    """The exporter of torch writes `expand(-1, n)` like this, and onnx infers nothing about it."""
    graph = """(float[batch,1] x, float[batch,{n}] z) => (float[a,b] y)
        {{s = Shape(x) o = ConstantOfShape<value = int64[1] {{1}}>(two) k = Mul(o, minus) e = Equal(k, want)
          w = Where(e, s, want) g = Expand(x, w) y = Add(g, z)}}"""
    assert check(graph.format(n=6), two=[2], minus=[-1, -1], want=[-1, 6]).exit_status("depends") == 0
    report = check(graph.format(n=5), two=[2], minus=[-1, -1], want=[-1, 6])
    assert [finding.node for finding in report.findings if "incompatible" in finding.kinds] == ["y"]


def test_a_model_without_free_sizes_is_tried_once(check: Check) -> None:
    graph = """(float[3,1] x, float[3,{n}] z) => (float[a,b] y)
        {{e = Equal(minus, want) w = Where(e, six, want) g = Expand(x, w) y = Add(g, z)}}"""
    constants = {"minus": [-1, -1], "want": [3, -1], "six": [6, 6]}
    assert check(graph.format(n=6), **constants).exit_status("depends") == 0
    report = check(graph.format(n=5), **constants)
    assert [(finding.node, finding.kinds) for finding in report.findings] == [("y", ("incompatible",))]
    assert "g (3, 6) + z (3, 5) does not broadcast: axis -1 is 6 in g and 5 in z." in str(report)
    assert "were tried" not in str(report)


def test_subgraphs_are_tried(check: Check) -> None:
    loop = """(float[batch,8] x, int64 n, bool go) => (float[a,8] y) {y = Loop(n, go, zeros)
        <body = b (int64 i, bool c, float[2,8] s) => (bool k, float[2,8] t) {k = Identity(c) t = Add(s, x)}>}"""
    report = check(loop, zeros=(2, 8))
    assert [(finding.node, finding.kinds) for finding in report.findings] == [("y/body/t", ("incompatible",))]
    branch = """(float[batch,8] x) => (float[a,8] y) {s = Shape(x) n = ReduceMin<keepdims = 0>(s) c = Greater(n, big)
        y = If(c) <then_branch = t () => (float[p,8] u) {u = Add(x, two)},
                   else_branch = e () => (float[q,8] v) {v = Relu(x)}>}"""
    report = check(branch, big=1000, two=(2, 8))
    assert (report.exit_status(), [finding.kinds for finding in report.findings]) == (0, [("pinned",)])


def test_a_stated_shape_that_contradicts_the_inferred_one_is_reported(check: Check) -> None:
    report = check("(float[N,8] x) => (float[N,9] y) {y = Relu(x)}")
    (finding,) = report.findings
    assert (finding.node, finding.kinds, report.exit_status()) == ("y", ("contradicted",), 1)
    assert "The file states shape (N, 9) for y, but its inputs give (N, 8)" in str(report)
    assert check("(float[N,8] x) => (float[8] y) {y = Relu(x)}").exit_status() == 1
    assert check("(float[N,8] x) => (float[M,8] y) {y = Relu(x)}").exit_status() == 0


@pytest.mark.parametrize("op", ["Xor", "And", "Equal", "Constant", "Shape", "Reshape", "Loop", "Scan", "If", "LSTM"])
@pytest.mark.parametrize("emptied", ["input", "output", "attribute"])
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


SAME: list[tuple[str, dict[str, Any]]] = [
    (POSITIONS, {"pos": (1, 12, 8)}),
    (UNET, {"k": (4, 4, 2, 2)}),
    (CACHE.format(total="total"), {}),
    (CACHE.format(total="seq"), {}),
    ("(float[s1,8] x, float[s2,8] z) => (float[a,8] y) {y = Add(x, z)}", {}),
    ("(float[batch,4] x) => (float[a,4] y) {r = Reshape(x, to) y = Add(r, v)}", {"to": [2, 4], "v": (4,)}),
    ("(float[N,1] x, float[N] z) => (float[N,N] y) {y = Sub(x, z)}", {}),
    ("(float[N,8] x) => (float[N,9] y) {y = Relu(x)}", {}),
]


@pytest.mark.parametrize(("graph", "constants"), SAME)
def test_a_service_returns_the_same_findings(
    tmp_path: Path, service: Served, graph: str, constants: dict[str, Any]
) -> None:
    path = saved(tmp_path / "model.onnx", model(graph, **constants))
    with Client(service.url) as client:
        there = axiscast.check_model(path, check_batch=client.check_batch)
    here = axiscast.check_model(path)
    assert there.as_json() == here.as_json()
    assert str(there) == str(here)
    assert here.findings or here.notes
