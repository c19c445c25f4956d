"""check_torch: the broadcasts of a program that torch.export made, with its symbols and the lines it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..library import typed
from .finding import Finding
from .programs import Meeting, Names, installed, place, report
from .report import Report

__all__ = ["check_torch"]

OLDEST = "2.13"
"""The first release that this was tried with."""
_MEETING = ("aten.where", "aten.broadcast_tensors", "aten.masked_fill")
"""The operations in which tensors meet and that do not have torch's tag `pointwise`."""
_AXIS = ("aten.unsqueeze", "aten.view", "aten.reshape", "aten._unsafe_view", "aten.unflatten")
_KEEP = (
    *("aten.slice", "aten.alias", "aten.clone", "aten.detach", "aten.to.", "aten._to_copy"),
    *("aten.permute", "aten.t.", "aten.transpose", "aten.contiguous", "aten.numpy_T"),
)
_FRAME = re.compile(r'File "([^"\n<>]+)", line ([0-9]{1,9})')


@typed
def check_torch(program: Any, *, assume: Mapping[str, int | str] | None = None) -> Report:
    """The report of a `torch.export.ExportedProgram`: each operation in which tensors meet, and whether they broadcast.

    A symbol has the name of its `torch.export.Dim`; without one it keeps its own, such as "s17". It has the range that
    the program states; `assume` says more of it. A square is meant where an axis of size 1 was written out: x[:, None],
    unsqueeze, view, reshape, keepdim; in a loss none is. A file is for `torch.export.load`, which runs what stands in
    it: load what you trust. Raises ImportError if torch is missing or too old, TypeError for any other object.

    >>> import tensorcast
    >>> program = torch.export.export(model, (x, y))                        # doctest: +SKIP
    >>> tensorcast.check_torch(program).exit_status()                       # doctest: +SKIP
    0
    """
    torch = installed("torch", OLDEST, "check_torch")
    if not isinstance(program, torch.export.ExportedProgram):
        raise TypeError(f"check_torch takes a torch.export.ExportedProgram, not {type(program).__name__}")
    names = Names(names_given(program))
    ranges = {str(names.size(symbol)): _range(limits) for symbol, limits in program.range_constraints.items()}
    return report("ExportedProgram", [*meetings(program, names)], ranges | dict(assume or {}))


def meetings(program: Any, names: Names) -> Iterator[Meeting]:
    """The operations of a program in which tensors meet, those of the graphs that it branches to included."""
    signature = program.graph_signature
    held = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    for path, module in program.graph_module.named_modules():
        for node in module.graph.nodes if hasattr(module, "graph") else ():
            tensors = [*_tensors(node)]
            if not _meets(node) or sum(bool(_sizes(tensor)) for tensor in tensors) < 2:
                continue
            lines = [(file, int(line)) for file, line in _FRAME.findall(node.meta.get("stack_trace") or "")]
            file, line = place(lines[::-1])
            operands = names.operands([(held.get(tensor.name, tensor.name), _sizes(tensor)) for tensor in tensors])
            found = Finding(
                f"{path}/{node.name}" if path else node.name, str(node.target), operands, file=file, line=line
            )
            is_loss = found.op.startswith("aten.broadcast_tensors")  # by which torch writes its losses
            yield Meeting(found, not is_loss and any(_is_written(tensor) for tensor in tensors))


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
    return str(node.target).startswith(_MEETING) or any(tag.name == "pointwise" for tag in tags)


def _tensors(node: Any) -> Iterator[Any]:
    """The nodes that give the operands which are tensors."""
    for argument in node.args:
        for each in argument if isinstance(argument, list | tuple) else (argument,):
            if hasattr(getattr(each, "meta", {}).get("val"), "shape"):
                yield each


def _sizes(node: Any) -> tuple[Any, ...]:
    return tuple(node.meta["val"].shape)


def _is_written(node: Any) -> bool:
    """Whether an axis of size 1 was written out, here or before what keeps it."""
    while any(type(size) is int and size == 1 for size in _sizes(node)):
        target = str(node.target)
        if target.startswith(_AXIS) or any(argument is True for argument in node.args):  # keepdim
            return True
        before = [*_tensors(node)]
        if not before or not (target.startswith(_KEEP) or _meets(node)):
            return False
        node = max(before, key=lambda tensor: len(_sizes(tensor)))
    return False


def _range(limits: Any) -> str:
    """What a program states of a symbol, as a check takes it."""
    upper = str(limits.upper)
    return f"{max(0, int(limits.lower))}..{upper if upper.isdigit() and int(upper) < 2**62 else ''}"
