"""Families: the rules that many frameworks have in common, each a base of their ops.

An op of a family is its name, its link, its snippets, and whatever it does otherwise.
"""

from typing import ClassVar, Self

from pydantic import Field

from ..plan.alignment import (
    Alignment,
    Axis,
    Incompatible,
    Output,
    Relation,
    Term,
    check_rank,
    fit_axes,
    fit_right_keeping,
    fit_right_plainly,
    meet_right,
)
from ..plan.plan import Plan, Shape
from ..schema.dimensions import Dimensions
from ..schema.shapes import format_shape
from .base import Op


class Multidirectional(Op):
    """Any number of inputs that meet: aligned right, size 1 stretches. Each is an output, of the shape at which all
    meet."""

    max_inputs: ClassVar[int | None] = None
    outputs: ClassVar[str] = "as many as inputs"

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return meet_right(shapes)

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


class MatrixProduct(Op):
    """Two stacks of matrices (..., M, K) and (..., K, N): the axes before the last two meet, aligned right, and size 1
    stretches. A vector is a row on the left, and a column on the right. The outputs are the operands as they are read,
    (..., M, K) and (..., K, N); nothing is translated to it."""

    min_inputs: ClassVar[int] = 2
    max_inputs: ClassVar[int | None] = 2
    outputs: ClassVar[str] = "2"
    shares_axes: ClassVar[bool] = False
    min_rank: ClassVar[int] = 1
    """The least rank of an operand."""

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        for number, shape in enumerate(shapes):
            if len(shape) < self.min_rank:
                raise Incompatible(
                    "rank-mismatch",
                    f"Input {number} of shape {format_shape(shape)} has {len(shape)} axes, and {self.name} takes "
                    f"{self.min_rank} or more.",
                )
        left, right = shapes
        stacked = meet_right((left[:-2], right[:-2])).axes
        rank, inner = len(stacked), max(len(right) - 2, 0)
        rows = tuple(Term(0, axis, left[axis]) for axis in range(len(left))[-2:-1])
        columns = tuple(Term(1, axis, right[axis]) for axis in range(len(right))[1:][-1:])
        axes = (
            *stacked,
            Axis(Relation.MUTUAL, rows),
            summed(self.name, Term(0, len(left) - 1, left[-1]), Term(1, inner, right[inner])),
            Axis(Relation.MUTUAL, columns),
        )
        every = tuple(range(rank + 2))
        return Alignment(
            shapes,
            None,
            axes,
            (
                Output(0, every[-len(left) :], every),
                Output(1, every[-len(right) :] if len(right) > 1 else (rank,), (*every[:rank], rank + 1, rank + 2)),
            ),
        )

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls.model_validate({}), ((5, 1, 2, 3), (6, 3, 4))


def summed(name: str, left: Term, right: Term) -> Axis:
    """The axis of each operand of a product along which it is summed: of equal sizes, and no axis of the result."""
    sentence = f"{name} sums over it and axis {right.axis} of input {right.input}, whose size must be the same"
    return Axis(Relation.EQUAL, (left, right), sentence)


class Unidirectional(Op):
    """One input that stretches into `shape`: aligned right, the rank never shrinks."""

    target: ClassVar[str | None] = "shape"
    shape: Dimensions = Field(description="The shape of the output.", examples=[[4, 3]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return fit_right_plainly(shapes[0], tuple(self.shape), "shape", self.name)

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
        return fit_right_keeping(shapes[0], tuple(self.shape), "shape", self.name)

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
        return fit_axes(shapes, like, tuple(range(len(like) - len(shape), len(like))), Relation.INTO, lender=1)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self | None:
        return cls.model_validate({})

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls.model_validate({}), ((3, 1), (2, 3, 4))
