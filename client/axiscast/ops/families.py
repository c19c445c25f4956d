"""Families: the rules that many frameworks have in common, each a base of their ops.

An op of a family is its name, its link, its snippets, and whatever it does otherwise.
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
    align_to_shape,
    check_rank,
)
from ..plan.plan import Plan, Shape
from ..plan.relations import Relation
from ..wire.dimensions import Dimensions
from ..wire.shapes import format_shape
from .base import Op


class Multidirectional(Op):
    """Any number of inputs that meet: aligned right, size 1 stretches. Each is an output, of the shape at which all
    meet."""

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
    """Two inputs that meet so, before they are combined element by element. The outputs are the inputs as the operation
    reads them, each of its result's shape; what it gives is another thing, so that nothing is translated to it."""

    min_inputs: ClassVar[int] = 2
    max_inputs: ClassVar[int | None] = 2


class Choice(Elementwise):
    """Three inputs that meet so: a condition and the two that it chooses from."""

    min_inputs: ClassVar[int] = 3
    max_inputs: ClassVar[int | None] = 3

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls.model_validate({}), ((2, 1), (1, 3), ())


class MatrixProduct(Op):
    """Two stacks of matrices (..., M, K) and (..., K, N): the axes before the last two meet, aligned right, and size 1
    stretches. A vector is a row on the left, and a column on the right. The outputs are the operands as they are read,
    (..., M, K) and (..., K, N), and the result is (..., M, N), without the axis that a vector lacks; nothing is
    translated to it."""

    min_inputs: ClassVar[int] = 2
    max_inputs: ClassVar[int | None] = 2
    outputs: ClassVar[str] = "2"
    has_common_output_axes: ClassVar[bool] = False
    min_rank: ClassVar[int] = 1
    """The least rank of an operand."""

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        for number, shape in enumerate(shapes):
            if len(shape) < self.min_rank:
                raise ShapeMismatch(
                    "rank-mismatch",
                    f"Input {number} of shape {format_shape(shape)} has {len(shape)} axes, and {self.name} takes "
                    f"{self.min_rank} or more.",
                )
        left, right = shapes
        stacked = align_right((left[:-2], right[:-2])).axes
        rank, every = len(stacked), tuple(range(len(stacked) + 2))
        # Where each axis of an operand lands in the stacks of matrices (..., M, K) and (..., K, N).
        placed = [every[-len(left) :], every[-len(right) :] if len(right) > 1 else (rank,)]
        for number, attribute in enumerate(self.transposes):
            if getattr(self, attribute):
                placed[number] = (*placed[number][:-2], *placed[number][:-3:-1])
        terms = [
            {place: Term(number, axis, shape[axis]) for axis, place in enumerate(own)}
            for number, (shape, own) in enumerate(zip(shapes, placed, strict=True))
        ]
        rows, columns = (
            [term] if (term := own.get(place)) else [] for own, place in zip(terms, every[-2:], strict=True)
        )
        axes = (
            *stacked,
            Axis(Relation.BROADCAST, tuple(rows)),
            summed(self.name, terms[0][rank + 1], terms[1][rank]),
            Axis(Relation.BROADCAST, tuple(columns)),
        )
        outputs = Output(0, placed[0], every), Output(1, placed[1], (*every[:rank], rank + 1, rank + 2))
        result = (*range(rank), *[rank] * len(rows), *[rank + 2] * len(columns))
        return Alignment(shapes, None, axes, outputs, result=result)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls.model_validate({}), ((5, 1, 2, 3), (6, 3, 4))


def summed(name: str, *terms: Term) -> Axis:
    """Return the axis along which operands of a product are summed: of equal sizes, and not in the result."""
    return Axis(Relation.EQUAL, terms, f"{name} sums over these axes, so their sizes must be equal")


class Unidirectional(Op):
    """One input that stretches into `shape`: aligned right, the rank never shrinks."""

    target: ClassVar[str | None] = "shape"
    shape: Dimensions = Field(description="The shape of the output.", examples=[[4, 3]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_to_shape(shapes[0], tuple(self.shape), "shape", self.name)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self | None:
        return cls.model_validate({"shape": plan.outputs[0].output_shape})

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls.model_validate({"shape": (4, 3)}), ((3,),)


class UnidirectionalKeeping(Unidirectional):
    """The same, where a -1 in `shape` keeps the input's size; -1 may not stand for a new axis."""

    shape: Dimensions = Field(description="The shape of the output; -1 keeps the input's size.", examples=[[-1, 2]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_keeping(shapes[0], tuple(self.shape), "shape", self.name)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls.model_validate({"shape": (-1, 2)}), ((2, 1),)


class UnidirectionalLike(Op):
    """Input 0 stretches into the shape of input 1: aligned right, the rank never shrinks. Input 1 only lends its
    shape."""

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
