"""PaddlePaddle: paddle.expand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from ..schema.dimensions import Dimensions
from .base import Op


class expand(Op):
    """Broadcast a tensor to a shape in which -1 keeps the input's size; an empty shape keeps the tensor as it is."""

    name: Literal["paddle.expand"] = "paddle.expand"
    target: ClassVar[str | None] = "shape"
    shape: Dimensions = Field(description="The shape of the output; -1 keeps the input's size.", examples=[[2, -1]])

    def output_shape(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
        return super().output_shape(shapes) if self.shape else tuple(shapes[0])
