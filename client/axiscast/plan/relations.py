"""The relations between the sizes on one axis: a table with a row for each relation.

A row states its condition once, for every kind of size. Integers evaluate the condition to a bool, NumPy arrays to an
array of bools, and symbolic sizes (solver.SymbolicSize) to a Clause. Three loops read the table: resolution.py has the
one for integers, answers/batch_columns.py the one for arrays, and answers/symbolic.py the one for symbolic sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Any


class AxisSize(Enum):
    """Which of the sizes on an axis becomes the size of the axis."""

    ANY = auto()
    """All sizes on the axis are equal, so any of them is the size of the axis."""
    NONUNIT = auto()
    """The axis has the size that is not 1, because each input may expand to the others."""
    TARGET = auto()
    """The axis has the last size. All other sizes are compared with it, and a conflict names it."""


class Relation(Enum):
    """A relation between the sizes on one axis: a sentence, a condition on two sizes, and the resulting size."""

    BROADCAST = (
        "the sizes must be equal or 1",
        lambda size, other: (size == other) | (size == 1) | (other == 1),
        AxisSize.NONUNIT,
    )
    BROADCAST_TO = (
        "the size of an input must equal the target's or be 1",
        lambda size, target: (size == target) | (size == 1),
        AxisSize.TARGET,
    )
    EQUAL = (
        "the sizes must be equal, because size 1 does not expand here",
        lambda size, other: size == other,
        AxisSize.ANY,
    )
    FROM_ONE = (
        "a named axis must have size 1 before it expands",
        lambda size, target: size == 1,
        AxisSize.TARGET,
    )
    DIVISIBLE = (
        "the size must be a multiple of the divisor",
        lambda size, divisor: size % divisor == 0,
        AxisSize.TARGET,
    )

    def __init__(self, requirement: str, holds: Callable[[Any, Any], Any], axis_size: AxisSize) -> None:
        self.requirement = requirement
        self.holds = holds
        """The condition on two sizes. The types are Any, because each kind of size returns another type of result."""
        self.has_target = axis_size is AxisSize.TARGET
        self.is_two_sided = axis_size is AxisSize.NONUNIT
