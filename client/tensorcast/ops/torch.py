"""PyTorch: Tensor.expand and broadcast_tensors."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..schema.dimensions import Dimensions
from .base import Op


class expand(Op):
    """Broadcast a tensor to a size in which -1 keeps the input's size; -1 may not stand for a new axis."""

    name: Literal["torch.expand"] = "torch.expand"
    target: ClassVar[str | None] = "size"
    size: Dimensions = Field(description="The size of the output; -1 keeps the input's.", examples=[[3, -1]])


class broadcast_tensors(Op):
    """Broadcast any number of tensors against each other: aligned right, size 1 stretches."""

    name: Literal["torch.broadcast_tensors"] = "torch.broadcast_tensors"
    max_inputs: ClassVar[int | None] = None
    outputs: ClassVar[str] = "as many as inputs"
