"""MindSpore: NumPy's one-way rule, in which -1 keeps the input's size. A -1 may not stand on a new axis."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field

from ..plan.alignment import Alignment, Conflict, fit_right_keeping, unchecked_sizes
from ..plan.plan import Plan, Shape
from ..schema.dimensions import Dimensions
from .base import Op
from .framework import PYTHON, Framework

FRAMEWORK = Framework(
    order=30,
    reference=("mindspore", "2.10.0"),
    language=PYTHON,
    head="from mindspore import ops\n",
    transpose="{y} = ops.transpose({x}, {permutation})",
    reshape="{y} = ops.reshape({x}, {shape})",
    executed="MindSpore 2.10.0",
)


class broadcast_to(Op):
    """Broadcast a tensor to a shape in which -1 keeps the input's size; -1 may not stand for a new axis."""

    name: Literal["mindspore.broadcast_to"] = "mindspore.broadcast_to"
    target: ClassVar[str | None] = "shape"
    link: ClassVar[str] = "https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.broadcast_to.html"
    snippets: ClassVar[tuple[str, ...]] = ("{y} = ops.broadcast_to({x}, {shape})",)
    shape: Dimensions = Field(description="The shape of the output; -1 keeps the input's size.", examples=[[-1, 2]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return fit_right_keeping(shapes[0], tuple(self.shape), "shape", self.name)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        return cls(shape=plan.outputs[0].output_shape)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(shape=(-1, 2)), ((2, 1),)

    def release_difference(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        sizes = unchecked_sizes(shapes[0], tuple(self.shape))
        if 0 in sizes and min(sizes) < -1 and -1 not in sizes:
            return (
                "MindSpore 2.10 does not check sizes below -1, and beside a 0 makes a tensor of negative shape. "
                "They are refused here."
            )
        return None
