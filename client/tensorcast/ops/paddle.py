"""PaddlePaddle: paddle.expand."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..schema.dimensions import Dimensions
from .base import Op


class expand(Op):
    """Broadcast a tensor to a shape in which -1 keeps the input's size; an empty shape keeps the tensor as it is."""

    name: Literal["paddle.expand"] = "paddle.expand"
    target: ClassVar[str | None] = "shape"
    shape: Dimensions = Field(description="The shape of the output; -1 keeps the input's size.", examples=[[2, -1]])
