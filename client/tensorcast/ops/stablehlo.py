"""StableHLO: broadcast_in_dim, which XLA lowers every broadcast to."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..schema.dimensions import Dimensions
from ..schema.shapes import Integers
from .base import Op


class broadcast_in_dim(Op):
    """Place operand axis `i` on output axis `broadcast_dimensions[i]`, in any order; size 1 stretches."""

    name: Literal["stablehlo.broadcast_in_dim"] = "stablehlo.broadcast_in_dim"
    target: ClassVar[str | None] = "shape"
    shape: Dimensions = Field(description="The shape of the output.", examples=[[2, 3]])
    broadcast_dimensions: Integers = Field(
        description="The output axis of each operand axis; no axis twice.", examples=[[1]]
    )
