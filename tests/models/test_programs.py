"""check_torch and check_jax on recorded programs, and on torch and jax if they are installed (`make models`)."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import axiscast
from axiscast.models.programs import jax_trace, torch_export
from axiscast.models.programs.program_report import ProgramSizes, report_program

FOLDER = Path(__file__).parents[1] / "programs"

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),  # torch's warning about the loss, and Dynamo's own
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),  # torch calls its own deprecated functions
]


class Node(SimpleNamespace):
    """A node of a graph, which has a hash."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__


class Symbol:
    """A size of torch, with its text and the environment of its symbols."""

    def __init__(self, text: str, environment: Mapping[str, Any]) -> None:
        self.text = text
        sources = {
            symbol: [SimpleNamespace(name=name) for name in names] for symbol, names in environment["sources"].items()
        }
        known = SimpleNamespace(var_to_sources=sources, source_name_to_debug_name=environment["names"])
        self.node = SimpleNamespace(shape_env=known)

    def __str__(self) -> str:
        return self.text


def recorded_torch(name: str = "torch", **environment: Any) -> axiscast.Report:
    """Return the report of a recorded program. `environment` replaces the recorded facts about its symbols."""
    recorded = json.loads((FOLDER / f"{name}.json").read_text())
    known = recorded["environment"] | environment
    modules = {
        path: SimpleNamespace(graph=SimpleNamespace(nodes=graph_of(nodes, known)))
        for path, nodes in recorded["graphs"].items()
    }
    signature = SimpleNamespace(
        inputs_to_parameters=recorded["parameters"], inputs_to_buffers={}, inputs_to_lifted_tensor_constants={}
    )
    program = SimpleNamespace(graph_signature=signature, graph_module=SimpleNamespace(named_modules=modules.items))
    names = ProgramSizes(torch_export.given_names(program))
    return report_program("recorded", [*torch_export.torch_operations(program, names)], {})


def graph_of(recorded: list[dict[str, Any]], environment: Mapping[str, Any]) -> list[Any]:
    nodes: dict[str, Any] = {}

    def argument_of(argument: Any) -> Any:
        return nodes[argument["node"]] if isinstance(argument, dict) else argument

    for each in recorded:
        tags = [SimpleNamespace(name="pointwise")] if each["pointwise"] else []
        target = type("Target", (), {"tags": tags, "__str__": lambda self, name=each["target"]: name})()
        meta: dict[str, Any] = {"stack_trace": each["stack_trace"], "torch_fn": each["torch_fn"]}
        if each["shape"] is not None:
            sizes = [size if isinstance(size, int) else Symbol(size, environment) for size in each["shape"]]
            is_floating = each["dtype"].startswith("torch.float")
            meta["val"] = SimpleNamespace(
                shape=sizes, dtype=SimpleNamespace(is_floating_point=is_floating, is_complex=False)
            )
        arguments = [
            [*map(argument_of, argument)] if isinstance(argument, list) else argument_of(argument)
            for argument in each["args"]
        ]
        nodes[each["name"]] = Node(name=each["name"], target=target, args=arguments, meta=meta)
    return [*nodes.values()]


def recorded_jax() -> axiscast.Report:
    recorded = json.loads((FOLDER / "jax.json").read_text())
    values: dict[int, Any] = {}
    return report_program(
        "recorded", jax_trace.jax_operations(jaxpr_of(recorded, values), ProgramSizes(), "/site-packages/jax/"), {}
    )


def jaxpr_of(recorded: Mapping[str, Any], values: dict[int, Any]) -> Any:
    class Value:
        def __init__(self, each: Mapping[str, Any]) -> None:
            self.aval = SimpleNamespace(shape=tuple(each["shape"]), dtype=SimpleNamespace(kind=each["kind"]))

    def value(each: Mapping[str, Any]) -> Any:
        if "number" in each:
            return values.setdefault(each["number"], Value(each))
        literal = Value(each)
        literal.val = 0.0  # type: ignore[attr-defined]
        return literal

    equations = []
    for each in recorded["equations"]:
        frames = [
            SimpleNamespace(file_name=file, function_name=name, line_num=line) for file, name, line in each["frames"]
        ]
        inner = {key: [jaxpr_of(each, values) for each in called] for key, called in each["jaxprs"].items()}
        equations.append(
            SimpleNamespace(
                primitive=SimpleNamespace(name=each["primitive"]),
                invars=[*map(value, each["invars"])],
                outvars=[*map(value, each["outvars"])],
                params=each["params"]
                | {key: called[0] if len(called) == 1 else called for key, called in inner.items()},
                source_info=SimpleNamespace(traceback=SimpleNamespace(frames=frames)),
            )
        )
    variables = {key: [*map(value, recorded[key])] for key in ("invars", "constvars", "outvars")}
    return SimpleNamespace(eqns=equations, **variables)


def real_torch(**how: bool) -> axiscast.Report:
    from programs import of_torch

    return axiscast.check_torch(of_torch.program(**how))


def real_jax() -> axiscast.Report:
    from programs import of_jax

    return axiscast.check_jax(of_jax.traced())


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed")


CASES = [
    pytest.param("of_torch.py", recorded_torch, id="torch as recorded"),
    pytest.param("of_jax.py", recorded_jax, id="jax as recorded"),
    pytest.param("of_torch.py", partial(recorded_torch, "torch_decomposed"), id="torch decomposed, as recorded"),
    pytest.param("of_torch.py", real_torch, id="torch", marks=needs("torch")),
    pytest.param("of_torch.py", partial(real_torch, is_strict=True), id="torch, strict", marks=needs("torch")),
    pytest.param("of_torch.py", partial(real_torch, is_decomposed=True), id="torch decomposed", marks=needs("torch")),
    pytest.param(
        *("of_torch.py", partial(real_torch, is_strict=True, is_decomposed=True)),
        id="torch decomposed, strict",
        marks=needs("torch"),
    ),
    pytest.param("of_jax.py", real_jax, id="jax", marks=needs("jax")),
]


@pytest.mark.parametrize(("source", "checked"), CASES)
def test_squares_are_found_at_their_lines_and_explicit_pairs_are_not(source: str, checked: Any) -> None:
    lines = (FOLDER / source).read_text().splitlines()
    report = checked()
    assert {finding.line for finding in report.findings} == {
        number for number, line in enumerate(lines, 1) if line.endswith("# square")
    }
    assert {Path(finding.file).name for finding in report.nodes} == {source}
    assert {kind for finding in report.findings for kind in finding.kinds} == {"square"}
    assert report.exit_status() == 1


NOT_FOUND = {"vectorized"}
"""The planted bugs that are missed, because jnp.vectorize squeezes its operands and maps over one axis at a time."""


@needs("jax")
def test_planted_jax_bugs_are_found_at_their_lines_and_correct_functions_pass() -> None:
    import jax
    from programs import jax_bugs, jax_right

    (n,) = jax.export.symbolic_shape("n")
    right = [*functions_of(jax_right)]
    bugs = [*functions_of(jax_bugs)]
    assert (len(bugs) >= 50, len(right) >= 30) == (True, True)
    for function in (*bugs, *right):
        shapes = [jax_bugs.SHAPES[name] for name in inspect.signature(function).parameters]
        arguments = [
            jax.ShapeDtypeStruct(tuple(n if size == "n" else size for size in shape), "float32") for shape in shapes
        ]
        report = axiscast.check_jax(jax.jit(function).trace(*arguments))
        lines, first = inspect.getsourcelines(function)
        marked = {number for number, line in enumerate(lines, first) if line.rstrip().endswith("# square")}
        found = {finding.line for finding in report.findings if finding.kinds == ("square",)}
        expected = set() if function.__name__ in NOT_FOUND else marked
        assert (function.__name__, found) == (function.__name__, expected)


def functions_of(module: ModuleType) -> Iterator[Any]:
    for name, function in vars(module).items():
        if inspect.isfunction(function) and function.__module__ == module.__name__ and name[0] != "_":
            yield function


@pytest.mark.parametrize(("source", "checked"), CASES)
def test_symbols_keep_their_names_and_equal_expressions_are_one_size(source: str, checked: Any) -> None:
    nodes = {}
    for node in checked().nodes:
        nodes.setdefault((node.line, len(node.operands)), node)
    lines = (FOLDER / source).read_text().splitlines()
    of_line = {line.split()[0]: number for number, line in enumerate(lines, 1) if " = " in line}
    pairs = nodes[of_line["pairs"], 2]
    (name, one), (other,) = pairs.operands[0].shape, pairs.operands[1].shape
    assert (name, one) == (other, 1)
    assert str(name)[0] in "sn"
    double = nodes[of_line["double"], 2]
    assert sorted(map(len, (operand.shape for operand in double.operands))) == [1, 2]
    assert {operand.shape[0] for operand in double.operands} == {f"_2_times_{name}"}


def test_a_symbol_of_torch_has_the_name_of_its_dim() -> None:
    report = recorded_torch()
    assert {size for node in report.nodes for operand in node.operands for size in operand.shape} == {
        "n", "_2_times_n", 1, 4,
    }  # fmt: skip
    assert "linear (n, 1)" in str(report)


@pytest.mark.parametrize(
    "names",
    [{}, {"L['y'].size()[0]": "2*n"}, {"L['y'].size()[0]": "s77"}, {"L['z'].size()[0]": "n"}],
    ids=["loaded from a file", "an expression", "the name of another symbol", "another input"],
)
def test_a_symbol_of_torch_without_a_dim_keeps_its_name(names: dict[str, str]) -> None:
    symbols = {operand.shape[0] for node in recorded_torch(names=names).nodes for operand in node.operands}
    assert symbols == {"s17", "_2_times_s17", 4}


def test_operands_of_torch_have_the_names_of_parameters() -> None:
    assert "scale" in {operand.name for node in recorded_torch().nodes for operand in node.operands}


def test_names_of_expressions_are_unique_identifiers() -> None:
    names = ProgramSizes()
    assert [names.size(size) for size in (3, "n", "2*n", "n*2", "n**2", "n + 1")] == [
        3, "n", names.size("2*n"), names.size("2*n"), names.size("n**2"), "n_plus_1",
    ]  # fmt: skip
    assert len({names.size(text) for text in ("a+b", "a plus b", "a_plus_b")}) == 3


@pytest.mark.parametrize(
    ("name", "old", "check"), [("torch", "2.12.1+cpu", "check_torch"), ("jax", "0.9.4", "check_jax")]
)
def test_a_framework_that_is_missing_or_too_old_is_refused_by_name(
    name: str, old: str, check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"{check} needs {name} .* or later: pip install '{name}>="):
        getattr(axiscast, check)(object())
    module = ModuleType(name)
    module.__dict__["__version__"] = old
    monkeypatch.setitem(sys.modules, name, module)
    with pytest.raises(ImportError, match=rf"but {old.replace('+', '.')} is installed: pip install"):
        getattr(axiscast, check)(object())


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_an_object_that_is_not_a_program_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec(name) is None:
        module = ModuleType(name)
        module.__dict__.update(__version__="99.0", __file__="/", export=SimpleNamespace(ExportedProgram=dict))
        monkeypatch.setitem(sys.modules, name, module)
    with pytest.raises(TypeError, match=r"must be .* not str"):
        getattr(axiscast, f"check_{name}")("model.pt2")


@pytest.mark.parametrize(
    ("target", "meta", "op", "name"),
    [
        ("aten.broadcast_tensors.default", {"torch_fn": ("mse_loss_1", "function.mse_loss")},
         "torch.nn.functional.mse_loss", "node_1"),
        ("aten.expand.default", {"torch_fn": ("l1_loss_1", "function.l1_loss")},
         "torch.nn.functional.l1_loss", "node_1"),
        ("aten.broadcast_tensors.default", {"torch_fn": ("broadcast_tensors_1", "function.broadcast_tensors")},
         "aten.broadcast_tensors.default", "node_1"),
        ("aten.sub.Tensor", {"torch_fn": ("mse_loss_1", "function.mse_loss")}, "aten.sub.Tensor", "node_1"),
        ("aten.addmm.default", {"nn_module_stack": {"": ("", "M"), "h": ("net.head", "Linear")}},
         "aten.addmm.default", "head"),
        ("aten.linear.default", {"nn_module_stack": {"": ("", "M"), "h": ("net.3", "Linear")}},
         "aten.linear.default", "net.3"),
        ("aten.linear.default", {}, "aten.linear.default", "node_1"),
    ],
)  # fmt: skip
def test_a_node_of_torch_has_the_name_of_its_function_and_module(
    target: str, meta: dict[str, Any], op: str, name: str
) -> None:
    node = SimpleNamespace(name="node_1", target=target, meta=meta)
    assert (torch_export._op(node), torch_export._tensor_name(node, {})) == (op, name)


def test_the_arguments_of_a_jaxpr_have_the_names_of_the_function() -> None:
    def value(*shape: int) -> Any:
        return type("Value", (), {"aval": SimpleNamespace(shape=shape, dtype=SimpleNamespace(kind="f"))})()

    prediction, target, promoted, difference = value(5, 1), value(5), value(1, 5), value(5, 5)
    frame = SimpleNamespace(file_name="/home/me/loss.py", function_name="loss", line_num=3)
    own = SimpleNamespace(file_name="/jax/numpy.py", function_name="promote_shapes", line_num=1)

    def equation(name: str, inputs: list[Any], output: Any, **parameters: Any) -> Any:
        return SimpleNamespace(
            primitive=SimpleNamespace(name=name), invars=inputs, outvars=[output], params=parameters,
            source_info=SimpleNamespace(traceback=SimpleNamespace(frames=[own, frame])),
        )  # fmt: skip

    jaxpr = SimpleNamespace(
        eqns=[
            equation("broadcast_in_dim", [target], promoted, broadcast_dimensions=(1,)),
            equation("sub", [prediction, promoted], difference),
        ],
        invars=[prediction, target], constvars=[], outvars=[difference],
        debug_info=SimpleNamespace(arg_names=("prediction", "batch['y']")),
    )  # fmt: skip
    ((finding, *_),) = jax_trace.jax_operations(jaxpr, ProgramSizes(), "/jax/")
    assert [(operand.name, operand.shape) for operand in finding.operands] == [
        ("prediction", (5, 1)), ("batch['y']", (5,)),
    ]  # fmt: skip
