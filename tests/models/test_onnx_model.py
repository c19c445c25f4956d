"""ONNX files: shapes, names, and invalid files."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import Check, checks, parsed, saved, verdicts

import axiscast
from axiscast import UnusableModel
from axiscast.models.check import OLDEST_ONNX
from axiscast.models.onnx.inference import infer_model, prepare_model


@pytest.fixture
def check(tmp_path: Path) -> Check:
    return checks(tmp_path)


def test_an_unknown_size_keeps_one_name_in_all_nodes(check: Check) -> None:
    graph = """(float[?,3] x, float[?,3] y) => (float[] o)
        {r = Relu(x) a = Add(x, r) b = Add(x, y) n = NonZero(x) c = Mul(n, n)}"""
    found = verdicts(check(graph))
    (two, found_by_onnx) = found.pop("c")
    assert (two, found_by_onnx[:5]) == (2, "unk__")
    assert found == {
        "a": ["unknown_0", 3],
        "b": (["?", 3], ["inputs[0][0] == inputs[1][0] or inputs[0][0] == 1 or inputs[1][0] == 1"]),
    }


def test_different_size_names_become_different_identifiers(check: Check) -> None:
    named = ["a.b", "a_b", "a b", "2N", "\N{GREEK SMALL LETTER ALPHA}", "n" * 300, "n" * 301]
    inputs = [helper.make_tensor_value_info(f"v{number}", 1, [name]) for number, name in enumerate(named)]
    nodes = [helper.make_node("Add", [f"v{number}", f"v{number}"], [f"same{number}"]) for number in range(len(named))]
    nodes += [helper.make_node("Add", ["v1", f"v{number}"], [f"other{number}"]) for number in range(len(named))]
    found = verdicts(check(helper.make_model(helper.make_graph(nodes, "graph", inputs, []))))
    names = [found[f"same{number}"][0] for number in range(len(named))]
    assert names == ["a_b_3", "a_b", "a_b_2", "_2N", "_", "n" * 80, "n" * 80 + "_2"]
    assert found["other1"] == ["a_b"]
    assert found["other0"] == (["?"], ["a_b == a_b_3 or a_b == 1 or a_b_3 == 1"])


@pytest.mark.parametrize("meant", [-1, "?"])
def test_negative_sizes_and_question_marks_are_unknown_sizes(check: Check, meant: int | str) -> None:
    inputs = [helper.make_tensor_value_info(name, 1, [meant, 3]) for name in "xy"]
    model = helper.make_model(helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "graph", inputs, []))
    (shape, conditions) = verdicts(check(model))["z"]
    assert (shape, len(conditions)) == (["?", 3], 1)


def test_the_names_of_nodes_in_subgraphs_and_functions_begin_with_their_path(check: Check) -> None:
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
    assert verdicts(check(graph)) == {
        "i/then_branch/p": "size-mismatch",
        "i/else_branch/s": "size-mismatch",
        "i/else_branch/q": [2, 3],
        "l/body/next": "size-mismatch",
        "times/inner__2": "size-mismatch",
        "g": ("other-opset",),
    }


def test_weights_are_not_read_whether_their_file_exists_or_not(check: Check) -> None:
    model = parsed("(float[2,300] x) => (float[] o) {a = Add(x, w) b = Add(x, far)}")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((300,), np.float32), "w"))
    model.graph.initializer.append(onnx.TensorProto(name="far", data_type=1, dims=[2, 1], data_location=1))
    model.graph.initializer[-1].external_data.add(key="location", value="absent.bin")
    assert verdicts(check(model)) == {"a": [2, 300], "b": [2, 300]}


def test_weights_in_the_file_are_dropped_at_once(tmp_path: Path) -> None:
    weight = onnx.numpy_helper.from_array(np.ones(100_000, np.float32), "w")
    model = parsed("""(float[1] x, bool c) => (float[] o)
        {y = If(c) <then_branch = t () => (float[] p) {p = Add(x, w)},
                    else_branch = e () => (float[] q) {q = Neg(x)}>}""")
    model.graph.initializer.append(weight)
    model.graph.node[0].attribute[0].g.initializer.append(weight)
    model.graph.node.append(helper.make_node("Constant", [], ["v"], value=weight))
    onnx.save(model, tmp_path / "model.onnx")
    assert infer_model(prepare_model(tmp_path / "model.onnx")).graph.ByteSize() < 2000


def test_stated_shapes_count_only_where_nothing_can_be_inferred(check: Check) -> None:
    graph = """(float[2,4] x, float[3] y) => (float[2,3] o)
        <float[2,3] r, float[2,3] m>
        {r = Relu(x) m = my.Magic(x) a = Add(r, y) b = Add(m, y) o = Relu(x) c = Add(o, y)}"""
    assert verdicts(check(graph, probe=True)) == {"a": "size-mismatch", "b": [2, 3], "c": "size-mismatch"}


def test_sizes_that_are_not_inferred_come_from_the_trials(check: Check) -> None:
    graph = """(float[N,3,8] x, float[N,8] y) => (float[] o)
        {s = Shape(x) t = Reshape(y, three) e = Expand(t, s) c = Add(e, x)}"""
    model = parsed(graph)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0, 1, 8]), "three"))
    assert verdicts(check(model, probe=True)) == {"e": ["N", 3, 8], "c": ["N", 3, 8]}


def test_stated_shapes_of_inputs_and_weights_are_ignored(check: Check) -> None:
    """Exporters write these shapes. If a user edits a weight only, onnx fails because the two shapes differ."""
    graph = """(float[N,8] x) => (float[N,8] o) <float[8] w, float[N,9] x, float[N,8] h> {h = Add(x, w) o = Relu(h)}"""
    model = parsed(graph)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(9, np.float32), "w"))
    report = check(model)
    assert verdicts(report) == {"h": "size-mismatch"}
    assert (report.exit_status(), report.errors) == (1, ())


def test_equal_expressions_are_one_size(check: Check) -> None:
    inputs = [
        helper.make_tensor_value_info(name, 1, ["N", size])
        for name, size in {"x": "(((H - 1)//2)) + 1", "y": "1 + (H-1)//2", "z": "H//2"}.items()
    ]
    nodes = [helper.make_node("Add", ["x", "y"], ["a"]), helper.make_node("Add", ["x", "z"], ["b"])]
    model = helper.make_model(helper.make_graph(nodes, "graph", inputs, []))
    one = "H_minus_1_div_2_plus_1"
    assert verdicts(check(model)) == {
        "a": ["N", one],
        "b": (["N", "?"], [f"{one} == H_div_2 or {one} == 1 or H_div_2 == 1"]),
    }
    assert verdicts(check(model, assume={"H": 64})) == {"a": ["N", 32], "b": ["N", 32]}
    assert verdicts(check(model, assume={"H": 63}))["b"] == "size-mismatch"


def test_messages_show_the_expression_of_a_size_and_json_its_name(check: Check) -> None:
    inputs = [
        helper.make_tensor_value_info("x", 1, ["Min(512, seq)", 3]),
        helper.make_tensor_value_info("y", 1, ["seq", 3]),
        helper.make_tensor_value_info("z", 1, ["a\n::error::\x1b[31m", 3]),
    ]
    nodes = [helper.make_node("Add", ["x", "y"], ["a"]), helper.make_node("Add", ["y", "z"], ["b"])]
    first, second = check(helper.make_model(helper.make_graph(nodes, "graph", inputs, []))).as_json()["nodes"]
    assert "Min(512, seq)" in first["message"]
    assert "Min_512_seq" not in first["message"]
    assert first["inputs"][0]["shape"] == ["Min_512_seq", 3]
    shown = "y (seq, 3) + z (a\N{REPLACEMENT CHARACTER}::error::\N{REPLACEMENT CHARACTER}[31m, 3)"
    assert shown in second["message"]


def test_an_assumed_size_is_set_before_shapes_are_inferred(check: Check) -> None:
    graph = """(float[N,C,H,H] x, float[1,1,7,7] y) => (float[] o)
        {p = MaxPool<kernel_shape = [2,2], strides = [2,2]>(x) a = Add(p, y)}"""
    assert verdicts(check(graph, assume={"H": 14, "N": "2.."})) == {"a": ["N", "C", 7, 7]}
    assert verdicts(check(graph, assume={"H": 15})) == {"a": ["N", "C", 7, 7]}
    assert verdicts(check(graph, assume={"H": 16})) == {"a": "size-mismatch"}
    model = parsed("(float[?,3] x, float[4,3] y) => (float[] o) {a = Add(x, y)}")
    assert verdicts(check(model, assume={"unknown_0": 4})) == {"a": [4, 3]}
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "a.b"
    for name in ("a.b", "a_b"):
        assert verdicts(check(model, assume={name: 4})) == {"a": [4, 3]}
    with pytest.raises(axiscast.InvalidRequest, match="assume/K: the model has no size of this name; its named"):
        check(model, assume={"K": 4})
    with pytest.raises(axiscast.InvalidRequest, match="must go from a smaller to a larger size"):
        check(model, assume={"a_b": "5..3"})


def test_constants_that_are_also_inputs_are_constants(check: Check) -> None:
    graph = """(float[3] x, int64[2] shape, float[3] stale) => (float[] o)
        <int64[2] shape = {2,3}, float[4] stale = {1,2,3,4}> {e = Expand(x, shape) a = Add(x, stale)}"""
    model = parsed(graph, 8)
    model.ir_version = 3
    assert verdicts(check(model)) == {"e": [2, 3], "a": "size-mismatch"}


def test_a_node_that_onnx_cannot_infer_is_unchecked_with_its_name_and_shapes(check: Check) -> None:
    report = check("(float[2,3] x, float[4,5] y) => (float[] o) {m = MatMul(x, y) a = Add(m, x) r = Relu(m)}")
    assert verdicts(report) == {"m": ("refused",), "a": ("unknown-rank", "m")}
    assert [operand.shape for operand in report.nodes[0].operands] == [(2, 3), (4, 5)]
    assert (report.exit_status(), report.errors) == (3, ())


def test_each_inference_fault_is_reported_once_also_in_subgraphs(check: Check) -> None:
    graph = """(float[2,3] x, float[4,5] y, bool c) => (float[] o)
        {i = If(c) <then_branch = t () => (float[] p) {p = MatMul(x, y)},
                    else_branch = e () => (float[] q) {q = Neg(x)}>
         a = Add(x, y) c = Concat<axis = 0>(x, y) s = Neg(c)}"""
    report = check(graph)
    assert [(found.node, found.op, found.verdict) for found in report.nodes] == [
        ("i/then_branch/p", "MatMul", "unchecked"),
        ("a", "Add", "incompatible"),
        ("c", "Concat", "unchecked"),
    ]
    assert report.errors == ()


def test_a_changed_weight_breaks_the_node_that_uses_it(check: Check) -> None:
    """In a valid chain of nodes, one node at a time gets another weight."""
    graph = "(float[N,8] x0) => (float[] o) {" + " ".join(f"x{n + 1} = Mul(x{n}, w{n})" for n in range(12)) + "}"
    for broken in range(0, 12, 5):
        model = parsed(graph)
        for number in range(12):
            size = 9 if number == broken else 8
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(size, np.float32), f"w{number}"))
        found = verdicts(check(model))
        assert [name for name, verdict in found.items() if verdict == "size-mismatch"] == [f"x{broken + 1}"]


# --- Invalid files -------------------------------------------------------------------------------


def bomb(depth: int) -> bytes:
    """Return a model whose functions call each other twice, level by level."""
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
    "is not an ONNX model: it has no graph or no opset": lambda: b"",
    "is not an ONNX model: Error parsing message": lambda: b"\x80\x04K\x01.",
    "is not an ONNX model: Error parsing": lambda: parsed(
        "(float[2] x) => (float[] o) {o = Add(x, x)}"
    ).SerializeToString()[:-20],
    "has about 1099511627776 nodes after its functions are inlined, more than the limit of 100000": lambda: bomb(40),
    "has a function that calls itself: 'f'": calling_itself,
    "is an ONNX model whose shapes onnx can't infer: [TypeInferenceError] Cannot infer type and shape for node": (
        lambda: parsed("(float[3] x) => (float[] o) {o = your.f(x)}").SerializeToString()
    ),
}


@pytest.mark.parametrize(("said", "content"), BROKEN.items(), ids=BROKEN)
def test_an_invalid_model_is_reported_in_one_line(tmp_path: Path, said: str, content: Callable[[], bytes]) -> None:
    (tmp_path / "model.onnx").write_bytes(content())
    _fails(said, tmp_path / "model.onnx")


def _fails(said: str, path: Path) -> None:
    with pytest.raises(UnusableModel) as raised:
        axiscast.check_model(path)
    assert str(raised.value).startswith(f"{path}: {said}")
    assert (raised.value.path, raised.value.reason) == (str(path), str(raised.value).removeprefix(f"{path}: "))
    assert "\n" not in str(raised.value)


def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    _fails("does not exist", tmp_path / "absent.onnx")
    (tmp_path / "folder.onnx").mkdir()
    _fails("is not a file", tmp_path / "folder.onnx")
    with (tmp_path / "large.onnx").open("wb") as file:
        file.truncate(2**31)
    _fails("has 2147483648 bytes, more than 2147483647", tmp_path / "large.onnx")


HOSTILE = {
    "a cycle": "{a = Add(b, x) b = Add(a, x) o = Relu(b)}",
    "an input that is nowhere": "{o = Add(x, absent)}",
    "no names": '{o = Add(x, "") p = Expand(x, "")}',
    "one name twice": "{o = Add(x, x) o = Add(x, o)}",
}


@pytest.mark.parametrize("nodes", HOSTILE.values(), ids=HOSTILE)
def test_an_impossible_graph_is_unchecked(check: Check, nodes: str) -> None:
    report = check(f"(float[2] x) => (float[2] o) {nodes}")
    assert (report.exit_status(), report.counts["unchecked"] > 0) == (3, True)


@pytest.mark.parametrize("written", ["no JSON", "5", '["N", {}]'])
def test_metadata_of_the_file_under_the_readers_own_keys_is_ignored(tmp_path: Path, written: str, check: Check) -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 21]>
        graph (float[N,1] x, int64[2] s) => (float[a,b] o) {o = Expand(x, s)}"""
    )
    model.graph.node[0].metadata_props.add(key="axiscast.output", value=written)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    assert check(model).exit_status() == 0


def test_a_node_without_inputs_has_a_name(check: Check) -> None:
    with pytest.raises(UnusableModel, match=r"\(op_type:Add, node name: o\): Input 0 is out of bounds"):
        check("(float[2] x) => (float[2] o) {o = Add()}")


def test_a_shape_with_too_many_axes_is_unchecked(check: Check) -> None:
    inputs = [helper.make_tensor_value_info(name, 1, [1] * 5000) for name in "xy"]
    model = helper.make_model(helper.make_graph([helper.make_node("Add", ["x", "y"], ["a"])], "graph", inputs, []))
    report = check(model)
    assert (report.exit_status(), report.nodes[0].unchecked[0]) == (3, "limit")


def test_names_that_are_not_utf_8_are_shown_with_escapes(tmp_path: Path) -> None:
    content = parsed("(float[2] xxxx, float[3] y) => (float[] o) {o = Add(xxxx, y)}").SerializeToString()
    (tmp_path / "model.onnx").write_bytes(content.replace(b"xxxx", b"\xff\xfexx"))
    report = axiscast.check_model(tmp_path / "model.onnx")
    assert report.nodes[0].operands[0].name == "\\xff\\xfexx"


def test_a_stack_trace_that_is_not_utf_8_still_has_lines(tmp_path: Path) -> None:
    model = parsed("(float[2] x, float[3] y) => (float[] o) {o = Add(x, y)}")
    model.graph.node[0].metadata_props.add(key="pkg.torch.onnx.stack_trace", value='File "/a.py", line 3, in xxxx')
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString().replace(b"xxxx", b"\xff\xfexx"))
    assert axiscast.check_model(tmp_path / "model.onnx").nodes[0].line == 3


def test_a_model_with_external_weights_is_read_without_them(tmp_path: Path) -> None:
    model = parsed("(float[N,1] x) => (float[] o) {a = Add(x, w) m = MatMul(x, w)}")
    weight = onnx.TensorProto(name="w", data_type=1, dims=[1, 2**29], data_location=1)
    weight.external_data.add(key="location", value="weights.bin")
    model.graph.initializer.append(weight)
    path = saved(tmp_path / "model.onnx", model)
    assert (path.stat().st_size < 1000, verdicts(axiscast.check_model(path))) == (True, {"a": ["N", 2**29]})


def test_a_source_line_is_the_innermost_outside_of_packages(check: Check) -> None:
    model = parsed("(float[2] x, float[3] y) => (float[] o) {a = Add(x, y) b = Mul(x, y) c = Sub(x, y)}")
    frames = [
        ("/home/me/train.py", 5),
        ("/home/me/net.py", 17),
        ("/usr/lib/python3.11/site-packages/torch/nn/modules/linear.py", 125),
        ("<eval_with_key>.80", 10),
    ]
    trace = "\n".join(f'  File "{file}", line {line}, in forward\n    x + y' for file, line in frames)
    only_packages = f'File "{frames[2][0]}", line 3, in f'
    for node, value in zip(model.graph.node, (trace, only_packages, "no trace"), strict=True):
        node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=value)
    assert [(found.file, found.line) for found in check(model).nodes] == [
        ("/home/me/net.py", 17), (None, None), (None, None),
    ]  # fmt: skip


def test_a_missing_or_old_onnx_is_reported_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.onnx").touch()
    monkeypatch.setattr(onnx, "__version__", "1.9.0")
    with pytest.raises(ImportError, match=r"needs onnx 1.23 or later, but 1.9.0 is installed: pip install"):
        axiscast.check_model(tmp_path / "model.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"needs onnx 1.23 or later: pip install 'onnx>=1.23'"):
        axiscast.check_model(tmp_path / "model.onnx")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["onnx"] == [f"onnx>={OLDEST_ONNX}"]


def test_a_stated_shape_before_a_failing_node_is_used_for_its_requirement(check: Check) -> None:
    """By inference alone the product fits, because its last axis is unknown. By the stated shape it does not."""
    graph = """(float[N,8] x, int64[2] to) => (float[N,4] o) <float[N,8] r, float[N,4] m, float[N,4] b>
        {r = Reshape(x, to) m = MatMul(r, w) b = Add(m, bias) o = Relu(b)}"""
    model = parsed(graph)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((9, 4), np.float32), "w"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((4,), np.float32), "bias"))
    assert [(finding.node, finding.kinds) for finding in check(model, probe=True).findings] == [
        ("m", ("incompatible",))
    ]


@pytest.mark.parametrize(
    "graph",
    [
        "(float[4611686018427387904] x) => (float[] o) {o = Add(x, x)}",
        "(float[N] x) => (float[] o) <int64[1] s = {4611686018427387904}> {r = Reshape(x, s) o = Add(r, r)}",
    ],
)
def test_a_vector_of_any_length_is_checked_quickly(check: Check, graph: str) -> None:
    """Without a limit, onnx would make a list with that many entries."""
    assert verdicts(check(graph)) == {"o": [4611686018427387904]}
