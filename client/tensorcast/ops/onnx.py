"""ONNX: Expand."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..schema.dimensions import Dimensions
from .base import Op


class Expand(Op):
    """Broadcast a tensor and a shape against each other: either stretches, so the output may exceed `shape`."""

    name: Literal["onnx.Expand"] = "onnx.Expand"
    target: ClassVar[str | None] = "shape"
    shape: Dimensions = Field(description="A shape that the input meets; both stretch.", examples=[[2, 1, 6]])
