"""A column: one size for each of many requests. In a shape it stands where an integer would, as symbols do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..wire.shapes import MAX_SIZE

if TYPE_CHECKING:  # the rules load without NumPy, as the command line does
    import numpy as np

    Values = np.ndarray[Any, np.dtype[np.int64]]


class IntegerSizeRequired(TypeError):
    """A rule compares or computes with a column, where only an integer has an answer."""


def _refuse(*_: object) -> Any:
    raise IntegerSizeRequired("a rule needs integers, and this size is a column")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The size of one axis in every row. What a rule derives from it is a column too.

    Comparisons, arithmetic and truth raise IntegerSizeRequired: they differ from row to row.
    """

    values: Values

    def keeping(self, own: Column | int, keep: int) -> Column:
        """This target, where `keep` keeps an input's own size."""
        import numpy as np

        return Column(np.where(self.values == keep, own.values if isinstance(own, Column) else own, self.values))

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __index__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = __rfloordiv__ = _refuse
    __hash__ = object.__hash__

    def __floordiv__(self, divisor: int) -> Column:
        return Column(self.values // min(divisor, MAX_SIZE))
