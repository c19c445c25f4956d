"""The possible relations between the sizes on one axis, as a table with one row per relation.

Each row states its condition once, for every kind of size. With integers, the condition returns a bool. With NumPy
arrays, the condition returns an array of bools. With symbolic sizes (size_solver.SymbolicSize), the condition returns a
Clause. Three modules read the table: resolution.py for integers, checks/batch_columns.py for arrays, and
checks/symbolic/symbolic.py for symbolic sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any


class AxisSize(Enum):
    """The rule that selects the size of an axis from the sizes that are combined on the axis."""

    ANY = auto()
    """All sizes on the axis are equal, so any of them is the size of the axis."""
    NONUNIT = auto()
    """The size that is not 1 becomes the size of the axis, because each input may expand to the other inputs."""
    TARGET = auto()
    """The last of the given sizes becomes the size of the axis.

    All other sizes are compared with the last size, and a conflict names the last size.
    """


def _is_multiple(whole: Any, part: Any) -> Any:
    """Return whether `whole` is a multiple of `part`, for every kind of size. Only 0 is a multiple of 0."""
    if hasattr(part, "divides"):  # `part` is a symbolic size
        return part.divides(whole)
    return (whole % (part + (part == 0)) == 0) & ((part != 0) | (whole == 0))


class Relation(Enum):
    """A relation between the sizes on one axis: a condition on two sizes, and the resulting size."""

    BROADCAST = (lambda a, b: (a == b) | (a == 1) | (b == 1), AxisSize.NONUNIT)
    BROADCAST_TO = (lambda a, b: (a == b) | (a == 1), AxisSize.TARGET)
    EQUAL = (lambda a, b: a == b, AxisSize.ANY)
    FROM_ONE = (lambda a, _: a == 1, AxisSize.TARGET)
    DIVISIBLE = (lambda a, b: a % b == 0, AxisSize.TARGET)
    TILES = (lambda a, b: _is_multiple(b, a), AxisSize.TARGET)

    def __init__(self, holds: Callable[[Any, Any], Any], axis_size: AxisSize) -> None:
        self.holds = holds
        """The condition on two sizes. The types are Any, because the type of the result depends on the kind of size."""
        self.has_target = axis_size is AxisSize.TARGET
        self.is_two_sided = axis_size is AxisSize.NONUNIT

    def common_size(self, sizes: Sequence[Any]) -> tuple[Any, Any]:
        """Return the size of an axis on which these sizes meet, and whether they fit. All sizes are known.

        Each size is an integer or an array with a size for each row, and so are the results. If sizes do not fit, the
        size of the axis has no meaning. An axis without sizes has size 1.
        """
        common, fits = (sizes[-1] if sizes else 1), True
        for size in sizes[:-1]:
            fits = fits & self.holds(size, common)
            if self.is_two_sided:
                common = common + (common == 1) * (size - 1)
        return common, fits
