"""tensorcast check of ONNX models: which nodes broadcast; against written-out verdicts, onnx and onnxruntime."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from conftest import Served, run

from tensorcast import Client
from tensorcast.cli import main

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402

from tensorcast.cli.model import read  # noqa: E402

Check = Callable[..., Result]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """`tensorcast check` of a model, or of a graph as onnx writes it: `(inputs) => (outputs) { nodes }`."""

    def run(model: Any, *arguments: str, opset: int = 21) -> Result:
        path = tmp_path / "model.onnx"
        onnx.save(parsed(model, opset) if isinstance(model, str) else model, path)
        return CliRunner().invoke(main, ["check", str(path), *arguments])

    return run


@pytest.fixture(params=["here", "from a service"])
def url(request: pytest.FixtureRequest, service: Served) -> list[str]:
    return [] if request.param == "here" else ["--url", service.url]


def parsed(graph: str, opset: int = 21) -> Any:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}, "my": 1]> graph {graph}')


def verdicts(result: Result) -> dict[str, Any]:
    """Of each node in a JSON report: the shape that comes out, with the conditions if there are any; the code of the
    conflict; or why the node is not judged."""
    assert result.exit_code in (0, 1), result.output
    return {node["node"]: _verdict(node) for node in json.loads(result.output)["nodes"]}


def _verdict(node: dict[str, Any]) -> Any:
    match node["verdict"]:
        case "not_judged":
            return node["reason"]
        case "incompatible":
            return node["answer"]["conflict"]["code"]
    shape = node["answer"]["outputs"][0]["shape"]
    if node["verdict"] == "compatible":
        return shape
    return shape, [condition["text"] for condition in node["answer"]["conditions"]]


THREE = """(float[N,64,7,7] x, float[64] bias, float[M,1,7,1] m) => (float[] y)
    {a = Add(x, bias) b = Add(x, m) y = Mul(x, x)}"""
CONFLICT = """\
Add a
  input 0  x     (N, 64, 7, 7)
  input 1  bias  (64,)
  incompatible (size-mismatch): On output axis 3, input 0 of shape (N, 64, 7, 7) has size 7 but input 1 of shape (64,) \
has size 64: sizes that meet must be equal, or 1 to be stretched.
  hint: reshape input 1 to (64, 1, 1), x[:, None, None]: it then fits

"""
DEPENDS = """\
Add b
  input 0  x  (N, 64, 7, 7)
  input 1  m  (M, 1, 7, 1)
  compatible if N == M or N == 1 or M == 1: (?, 64, 7, 7)

"""
FITS = """\
Mul y
  input 0  x  (N, 64, 7, 7)
  input 1  x  (N, 64, 7, 7)
  compatible: (N, 64, 7, 7)

"""
SUMMARY = "nodes that broadcast: 3 (1 compatible, 1 depending on sizes, 1 incompatible, 0 not judged)\n"


def test_the_report_names_what_does_not_fit_or_depends_and_with_all_the_rest(check: Check, url: list[str]) -> None:
    done = check(THREE, *url)
    assert (done.exit_code, done.output) == (1, CONFLICT + DEPENDS + SUMMARY)
    assert check(THREE, "--all", *url).output == CONFLICT + DEPENDS + FITS + SUMMARY


def test_the_json_report_has_every_node(check: Check, url: list[str]) -> None:
    report = json.loads(check(THREE, "--json", *url).output)
    assert report["counts"] == {"nodes": 3, "compatible": 1, "depends": 1, "incompatible": 1, "not_judged": 0}
    assert report["inference_error"].startswith("(op_type:Add): [ShapeInferenceError] Incompatible dimensions")
    conflict = report["nodes"][0]
    assert (conflict["node"], conflict["op_type"], conflict["verdict"]) == ("a", "Add", "incompatible")
    assert conflict["inputs"][1] == {"role": "input 1", "name": "bias", "shape": [64]}
    assert conflict["answer"]["conflict"]["sizes"] == [7, 64]


def test_what_depends_on_sizes_is_no_failure_and_assumptions_settle_it(check: Check) -> None:
    graph = "(float[N,3] x, float[M,3] y, float[N] z) => (float[] o) {a = Add(x, y) b = Add(z, z)}"
    assert check(graph).exit_code == 0
    depends = (["?", 3], ["N == M or N == 1 or M == 1"])
    assert verdicts(check(graph, "--json", "--assume", "N=1..8")) == {"a": depends, "b": ["N"]}
    assert verdicts(check(graph, "--json", "--assume", "N=2..", "--assume", "M=1")) == {"a": ["N", 3], "b": ["N"]}
    assert check(graph, "--assume", "N=2", "--assume", "M=3").exit_code == 1


# --- The ops ------------------------------------------------------------------------------------

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
def test_inputs_of_the_multidirectional_ops_stretch_to_each_other(check: Check, opset: int) -> None:
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
    assert verdicts(check(model, "--json")) == expected


def test_where_max_min_mean_and_sum_take_more_inputs(check: Check) -> None:
    graph = """(bool[2,1] c, float[3] x, float[4,1,1] y, float[4] z) => (float[] o)
        {w = Where(c, x, y) v = Where(c, x, z) m = Max(x) s = Sum(x, y, x, y) t = Mean(x, y, z) u = Min(y, x, z)}"""
    assert verdicts(check(graph, "--json")) == {
        "w": [4, 2, 3], "v": "size-mismatch", "m": [3], "s": [4, 1, 3], "t": "size-mismatch", "u": "size-mismatch",
    }  # fmt: skip


def test_the_slope_of_prelu_stretches_into_x_and_x_not_at_all(check: Check) -> None:
    graph = """(float[2,3] x, float[3] a, float[2,1] b, float[1,3] c, float[4,2,3] d, float[1] e) => (float[] o)
        {xa = PRelu(x, a) xb = PRelu(x, b) cx = PRelu(c, x) xd = PRelu(x, d) xe = PRelu(x, e) ae = PRelu(a, e)}"""
    done = check(graph, "--json")
    assert verdicts(done) == {
        "xa": [2, 3], "xb": [2, 3], "cx": "size-mismatch", "xd": "rank-mismatch", "xe": [2, 3], "ae": [3],
    }  # fmt: skip
    given = json.loads(done.output)["nodes"][2]["inputs"]
    assert [(value["role"], value["name"]) for value in given] == [("input 0", "x"), ("target", "c")]


def test_expand_takes_the_shape_that_its_second_input_holds(check: Check) -> None:
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
    done = check(graph, "--json")
    assert verdicts(done) == {
        "a": [2, 3, 6],
        "b": "size-mismatch",
        "c": "invalid-dimension",
        "d": [4, 3, 2],
        "e": ([3, 5], ["N == 3 or N == 1"]),
        "f": ([3, "?"], ["shape[0] == 3 or shape[0] == 1"]),
        "g": "rank unknown: input 1 (some)",
        "h": ["N", 2, 3, 6],
    }


LEGACY = [
    ("broadcast = 1", "2,3,4,5", "1", [2, 3, 4, 5]),
    ("broadcast = 1", "2,3,4,5", "1,1", [2, 3, 4, 5]),
    ("broadcast = 1", "5", "1,1", "rank-mismatch"),
    ("broadcast = 1", "2,3,4,5", "4,5", [2, 3, 4, 5]),
    ("broadcast = 1, axis = 1", "2,3,4,5", "3,4", [2, 3, 4, 5]),
    ("broadcast = 1, axis = 0", "2,3,4,5", "2", [2, 3, 4, 5]),
    ("broadcast = 1", "2,3,4,5", "3,4", "size-mismatch"),
    ("broadcast = 1, axis = 3", "2,3,4,5", "5,1", "rank-mismatch"),
    ("broadcast = 1", "5", "4,5", "rank-mismatch"),
    ("broadcast = 1, axis = 1", "2,N,4", "M,4", ([2, "N", 4], ["M == N"])),
    ("broadcast = 1, axis = -1", "2,3", "3", "before opset 7 no rule says what a negative axis means"),
    ("broadcast = 1", "2,3", "1,3", "before opset 7 the rule has no size 1 that is stretched, and yet models have"),
    (
        "broadcast = 1",
        "2,3",
        "N",
        "before opset 7 it matters whether all sizes of input 1 are 1, and that is not known",
    ),
    ("broadcast = 0", "2,3", "2,3", [2, 3]),
    ("broadcast = 0", "2,3", "3", "rank-mismatch"),
    ("broadcast = 0", "2,3", "2,1", "size-mismatch"),
]


@pytest.mark.parametrize(("attributes", "one", "other", "expected"), LEGACY)
@pytest.mark.parametrize("op", ["Add", "Greater"])
def test_before_opset_7_the_second_input_is_a_run_of_the_first_ones_axes(
    check: Check, op: str, attributes: str, one: str, other: str, expected: Any
) -> None:
    graph = f"(float[{one}] x, float[{other}] y) => (float[] o) {{z = {op}<{attributes}>(x, y)}}"
    assert verdicts(check(graph, "--json", opset=6)) == {"z": expected}


def test_before_opset_8_the_inputs_of_sum_have_one_shape_and_later_ops_are_not_there(check: Check) -> None:
    graph = """(float[2,3] x, float[2,1] y, float[3] z) => (float[] o)
        {a = Sum(x, x, x) b = Max(x, y) c = Mean(x, x, z) d = PRelu(x, y) e = Add(x, y) f = Mod(x, y)}"""
    assert verdicts(check(graph, "--json", opset=7)) == {
        "a": [2, 3], "b": "size-mismatch", "c": "rank-mismatch", "d": [2, 3], "e": [2, 3],
        "f": "opset 7 has no Mod, or one of another rule",
    }  # fmt: skip
    assert verdicts(check(graph, "--json", opset=6))["d"] == "opset 6 has no PRelu, or one of another rule"


def test_ops_of_other_domains_are_none_of_onnxs_whose_domain_has_two_names(check: Check) -> None:
    graph = "(float[2] x, float[3] y) => (float[] o) {a = my.Add(x, y) b = ai.onnx.Add(x, y)}"
    assert verdicts(check(graph, "--json")) == {"b": "size-mismatch"}


# --- Shapes and names ---------------------------------------------------------------------------


def test_the_same_unknown_size_stays_the_same_wherever_it_goes(check: Check) -> None:
    graph = """(float[?,3] x, float[?,3] y) => (float[] o)
        {r = Relu(x) a = Add(x, r) b = Add(x, y) n = NonZero(x) c = Mul(n, n)}"""
    found = verdicts(check(graph, "--json"))
    (two, found_by_onnx) = found.pop("c")
    assert (two, found_by_onnx[:5]) == (2, "unk__")
    assert found == {
        "a": ["unknown_0", 3],
        "b": (["?", 3], ["inputs[0][0] == inputs[1][0] or inputs[0][0] == 1 or inputs[1][0] == 1"]),
    }


def test_names_of_sizes_become_names_and_stay_apart(check: Check) -> None:
    named = ["a.b", "a_b", "a b", "2N", "\N{GREEK SMALL LETTER ALPHA}", "n" * 300, "n" * 301]
    inputs = [helper.make_tensor_value_info(f"v{number}", 1, [name]) for number, name in enumerate(named)]
    nodes = [helper.make_node("Add", [f"v{number}", f"v{number}"], [f"same{number}"]) for number in range(len(named))]
    nodes += [helper.make_node("Add", ["v1", f"v{number}"], [f"other{number}"]) for number in range(len(named))]
    found = verdicts(check(helper.make_model(helper.make_graph(nodes, "graph", inputs, [])), "--json"))
    names = [found[f"same{number}"][0] for number in range(len(named))]
    assert names == ["a_b_3", "a_b", "a_b_2", "_2N", "_", "n" * 80, "n" * 80 + "_2"]
    assert found["other1"] == ["a_b"]
    assert found["other0"] == (["?"], ["a_b == a_b_3 or a_b == 1 or a_b_3 == 1"])


@pytest.mark.parametrize("meant", [-1, "?"])
def test_a_negative_size_and_a_question_mark_are_sizes_that_are_not_known(check: Check, meant: int | str) -> None:
    inputs = [helper.make_tensor_value_info(name, 1, [meant, 3]) for name in "xy"]
    model = helper.make_model(helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "graph", inputs, []))
    (shape, conditions) = verdicts(check(model, "--json"))["z"]
    assert (shape, len(conditions)) == (["?", 3], 1)


def test_nodes_of_subgraphs_and_functions_are_named_with_the_path_to_them(check: Check) -> None:
    graph = """(float[2,3] x, float[4] y, bool c, int64 trips) => (float[] o)
        <int64[2] outer = {2,4}>
        {i = If(c) <then_branch = t () => (float[] p) {p = Add(x, y)},
                    else_branch = e () => (float[] q) {s = Expand(x, outer) q = Add(x, x)}>
         l = Loop(trips, c, x) <body = b (int64 n, bool g, float[2,3] state) => (bool k, float[] next)
                    {k = Identity(g) next = Add(state, y)}>
         f = my.scale(x, y)
         g = my.old(x, y)}
        <domain: "my", opset_import: ["": 21, "my": 1]> scale (m, b) => (r) {r = my.times(m, b)}
        <domain: "my", opset_import: ["": 21]> times (m, b) => (r) {[inner] t = Mul(m, b) r = Identity(t)}
        <domain: "my", opset_import: ["": 18]> old (m, b) => (r) {r = Mul(m, b)}"""
    assert verdicts(check(graph, "--json")) == {
        "i/then_branch/p": "size-mismatch",
        "i/else_branch/s": "size-mismatch",
        "i/else_branch/q": [2, 3],
        "l/body/next": "size-mismatch",
        "times/inner__2": "size-mismatch",
        "g": "this function is written for another opset than the model",
    }


def test_stretching_and_new_axes_are_no_matter_for_a_warning(check: Check) -> None:
    done = check("(float[8,1,6,1] x, float[7,1,5] y) => (float[] o) {a = Add(x, y)}", "--all")
    assert done.output.splitlines()[3:5] == ["  compatible: (8, 7, 6, 5)", ""]


def test_weights_are_not_read_whether_they_are_there_or_not(check: Check) -> None:
    model = parsed("(float[2,300] x) => (float[] o) {a = Add(x, w) b = Add(x, far)}")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((300,), np.float32), "w"))
    model.graph.initializer.append(onnx.TensorProto(name="far", data_type=1, dims=[2, 1], data_location=1))
    model.graph.initializer[-1].external_data.add(key="location", value="absent.bin")
    assert verdicts(check(model, "--json")) == {"a": [2, 300], "b": [2, 300]}


def test_weights_in_the_file_are_forgotten_at_once(tmp_path: Path) -> None:
    weight = onnx.numpy_helper.from_array(np.ones(100_000, np.float32), "w")
    model = parsed("""(float[1] x, bool c) => (float[] o)
        {y = If(c) <then_branch = t () => (float[] p) {p = Add(x, w)},
                    else_branch = e () => (float[] q) {q = Neg(x)}>}""")
    model.graph.initializer.append(weight)
    model.graph.node[0].attribute[0].g.initializer.append(weight)
    model.graph.node.append(helper.make_node("Constant", [], ["v"], value=weight))
    onnx.save(model, tmp_path / "model.onnx")
    assert read(tmp_path / "model.onnx").graph.ByteSize() < 2000


def test_what_the_file_says_of_other_values_counts_only_where_nothing_is_inferred(check: Check) -> None:
    graph = """(float[2,4] x, float[3] y) => (float[2,3] o)
        <float[2,3] r, float[2,3] m>
        {r = Relu(x) m = my.Magic(x) a = Add(r, y) b = Add(m, y) o = Relu(x) c = Add(o, y)}"""
    assert verdicts(check(graph, "--json")) == {"a": "size-mismatch", "b": [2, 3], "c": "size-mismatch"}


def test_constants_that_old_models_list_among_their_inputs_are_constants(check: Check) -> None:
    graph = """(float[3] x, int64[2] shape, float[3] stale) => (float[] o)
        <int64[2] shape = {2,3}, float[4] stale = {1,2,3,4}> {e = Expand(x, shape) a = Add(x, stale)}"""
    model = parsed(graph, 8)
    model.ir_version = 3
    assert verdicts(check(model, "--json")) == {"e": [2, 3], "a": "size-mismatch"}


def test_where_onnx_can_infer_no_shapes_the_report_says_what_stops_it(check: Check) -> None:
    done = check("(float[2,3] x, float[4,5] y) => (float[] o) {m = MatMul(x, y) a = Add(m, x)}")
    assert done.exit_code == 0
    summary, stop = done.output.splitlines()
    assert summary == "nodes that broadcast: 1 (0 compatible, 0 depending on sizes, 0 incompatible, 1 not judged)"
    assert stop.startswith(
        "onnx can't infer shapes from (op_type:MatMul): [ShapeInferenceError] Incompatible dimensions"
    )


def test_a_model_of_more_sizes_than_one_batch_takes_is_asked_in_several(
    check: Check, service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = []
    ask = Client.check_batch
    monkeypatch.setattr(
        Client, "check_batch", lambda self, requests: batches.append(len(requests)) or ask(self, requests)
    )
    inputs = [helper.make_tensor_value_info(f"v{size}", 1, [size, 7, 7, 7]) for size in range(1500)]
    nodes = [helper.make_node("Add", [f"v{size}", "v2"], [f"s{size}"]) for size in range(1500)]
    model = helper.make_model(helper.make_graph(nodes, "graph", inputs, []))
    found = verdicts(check(model, "--json", "--url", service.url))
    assert (len(found), len(batches), sum(batches)) == (1500, 2, 1500)
    fits = {name: shape for name, shape in found.items() if shape != "size-mismatch"}
    assert fits == {"s1": [2, 7, 7, 7], "s2": [2, 7, 7, 7]}


def test_an_input_that_is_changed_breaks_the_node_where_it_shows(check: Check) -> None:
    """One node in turn gets another weight, in a chain that was fine."""
    graph = "(float[N,8] x0) => (float[] o) {" + " ".join(f"x{n + 1} = Mul(x{n}, w{n})" for n in range(12)) + "}"
    for broken in range(0, 12, 5):
        model = parsed(graph)
        for number in range(12):
            size = 9 if number == broken else 8
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(size, np.float32), f"w{number}"))
        found = verdicts(check(model, "--json"))
        assert [name for name, verdict in found.items() if verdict == "size-mismatch"] == [f"x{broken + 1}"]


# --- Files that are not as they should be -------------------------------------------------------


def bomb(depth: int) -> bytes:
    """A model whose functions call each other twice, level by level."""
    functions = [
        f'<domain: "my", opset_import: ["my": 1]> f{level} (p) => (r) {{q = my.f{level + 1}(p) r = my.f{level + 1}(q)}}'
        for level in range(depth)
    ]
    last = f'<domain: "my", opset_import: ["": 21]> f{depth} (p) => (r) {{r = Add(p, p)}}'
    model: bytes = parsed("(float[3] x) => (float[] o) {o = my.f0(x)}" + "".join(functions) + last).SerializeToString()
    return model


def calling_itself() -> bytes:
    function = '<domain: "my", opset_import: ["my": 1]> f (p) => (r) {r = my.f(p)}'
    model: bytes = parsed("(float[3] x) => (float[] o) {o = my.f(x)}" + function).SerializeToString()
    return model


BROKEN: dict[str, Callable[[], bytes]] = {
    "is no ONNX model: it has no graph, or names no opset": lambda: b"",
    "is no ONNX model: Error parsing message": lambda: b"\x80\x04K\x01.",
    "is no ONNX model: Error parsing": lambda: parsed(THREE).SerializeToString()[:-20],
    "has some 1099511627776 nodes, functions counted at each call, and 100000 are the most": lambda: bomb(40),
    "has a function that calls itself, 'f'": calling_itself,
    "is an ONNX model whose shapes onnx can't infer: [TypeInferenceError] Cannot infer type and shape for node": (
        lambda: parsed("(float[3] x) => (float[] o) {o = your.f(x)}").SerializeToString()
    ),
}


@pytest.mark.parametrize(("said", "content"), BROKEN.items(), ids=BROKEN)
def test_a_file_that_is_no_good_model_is_a_mistake_said_in_one_line(
    tmp_path: Path, said: str, content: Callable[[], bytes]
) -> None:
    (tmp_path / "model.onnx").write_bytes(content())
    _fails(f"model.onnx {said}", str(tmp_path / "model.onnx"))


def _fails(said: str, *arguments: str) -> None:
    done = CliRunner().invoke(main, ["check", *arguments])
    assert (done.exit_code, type(done.exception)) == (2, SystemExit)
    last = done.output.splitlines()[-1]
    assert last.startswith("Error: ")
    assert said in last


def test_a_file_that_can_not_be_read_is_a_mistake(tmp_path: Path) -> None:
    _fails("absent.onnx does not exist", str(tmp_path / "absent.onnx"))
    (tmp_path / "folder.onnx").mkdir()
    _fails("folder.onnx is no file", str(tmp_path / "folder.onnx"))
    with (tmp_path / "large.onnx").open("wb") as file:
        file.truncate(2**31)
    _fails("has 2147483648 bytes, and a model 2147483647 at most", str(tmp_path / "large.onnx"))


MISUSED = [
    (["model.onnx", "3,4"], "3,4 can't stand beside a model"),
    (["3,4", "model.onnx"], "3,4 can't stand beside a model"),
    (["model.onnx", "--op", "onnx.Expand"], "--op can't stand beside a model"),
    (["model.onnx", "--broadcast-axes", "0"], "--broadcast-axes can't stand beside a model"),
    (["3,4", "--all"], "--all is for a model"),
    (["{model}", "--assume", "K=3"], "--assume K: no size of the model has this name: the names are M, N"),
    (["{model}", "--assume", "N=5..3"], "assume/N: a range runs upwards"),
    (["{model}", "--url", "http://127.0.0.1:1"], "is the service up at this address?"),
]


@pytest.mark.parametrize(("arguments", "said"), MISUSED, ids=[said for _, said in MISUSED])
def test_a_mistake_says_what_would_be_right(tmp_path: Path, arguments: list[str], said: str) -> None:
    onnx.save(parsed(THREE), tmp_path / "model.onnx")
    _fails(said, *(argument.format(model=tmp_path / "model.onnx") for argument in arguments))


def test_names_in_a_file_do_not_steer_the_terminal(check: Check) -> None:
    model = parsed("(float[2] x, float[3] y) => (float[] o) {o = Add(x, y)}")
    model.graph.node[0].name = "\x1b[2Jnode\n" + "x" * 1000
    done = check(model)
    assert done.output.startswith("Add \N{REPLACEMENT CHARACTER}[2Jnode\N{REPLACEMENT CHARACTER}xxx")
    assert max(map(len, done.output.splitlines())) < 300
    model.graph.node[0].op_type = "MatMul"
    model.graph.node.append(helper.make_node("Neg", ["o"], ["n"]))
    model.graph.node.append(helper.make_node("Add", ["n", "x"], ["a"]))
    assert (
        check(model).output.splitlines()[-1].startswith("onnx can't infer shapes from (op_type:MatMul, node name: ?[2J")
    )


def test_names_that_are_no_text_are_shown_all_the_same(check: Check, tmp_path: Path) -> None:
    content = parsed("(float[2] xxxx, float[3] y) => (float[] o) {o = Add(xxxx, y)}").SerializeToString()
    (tmp_path / "model.onnx").write_bytes(content.replace(b"xxxx", b"\xff\xfexx"))
    done = CliRunner().invoke(main, ["check", str(tmp_path / "model.onnx")])
    assert (done.exit_code, "input 0  \\xff\\xfexx" in done.output) == (1, True)


def test_without_onnx_the_command_says_what_to_install() -> None:
    program = "import sys; sys.modules['onnx'] = None; from tensorcast.cli import main; main(['check', 'model.onnx'])"
    done = run([sys.executable, "-c", program])
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2,
        "Error: reading a model takes the package onnx: pip install 'tensorcast[onnx]'",
    )


# --- Against onnx and onnxruntime ---------------------------------------------------------------

LIGHT = sorted(Path(onnx.__file__).parent.glob("backend/test/data/light/*.onnx"))


def test_the_models_that_onnx_ships_come_out_as_onnx_infers_them() -> None:
    compared = 0
    for path in LIGHT:
        model = onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True)
        inferred = {value.name: _sizes(value) for value in (*model.graph.value_info, *model.graph.output)}
        done = CliRunner().invoke(main, ["check", str(path), "--json"])
        assert done.exit_code == 0
        nodes = {node.name or node.output[0]: node for node in model.graph.node}
        for name, shape in verdicts(done).items():
            assert shape == inferred[nodes[name].output[0]], (path.name, name)
            compared += 1
    assert compared > 400


def _sizes(value: Any) -> list[int | str]:
    return [
        size.dim_value if size.HasField("dim_value") else size.dim_param for size in value.type.tensor_type.shape.dim
    ]


def test_onnxruntime_makes_the_shapes_that_are_said(check: Check) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    graph = """(float[N,1,3] x, float[M,1] y) => (float[] a, float[] b, float[] c, float[] d)
        <float[3] slope = {1,2,3}>
        {a = Add(x, y) b = PRelu(x, slope) s = Shape(x) c = Expand(y, s) l = Less(x, y) d = Where(l, x, y)}"""
    said = verdicts(check(graph, "--json"))
    session = onnxruntime.InferenceSession(parsed(graph).SerializeToString(), providers=["CPUExecutionProvider"])
    for names in ({"N": 5, "M": 4}, {"N": 1, "M": 1}, {"N": 0, "M": 7}):
        x, y = np.ones((names["N"], 1, 3), np.float32), np.ones((names["M"], 1), np.float32)
        made = dict(zip("abcd", session.run(None, {"x": x, "y": y}), strict=True))
        shapes = {name: tuple(names.get(size, size) for size in said[name]) for name in "abcd"}
        assert {name: array.shape for name, array in made.items()} == shapes
