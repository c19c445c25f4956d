"""MXNet: broadcast_axis and broadcast_like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from ..schema.dimensions import DimensionOrDimensions
from ..schema.shapes import IntegerOrIntegers, Integers, as_list
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

    def output_shape(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        sizes = list(shapes[0])
        for axis, size in zip(as_list(self.axis), as_list(self.size), strict=True):
            sizes[axis] = size
        return tuple(sizes)


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

    def output_shape(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        lhs, rhs = shapes
        if self.lhs_axes is None or self.rhs_axes is None:
            return tuple(rhs)
        sizes = list(lhs)
        for one, other in zip(self.lhs_axes, self.rhs_axes, strict=True):
            sizes[one] = rhs[other]
        return tuple(sizes)
