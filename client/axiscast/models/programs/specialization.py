"""Notes about sizes that torch.export requires to be equal even if one size could be 1 (0/1 specialization).

If the example inputs of `x + y` do not have size 1, the export requires that x.size(0) == y.size(0). To find out
whether the function also accepts size 1, the program is run without its guards, on tensors without data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...answers.torch_functions import ELEMENTWISE, LOSSES

InputAxis = tuple[str, int]
"""The name of an input, and the index of one of its axes."""
_SIZED = ("aten.expand.", "aten.view.", "aten.reshape.", "aten._unsafe_view.")
_MAX_RUNS = 32
"""The maximum number of test runs of one program. A test run takes as long as a run on small tensors."""


def notes(program: Any, runs: Callable[[Any, InputAxis], bool] | None = None) -> Iterator[str]:
    """Yield a note for each pair of sizes that the export requires to be equal even though the function accepts size 1.

    `runs` is a function that returns whether a program runs if only the given axis has size 1.
    """
    runs = runs or runs_with_one
    remaining = _MAX_RUNS
    for axes in shared_axes(program).values():
        remaining -= len(axes)
        broadcasts = [axis for axis in axes if runs(program, axis)] if remaining >= 0 else []
        if broadcasts:
            size = "batch" if {axis for _, axis in axes} == {0} else "size"
            equation = " == ".join(f"{name}.size({axis})" for name, axis in axes)
            inputs = " or ".join(dict.fromkeys(name for name, _ in broadcasts))
            yield (
                f"the exported program does not accept a {size} of 1: it requires {equation}, although the function "
                f"broadcasts a size 1 of {inputs}. Expand this input before the call, or export a second program "
                f"with this size fixed to 1."
            )


def shared_axes(program: Any) -> dict[str, list[InputAxis]]:
    """For each symbol that torch has chosen, return the axes of the user's inputs that share the symbol.

    If the user has declared a `torch.export.Dim`, its size may be 0 or 1. torch's own symbols exclude both sizes.
    """
    chosen = {str(symbol) for symbol, limits in program.range_constraints.items() if int(limits.lower) >= 2}
    inputs = {*program.graph_signature.user_inputs}
    found: dict[str, list[InputAxis]] = {}
    for node in program.graph_module.graph.nodes:
        if node.name in inputs:
            for axis, size in enumerate(getattr(node.meta.get("val"), "shape", ())):
                if str(size) in chosen:
                    found.setdefault(str(size), []).append((node.name, axis))
    return {symbol: axes for symbol, axes in found.items() if len({name for name, _ in axes}) > 1}


def runs_with_one(program: Any, axis: InputAxis) -> bool:
    """Return whether a program runs if the given axis of an input has size 1.

    The program is run on the device "meta", whose tensors have no data.
    """
    import torch

    if any(map(_takes_sizes, program.graph_module.graph.nodes)):
        return False
    placeholders = [node for node in program.graph_module.graph.nodes if node.op == "placeholder"]
    interpreter = torch.fx.Interpreter(program.graph_module)
    call, meta = interpreter.call_function, {"device": "meta"}
    interpreter.call_function = lambda f, args, kwargs: call(f, args, kwargs | meta if "device" in kwargs else kwargs)
    with torch.no_grad():
        try:
            interpreter.run(*[_meta_tensor(node, axis) for node in placeholders])
        except Exception:  # operations raise different exceptions, and some do not support "meta"
            return False
    return True


def _takes_sizes(node: Any) -> bool:
    """Return whether a node reshapes or expands a tensor to sizes that depend on the inputs.

    The export may have taken such a size from another input. In this case, a run of the program does not show what the
    original function does. Losses are an exception, because the function itself also broadcasts the operands of a loss.
    """
    called = str((node.meta.get("torch_fn") or ("", ""))[1]).rpartition(".")[2]
    if not str(node.target).startswith(_SIZED) or called in ELEMENTWISE | LOSSES:
        return False
    return any(hasattr(size, "meta") for sizes in node.args[1:] if isinstance(sizes, list | tuple) for size in sizes)


def _meta_tensor(node: Any, axis: InputAxis) -> Any:
    """Return an input with the sizes of the example input, except that the given axis has size 1."""
    import torch

    value = node.meta.get("val")
    if not hasattr(value, "shape"):
        return _example_size(value)
    shape = [1 if axis == (node.name, number) else _example_size(size) for number, size in enumerate(value.shape)]
    return torch.empty(shape, dtype=value.dtype, device="meta")


def _example_size(size: Any) -> Any:
    """Return the value that a symbolic size had in the example input."""
    return size.node.hint if hasattr(size, "node") else size
