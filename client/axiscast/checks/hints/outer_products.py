"""Functions that find accidental outer products, and changes that fix them.

A change either combines the inputs element by element, or forms all pairs explicitly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from ...ops import Op, align
from ...ops import lower as lower_integers
from ...plan.alignment import Alignment, RightAlignment, ShapeMismatch
from ...plan.plan import Plan, Shape
from ...plan.relations import Relation
from ..two_sided import TwoSidedBroadcast, find_outer_product, find_two_sided_in_rows
from .equation_hints import reshape_candidate
from .hints import Lower, hint_to_dict, integer_output


def two_sided_of(alignment: Alignment, inputs: Iterable[int] = ()) -> TwoSidedBroadcast | None:
    """Return a two-sided broadcast of all inputs, or of the two inputs with these indices, or None if none exists."""
    rows = rows_of(alignment)
    return find_two_sided_in_rows([rows[number] for number in inputs] or rows)


def outer_product_of(alignment: Alignment) -> TwoSidedBroadcast | None:
    """Return an accidental outer product of two inputs, or None if no two inputs form one."""
    if isinstance(alignment, RightAlignment) and alignment.relation is Relation.BROADCAST:
        return find_outer_product(alignment.input_shapes, alignment.nonunit_masks)
    found = two_sided_of(alignment)
    return found if found and found.kind == "square" else None


def rows_of(alignment: Alignment) -> Sequence[Sequence[object]]:
    """Return a row for each input with the input's size on each axis, as find_two_sided_in_rows expects.

    On axes that cannot broadcast in both directions, the row contains size 1, so that these axes are never part of a
    two-sided broadcast.
    """
    rows: list[list[object]] = [[None] * len(alignment.axes) for _ in alignment.input_shapes]
    for number, axis in enumerate(alignment.axes):
        for term in axis.terms:
            if term.input is not None:
                rows[term.input][number] = term.size if axis.relation is Relation.BROADCAST else 1
    return rows


def outer_product_changes(
    op: Op, shapes: tuple[Shape, ...], alignment: Alignment, found: TwoSidedBroadcast, lower: Lower
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return two hints, or None for a hint that was not found.

    The first adds or removes axes so that the inputs are combined element by element. The second adds the missing axis
    explicitly, so that the inputs still form all pairs, but without a warning.
    """
    (first, second), (axis, beside) = found.inputs, found.axes
    rows = rows_of(alignment)
    place, other = (sum(size is not None for size in rows[number][:beside]) for number in found.inputs)
    own, shape = shapes[first], shapes[second]
    counts = range(1, abs(axis - beside) + 1)
    narrower = [(second, shape[:other] + shape[other + 1 :])]
    wider = [(first, (*own[:at], *[1] * count, *own[at:])) for count in counts for at in (place + 1, place)]
    counts = range(1, len(alignment.axes) - len(own) + 1)
    outer = [(first, changed) for count in counts for changed in ((*[1] * count, *own), (*own, *[1] * count))]

    def first_change(changes: Iterable[tuple[int, Shape]], is_two_sided: bool) -> dict[str, Any] | None:
        for number, changed in changes:
            candidate = reshape_candidate(op, shapes, number, changed)
            result = _result(op, candidate.inputs, lower)
            if result is not None and bool(two_sided_of(result[1], found.inputs)) is is_two_sided:
                return hint_to_dict(candidate, shapes, result[0])
        return None

    return first_change(chain(narrower, wider), False), first_change(outer, True)


def _result(op: Op, shapes: tuple[Shape, ...], lower: Lower) -> tuple[Sequence[int | str], Alignment] | None:
    """Return the output shape of a changed request, and its alignment.

    Return None if the request does not broadcast for all sizes, or if it is an accidental outer product.
    """
    try:
        if lower is lower_integers:
            alignment = align(op, shapes)
            output = integer_output(alignment)
        else:
            plan = lower(op, shapes)
            assert not isinstance(plan, Plan)
            output, alignment = (None if plan.conditions else plan.outputs[0].shape), plan.apart
    except ShapeMismatch:
        return None
    return None if output is None or outer_product_of(alignment) else (output, alignment)
