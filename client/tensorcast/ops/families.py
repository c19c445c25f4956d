"""Families: the rules that many frameworks have in common, each a base of their ops.

An op of a family is its name, its link, its snippets, and whatever it does otherwise.
"""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field

from ..plan.alignment import Alignment, fit_right_keeping, fit_right_plainly, meet_right
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
        return cls()

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(), ((8, 1, 6, 1), (7, 1, 5))


class Unidirectional(Op):
    """One input that stretches into `shape`: aligned right, the rank never shrinks."""

    target: ClassVar[str | None] = "shape"
    shape: Dimensions = Field(description="The shape of the output.", examples=[[4, 3]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return fit_right_plainly(shapes[0], tuple(self.shape), "shape", self.name)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self | None:
        return cls(shape=plan.outputs[0].output_shape)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(shape=(4, 3)), ((3,),)


class UnidirectionalKeeping(Unidirectional):
    """The same, where a -1 in `shape` keeps the input's size; -1 may not stand for a new axis."""

    shape: Dimensions = Field(description="The shape of the output; -1 keeps the input's size.", examples=[[-1, 2]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return fit_right_keeping(shapes[0], tuple(self.shape), "shape", self.name)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(shape=(-1, 2)), ((2, 1),)
