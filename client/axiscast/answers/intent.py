"""Intent: whether all pairs are meant where two inputs make a square. One rule for all that watches or reads programs.

Shapes alone can't say it: x[:, None] - x and prediction - target have the same ones. So each checker collects facts of
the two inputs, from frames or from a graph, and this rule decides. docs/training.md has the rules that it was chosen
from, and what each finds. This file imports next to nothing, as two_sided.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from .two_sided import TwoSidedBroadcast

FindingKind = Literal["square", "every-square", "mutual-stretch", "rank-promotion"]
"""What can be reported: a square that is not meant; every square; two inputs that stretch each other; inputs of
different ranks."""
Way = Literal["", "index", "unsqueeze", "reduction"]


class Origin(NamedTuple):
    """Where an input of an operation comes from, as far as a checker knows."""

    way: Way = ""
    """How its axis of size 1 was written: by None in an index; by unsqueeze, or what else gives a tensor another shape;
    by a reduction that keeps its axis."""
    is_here: bool = False
    """Whether it was written in the expression of the operation, as in `x[:, None] - y`."""
    source: object = None
    """What stands for the tensor that it was made from without mixing in others. None is equal to nothing."""
    is_index: bool = False
    """Whether it holds positions: integers that no data enter, such as a range."""


class OperandPair(NamedTuple):
    """Two inputs of an operation that stretch each other, and the facts of the operation."""

    origins: tuple[Origin, Origin]
    is_square: bool = True
    """Whether they make a square; if not, they only stretch each other."""
    is_loss: bool = False
    """Whether the operation compares predictions with targets, element by element."""
    is_discrete: bool = False
    """Whether it is a comparison, or takes integers and booleans only."""
    has_operand_with_both_axes: bool = False
    """Whether another input has both axes already."""
    is_installed: bool = False
    """Whether its expression is the code of an installed package."""


def is_meant(pair: OperandPair) -> bool:
    """Return whether all pairs are meant, so that no warning is given.

    >>> row, column = Origin(), Origin("index", is_here=True)
    >>> is_meant(OperandPair((row, column)))                                 # x[:, None] - y
    True
    >>> is_meant(OperandPair((row, Origin("unsqueeze", is_here=True))))      # x.unsqueeze(1) - y
    False
    """
    if pair.is_loss:
        return False
    one, other = pair.origins
    if not pair.is_square:
        return bool(one.way or other.way)
    if pair.has_operand_with_both_axes or (one.source is not None and one.source == other.source):
        return True
    if one.is_index and other.is_index:
        return True
    here = {origin.way for origin in pair.origins if origin.is_here}
    if "index" in here:
        return True
    return "unsqueeze" in here and (pair.is_discrete or pair.is_installed or one.is_index or other.is_index)


def has_operand_with_both_axes(shapes: Sequence[Sequence[object]], found: TwoSidedBroadcast) -> bool:
    """Return whether one of the shapes has both axes of a square, neither of size 1.

    >>> from .two_sided import find_outer_product
    >>> shapes = [(5,), (5, 1), (5, 5)]
    >>> has_operand_with_both_axes(shapes[:2], find_outer_product(shapes[:2]))
    False
    >>> has_operand_with_both_axes(shapes, find_outer_product(shapes))
    True
    """
    rank = max(map(len, shapes))
    return any(
        all(axis >= rank - len(shape) and shape[axis - rank + len(shape)] != 1 for axis in found.axes)
        for shape in shapes
    )
