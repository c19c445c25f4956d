"""NumPy: arrays against each other, or one array to a shape.

Shapes are aligned on their last axes. `broadcast_arrays` stretches size 1 of either to the other's size;
`broadcast_to` stretches the array alone, never drops an axis, and admits more axes.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field

from ..plan.alignment import Alignment, fit_right_plainly, meet_right
from ..plan.plan import Plan, Shape
from ..schema.dimensions import Dimensions
from .base import Op
from .framework import PYTHON, Framework

FRAMEWORK = Framework(
    order=10,
    reference=("numpy", "2.4.6"),
    language=PYTHON,
    head="import numpy as np\n",
    transpose="{y} = {x}.transpose({permutation})",
    reshape="{y} = {x}.reshape({shape})",
    executed="NumPy 2.4.6",
)


class broadcast_arrays(Op):
    """Broadcast any number of arrays against each other: aligned right, size 1 stretches."""

    name: Literal["numpy.broadcast_arrays"] = "numpy.broadcast_arrays"
    max_inputs: ClassVar[int | None] = None
    outputs: ClassVar[str] = "as many as inputs"
    max_rank: ClassVar[int | None] = 32  # its iterator stops there, although arrays have up to 64 axes
    link: ClassVar[str] = "https://numpy.org/doc/stable/reference/generated/numpy.broadcast_arrays.html"
    snippets: ClassVar[tuple[str, ...]] = ("[{ys}] = np.broadcast_arrays({xs})",)

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return meet_right(shapes)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        return cls()

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(), ((8, 1, 6, 1), (7, 1, 5))


class broadcast_to(Op):
    """Broadcast an array to a shape: aligned right, size 1 stretches, the rank never shrinks."""

    name: Literal["numpy.broadcast_to"] = "numpy.broadcast_to"
    target: ClassVar[str | None] = "shape"
    max_rank: ClassVar[int | None] = 64
    link: ClassVar[str] = "https://numpy.org/doc/stable/reference/generated/numpy.broadcast_to.html"
    snippets: ClassVar[tuple[str, ...]] = ("{y} = np.broadcast_to({x}, {shape})",)
    shape: Dimensions = Field(description="The shape of the output.", examples=[[4, 3]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return fit_right_plainly(shapes[0], tuple(self.shape), "shape", self.name)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        return cls(shape=plan.outputs[0].output_shape)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(shape=(4, 3)), ((3,),)
