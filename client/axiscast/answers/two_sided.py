"""TwoSidedBroadcast: which two inputs stretch each other. That is legal, and of a square probably a mistake.

An input fills the axes where its size is not 1, and stretches along those that another input fills. Two inputs
stretch each other where each fills an axis that the other stretches along: (3, 1) and (1, 4). They make a square
where two such axes have one size, and an input lacks the one that it stretches along: (5,) and (5, 1) become (5, 5).
Element by element was nearly always meant then, and nothing says so: a loss is averaged over all pairs.

This file imports next to nothing, so that what runs inside of other people's programs can decide by it at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from itertools import pairwise
from operator import or_
from typing import Any, Literal, NamedTuple

KEPT_INPUTS = 8
"""What follows from the axes that inputs fill is kept of so many inputs or fewer: some 10 kB at the most, where it
would be 600 of as many as a request may have."""


class TwoSidedBroadcast(NamedTuple):
    """Two inputs that stretch each other."""

    kind: Literal["square", "mutual-stretch"]
    inputs: tuple[int, int]
    axes: tuple[int, int]
    """Of the output: that along which the first input stretches, and that along which the second one does. Each is
    filled by the other input. In a square the first input lacks the first axis."""


def find_two_sided(shapes: Sequence[Sequence[Any]], filled: list[int] | None = None) -> TwoSidedBroadcast | None:
    """A square of two of these shapes, which broadcast and are aligned on their last axes; where there is none, two
    that stretch each other; else None, in a microsecond. A size that is not known is taken for another than 1.
    `filled` has for each shape the axes that it fills, where the caller has them: a bit for each, the last axis the
    lowest.

    >>> find_two_sided([(5,), (5, 1)])
    TwoSidedBroadcast(kind='square', inputs=(0, 1), axes=(0, 1))
    >>> find_two_sided([(3, 1), (1, 4)]).kind
    'mutual-stretch'
    >>> find_two_sided([(8, 3, 32, 32), (3, 1, 1), ()])
    """
    filled = _filled(shapes) if filled is None else filled
    return find_outer_product(shapes, filled) or _stretch(filled, max(map(len, shapes)))


def find_outer_product(shapes: Sequence[Sequence[Any]], filled: list[int] | None = None) -> TwoSidedBroadcast | None:
    """Return a square of two of these shapes, or None. The arguments are those of `find_two_sided`.

    >>> find_outer_product([(5,), (5, 1)]).inputs
    (0, 1)
    >>> find_outer_product([(3, 1), (1, 4)])
    """
    ranks = [*map(len, shapes)]
    rank = max(ranks)
    if min(ranks) == rank:  # no input lacks an axis
        return None
    filled = _filled(shapes) if filled is None else filled
    if _stretch(filled, rank) is None or not _some_alike(shapes, filled):
        return None
    return _square([(*[None] * (rank - len(shape)), *shape) for shape in shapes], filled)


def _filled(shapes: Sequence[Sequence[Any]]) -> list[int]:
    """Return for each shape the axes that it fills, as bits."""
    filled = []
    for shape in shapes:
        axes = 0
        for size in shape:
            axes += axes + (size != 1)
        filled.append(axes)
    return filled


def find_two_sided_in_rows(rows: Sequence[Sequence[Any]]) -> TwoSidedBroadcast | None:
    """The same of shapes that are aligned in any way: for each input a row, in it for each axis of the output the
    input's size, or None where the input lacks the axis. Sizes other than 1 that meet on an axis are equal."""
    filled = [reduce(lambda axes, size: 2 * axes + (size not in (None, 1)), row, 0) for row in rows]
    stretch = _stretch(filled, len(rows[0]))
    return stretch and (_square(rows, filled) or stretch)


def _some_alike(shapes: Sequence[Sequence[Any]], filled: Sequence[int]) -> bool:
    """Whether two axes have one size."""
    return len({size for shape in shapes for size in shape if size != 1}) < reduce(or_, filled).bit_count()


def _square(rows: Sequence[Sequence[Any]], filled: Sequence[int]) -> TwoSidedBroadcast | None:
    """A square, by the inputs' rows, and by the axes that each fills, as bits: the last axis is the lowest."""
    columns = [*zip(*rows, strict=True)]
    sizes = [next((size for size in column if size not in (None, 1)), 1) for column in columns]
    for axis, column in enumerate(columns):
        lacking = [fills if size is None else 0 for size, fills in zip(column, filled, strict=True)]
        if not any(lacking):
            continue
        alike = reduce(lambda axes, size: 2 * axes + (size == sizes[axis]), sizes, 0) & reduce(or_, lacking)
        for second, fills in enumerate(filled):
            if fills >> len(sizes) - 1 - axis & 1 and (shared := alike & ~fills):
                bit = shared.bit_length() - 1
                first = next(number for number, fills in enumerate(lacking) if fills >> bit & 1)
                return TwoSidedBroadcast("square", (first, second), (axis, len(sizes) - 1 - bit))
    return None


def _stretch(filled: Sequence[int], rank: int) -> TwoSidedBroadcast | None:
    """That of the first inputs that fill two sets of axes of which none includes the other, if there are such."""
    stretch = _mutual_stretch if len(filled) <= KEPT_INPUTS else _mutual_stretch.__wrapped__
    return stretch(tuple(filled), rank)


@lru_cache(256)
def _mutual_stretch(filled: tuple[int, ...], rank: int) -> TwoSidedBroadcast | None:
    """See _stretch. Kept, since few such sets are asked for again and again, with other sizes."""
    for one, other in pairwise(sorted(filled)):  # as numbers, sets ascend that include one another
        if one & ~other:
            axes = rank - (other & ~one).bit_length(), rank - (one & ~other).bit_length()
            return TwoSidedBroadcast("mutual-stretch", (filled.index(one), filled.index(other)), axes)
    return None
