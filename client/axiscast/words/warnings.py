"""The sentences about warnings: shapes that broadcast, but probably by mistake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..plan.alignment import Input
from ..wire.shapes import format_shape
from .hints import change_text
from .names import UNNAMED, Names

WarningFields = Mapping[str, Any]
"""The fields of messages.Warned as plain values, without `message`."""
Shapes = Sequence[Sequence[int | str]]


def square_text(warning: WarningFields, shapes: Shapes, output: Sequence[int | str], names: Names = UNNAMED) -> str:
    """Return the warning about an accidental outer product of some of these shapes, with the fix if one is known."""
    fix, all_pairs = warning.get("hint"), warning.get("all_pairs")
    remedy = change_text(fix, names) if fix else "give all inputs the same shape"
    intended = f" If shape {format_shape(output)} is intended, {change_text(all_pairs, names)}." if all_pairs else ""
    pair = _pair_text(warning, shapes, output, names)
    return f"{pair} To combine them element by element, {remedy}.{intended}"


def mutual_stretch_text(warning: WarningFields, shapes: Shapes, output: Sequence[int | str]) -> str:
    """Return the warning about two inputs that expand each other."""
    pair = _pair_text(warning, shapes, output, UNNAMED)
    return f"{pair} If this is not intended, check whether one of them lacks an axis."


def rank_promotion_text(
    lowest: tuple[int, Sequence[int | str]], highest: tuple[int, Sequence[int | str]], side: str
) -> str:
    """Return the warning about an input that gets new axes on one side ("left", "right" or "")."""
    (low, low_shape), (high, high_shape) = lowest, highest
    return (
        f"Input {low} of shape {format_shape(low_shape)} gets new axes{side and f' on the {side}'} to match input "
        f"{high} of shape {format_shape(high_shape)}. To put the new axes elsewhere, write them explicitly."
    )


def all_pairs_text(names: Sequence[str], axes: Sequence[int], rank: int) -> str:
    """Return a clause about two inputs that expand each other. `axes` are the axes along which each of them expands."""
    one, other = names
    if rank == 2:
        return f"every element of {one} is combined with every element of {other}"
    return f"{one} is repeated along output axis {axes[0]}, and {other} along output axis {axes[1]}"


def _pair_text(warning: WarningFields, shapes: Shapes, output: Sequence[int | str], names: Names) -> str:
    """Return a sentence about the two inputs that expand each other, and the shape of the output."""
    (one, axis), (other, other_axis) = sorted(zip(warning["inputs"], warning["axes"], strict=True))
    owner = names.owner(Input(one, tuple(shapes[one])), begins_sentence=True)
    pairs = all_pairs_text([names.input(one), names.input(other)], [axis, other_axis], len(output))
    return (
        f"{owner} and {names.owner(Input(other, tuple(shapes[other])))} broadcast to {format_shape(output)}: {pairs}."
    )
