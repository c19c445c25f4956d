"""Sizes that torch.export made equal, although the function broadcasts where one of them is 1 (0/1 specialization).

An export with sizes that are not 1 keeps `x.size(0) == y.size(0)` for `x + y`. Whether the function takes a 1 there is
tried: the program is run without its guards, on tensors that have shapes and no values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...answers.torch_functions import ELEMENTWISE, LOSSES

Axis = tuple[str, int]
"""An input by its name, and one of its axes."""
_SIZED = ("aten.expand.", "aten.view.", "aten.reshape.", "aten._unsafe_view.")
_TRIES = 32
"""Runs of one program: each takes as long as a run with small tensors."""


def notes(program: Any, runs: Callable[[Any, Axis], bool] | None = None) -> Iterator[str]:
    """Say for each size that several inputs share, and that torch found itself, where the function also takes a 1.

    `runs` says whether a program runs with the size 1 on this axis alone.
    """
    runs = runs or runs_with_one
    left = _TRIES
    for axes in shared_axes(program).values():
        left -= len(axes)
        lost = [axis for axis in axes if runs(program, axis)] if left >= 0 else []
        if lost:
            what = "batch" if {axis for _, axis in axes} == {0} else "size"
            sizes = " == ".join(f"{name}.size({axis})" for name, axis in axes)
            inputs = " or ".join(dict.fromkeys(name for name, _ in lost))
            yield (
                f"{what} 1 is lost: the export requires {sizes}, which eager does not, since it broadcasts a 1 of "
                f"{inputs}. Expand that input before the call, or export a second program with this size fixed to 1."
            )


def shared_axes(program: Any) -> dict[str, list[Axis]]:
    """Return the axes of the user's inputs that have one symbol, by symbols that torch made.

    Those of a `torch.export.Dim` that the user gave may be 0 or 1. torch leaves out both where it chose.
    """
    made = {str(symbol) for symbol, limits in program.range_constraints.items() if int(limits.lower) >= 2}
    inputs = {*program.graph_signature.user_inputs}
    found: dict[str, list[Axis]] = {}
    for node in program.graph_module.graph.nodes:
        if node.name in inputs:
            for axis, size in enumerate(getattr(node.meta.get("val"), "shape", ())):
                if str(size) in made:
                    found.setdefault(str(size), []).append((node.name, axis))
    return {symbol: axes for symbol, axes in found.items() if len({name for name, _ in axes}) > 1}


def runs_with_one(program: Any, axis: Axis) -> bool:
    """Return whether the operations of a program take the size 1 on one axis of one input.

    They run on the device "meta", whose tensors have no values.
    """
    import torch

    if any(map(_takes_sizes, program.graph_module.graph.nodes)):
        return False
    placeholders = [node for node in program.graph_module.graph.nodes if node.op == "placeholder"]
    interpreter = torch.fx.Interpreter(program.graph_module)
    call = interpreter.call_function
    interpreter.call_function = lambda target, args, kwargs: call(
        target, args, kwargs | {"device": "meta"} if "device" in kwargs else kwargs
    )
    with torch.no_grad():
        try:
            interpreter.run(*[_value(node, axis) for node in placeholders])
        except Exception:  # operations refuse a size in their own ways, and some have no kernel without values
            return False
    return True


def _takes_sizes(node: Any) -> bool:
    """Return whether a node reshapes or expands to sizes of inputs: the export may have taken that of another input,
    so that a run says nothing of eager. The expands of a loss are of sizes that broadcast in eager too."""
    called = str((node.meta.get("torch_fn") or ("", ""))[1]).rpartition(".")[2]
    if not str(node.target).startswith(_SIZED) or called in ELEMENTWISE | LOSSES:
        return False
    return any(hasattr(size, "meta") for sizes in node.args[1:] if isinstance(sizes, list | tuple) for size in sizes)


def _value(node: Any, axis: Axis) -> Any:
    """Return an input of the sizes with which it was exported, but for the axis of size 1."""
    import torch

    value = node.meta.get("val")
    if not hasattr(value, "shape"):
        return _number(value)
    shape = [1 if axis == (node.name, number) else _number(size) for number, size in enumerate(value.shape)]
    return torch.empty(shape, dtype=value.dtype, device="meta")


def _number(size: Any) -> Any:
    """Return the number that a symbolic size had in the example input."""
    return size.node.hint if hasattr(size, "node") else size
