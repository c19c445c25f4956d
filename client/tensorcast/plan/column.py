"""A column: one size for each of many requests. In a shape it stands where an integer would, as symbols do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..schema.shapes import MAX_SIZE

if TYPE_CHECKING:  # the rules load without NumPy, as the command line does
    import numpy as np

    Values = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The size of one axis in every row; equal to nothing but itself. What a rule derives from it is a column too."""

    values: Values

    def keeping(self, own: Column | int, keep: int) -> Column:
        """This target, where `keep` keeps an input's own size."""
        import numpy as np

        return Column(np.where(self.values == keep, own.values if isinstance(own, Column) else own, self.values))

    def __floordiv__(self, divisor: int) -> Column:
        return Column(self.values // min(divisor, MAX_SIZE))
