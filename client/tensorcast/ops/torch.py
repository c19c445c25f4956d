"""PyTorch: Tensor.expand, one-way, in which -1 keeps the input's size; and broadcast_tensors, NumPy's two-way rule."""

from __future__ import annotations

from itertools import accumulate
from operator import mul
from typing import ClassVar, Literal, Self

from pydantic import Field

from ..plan.alignment import Alignment, Conflict, fit_right_keeping, unchecked_sizes
from ..plan.plan import Plan, Shape
from ..schema.dimensions import Dimensions
from .base import Op
from .families import Multidirectional
from .framework import PYTHON, Framework

FRAMEWORK = Framework(
    order=70,
    reference=("torch", "2.13.0"),
    language=PYTHON,
    head="import torch\n",
    transpose="{y} = {x}.permute({permutation})",
    reshape="{y} = {x}.reshape({shape})",
    executed="PyTorch 2.13.0",
)


class expand(Op):
    """Broadcast a tensor to a size in which -1 keeps the input's size; -1 may not stand for a new axis."""

    name: Literal["torch.expand"] = "torch.expand"
    target: ClassVar[str | None] = "size"
    link: ClassVar[str] = "https://pytorch.org/docs/stable/generated/torch.Tensor.expand.html"
    snippets: ClassVar[tuple[str, ...]] = ("{y} = {x}.expand({size})",)
    size: Dimensions = Field(description="The size of the output; -1 keeps the input's.", examples=[[3, -1]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return fit_right_keeping(shapes[0], tuple(self.size), "size", self.name)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        return cls(size=plan.outputs[0].output_shape)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(size=(3, -1)), ((4,),)

    def release_difference(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        (shape,) = shapes
        sizes = unchecked_sizes(shape, tuple(self.size))
        elements = list(accumulate((size % 2**64 for size in sizes), mul))
        if (
            min(sizes, default=0) < 0
            and not (shape and -1 in sizes)  # on an axis that the input lacks: checked
            and elements[-1] == 0
            and max(elements) < 2**64  # their product is, too
        ):
            return "PyTorch 2.13 does not check this negative size, and beside a 0 makes a tensor of negative shape."
        return None


class broadcast_tensors(Multidirectional):
    """Broadcast any number of tensors against each other: aligned right, size 1 stretches."""

    name: Literal["torch.broadcast_tensors"] = "torch.broadcast_tensors"
    link: ClassVar[str] = "https://pytorch.org/docs/stable/generated/torch.broadcast_tensors.html"
    snippets: ClassVar[tuple[str, ...]] = ("[{ys}] = torch.broadcast_tensors({xs})",)
