"""JAX: jax.lax.broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from ..schema.dimensions import Dimensions
from .base import Op


class broadcast(Op):
    """Add new leading axes of these sizes, and replicate the operand along them."""

    name: Literal["jax.lax.broadcast"] = "jax.lax.broadcast"
    sizes: Dimensions = Field(description="The sizes of the new leading axes.", examples=[[2, 3]])

    def highest_rank(self, shapes: Sequence[Sequence[object]]) -> int:
        return len(self.sizes) + super().highest_rank(shapes)
