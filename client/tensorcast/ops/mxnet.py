"""MXNet: broadcast_axis and broadcast_like."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..schema.dimensions import DimensionOrDimensions
from ..schema.shapes import IntegerOrIntegers, Integers
from .base import Op


class broadcast_axis(Op):
    """Stretch the named axes, which must have size 1, to the sizes given."""

    name: Literal["mxnet.broadcast_axis"] = "mxnet.broadcast_axis"
    axis: IntegerOrIntegers = Field(
        default=(), description="The axis, or the axes, to stretch; not negative.", examples=[[0, 2]]
    )
    size: DimensionOrDimensions = Field(
        default=(), description="The size of each, in the same order.", examples=[[2, 4]]
    )


class broadcast_like(Op):
    """Stretch `lhs` to the shape of `rhs`, or only its axes `lhs_axes` to the sizes of `rhs_axes`."""

    name: Literal["mxnet.broadcast_like"] = "mxnet.broadcast_like"
    min_inputs: ClassVar[int] = 2
    max_inputs: ClassVar[int | None] = 2
    lhs_axes: Integers | None = Field(
        default=None, description="Axes of `lhs` to stretch, each of size 1; ignored without rhs_axes.", examples=[[0]]
    )
    rhs_axes: Integers | None = Field(
        default=None, description="Axes of `rhs` whose sizes they get; ignored without lhs_axes.", examples=[[1]]
    )
