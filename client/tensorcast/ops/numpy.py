"""NumPy's two ways to broadcast: arrays against each other, one array to a shape."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..schema.dimensions import Dimensions
from .base import Op


class broadcast_arrays(Op):
    """Broadcast any number of arrays against each other: aligned right, size 1 stretches."""

    name: Literal["numpy.broadcast_arrays"] = "numpy.broadcast_arrays"
    max_inputs: ClassVar[int | None] = None
    outputs: ClassVar[str] = "as many as inputs"


class broadcast_to(Op):
    """Broadcast an array to a shape: aligned right, size 1 stretches, the rank never shrinks."""

    name: Literal["numpy.broadcast_to"] = "numpy.broadcast_to"
    target: ClassVar[str | None] = "shape"
    shape: Dimensions = Field(description="The shape of the output.", examples=[[4, 3]])
