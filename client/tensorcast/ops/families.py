"""Families: the rules that many frameworks have in common, each a base of their ops.

An op of a family is its name, its link, its snippets, and whatever it does otherwise.
"""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field

from ..plan.alignment import (
    Alignment,
    Relation,
    check_rank,
    fit_axes,
    fit_right_keeping,
    fit_right_plainly,
    meet_right,
)
from ..plan.plan import Plan, Shape
from ..schema.dimensions import Dimensions
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
