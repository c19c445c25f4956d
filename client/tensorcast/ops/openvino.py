"""OpenVINO's Broadcast operations, versions 1 and 3."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ..schema.dimensions import Dimensions
from ..schema.shapes import Integer, Integers
from .base import Op

_TARGET = Field(description="The shape of the output.", examples=[[1, 16, 50, 50]])
_MAPPING = Field(
    default=None,
    description="explicit only: `axes_mapping[i]` is the output axis that input axis `i` feeds; ascending.",
    examples=[[1]],
)


def _check_mapping(mode: str, axes_mapping: Integers | None) -> None:
    if mode == "explicit" and axes_mapping is None:
        raise PydanticCustomError(
            "attribute_needed", "is needed in mode explicit: write for instance [1]", {"field": "axes_mapping"}
        )
    if mode != "explicit" and axes_mapping is not None:
        raise PydanticCustomError(
            "attribute_unused",
            "belongs to mode explicit, not to {mode}: leave it out",
            {"field": "axes_mapping", "mode": mode},
        )


class Broadcast1(Op):
    """Broadcast-1: to `target_shape`, aligned right (numpy), by mapped axes (explicit) or from `axis` (pdpd)."""

    name: Literal["openvino.Broadcast-1"] = "openvino.Broadcast-1"
    target: ClassVar[str | None] = "target_shape"
    mode: Literal["numpy", "explicit", "pdpd"] = Field(
        default="numpy", description="How input axes find their output axes.", examples=["explicit"]
    )
    target_shape: Dimensions = _TARGET
    axes_mapping: Integers | None = _MAPPING
    axis: Integer | None = Field(
        default=None,
        description="pdpd only: the output axis of input axis 0; 0 when left out, -1 aligns right.",
    )

    @model_validator(mode="after")
    def _attributes_suit_the_mode(self) -> Self:
        _check_mapping(self.mode, self.axes_mapping)
        if self.axis is not None and self.mode != "pdpd":
            raise PydanticCustomError(
                "attribute_unused",
                "belongs to mode pdpd, not to {mode}: leave it out",
                {"field": "axis", "mode": self.mode},
            )
        return self


class Broadcast3(Op):
    """Broadcast-3: to `target_shape`, aligned right (numpy), by mapped axes (explicit) or both ways (bidirectional)."""

    name: Literal["openvino.Broadcast-3"] = "openvino.Broadcast-3"
    target: ClassVar[str | None] = "target_shape"
    mode: Literal["numpy", "explicit", "bidirectional"] = Field(
        default="numpy", description="How input axes find their output axes.", examples=["explicit"]
    )
    target_shape: Dimensions = _TARGET
    axes_mapping: Integers | None = _MAPPING

    @model_validator(mode="after")
    def _attributes_suit_the_mode(self) -> Self:
        _check_mapping(self.mode, self.axes_mapping)
        return self
