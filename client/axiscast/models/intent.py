"""The rule that decides whether an outer product is intended. All program checks share this rule.

Shapes alone do not show the intention: x[:, None] - x and prediction - target have the same shapes. Therefore each
checker collects data about the two operands, from stack frames or from a graph, and this rule decides. docs/training.md
describes the alternatives. Code that runs inside other programs imports this module, so it imports only a few standard
modules.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal, NamedTuple, get_args

from ..checks.two_sided import TwoSidedBroadcast

FindingKind = Literal["square", "every-square", "mutual-stretch", "rank-promotion"]
"""The kinds of findings that a user can select.

square: an outer product that is not intended. every-square: any outer product. mutual-stretch: two operands, each of
which expands the other. rank-promotion: operands with different ranks.
"""
FailOn = Literal["incompatible", "square", "needs"]
"""The severity levels, from the most to the least severe. Each level includes the kinds of all more severe levels."""


def validate_kinds(kinds: Collection[str]) -> tuple[FindingKind, ...]:
    """Return the kinds in the standard order. Raises ValueError if `kinds` is empty or contains an unknown kind."""
    if isinstance(kinds, str) or not kinds or not set(kinds) <= set(get_args(FindingKind)):
        raise ValueError(f"kinds must be a non-empty selection of {get_args(FindingKind)}, not {kinds!r}")
    return tuple(kind for kind in get_args(FindingKind) if kind in kinds)


AxisOrigin = Literal["", "index", "unsqueeze", "reduction"]


class Origin(NamedTuple):
    """What is known about how an operand was computed."""

    axis_origin: AxisOrigin = ""
    """The kind of code that added the operand's axis of size 1, or an empty string if the kind is unknown.

    index: None in an index. unsqueeze: the function unsqueeze, or another function that changes the shape. reduction: a
    reduction that keeps the axis.
    """
    is_here: bool = False
    """Whether the code that added the axis is part of the operation's own expression, as in `x[:, None] - y`."""
    source: object = None
    """A key that identifies the only tensor from which the operand was computed.

    The key is None if the operand was computed from several tensors, or if the tensor is unknown.
    """
    is_index: bool = False
    """Whether the operand contains indices, such as a range, that do not depend on data."""


def elementwise_origin(operands: Sequence[tuple[Any, ...]]) -> tuple[AxisOrigin, Any, Any, bool]:
    """Return the origin of a tensor that was computed element by element, or whose elements were selected.

    An operand's origin is a tuple that begins with the kind of code that added its axis of size 1, the location of this
    code, a key for its only source, and whether it contains indices. In the result, the source is None if the operands
    have several sources.
    """
    written = next((operand for operand in operands if operand[0]), ("", None))
    source = operands[0][2]
    has_one_source = all(operand[2] == source for operand in operands)
    return written[0], written[1], source if has_one_source else None, all(operand[3] for operand in operands)


class OperandPair(NamedTuple):
    """Two operands that expand each other, and data about the operation that combines them."""

    origins: tuple[Origin, Origin]
    is_square: bool = True
    """Whether the operands form an outer product of equal sizes, in which one operand has no axis to expand."""
    is_loss: bool = False
    """Whether the operation is a loss, which compares predictions with targets element by element."""
    is_discrete: bool = False
    """Whether the operation is a comparison, or all its operands are arrays of integers or booleans."""
    has_operand_with_both_axes: bool = False
    """Whether an operand of the operation has both axes of the outer product."""
    is_installed: bool = False
    """Whether the expression is in the code of an installed package."""


def is_meant(pair: OperandPair) -> bool:
    """Return whether the outer product is intended, so that no warning is given.

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
        return bool(one.axis_origin or other.axis_origin)
    if pair.has_operand_with_both_axes or (one.source is not None and one.source == other.source):
        return True
    if one.is_index and other.is_index:
        return True
    here = {origin.axis_origin for origin in pair.origins if origin.is_here}
    if "index" in here:
        return True
    return "unsqueeze" in here and (pair.is_discrete or pair.is_installed or one.is_index or other.is_index)


def has_operand_with_both_axes(shapes: Sequence[Sequence[object]], found: TwoSidedBroadcast) -> bool:
    """Return whether one of the shapes has both axes of an outer product, with sizes other than 1.

    >>> from .two_sided import find_outer_product
    >>> shapes = [(5,), (5, 1), (5, 5)]
    >>> has_operand_with_both_axes(shapes[:2], find_outer_product(shapes[:2]))
    False
    >>> has_operand_with_both_axes(shapes, find_outer_product(shapes))
    True
    """
    rank = max(map(len, shapes))
    rows = [(*[1] * (rank - len(shape)), *shape) for shape in shapes]
    return any(all(row[axis] != 1 for axis in found.axes) for row in rows)
