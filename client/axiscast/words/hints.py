"""The sentences about hints: how to change a request so that the shapes fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..ops.framework import PYTHON, Framework
from ..wire.shapes import format_shape
from .names import UNNAMED, Names

HintFields = Mapping[str, Any]
"""The fields of messages.Hint as plain values, without `message`."""


def hint_text(hint: HintFields, names: Names = UNNAMED) -> str:
    """Return a hint: the change, and the shape of its result."""
    return f"{change_text(hint, names)}: the result is {format_shape(hint['output'])}"


def change_text(hint: HintFields, names: Names = UNNAMED) -> str:
    """Return the change, as a clause that begins with a verb."""
    if suffix := hint.get("suffix"):
        number = hint["input"]
        written = f"write {names.changed(number, suffix)}, of shape {format_shape(hint['request']['inputs'][number])}"
        return f"to combine all pairs of rows, {written}" if hint["code"] == "all-pairs" else written
    return _CHANGES[hint["code"]](hint, names)


def reshape_code(old: Sequence[int | str], new: Sequence[int | str], framework: Framework) -> str:
    """Return the code that reshapes an array when appended to the array's name, or "" if no short code exists.

    The code adds axes of size 1, removes axes of size 1, or swaps two axes.

    >>> from ..ops import FRAMEWORKS
    >>> numpy, tensorflow = FRAMEWORKS["numpy"], FRAMEWORKS["tensorflow"]
    >>> reshape_code([64], [64, 1, 1], numpy), reshape_code([3, 1], [3], numpy), reshape_code(["N", 4], [4, "N"], numpy)
    ('[:, None, None]', '.squeeze(-1)', '.T')
    >>> reshape_code([64], [64, 1], tensorflow), reshape_code([3, 1], [3], tensorflow)
    ('[:, tf.newaxis]', '[:, 0]')
    """
    if framework.language is not PYTHON or not framework.new_axis:
        return ""
    if len(new) == len(old):
        changed = [axis for axis, sizes in enumerate(zip(old, new, strict=True)) if sizes[0] != sizes[1]]
        is_swap = len(changed) == 2 and [old[axis] for axis in changed] == [new[axis] for axis in reversed(changed)]
        if not is_swap or not framework.has_array_methods:
            return ""
        return ".T" if len(old) == 2 else f".swapaxes({changed[0]}, {changed[1]})"
    is_wider = len(new) > len(old)
    own_axes = _own_axes(new, old) if is_wider else _own_axes(old, new)
    removed = [axis for axis, is_own in enumerate(own_axes) if not is_own]
    if is_wider or not framework.has_array_methods:
        index = [":" if is_own else framework.new_axis if is_wider else "0" for is_own in own_axes]
        return f"[{', '.join(index[: removed[-1] + 1])}]" if removed else ""
    if len(removed) > 1:
        return f".squeeze({tuple(removed)})"
    return "".join(f".squeeze({axis and axis - len(old)})" for axis in removed)


def _own_axes(longer: Sequence[int | str], shorter: Sequence[int | str]) -> list[bool]:
    """Return whether each axis of a shape is an axis of the shorter shape. All other axes must have size 1.

    If this is impossible, return an empty list.
    """
    rest, own = [*shorter], []
    for size in longer:
        is_own = bool(rest) and rest[0] == size
        if is_own:
            rest.pop(0)
        elif size != 1:
            return []
        own.append(is_own)
    return [] if rest else own


def _reshape(hint: HintFields, names: Names) -> str:
    return f"reshape {names.input(hint['input'])} to {format_shape(hint['shape'])}"


def _all_pairs(hint: HintFields, names: Names) -> str:
    return f"to combine all pairs of rows, {_reshape(hint, names)}"


def _transpose(hint: HintFields, names: Names) -> str:
    numbers = hint.get("inputs") or [hint["input"]]
    new = hint["request"]["inputs"]
    return f"transpose {' and '.join(f'{names.input(number)} to {format_shape(new[number])}' for number in numbers)}"


def _swap_axes(hint: HintFields, names: Names) -> str:
    one, other = hint["axes"]
    return f"swap axes {one} and {other} of {names.input(hint['input'])}"


def _exchange(hint: HintFields, names: Names) -> str:
    one, other = hint["inputs"]
    return f"swap {names.input(one)} and {names.input(other)}"


def _attributes(hint: HintFields, names: Names) -> str:
    return f"write {_assignments(hint['attributes'])}"


def _other_op(hint: HintFields, names: Names) -> str:
    op = hint["request"]["op"]
    return f"use {op['name']} with {_assignments({name: value for name, value in op.items() if name != 'name'})}"


def _assignments(attributes: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}={format_shape(value) if isinstance(value, list) else repr(value)}"
        for name, value in attributes.items()
    )


_CHANGES: dict[str, Callable[[HintFields, Names], str]] = {
    "reshape": _reshape,
    "all-pairs": _all_pairs,
    "transpose": _transpose,
    "swap-axes": _swap_axes,
    "exchange-inputs": _exchange,
    "attributes": _attributes,
    "other-op": _other_op,
}
