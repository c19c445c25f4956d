"""Warnings about shapes that broadcast, but probably by mistake, as plain values of messages.Warned."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from string import ascii_lowercase
from typing import Any

from ..ops import Op
from ..plan.alignment import Alignment
from ..plan.plan import Shape
from ..wire.shapes import format_shape
from .hints.equation_hints import reshape_candidate
from .hints.hints import Lower, hint_to_dict, is_small
from .hints.outer_products import (
    InputReshape,
    elementwise_fixes,
    explicit_all_pairs,
    outer_product_of,
    rows_of,
    two_sided_of,
)
from .two_sided import TwoSidedBroadcast


def input_warnings(
    op: Op,
    shapes: tuple[Shape, ...],
    alignment: Alignment,
    outputs: Sequence[dict[str, Any]],
    lower: Lower,
    warn: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return the warning about an accidental outer product. If there is none, return the warnings named in `warn`.

    In `alignment`, negative integers replace the symbolic sizes (see symbolic.py). `outputs` are the plain values of
    the outputs, one for each input. `lower` returns the plan of a changed request.
    """
    if found := outer_product_of(alignment):
        return [_square_warning(op, shapes, alignment, outputs, found, lower)]
    warnings: list[dict[str, Any]] = []
    if "mutual-stretch" in warn and (found := two_sided_of(alignment)):
        remedy = "If only one of them should expand, the other input lacks an axis."
        message = f"{_meeting(found, shapes, alignment, outputs)} {remedy}"
        warnings.append({"code": found.kind, **_places(found), "message": message})
    if "rank-promotion" in warn:
        warnings += rank_promotion_warnings(shapes, outputs)
    return warnings


def input_letter(number: int) -> str:
    """Return the letter that names an input in messages: a, b, c and so on.

    >>> input_letter(1), input_letter(30)
    ('b', 'inputs[30]')
    """
    return ascii_lowercase[number] if number < len(ascii_lowercase) else f"inputs[{number}]"


def all_pairs_text(axes: Sequence[int], rank: int) -> str:
    """Return a clause about the pairs that two inputs form when each of them expands the other along these axes."""
    if rank == 2:
        return "every element of one is combined with every element of the other"
    one, other = sorted(axes)
    return f"every index of axis {one} is combined with every index of axis {other}"


def _meeting(
    found: TwoSidedBroadcast, shapes: tuple[Shape, ...], alignment: Alignment, outputs: Sequence[dict[str, Any]]
) -> str:
    """Return a sentence that states the common shape of the two inputs."""
    pair = sorted(found.inputs)
    rows = [rows_of(alignment)[number] for number in pair]
    axes = [axis for axis in range(len(rows[0])) if any(row[axis] is not None for row in rows)]
    whole = outputs[pair[0]]["shape"]
    together = [whole[axis] if any(row[axis] not in (None, 1) for row in rows) else 1 for axis in axes]
    one, other = (format_shape(shapes[number]) for number in pair)
    if len(shapes) > 2:
        one, other = f"Input {pair[0]} of shape {one}", f"input {pair[1]} of shape {other}"
    pairs = all_pairs_text([*map(axes.index, found.axes)], len(axes))
    return f"{one} with {other} broadcasts to {format_shape(together)}: {pairs}."


def rank_promotion_warnings(shapes: tuple[Shape, ...], outputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the warning about an input that gets new axes because the ranks differ. Scalars are ignored."""
    ranks = {*map(len, shapes)} - {0}
    if len(ranks) < 2:
        return []
    lowest, highest = (next(n for n, shape in enumerate(shapes) if len(shape) == of(ranks)) for of in (min, max))
    side = side_of_new_axes(outputs[lowest]["axes"], len(outputs[lowest]["shape"]))
    message = (
        f"Input {lowest} of shape {format_shape(shapes[lowest])} gets new axes{side} to match input {highest} of "
        f"shape {format_shape(shapes[highest])}. Write the axes explicitly if this is not intended."
    )
    return [{"code": "rank-promotion", "inputs": [lowest, highest], "message": message}]


def side_of_new_axes(axes: Sequence[int], rank: int) -> str:
    """Return the side on which an output of this rank has new axes. `axes` are the output axes that the input has.

    If the new axes are between the axes of the input, return an empty string.
    """
    if [*axes] == [*range(rank - len(axes), rank)]:
        return " on the left"
    return " on the right" if [*axes] == [*range(len(axes))] else ""


def _square_warning(
    op: Op,
    shapes: tuple[Shape, ...],
    alignment: Alignment,
    outputs: Sequence[dict[str, Any]],
    found: TwoSidedBroadcast,
    lower: Lower,
) -> dict[str, Any]:
    """Return the warning about an accidental outer product, with a hint if changing one input fixes it."""
    meeting = _meeting(found, shapes, alignment, outputs)
    fix, meant = None, None
    if is_small(op, shapes):
        fix = next(elementwise_fixes(op, shapes, alignment, found, lower), None)
        meant = explicit_all_pairs(op, shapes, alignment, found, lower)
    warning: dict[str, Any] = {"code": found.kind, **_places(found)}
    remedy = "give all inputs the same axes"
    if fix is not None:
        remedy = f"write {_changed_input(fix)}"
        text = f"{remedy}, of shape {format_shape(fix.shape)}: the output is {format_shape(fix.output)}"
        warning["hint"] = hint_to_dict(reshape_candidate(text, op, fix.inputs, fix.input))
    pairs = f" If you want all pairs, write {_changed_input(meant)}." if meant else ""
    warning["message"] = f"{meeting} To combine them element by element, {remedy}.{pairs}"
    return warning


def _places(found: TwoSidedBroadcast) -> dict[str, list[int]]:
    """Return the inputs that expand each other, and the axis along which each of them expands."""
    return {"inputs": list(found.inputs), "axes": list(found.axes)}


def _changed_input(change: InputReshape) -> str:
    return f"input {change.input} as `{input_letter(change.input)}{change.code}`"
