"""Families of ops: rules that many frameworks share. Each family is a base class for ops.

An op in a family defines its name, its link, its snippets, and any differences from the family's rule.
"""

from typing import ClassVar, Self

from pydantic import Field

from ..plan.alignment import (
    Alignment,
    Axis,
    Output,
    ShapeMismatch,
    Term,
    align_keeping,
    align_mapped,
    align_right,
    align_to_checked_target,
    check_rank,
)
from ..plan.plan import Plan, Shape
from ..plan.relations import Relation
from ..wire.dimensions import Dimensions
from ..wire.shapes import format_shape
from .base import Op


class Multidirectional(Op):
    """Any number of inputs that broadcast against each other. Shapes are right-aligned, and size 1 expands.

    Each input has an output, and all outputs have the common shape.
    """

    max_inputs: ClassVar[int | None] = None
    outputs: ClassVar[str] = "as many as inputs"

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_right(shapes)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self | None:
        return cls.model_validate({})

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls.model_validate({}), ((8, 1, 6, 1), (7, 1, 5))


class Elementwise(Multidirectional):
    """Two inputs that broadcast against each other before an operation computes with their elements.

    The outputs are the inputs after the broadcast. The operation's result is not an output, so no request can be
    translated to these ops.
    """

    min_inputs: ClassVar[int] = 2
    max_inputs: ClassVar[int | None] = 2


class Choice(Elementwise):
    """Three inputs that broadcast against each other: a condition and the two inputs to choose from."""

    min_inputs: ClassVar[int] = 3
    max_inputs: ClassVar[int | None] = 3

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls.model_validate({}), ((2, 1), (1, 3), ())


class MatrixProduct(Op):
    """Two stacks of matrices, (..., M, K) and (..., K, N), which broadcast before they are multiplied.

    The axes before the last two are right-aligned, and size 1 expands on these axes. A vector is a row on the left and
    a column on the right. The outputs are the operands after the broadcast. The result has the shape (..., M, N). If an
    operand is a vector, its M or N axis is omitted. No request can be translated to a product.
    """

    min_inputs: ClassVar[int] = 2
    max_inputs: ClassVar[int | None] = 2
    outputs: ClassVar[str] = "2"
    has_common_output_axes: ClassVar[bool] = False
    min_rank: ClassVar[int] = 1
    """The minimum rank of an operand."""

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        for number, shape in enumerate(shapes):
            if len(shape) < self.min_rank:
                raise ShapeMismatch(
                    "rank-mismatch",
                    f"Input {number} of shape {format_shape(shape)} has {len(shape)} axes, but {self.name} needs "
                    f"at least {self.min_rank}.",
                )
        left, right = shapes
        stacked = align_right((left[:-2], right[:-2])).axes
        rank, every = len(stacked), tuple(range(len(stacked) + 2))
        # For each operand axis, its position in the stacks of matrices (..., M, K) and (..., K, N).
        placed = [every[-len(left) :], every[-len(right) :] if len(right) > 1 else (rank,)]
        for number, attribute in enumerate(self.transposes):
            if getattr(self, attribute):
                placed[number] = (*placed[number][:-2], *placed[number][:-3:-1])
        terms = [
            {place: Term(number, axis, shape[axis]) for axis, place in enumerate(own)}
            for number, (shape, own) in enumerate(zip(shapes, placed, strict=True))
        ]
        # These are the axes M and N. If an operand is a vector, its axis M or N does not exist and has no term.
        rows = tuple(term for place, term in terms[0].items() if place == rank)
        columns = tuple(term for place, term in terms[1].items() if place == rank + 1)
        axes = (
            *stacked,
            Axis(Relation.BROADCAST, rows),
            summed(self.name, terms[0][rank + 1], terms[1][rank]),
            Axis(Relation.BROADCAST, columns),
        )
        outputs = Output(0, placed[0], every), Output(1, placed[1], (*every[:rank], rank + 1, rank + 2))
        result = (*range(rank), *[rank] * len(rows), *[rank + 2] * len(columns))
        return Alignment(shapes, None, axes, outputs, result=result)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls.model_validate({}), ((5, 1, 2, 3), (6, 3, 4))


def summed(name: str, *terms: Term) -> Axis:
    """Return the axis over which a product sums.

    The sizes must be equal, and the axis does not appear in the result.
    """
    return Axis(Relation.EQUAL, terms, f"{name} sums over these axes, so their sizes must be equal")


class Unidirectional(Op):
    """One input that broadcasts to `shape`. Shapes are right-aligned, size 1 expands, and no axis is removed."""

    target: ClassVar[str | None] = "shape"
    shape: Dimensions = Field(description="The shape of the output.", examples=[[4, 3]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_to_checked_target(shapes[0], tuple(self.shape), "shape", self.name)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self | None:
        return cls.model_validate({"shape": plan.outputs[0].output_shape})

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls.model_validate({"shape": (4, 3)}), ((3,),)


class UnidirectionalKeeping(Unidirectional):
    """One input that broadcasts to `shape`. A -1 in `shape` keeps the input's size and is not allowed on a new axis."""

    shape: Dimensions = Field(description="The shape of the output. -1 keeps the input's size.", examples=[[-1, 2]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_keeping(shapes[0], tuple(self.shape), "shape", self.name)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls.model_validate({"shape": (-1, 2)}), ((2, 1),)


class UnidirectionalLike(Op):
    """Input 0 broadcasts to the shape of input 1, which is used only for its shape.

    The shapes are right-aligned, size 1 expands, and no axis is removed.
    """

    min_inputs: ClassVar[int] = 2
    max_inputs: ClassVar[int | None] = 2

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        shape, like = shapes
        check_rank(shape, like, self.name)
        return align_mapped(
            shapes, like, tuple(range(len(like) - len(shape), len(like))), Relation.BROADCAST_TO, shape_source=1
        )

    @classmethod
    def from_plan(cls, plan: Plan) -> Self | None:
        return cls.model_validate({})

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls.model_validate({}), ((3, 1), (2, 3, 4))
