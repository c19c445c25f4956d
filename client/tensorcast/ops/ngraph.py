"""nGraph: the axes that are new in the output are named; the others must match exactly."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..schema.dimensions import Dimensions
from ..schema.shapes import AxisSet
from .base import Op


class Broadcast(Op):
    """Replicate `arg` along `broadcast_axes`; its shape must be `shape` without those axes."""

    name: Literal["ngraph.Broadcast"] = "ngraph.Broadcast"
    target: ClassVar[str | None] = "shape"
    shape: Dimensions = Field(description="The shape of the output.", examples=[[2, 3]])
    broadcast_axes: AxisSet = Field(
        description="The axes of `shape` that `arg` lacks: a set, order and repeats are ignored.",
        examples=[[0]],
    )


class BroadcastLike(Op):
    """Replicate `arg` to the shape of `like_arg`, along the given axes or those inferred from the left."""

    name: Literal["ngraph.BroadcastLike"] = "ngraph.BroadcastLike"
    min_inputs: ClassVar[int] = 2
    max_inputs: ClassVar[int | None] = 2
    initial_broadcast_axes: AxisSet = Field(
        description="The axes of `like_arg` that `arg` lacks; () infers them, `arg` aligned left.",
        examples=[[1]],
    )
