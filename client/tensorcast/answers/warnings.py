"""Warnings about inputs that broadcast against each other: legal, but perhaps a mistake. Each is a messages.Warned."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from string import ascii_lowercase
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
        return [_square_warning(op, shapes, alignment, outputs, found, lower)]
    warnings: list[dict[str, Any]] = []
    if "mutual-stretch" in warn and (found := _suspicion(alignment)):
        message = (
            f"{_meeting(found, shapes, alignment, outputs)} "
            "If only one of them was meant to expand, the other one lacks an axis."
        )
        warnings.append({"code": found.kind, "message": message})
    if "rank-promotion" in warn:
        warnings += _rank_promotion(shapes, outputs)
    return warnings


def variable(number: int) -> str:
    """Return what sentences call an input: a, b, c and so on.

    >>> variable(1), variable(30)
    ('b', 'inputs[30]')
    """
    return ascii_lowercase[number] if number < len(ascii_lowercase) else f"inputs[{number}]"


def all_pairs(axes: Sequence[int], rank: int) -> str:
    """Return what is combined if each of two inputs expands to the other along these axes of an output of this rank."""
    if rank == 2:
        return "every row meets every column"
    one, other = sorted(axes)
    return f"every index of axis {one} meets every index of axis {other}"


def _meeting(
    found: Suspicion, shapes: tuple[Shape, ...], alignment: Alignment, outputs: Sequence[dict[str, Any]]
) -> str:
    """Return the sentence that says which shape the two inputs of a suspicion have together."""
    pair = sorted(found.inputs)
    rows = [_rows(alignment)[number] for number in pair]
    axes = [axis for axis in range(len(rows[0])) if any(row[axis] is not None for row in rows)]
    whole = outputs[pair[0]]["shape"]
    together = [whole[axis] if any(row[axis] not in (None, 1) for row in rows) else 1 for axis in axes]
    named = ["" if len(shapes) == 2 else f"`{variable(number)}` " for number in pair]
    one, other = (name + format_shape(shapes[number]) for name, number in zip(named, pair, strict=True))
    pairs = all_pairs([*map(axes.index, found.axes)], len(axes))
    return f"{one} with {other} broadcasts to {format_shape(together)}: {pairs}."


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
    op: Op,
    shapes: tuple[Shape, ...],
    alignment: Alignment,
    outputs: Sequence[dict[str, Any]],
    found: Suspicion,
    lower: Lower,
) -> dict[str, Any]:
    """Return the warning. If a change of one of the two inputs fixes it, the message and the hint have the first."""
    meeting = _meeting(found, shapes, alignment, outputs)
    warning: dict[str, Any] = {
        "code": found.kind,
        "message": f"{meeting} To combine them element by element, give all inputs the same axes.",
    }
    if not are_few(op, shapes):
        return warning
    for number, words, shape in _fixes(shapes, alignment, found):
        inputs = (*shapes[:number], shape, *shapes[number + 1 :])
        reached = _reached(op, inputs, lower)
        if reached is not None and not _suspicion(reached[0], found.inputs):
            code = f"`{variable(number)}{words}`"
            text = f"{code} has shape {format_shape(shape)}: the output is {format_shape(reached[1])}"
            warning["hint"] = as_sent(text, op, inputs)
            warning["message"] = f"{meeting} To combine them element by element, write {code}."
            break
    first = found.inputs[0]
    for words, shape in _wider(shapes[first], len(alignment.axes)):
        reached = _reached(op, (*shapes[:first], shape, *shapes[first + 1 :]), lower)
        if reached is not None and _suspicion(reached[0], found.inputs):
            warning["message"] += f" If you want all pairs, write `{variable(first)}{words}`."
            break
    return warning


def _fixes(shapes: tuple[Shape, ...], alignment: Alignment, found: Suspicion) -> Iterator[tuple[int, str, Shape]]:
    """Yield the changes that may combine the two inputs of a square element by element: the input, the code that
    follows its name, and its new shape."""
    (first, second), (axis, beside) = found.inputs, found.axes
    rows = _rows(alignment)
    where, other = (sum(size is not None for size in rows[number][:beside]) for number in (first, second))
    for words, shape in _with_axes(shapes[first], where, abs(axis - beside)):
        yield first, words, shape
    yield second, f".squeeze({other - len(shapes[second])})", shapes[second][:other] + shapes[second][other + 1 :]


def _with_axes(shape: Shape, axis: int, most: int) -> Iterator[tuple[str, Shape]]:
    """Yield a shape with up to `most` more axes of size 1, after its axis `axis` or before it."""
    for count in range(1, most + 1):
        for place in (axis + 1, axis):
            index = [":"] * place + ["None"] * count + [":"] * (place == axis)
            yield f"[{', '.join(index)}]", (*shape[:place], *[1] * count, *shape[place:])


def _wider(shape: Shape, rank: int) -> Iterator[tuple[str, Shape]]:
    """Yield a shape with axes of size 1 before its own, or after them, up to this rank."""
    for count in range(1, rank - len(shape) + 1):
        nones = ["None"] * count
        yield f"[{', '.join(nones)}]", (*[1] * count, *shape)
        yield f"[{', '.join([':'] * len(shape) + nones)}]", (*shape, *[1] * count)


def _reached(op: Op, shapes: tuple[Shape, ...], lower: Lower) -> tuple[Alignment, Sequence[int | str]] | None:
    """Return how these shapes are aligned, and their output. If they do not broadcast for all sizes, or two of them
    make a square, return None."""
    try:
        plan = lower(op, shapes)
    except Incompatible:
        return None
    if isinstance(plan, SymbolicPlan) and plan.conditions:
        return None
    alignment = plan.apart if isinstance(plan, SymbolicPlan) else align(op, shapes)
    return None if _square(alignment) else (alignment, plan.outputs[0].shape)
