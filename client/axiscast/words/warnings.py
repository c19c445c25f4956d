"""The sentences about warnings: shapes that broadcast, but probably by mistake."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase
from typing import NamedTuple

from ..wire.shapes import format_shape
from .hints import HintFields
from .names import capitalized


class Meeting(NamedTuple):
    """Two inputs that expand each other."""

    inputs: Sequence[int]
    shapes: Sequence[Sequence[int | str]]
    output: Sequence[int | str]
    """The shape to which the two inputs broadcast together."""
    axes: Sequence[int]
    """The axes of this shape along which they expand each other."""
    is_only_pair: bool
    """Whether the request has no other inputs."""


def square_text(meeting: Meeting, fix: HintFields | None, all_pairs: HintFields | None) -> str:
    """Return the warning about an accidental outer product, with the fix and the change that forms all pairs."""
    remedy = "give all inputs the same axes" if fix is None else _change(fix)
    pairs = "" if all_pairs is None else f" If you want all pairs, {_change(all_pairs)}."
    return f"{_meeting_text(meeting)} To combine the inputs element by element, {remedy}.{pairs}"


def fix_text(fix: HintFields) -> str:
    """Return the hint that combines two inputs element by element, or forms all pairs without a warning."""
    shape = f", of shape {format_shape(fix['shape'])}" if fix.get("suffix") else ""
    return f"{_change(fix)}{shape}: the output is {format_shape(fix['output'])}"


def mutual_stretch_text(meeting: Meeting) -> str:
    """Return the warning about two inputs that expand each other."""
    return f"{_meeting_text(meeting)} If only one input should expand, the other one lacks an axis."


def rank_promotion_text(
    lowest: tuple[int, Sequence[int | str]], highest: tuple[int, Sequence[int | str]], side: str
) -> str:
    """Return the warning about an input that gets new axes on one side ("left", "right" or "")."""
    (low, low_shape), (high, high_shape) = lowest, highest
    return (
        f"Input {low} of shape {format_shape(low_shape)} gets new axes{side and f' on the {side}'} to match input "
        f"{high} of shape {format_shape(high_shape)}. If this is not intended, write the new axes explicitly."
    )


def input_letter(number: int) -> str:
    """Return the letter that names an input in code: a, b, c and so on.

    >>> input_letter(1), input_letter(30)
    ('b', 'inputs[30]')
    """
    return ascii_lowercase[number] if number < len(ascii_lowercase) else f"inputs[{number}]"


def all_pairs_text(axes: Sequence[int], rank: int, one: str = "one", other: str = "the other") -> str:
    """Return a clause about the pairs that two inputs form when each of them expands the other along these axes."""
    if rank == 2:
        return f"every element of {one} is combined with every element of {other}"
    first, last = sorted(axes)
    return f"every index of output axis {first} is combined with every index of output axis {last}"


def _meeting_text(meeting: Meeting) -> str:
    """Return a sentence that states the common shape of the two inputs."""
    one, other = map(format_shape, meeting.shapes)
    if not meeting.is_only_pair:
        names = [f"input {number} of shape {shape}" for number, shape in zip(meeting.inputs, (one, other), strict=True)]
        one, other = capitalized(names[0]), names[1]
    pairs = all_pairs_text(meeting.axes, len(meeting.output))
    return f"{one} with {other} broadcasts to {format_shape(meeting.output)}: {pairs}."


def _change(change: HintFields) -> str:
    """Return a change of one input as a clause, with its code if the framework has a short code."""
    number = change["input"]
    if not change.get("suffix"):
        return f"reshape input {number} to {format_shape(change['shape'])}"
    return f"write input {number} as `{input_letter(number)}{change['suffix']}`"
