"""Warnings about inputs that broadcast against each other: legal, but perhaps a mistake. Each is a messages.Warned."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ..ops import Op, align
from ..plan.alignment import Alignment, Incompatible, Relation, RightAlignment
from ..plan.plan import Shape
from ..schema.shapes import format_shape
from .hints import Lower, are_few, as_sent
from .suspicion import Suspicion, square, suspicion, suspicion_of_rows
from .symbolic import SymbolicPlan


def input_warnings(
    op: Op,
    shapes: tuple[Shape, ...],
    alignment: Alignment,
    outputs: Sequence[dict[str, Any]],
    lower: Lower,
    warn: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return the square of two inputs; if there is none, the warnings that `warn` names, and nothing else is computed.

    `alignment` is that of the inputs, with the sizes that symbolic.py puts in the place of symbols. `outputs` are as
    they are sent, one for each input. `lower` tries a request, with what is assumed of its symbols.
    """
    if found := _square(alignment):
        message = f"{_pair(found)} make a square: {_meeting(found, shapes, outputs)}."
        return [_square_warning(op, shapes, alignment, found, message, lower)]
    warnings: list[dict[str, Any]] = []
    if "mutual-stretch" in warn and (found := _suspicion(alignment)):
        message = (
            f"{_pair(found)} stretch each other: {_meeting(found, shapes, outputs)}. "
            "Where only one was meant to stretch, an axis is missing."
        )
        warnings.append({"code": found.kind, "message": message})
    if "rank-promotion" in warn:
        warnings += _rank_promotion(shapes, outputs)
    return warnings


def _pair(found: Suspicion) -> str:
    one, other = sorted(found.inputs)
    return f"Inputs {one} and {other}"


def _meeting(found: Suspicion, shapes: tuple[Shape, ...], outputs: Sequence[dict[str, Any]]) -> str:
    """Return both shapes of a suspicion and the shape that they become, in words."""
    one, other = sorted(found.inputs)
    return f"{format_shape(shapes[one])} and {format_shape(shapes[other])} become {format_shape(outputs[one]['shape'])}"


def _rank_promotion(shapes: tuple[Shape, ...], outputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the warning that an input gets new axes. A scalar, which has no axis, does not count."""
    ranks = {*map(len, shapes)} - {0}
    if len(ranks) < 2:
        return []
    lowest, highest = (next(n for n, shape in enumerate(shapes) if len(shape) == of(ranks)) for of in (min, max))
    side = side_of_new_axes(outputs[lowest]["axes"], len(outputs[lowest]["shape"]))
    message = (
        f"Input {lowest} of shape {format_shape(shapes[lowest])} gets new axes{side} to meet input {highest} "
        f"of shape {format_shape(shapes[highest])}. Write them out where that is not meant."
    )
    return [{"code": "rank-promotion", "message": message}]


def side_of_new_axes(axes: Sequence[int], rank: int) -> str:
    """Where the output's new axes stand beside those of the input, which are `axes` of `rank`, in words; nothing where
    they stand among them."""
    if [*axes] == [*range(rank - len(axes), rank)]:
        return " on the left"
    return " on the right" if [*axes] == [*range(len(axes))] else ""


def _suspicion(alignment: Alignment, inputs: Sequence[int] | None = None) -> Suspicion | None:
    """Of all inputs, or of these."""
    if _is_plain(alignment):
        shapes = alignment.input_shapes
        if inputs is not None:
            return suspicion([shapes[number] for number in inputs])
        return suspicion(shapes, alignment.filled if isinstance(alignment, RightAlignment) else None)
    rows = _rows(alignment)
    return suspicion_of_rows(rows if inputs is None else [rows[number] for number in inputs])


def _square(alignment: Alignment) -> Suspicion | None:
    """Return a square of two inputs, or None: at once if the inputs have the same rank and are right-aligned."""
    if isinstance(alignment, RightAlignment) and alignment.relation is Relation.MUTUAL:
        return square(alignment.input_shapes, alignment.filled)
    found = suspicion_of_rows(_rows(alignment))
    return found if found and found.kind == "square" else None


def _is_plain(alignment: Alignment) -> bool:
    return isinstance(alignment, RightAlignment) and alignment.relation is Relation.MUTUAL


def _rows(alignment: Alignment) -> Sequence[Sequence[object]]:
    """See suspicion_of_rows. On the axes where inputs do not stretch to each other, nothing is filled."""
    if _is_plain(alignment):
        rank = max(map(len, alignment.input_shapes))
        return [(*[None] * (rank - len(shape)), *shape) for shape in alignment.input_shapes]
    rows: list[list[object]] = [[None] * len(alignment.axes) for _ in alignment.input_shapes]
    for number, axis in enumerate(alignment.axes):
        for term in axis.terms:
            if term.input is not None:
                rows[term.input][number] = term.size if axis.relation is Relation.MUTUAL else 1
    return rows


def _square_warning(
    op: Op, shapes: tuple[Shape, ...], alignment: Alignment, found: Suspicion, message: str, lower: Lower
) -> dict[str, Any]:
    """The warning, with a hint where a change of one of the two inputs mends it."""
    (first, second), (axis, beside) = found.inputs, found.axes
    warning: dict[str, Any] = {
        "code": found.kind,
        "message": f"{message} Input {first} lacks axis {axis}, which is then as long as axis {beside}, "
        f"where input {second} has size 1.",
    }
    if not are_few(op, shapes):
        return warning
    rows = _rows(alignment)
    where, other = (sum(size is not None for size in rows[number][:beside]) for number in (first, second))
    changes = {
        first: _with_axes(shapes[first], where, abs(axis - beside)),
        second: _without(shapes[second], other),
    }
    hints, ways = [], []
    for number, changed in changes.items():
        for text, shape in changed:
            inputs = (*shapes[:number], shape, *shapes[number + 1 :])
            output = _output(op, inputs, found.inputs, lower)
            if output is not None:
                ways.append(f"{text} for input {number}")
                words = f"reshape input {number} to {format_shape(shape)}, {text}: the output is {format_shape(output)}"
                hints.append((words, op, inputs))
                break
    if hints:
        warning["message"] += f" To meet element by element, write {' or '.join(ways)}."
        warning["hint"] = as_sent(*hints[0])
    return warning


def _with_axes(shape: Shape, axis: int, most: int) -> Iterator[tuple[str, Shape]]:
    """A shape with up to so many axes of size 1 more, after this axis of it or before."""
    for count in range(1, most + 1):
        for place in (axis + 1, axis):
            index = [":"] * place + ["None"] * count + [":"] * (place == axis)
            yield f"x[{', '.join(index)}]", (*shape[:place], *[1] * count, *shape[place:])


def _without(shape: Shape, axis: int) -> Iterator[tuple[str, Shape]]:
    yield f"x.squeeze({axis - len(shape)})", shape[:axis] + shape[axis + 1 :]


def _output(op: Op, shapes: tuple[Shape, ...], pair: tuple[int, int], lower: Lower) -> Sequence[int | str] | None:
    """The shape that comes out; None where these shapes do not broadcast, whatever the sizes, or the pair of them
    still stretch each other, or another pair makes a square."""
    try:
        plan = lower(op, shapes)
    except Incompatible:
        return None
    if isinstance(plan, SymbolicPlan) and plan.conditions:
        return None
    alignment = plan.apart if isinstance(plan, SymbolicPlan) else align(op, shapes)
    if _suspicion(alignment, pair) or _square(alignment):
        return None
    return plan.outputs[0].shape
