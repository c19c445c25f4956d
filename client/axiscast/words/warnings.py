"""The sentences about warnings: shapes that broadcast, but probably by mistake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..wire.shapes import format_shape
from .hints import HintFields, change_text
from .names import UNNAMED, capitalized


class Meeting(NamedTuple):
    """Two inputs that expand each other."""

    inputs: Sequence[int]
    shapes: Sequence[Sequence[int | str]]
    output: Sequence[int | str]
    """The shape to which the two inputs broadcast together."""
    axes: Sequence[int]
    """For each of the two inputs, the axis of this shape along which it expands."""
    is_only_pair: bool
    """Whether the request has no other inputs."""


def square_text(meeting: Meeting, fix: HintFields | None, all_pairs: HintFields | None) -> str:
    """Return the warning about an accidental outer product, with the fix and the change that forms all pairs."""
    remedy = "give all inputs the same shape" if fix is None else change_text(fix)
    pairs = (
        "" if all_pairs is None else f" If shape {format_shape(meeting.output)} is intended, {change_text(all_pairs)}."
    )
    return f"{_meeting_text(meeting)} To combine them element by element, {remedy}.{pairs}"


def mutual_stretch_text(meeting: Meeting) -> str:
    """Return the warning about two inputs that expand each other."""
    return f"{_meeting_text(meeting)} If this is not intended, check whether one of them lacks an axis."


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


def _meeting_text(meeting: Meeting) -> str:
    """Return a sentence that states the common shape of the two inputs."""
    names, owners = [*map(UNNAMED.input, meeting.inputs)], [*map(format_shape, meeting.shapes)]
    if not meeting.is_only_pair:
        owners = [f"{name} of shape {shape}" for name, shape in zip(names, owners, strict=True)]
    pairs = all_pairs_text(names, meeting.axes, len(meeting.output))
    return f"{capitalized(' and '.join(owners))} broadcast to {format_shape(meeting.output)}: {pairs}."
