"""Poplar's poputil: NumPy-style matching of one, two or three tensors."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..schema.dimensions import Dimensions
from .base import Op


class expandToMatchRanks(Op):
    """Insert singleton axes on the left of the tensor of lower rank; no size is compared."""

    name: Literal["poputil.expandToMatchRanks"] = "poputil.expandToMatchRanks"
    min_inputs: ClassVar[int] = 2
    max_inputs: ClassVar[int | None] = 2
    outputs: ClassVar[str] = "2"


class broadcastToMatch(Op):
    """Broadcast one tensor to `shape`, or two or three tensors to match one another."""

    name: Literal["poputil.broadcastToMatch"] = "poputil.broadcastToMatch"
    max_inputs: ClassVar[int | None] = 3
    outputs: ClassVar[str] = "as many as inputs"
    target: ClassVar[str | None] = "shape"
    shape: Dimensions | None = Field(
        default=None, description="The shape to match: with one input only.", examples=[[2, 3]]
    )

    def input_count_problem(self, count: int) -> str | None:
        if count == 1 and self.shape is None:
            return "poputil.broadcastToMatch with one input needs the attribute shape"
        if count in (2, 3) and self.shape is not None:
            return f"poputil.broadcastToMatch takes shape with one input only, not with {count}: leave shape out"
        return super().input_count_problem(count)


class canBroadcastToMatch(Op):
    """Whether broadcastToMatch would match these two tensors. For `check` only: it has no outputs."""

    name: Literal["poputil.canBroadcastToMatch"] = "poputil.canBroadcastToMatch"
    min_inputs: ClassVar[int] = 2
    max_inputs: ClassVar[int | None] = 2
    outputs: ClassVar[str] = "none"
