"""Columns, which hold the sizes of one axis in many requests. A shape may contain a Column instead of an integer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..wire.shapes import MAX_SIZE

if TYPE_CHECKING:  # not imported at run time, so that the rules and the command line do not load NumPy
    import numpy as np

    Values = np.ndarray[Any, np.dtype[np.int64]]


class IntegerSizeRequired(TypeError):
    """The exception that a Column raises if a rule compares it or computes with it as if it were an integer."""


def _refuse(*_: object) -> Any:
    raise IntegerSizeRequired("the rule needs an integer, but this size is a column")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The size of one axis in every row of a vectorized batch.

    Comparisons, arithmetic and bool() raise IntegerSizeRequired, because their results would differ between rows. Only
    division returns a Column.
    """

    values: Values

    def keeping(self, own: Column | int, keep: int) -> Column:
        """Return a copy of this target Column in which the input's size replaces each value `keep`."""
        import numpy as np

        return Column(np.where(self.values == keep, own.values if isinstance(own, Column) else own, self.values))

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __index__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = __rfloordiv__ = _refuse
    __hash__ = object.__hash__

    def __floordiv__(self, divisor: int) -> Column:
        return Column(self.values // min(divisor, MAX_SIZE))
