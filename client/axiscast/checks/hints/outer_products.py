"""Functions that find fixes for a request with an accidental outer product.

Each fix either combines the inputs element by element, or forms all pairs explicitly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...ops import Op, align
from ...plan.alignment import Alignment, RightAlignment, ShapeMismatch
from ...plan.plan import Plan, Shape
from ...plan.relations import Relation
from ..two_sided import TwoSidedBroadcast, find_outer_product, find_two_sided, find_two_sided_in_rows
from .hints import Lower


class InputReshape(NamedTuple):
    """A changed request in which one input has a different shape."""

    input: int
    inputs: tuple[Shape, ...]
    output: Sequence[int | str]
    alignment: Alignment

    @property
    def shape(self) -> Shape:
        """The new shape of the input."""
        return self.inputs[self.input]


def two_sided_of(alignment: Alignment, inputs: Sequence[int] | None = None) -> TwoSidedBroadcast | None:
    """Return a two-sided broadcast of all inputs, or of the two inputs with these indices, or None if none exists."""
    if _is_plain(alignment):
        shapes = alignment.input_shapes
        if inputs is not None:
            return find_two_sided([shapes[number] for number in inputs])
        return find_two_sided(shapes, alignment.nonunit_masks if isinstance(alignment, RightAlignment) else ())
    rows = rows_of(alignment)
    return find_two_sided_in_rows(rows if inputs is None else [rows[number] for number in inputs])


def outer_product_of(alignment: Alignment) -> TwoSidedBroadcast | None:
    """Return an accidental outer product of two inputs, or None if no two inputs form one."""
    if isinstance(alignment, RightAlignment) and alignment.relation is Relation.BROADCAST:
        return find_outer_product(alignment.input_shapes, alignment.nonunit_masks)
    found = find_two_sided_in_rows(rows_of(alignment))
    return found if found and found.kind == "square" else None


def _is_plain(alignment: Alignment) -> bool:
    return isinstance(alignment, RightAlignment) and alignment.relation is Relation.BROADCAST


def rows_of(alignment: Alignment) -> Sequence[Sequence[object]]:
    """Return a row for each input with the input's size on each axis, as find_two_sided_in_rows expects.

    On axes that cannot broadcast in both directions, the row contains size 1, so that these axes are never part of a
    two-sided broadcast.
    """
    if _is_plain(alignment):
        rank = max(map(len, alignment.input_shapes))
        return [(*[None] * (rank - len(shape)), *shape) for shape in alignment.input_shapes]
    rows: list[list[object]] = [[None] * len(alignment.axes) for _ in alignment.input_shapes]
    for number, axis in enumerate(alignment.axes):
        for term in axis.terms:
            if term.input is not None:
                rows[term.input][number] = term.size if axis.relation is Relation.BROADCAST else 1
    return rows


def elementwise_fixes(
    op: Op, shapes: tuple[Shape, ...], alignment: Alignment, found: TwoSidedBroadcast, lower: Lower
) -> Iterator[InputReshape]:
    """Yield changes that turn an outer product into an element-wise operation by adding axes or removing an axis."""
    (first, second), (axis, beside) = found.inputs, found.axes
    rows = rows_of(alignment)
    where, other = (sum(size is not None for size in rows[number][:beside]) for number in (first, second))
    shape = shapes[second]
    wider = ((first, changed) for changed in _with_axes(shapes[first], where, abs(axis - beside)))
    narrower = [(second, shape[:other] + shape[other + 1 :])]
    for candidates in (narrower, wider):
        for number, changed in candidates:
            change = _change(op, shapes, number, changed, lower)
            if change is not None and not two_sided_of(change.alignment, found.inputs):
                yield change
                break


def explicit_all_pairs(
    op: Op, shapes: tuple[Shape, ...], alignment: Alignment, found: TwoSidedBroadcast, lower: Lower
) -> InputReshape | None:
    """Return the change that adds the missing axis explicitly. The inputs still form all pairs."""
    first = found.inputs[0]
    for shape in _wider(shapes[first], len(alignment.axes)):
        change = _change(op, shapes, first, shape, lower)
        if change is not None and two_sided_of(change.alignment, found.inputs):
            return change
    return None


def _with_axes(shape: Shape, axis: int, most: int) -> Iterator[Shape]:
    """Yield shapes with up to `most` new axes of size 1 after or before this axis."""
    for count in range(1, most + 1):
        for place in (axis + 1, axis):
            yield (*shape[:place], *[1] * count, *shape[place:])


def _wider(shape: Shape, rank: int) -> Iterator[Shape]:
    """Yield shapes with new axes of size 1 at the start or the end, up to this rank."""
    for count in range(1, rank - len(shape) + 1):
        yield (*[1] * count, *shape)
        yield (*shape, *[1] * count)


def _change(op: Op, shapes: tuple[Shape, ...], number: int, shape: Shape, lower: Lower) -> InputReshape | None:
    """Return a request in which one input has a different shape.

    Return None if the request does not broadcast for all sizes, or if it is an accidental outer product.
    """
    inputs = (*shapes[:number], shape, *shapes[number + 1 :])
    try:
        plan = lower(op, inputs)
    except ShapeMismatch:
        return None
    if not isinstance(plan, Plan) and plan.conditions:
        return None
    alignment = align(op, inputs) if isinstance(plan, Plan) else plan.apart
    return None if outer_product_of(alignment) else InputReshape(number, inputs, plan.outputs[0].shape, alignment)
