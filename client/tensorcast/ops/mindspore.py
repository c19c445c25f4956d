"""MindSpore: NumPy's one-way rule, in which -1 keeps the input's size."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..schema.dimensions import Dimensions
from .base import Op


class broadcast_to(Op):
    """Broadcast a tensor to a shape in which -1 keeps the input's size; -1 may not stand for a new axis."""

    name: Literal["mindspore.broadcast_to"] = "mindspore.broadcast_to"
    target: ClassVar[str | None] = "shape"
    shape: Dimensions = Field(description="The shape of the output; -1 keeps the input's size.", examples=[[-1, 2]])
