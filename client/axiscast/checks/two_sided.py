"""Functions that find two-sided broadcasts (each of two inputs expands the other) and accidental outer products.

An input expands along an output axis if two conditions hold: the axis is missing or has size 1 in this input, and the
axis has a different size in another input. For example, each of the shapes (3, 1) and (1, 4) expands the other, which
is legal.

An accidental outer product, with the code `square`, is a special case: the two axes have equal sizes, and one of the
inputs does not have the axis along which it expands. For example, (5,) and (5, 1) become (5, 5). Nearly always, the
user meant an element-wise operation. No framework gives a warning: a loss, for example, is averaged over all pairs.

Code that runs inside other programs imports this module, so it imports only a few standard modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple


class TwoSidedBroadcast(NamedTuple):
    """A broadcast in which each of two inputs expands the other."""

    kind: Literal["square", "mutual-stretch"]
    inputs: tuple[int, int]
    axes: tuple[int, int]
    """The output axis along which the first input expands, and the output axis along which the second input expands.

    In an accidental outer product, the first input does not have the first axis.
    """


def find_two_sided(shapes: Sequence[Sequence[Any]]) -> TwoSidedBroadcast | None:
    """Return an accidental outer product of two shapes, else another two-sided broadcast, else None.

    The shapes must broadcast and are right-aligned. A symbolic size is treated as a size other than 1.

    >>> find_two_sided([(5,), (5, 1)])
    TwoSidedBroadcast(kind='square', inputs=(0, 1), axes=(0, 1))
    >>> find_two_sided([(3, 1), (1, 4)]).kind
    'mutual-stretch'
    >>> find_two_sided([(8, 3, 32, 32), (3, 1, 1), ()])
    """
    masks = _nonunit_masks(shapes)
    return find_outer_product(shapes, masks) or _find_mutual_stretch(masks, max(map(len, shapes)))


def find_outer_product(shapes: Sequence[Sequence[Any]], masks: tuple[int, ...] = ()) -> TwoSidedBroadcast | None:
    """Return an accidental outer product of two shapes, or None. The shapes are as in `find_two_sided`.

    `masks` are the nonunit masks of the shapes, if already computed. In a nonunit mask, the bit of an axis is set if
    the axis's size is not 1. The lowest bit represents the last axis.

    >>> find_outer_product([(5,), (5, 1)]).inputs
    (0, 1)
    >>> find_outer_product([(3, 1), (1, 4)])
    """
    ranks = [*map(len, shapes)]
    rank = max(ranks)
    if min(ranks) == rank:  # every input has all axes
        return None
    masks = masks or _nonunit_masks(shapes)
    if _find_mutual_stretch(masks, rank) is None or not _has_equal_sizes(shapes, masks):
        return None
    return _find_square([(*[None] * (rank - len(shape)), *shape) for shape in shapes])


def find_two_sided_in_rows(rows: Sequence[Sequence[Any]]) -> TwoSidedBroadcast | None:
    """Return the same result as `find_two_sided`, but for shapes that need not be right-aligned.

    Each input has a row with the input's size on each output axis, or None if the input does not have the axis. The
    sizes on one axis must be equal, except for sizes of 1.
    """
    masks = _nonunit_masks([[1 if size is None else size for size in row] for row in rows])
    stretch = _find_mutual_stretch(masks, len(rows[0]))
    return stretch and (_find_square(rows) or stretch)


def _nonunit_masks(shapes: Sequence[Sequence[Any]]) -> tuple[int, ...]:
    masks = []
    for shape in shapes:
        mask = 0
        for size in shape:
            mask += mask + (size != 1)
        masks.append(mask)
    return tuple(masks)


def _has_equal_sizes(shapes: Sequence[Sequence[Any]], masks: Sequence[int]) -> bool:
    """Return whether two output axes have equal sizes other than 1."""
    all_axes = 0
    for mask in masks:
        all_axes |= mask
    return len({size for shape in shapes for size in shape if size != 1}) < all_axes.bit_count()


def _find_square(rows: Sequence[Sequence[Any]]) -> TwoSidedBroadcast | None:
    """Return the first accidental outer product of the inputs with these rows, or None if there is none."""
    nonunit = [{axis for axis, size in enumerate(row) if size not in (None, 1)} for row in rows]
    sizes = [next((size for size in column if size not in (None, 1)), 1) for column in zip(*rows, strict=True)]
    for missing, size in enumerate(sizes):
        # For each axis, store the first input that has no axis `missing` and has a size other than 1 on this axis.
        first_inputs: dict[int, int] = {}
        for number, row in enumerate(rows):
            if row[missing] is None:
                first_inputs |= dict.fromkeys(nonunit[number] - first_inputs.keys(), number)
        equal_axes = [axis for axis in sorted(first_inputs) if sizes[axis] == size]
        for second, axes in enumerate(nonunit) if equal_axes else ():
            for axis in equal_axes:
                if missing in axes and axis not in axes:
                    return TwoSidedBroadcast("square", (first_inputs[axis], second), (missing, axis))
    return None


def _find_mutual_stretch(masks: tuple[int, ...], rank: int) -> TwoSidedBroadcast | None:
    """Return a two-sided broadcast, or None if there is none."""
    # In ascending order, a mask can only include masks before it, because a mask that includes another is larger.
    # If each mask includes the mask before it, there is no two-sided broadcast.
    for one, other in pairwise(sorted(masks)):
        only_one, only_other = one & ~other, other & ~one
        if only_one:
            axes = rank - only_other.bit_length(), rank - only_one.bit_length()
            return TwoSidedBroadcast("mutual-stretch", (masks.index(one), masks.index(other)), axes)
    return None
