"""watch knows every function of torch that broadcasts, and check_torch knows every overload of aten.

tests/programs/torch_functions.json has the functions that torch_walk.py found. With torch itself (`make models`), the
tests find them again, call them under a watch and export them. That takes minutes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import axiscast
from axiscast.models.programs import torch_export
from axiscast.models.programs.program_report import ProgramSizes, report_program
from axiscast.models.torch_functions import LISTS, LOSSES, OPERATOR_KEYWORDS, function_name

RECORDED = Path(__file__).parents[1] / "programs" / "torch_functions.json"
KNOWN = OPERATOR_KEYWORDS | LOSSES
NO_OPERANDS = "compares or reads what is not the values: it gives the same for shapes that are expanded"
IN_PLACE = "works in place on one tensor of the full shape, so that its two operands cannot stretch each other"
POSITIONS = "takes positions, at which it reads or writes: all pairs of positions are meant"
NUMBER = "takes a number where it is given a tensor of one value or a tensor that it does not use"
GRADIENT = "is the gradient of a function, with the shapes that this had"
EXEMPT = {
    "equal": NO_OPERANDS,
    "is_set_to": NO_OPERANDS,
    "copy": IN_PLACE,
    "bernoulli": IN_PLACE,
    "put": POSITIONS,
    "index_put": POSITIONS,
    "adaptive_max_pool1d_with_indices": NUMBER,
    "gumbel_softmax": NUMBER,
    "lp_pool1d": NUMBER,
    "foreach_max": "takes one list, and reduces each of its tensors",
    "sym_not": NUMBER,
    "sym_sum": NUMBER,
    "set": NUMBER,
    "rnn_relu_cell": "adds two biases, which are parameters of one layer",
    "rnn_tanh_cell": "adds two biases, which are parameters of one layer",
}
"""The functions that seem to broadcast and are not known, with the reasons."""

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's warnings about losses and deprecated functions
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


def base(name: str) -> str:
    """Return the name of a function without the marks of operators and of in-place functions."""
    last = name.rpartition(".")[2]
    stripped = last.strip("_")
    return stripped[1:] if last.startswith("__") and stripped not in KNOWN and stripped[0] in "ir" else stripped


def is_exempt(name: str) -> bool:
    return name in EXEMPT or name.endswith("_backward")  # GRADIENT


def test_the_name_of_an_overload_is_its_function() -> None:
    overloads = [
        "aten.add.Tensor",
        "aten.__ior__.Tensor",
        "aten.special_zeta.default",
        "aten.lerp_.Tensor",
        "aten::add",
    ]
    assert [*map(function_name, overloads)] == ["add", "or", "zeta", "lerp", ""]


def test_every_function_that_broadcasts_is_known_or_exempt() -> None:
    recorded = json.loads(RECORDED.read_text())
    functions = [name for name in recorded["functions"] if LISTS not in name]
    overloads = [name for name, is_pointwise in recorded["overloads"].items() if LISTS not in name and not is_pointwise]
    assert (len(functions) > 250, len(overloads) > 50) == (True, True)
    assert [name for name in functions if base(name) not in KNOWN and not is_exempt(base(name))] == []
    assert [name for name in overloads if function_name(name) not in KNOWN and not is_exempt(function_name(name))] == []


@needs_torch
def test_watch_finds_every_function_that_broadcasts() -> None:
    import torch_walk

    functions = {name: (function, counts) for name, function, counts in torch_walk.functions()}
    found = torch_walk.walk(
        [(name, function, partial(torch_walk.calls, name, counts)) for name, (function, counts) in functions.items()]
    )
    silent = [name for name, call in found.items() if not is_found(functions[name][0], call)]
    assert [name for name in silent if not is_exempt(base(name))] == []
    recorded = json.loads(RECORDED.read_text())["functions"]
    assert {*recorded} - {*found} == set()


def is_found(function: Any, call: Any) -> bool:
    """Return whether a watch finds a call, by position and by keyword. For an in-place call, whether it is known."""
    import torch_walk

    from axiscast.training.torch_ops import function_roles

    if call.is_in_place:
        arguments = call.operands(is_expanded=False)
        with torch_walk.Seen() as seen:
            function(*arguments)
        return any(
            role.broadcasts or role.takes_lists for each in seen.functions if (role := function_roles().get(each))
        )
    names = torch_walk.parameters(function, len(call.arguments))
    for keywords in ((), names[1:]):
        arguments = call.operands(is_expanded=False)
        with axiscast.watch(on=lambda finding: None) as watch:
            try:
                split = len(arguments) - len(keywords)
                function(*arguments[:split], **dict(zip(keywords, arguments[split:], strict=True)))
            except TypeError:
                if not keywords:
                    raise
                continue  # these arguments are positional only
        if not watch.findings:
            return False
    return True


@needs_torch
def test_check_torch_finds_every_function_that_broadcasts() -> None:
    import torch
    import torch_walk

    overloads = dict(torch_walk.overloads())
    found = torch_walk.walk(
        [(name, overload, partial(torch_walk.calls_of_overload, overload)) for name, overload in overloads.items()]
    )
    assert torch.Tag.pointwise in overloads["aten.add.Tensor"].tags
    silent = [name for name, call in found.items() if not is_in_report(overloads[name], call)]
    assert [name for name in silent if not is_exempt(function_name(name))] == []
    assert {*json.loads(RECORDED.read_text())["overloads"]} - {*found} == set()


def is_in_report(overload: Any, call: Any) -> bool:
    """Return whether check_torch finds a call in a program. For an in-place call, whether it knows the operands."""

    class Node:
        def __init__(self, name: str, target: Any, args: Any = (), value: Any = None) -> None:
            self.name, self.target, self.args, self.meta = name, target, args, {"val": value}

    nodes: list[Node] = []

    def node_of(argument: Any) -> Any:
        if isinstance(argument, list):
            return [*map(node_of, argument)]
        if not hasattr(argument, "shape"):
            return argument
        nodes.append(Node(f"x{len(nodes)}", "placeholder", value=argument))
        return nodes[-1]

    arguments = [*map(node_of, call.operands(is_expanded=False))]
    nodes.append(Node("result", overload, arguments))
    signature = SimpleNamespace(inputs_to_parameters={}, inputs_to_buffers={}, inputs_to_lifted_tensor_constants={})
    module = SimpleNamespace(graph=SimpleNamespace(nodes=nodes))
    program = SimpleNamespace(graph_signature=signature, graph_module=SimpleNamespace(named_modules={"": module}.items))
    operations = [*torch_export.torch_operations(program, ProgramSizes())]
    return bool(operations if call.is_in_place else report_program("one call", operations, {}).findings)


def recorded() -> Iterator[tuple[str, Any]]:
    """Return the functions that the walk finds, in the form of the file."""
    import torch
    import torch_walk

    tried = [(name, each, partial(torch_walk.calls, name, counts)) for name, each, counts in torch_walk.functions()]
    yield "functions", sorted(torch_walk.walk(tried))
    overloads = dict(torch_walk.overloads())
    found = torch_walk.walk(
        [(name, each, partial(torch_walk.calls_of_overload, each)) for name, each in overloads.items()]
    )
    yield "overloads", {name: torch.Tag.pointwise in overloads[name].tags for name in sorted(found)}


if __name__ == "__main__":
    RECORDED.write_text(re.sub(r", \"", ',\n"', json.dumps(dict(recorded()))) + "\n")
