"""XLA: the binary operations in XlaBuilder, XLA's client library.

Operands of equal rank are combined axis by axis. XLA does not add axes if the ranks differ. Instead,
`broadcast_dimensions` names an axis of the larger operand for each axis of the smaller operand, in ascending order. A
scalar needs no axes. After this mapping, both operands expand on axes of size 1.
"""

from pydantic import Field

from ..plan.alignment import (
    Alignment,
    Input,
    align_axes,
    check_ascending,
    check_entries,
    check_equal_ranks,
    check_mapping,
)
from ..plan.plan import Shape
from ..plan.relations import Relation
from ..wire.shapes import Integers
from .aliases import aliases
from .families import Elementwise
from .framework import CPP, Framework

# No request can be translated to these operations, because they compute new values.
FRAMEWORK = Framework(order=105, reference=("jaxlib", "0.4.38"), language=CPP)


class Add(Elementwise, name="xla.Add"):
    """Broadcast two operands axis by axis, or broadcast the smaller operand on named axes of the larger operand."""

    link = "https://openxla.org/xla/broadcasting"
    example_attributes = {"broadcast_dimensions": (0,)}
    example_shapes = ((2, 3), (2,))
    broadcast_dimensions: Integers = Field(
        default=(),
        description="For each axis of the smaller operand, the matching axis of the larger operand, in ascending "
        "order. For equal ranks, name all axes or no axis. By default, no axis is named.",
        examples=[[1]],
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        low, high = sorted((0, 1), key=lambda number: len(shapes[number]))
        maps = [tuple(range(len(shape))) for shape in shapes]
        maps[low] = self._mapping(Input(low, shapes[low]), Input(high, shapes[high]))
        return align_axes(shapes, Relation.BROADCAST, maps, len(shapes[high]))

    def _mapping(self, smaller: Input, larger: Input) -> tuple[int, ...]:
        """Return the axis of the larger operand for each axis of the smaller operand."""
        mapping = tuple(self.broadcast_dimensions)
        if not mapping and smaller.shape:
            check_equal_ranks(
                smaller, larger, "In broadcast_dimensions, list the output axis of each axis of the smaller input."
            )
            return tuple(range(len(larger.shape)))
        check_entries(mapping, smaller, "broadcast_dimensions")
        check_mapping(mapping, larger.shape, "broadcast_dimensions")
        check_ascending(mapping, "broadcast_dimensions")
        return mapping


ALIASES = aliases(
    Add,
    "Sub Mul Div Rem Max Min Pow Atan2 Complex And Or Xor Eq Ne Ge Gt Lt Le ShiftLeft ShiftRightArithmetic "
    "ShiftRightLogical",
    "xla",
)
