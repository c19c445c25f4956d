"""TensorFlow: tf.broadcast_to."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..schema.dimensions import Dimensions
from .base import Op


class broadcast_to(Op):
    """Broadcast a tensor to a shape: aligned right, size 1 stretches, the rank never shrinks."""

    name: Literal["tensorflow.broadcast_to"] = "tensorflow.broadcast_to"
    target: ClassVar[str | None] = "shape"
    shape: Dimensions = Field(description="The shape of the output.", examples=[[2, 3]])
