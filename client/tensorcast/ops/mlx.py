"""MLX: mlx.core.broadcast_to, NumPy's one-way rule. No size may be negative, and no rank is too large."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field

from ..plan.alignment import Alignment, fit_right_plainly
from ..plan.plan import Plan, Shape
from ..schema.dimensions import Dimensions
from .base import Op
from .framework import PYTHON, Framework

FRAMEWORK = Framework(
    order=160,
    reference=("mlx", "0.32.4"),
    language=PYTHON,
    head="import mlx.core as mx\n",
    transpose="{y} = mx.transpose({x}, {permutation})",
    reshape="{y} = mx.reshape({x}, {shape})",
)


class broadcast_to(Op):
    """Broadcast an array to a shape: aligned right, size 1 stretches, the rank never shrinks."""

    name: Literal["mlx.core.broadcast_to"] = "mlx.core.broadcast_to"
    target: ClassVar[str | None] = "shape"
    link: ClassVar[str] = "https://ml-explore.github.io/mlx/build/html/python/_autosummary/mlx.core.broadcast_to.html"
    snippets: ClassVar[tuple[str, ...]] = ("{y} = mx.broadcast_to({x}, {shape})",)
    shape: Dimensions = Field(description="The shape of the output.", examples=[[4, 3]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return fit_right_plainly(shapes[0], tuple(self.shape), "shape", self.name)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        return cls(shape=plan.outputs[0].output_shape)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(shape=(4, 3)), ((3,),)
