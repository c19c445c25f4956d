"""PaddlePaddle: paddle.expand, NumPy's one-way rule, in which -1 keeps the input's size.

An empty shape keeps the input as it is. At most 8 sizes are taken, whatever the input's rank.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from ..plan.alignment import Alignment, Conflict, fit_right
from ..plan.plan import Plan, Shape
from .families import UnidirectionalKeeping
from .framework import PYTHON, Framework

FRAMEWORK = Framework(
    order=110,
    reference=("paddlepaddle", "3.3.1"),
    language=PYTHON,
    head="import paddle\n",
    transpose="{y} = paddle.transpose({x}, {permutation})",
    reshape="{y} = paddle.reshape({x}, {shape})",
    executed="PaddlePaddle 3.3.1",
)
MAX_RANK = 8
"""Sizes of `shape` that Paddle takes."""


class expand(UnidirectionalKeeping):
    """Broadcast a tensor to a shape in which -1 keeps the input's size; an empty shape keeps the tensor as it is."""

    name: Literal["paddle.expand"] = "paddle.expand"
    max_rank: ClassVar[int | None] = MAX_RANK
    link: ClassVar[str] = "https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/expand_en.html"
    snippets: ClassVar[tuple[str, ...]] = ("{y} = paddle.expand({x}, {shape})",)

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return super().align(shapes) if self.shape else fit_right(shapes[0], shapes[0])

    def limited_rank(self, shapes: tuple[Shape, ...]) -> int:
        return len(self.shape)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """The shape; none where it would be too long, which keeps the input as it is."""
        shape = plan.outputs[0].output_shape
        return cls(shape=shape if len(shape) <= MAX_RANK else ())

    def release_difference(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        (shape,), new = shapes, len(self.shape) - len(shapes[0])
        if not 0 <= new <= MAX_RANK - len(shape) or min(self.shape[:new], default=0) < 0:
            return None
        own = self.shape[new:]
        fits = all(want < 0 or have in (1, want) for have, want in zip(shape, own, strict=True))
        if min(own, default=0) < -1 and fits:
            return "Paddle 3.3 takes a size below -1, on an axis that the input has, for 0, whatever the input's size."
        return None
