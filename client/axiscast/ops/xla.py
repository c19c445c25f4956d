"""XLA: the binary operations in XlaBuilder, XLA's client library.

Operands of equal rank are combined axis by axis. XLA does not add axes if the ranks differ. Instead,
`broadcast_dimensions` names an axis of the larger operand for each axis of the smaller operand, in ascending order. A
scalar needs no axes. After this mapping, both operands expand on axes of size 1.
"""

from pydantic import Field

from ..plan.alignment import Alignment, Axis, Output, ShapeMismatch, Term, check_mapping
from ..plan.plan import Shape
from ..plan.relations import Relation
from ..wire.shapes import Integers, format_shape, shorten
from .aliases import aliases
from .families import Elementwise
from .framework import CPP, Framework

FRAMEWORK = Framework(
    order=105, reference=("jaxlib", "0.4.38"), language=CPP, preamble="", transpose="", reshape=""
)  # no request can be translated to these operations, because they compute new values


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
        maps[low] = self._mapping(shapes[low], shapes[high])
        terms: list[list[Term]] = [[] for _ in shapes[high]]
        for number, (shape, mapping) in enumerate(zip(shapes, maps, strict=True)):
            for axis, place in enumerate(mapping):
                terms[place].append(Term(number, axis, shape[axis]))
        axes = tuple(Axis(Relation.BROADCAST, tuple(meeting)) for meeting in terms)
        outputs = tuple(Output(number, mapping, range(len(axes))) for number, mapping in enumerate(maps))
        return Alignment(shapes, None, axes, outputs)

    def _mapping(self, smaller: Shape, larger: Shape) -> tuple[int, ...]:
        """Return the axis of the larger operand for each axis of the smaller operand."""
        mapping = tuple(self.broadcast_dimensions)
        words = f"broadcast_dimensions {shorten(mapping)}"
        if not mapping and len(smaller) == len(larger):
            return tuple(range(len(larger)))
        if not mapping and smaller:
            raise ShapeMismatch(
                "rank-mismatch",
                f"The operands {format_shape(smaller)} and {format_shape(larger)} have {len(smaller)} and "
                f"{len(larger)} axes, but the op does not align ranks. Name the axes in broadcast_dimensions.",
            )
        if len(mapping) != len(smaller):
            raise ShapeMismatch(
                "axes-count",
                f"{words} has {len(mapping)} entries for the {len(smaller)} axes of {format_shape(smaller)}: each "
                f"axis needs a matching axis of the larger operand.",
            )
        check_mapping(mapping, larger, "broadcast_dimensions")
        if list(mapping) != sorted(mapping):
            raise ShapeMismatch("axes-not-sorted", f"{words} is not ascending: the op does not transpose.")
        return mapping


ALIASES = aliases(
    Add,
    "Sub Mul Div Rem Max Min Pow Atan2 Complex And Or Xor Eq Ne Ge Gt Lt Le ShiftLeft ShiftRightArithmetic "
    "ShiftRightLogical",
    "xla",
)
