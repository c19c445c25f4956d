"""check_torch: the broadcasts of a program that torch.export made, with its symbols and the lines it comes from."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...answers.intent import FindingKind, Way
from ...answers.torch_functions import ELEMENTWISE, LISTS, LOSSES, OPERAND_COUNTS, function_name
from ...library import typed
from ..finding import Finding, Operand
from ..provenance import Fact, Frame, frames, is_meant, made, way_of_new_axis
from ..report import Report
from . import specialization
from .program_report import Meeting, Names, installed, place, report

__all__ = ["check_torch"]

OLDEST = "2.13"
"""The first release that this was tried with."""
_MEETING = ELEMENTWISE | LOSSES
"""The operations in which tensors meet, in addition to those that have torch's tag `pointwise`."""
_AXIS = ("aten.unsqueeze", "aten.view", "aten.reshape", "aten._unsafe_view", "aten.unflatten")
_KEEP = (
    *("aten.slice", "aten.alias", "aten.clone", "aten.detach", "aten.to.", "aten._to_copy", "aten.squeeze"),
    *("aten.permute", "aten.t.", "aten.transpose", "aten.contiguous", "aten.numpy_T", "aten.flatten"),
)
_MODULES = {"addmm", "conv1d", "conv2d", "conv3d", "convolution", "linear", "mm"}
"""The operations that are all that their module does."""
_INDEX = ("aten.arange", "aten.lift_fresh_copy")
_COMPARISONS = ("aten.eq.", "aten.ne.", "aten.lt.", "aten.le.", "aten.gt.", "aten.ge.")


@typed
def check_torch(
    program: Any, *, assume: Mapping[str, int | str] | None = None, kinds: Sequence[FindingKind] = ("square",)
) -> Report:
    """The report of a `torch.export.ExportedProgram`: each operation in which tensors meet, and whether they broadcast.

    A symbol has the name of its `torch.export.Dim`; without one it keeps its own, such as "s17". It has the range that
    the program states; `assume` says more of it. No warning is given where all pairs are meant, as in x[:, None] - y
    (docs/training.md), and `kinds` are those of `watch`. A file is for `torch.export.load`, which runs what stands in
    it: load what you trust. Raises ImportError if torch is missing or too old, TypeError for any other object.

    >>> import axiscast
    >>> program = torch.export.export(model, (x, y))                        # doctest: +SKIP
    >>> axiscast.check_torch(program).exit_status()                       # doctest: +SKIP
    0
    """
    torch = installed("torch", OLDEST, "check_torch")
    if not isinstance(program, torch.export.ExportedProgram):
        raise TypeError(f"check_torch takes a torch.export.ExportedProgram, not {type(program).__name__}")
    names = Names(names_given(program))
    ranges = {str(names.size(symbol)): _range(limits) for symbol, limits in program.range_constraints.items()}
    found = [*meetings(program, names)]
    return report("ExportedProgram", found, ranges | dict(assume or {}), [*specialization.notes(program)], kinds)


def meetings(program: Any, names: Names) -> Iterator[Meeting]:
    """The operations of a program in which tensors meet, those of the graphs that it branches to included."""
    signature = program.graph_signature
    held = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    lifted = {*signature.inputs_to_lifted_tensor_constants}
    for path, module in program.graph_module.named_modules():
        facts = _facts(module, lifted) if hasattr(module, "graph") else {}
        expanded = _expanded(facts)
        for node in facts:
            lines = frames(node.meta.get("stack_trace") or "")
            file, line = place([frame[:2] for frame in lines[::-1]])
            for tensors in _operands(node, expanded):
                if sum(bool(_sizes(tensor)) for tensor in tensors) < 2:
                    continue
                operands = names.operands([(_named(tensor, held), _sizes(tensor)) for tensor in tensors])
                name = f"{path}/{node.name}" if path else node.name
                found = Finding(name, _op(node), operands, file=file, line=line)
                yield Meeting(found, _is_meant(node, tensors, operands, facts, lines))


def names_given(program: Any) -> dict[str, str]:
    """Return the name of the `torch.export.Dim` of each symbol that has one.

    torch has them in the environment of its symbols. A program that was loaded from a file has lost them.
    """
    environment = next(_environments(program), None)
    names: Mapping[str, str] = getattr(environment, "source_name_to_debug_name", {})
    sources = {str(symbol): found for symbol, found in getattr(environment, "var_to_sources", {}).items()}
    given = {}
    for symbol, places in sources.items():
        named = (names.get(_source_name(place), "") for place in places)
        name = next((name for name in named if name.isidentifier() and name not in sources), None)
        if name is not None:
            given[symbol] = name
    return given


def _environments(program: Any) -> Iterator[Any]:
    """The environment of each symbolic size."""
    for _, module in program.graph_module.named_modules():
        for node in module.graph.nodes if hasattr(module, "graph") else ():
            for size in getattr(node.meta.get("val"), "shape", ()):
                if hasattr(size, "node"):
                    yield size.node.shape_env


def _source_name(place: Any) -> str:
    """A source's name, which was a method before it was a property."""
    return str(place.name() if callable(place.name) else place.name)


def _meets(node: Any) -> bool:
    tags = getattr(node.target, "tags", ())
    return function_name(str(node.target)) in _MEETING or any(tag.name == "pointwise" for tag in tags)


def _op(node: Any) -> str:
    """What findings call an operation: of one that only expands the operands of a function, the function."""
    function = _function(node)
    if str(node.target).startswith(("aten.broadcast_tensors.", "aten.expand.")) and function in LOSSES:
        return f"torch.nn.functional.{function}"
    return str(node.target)


def _named(node: Any, held: Mapping[str, str]) -> str:
    """The name of the tensor that a node gives: of a parameter or a module in the program, else the node's."""
    modules = [*node.meta.get("nn_module_stack", {}).values()]
    path = str(modules[-1][0]) if modules and function_name(str(node.target)) in _MODULES else ""
    last = path.rpartition(".")[2]
    return (path if last.isdigit() else last) or held.get(node.name, node.name)


def _operands(node: Any, expanded: Mapping[str, list[Any]]) -> Iterator[list[Any]]:
    """The tensors that meet in a node, if any do. Of operations on lists, those of each place in the lists."""
    if node.name in expanded:
        yield expanded[node.name]
    elif LISTS in str(node.target):
        lists = [argument for argument in node.args if isinstance(argument, list | tuple)]
        yield from ([*_tensors(part)] for part in zip(*lists, strict=False))
    elif _meets(node):
        tensors = [*_tensors(node.args)]
        yield tensors[: OPERAND_COUNTS.get(function_name(str(node.target)))]


def _expanded(nodes: Iterable[Any]) -> dict[str, list[Any]]:
    """What a decomposed function, such as a loss, expands before it calls others, by the first node of each call."""
    calls: dict[str, list[Any]] = {}
    for node in nodes:
        if str(node.target).startswith("aten.expand.") and _function(node) in _MEETING:
            calls.setdefault(node.meta["torch_fn"][0], []).append(node)
    return {call[0].name: [node.args[0] for node in call] for call in calls.values()}


def _is_loss(node: Any) -> bool:
    """Whether a node is a loss, or a part of one."""
    return _function(node) in LOSSES or function_name(str(node.target)) in LOSSES


def _function(node: Any) -> str:
    """The function of torch by whose call the program has a node, such as "mse_loss"; "" if torch did not keep it."""
    _, called = node.meta.get("torch_fn") or ("", "")
    return str(called).rpartition(".")[2]


def _tensors(arguments: Iterable[Any]) -> Iterator[Any]:
    """The nodes that give those arguments which are tensors."""
    for argument in arguments:
        for each in argument if isinstance(argument, list | tuple) else (argument,):
            if hasattr(getattr(each, "meta", {}).get("val"), "shape"):
                yield each


def _sizes(node: Any) -> tuple[Any, ...]:
    return tuple(node.meta["val"].shape)


def _facts(module: Any, lifted: Container[str]) -> dict[Any, Fact]:
    """Return where the value of each node of a graph comes from."""
    facts: dict[Any, Fact] = {}
    for node in module.graph.nodes:
        target = str(node.target)
        before = [facts[tensor] for tensor in _tensors(node.args)]
        keeps = target.startswith((*_AXIS, *_KEEP)) or _meets(node)
        frame = next(reversed(frames(node.meta.get("stack_trace") or "")), None)
        way: Way = ""
        if target.startswith(_AXIS):
            way = way_of_new_axis(frame)
        elif any(argument is True for argument in node.args):
            way = "reduction"
        fact = made(before, keeps=keeps, is_index=target.startswith(_INDEX) or target in lifted, way=way, frame=frame)
        has_axis = any(type(size) is int and size == 1 for size in getattr(node.meta.get("val"), "shape", ()))
        facts[node] = fact if has_axis else fact._replace(way="", frame=None)
    return facts


def _is_meant(
    node: Any, tensors: Sequence[Any], operands: Sequence[Operand], facts: Mapping[Any, Fact], lines: Sequence[Frame]
) -> bool:
    """Return whether the tensors that meet in a node are meant to meet in all pairs, if they make a square."""
    types = [tensor.meta["val"].dtype for tensor in tensors]
    is_discrete = not any(each.is_floating_point or each.is_complex for each in types)
    return is_meant(
        [facts[tensor] for tensor in tensors],
        [operand.shape or () for operand in operands],
        lines[-1] if lines else None,
        is_discrete=is_discrete or str(node.target).startswith(_COMPARISONS),
        is_loss=_is_loss(node),
    )


def _range(limits: Any) -> str:
    """What a program states of a symbol, as a check takes it."""
    upper = str(limits.upper)
    return f"{max(0, int(limits.lower))}..{upper if upper.isdigit() and int(upper) < 2**62 else ''}"
