"""The model of a check request."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StrictBool

from ..ops import OpField, numpy
from ..wire.dimensions import Dimension, DimensionShape
from ..wire.shapes import StopAtFirstError, limit_names
from .base import ListOf, RequestModel

WarningKind = Literal["square", "mutual-stretch", "rank-promotion"]
"""The warnings about shapes that `warn` can request. A response includes `square` even if `warn` does not name it."""

Warn = Annotated[
    list[WarningKind],
    StopAtFirstError(),
    Field(
        description="Additional warnings: `mutual-stretch`, `rank-promotion`. Correct code often triggers them. "
        "`square` is always included. By default, no warnings are added.",
        examples=[["mutual-stretch", "rank-promotion"]],
    ),
]

OP_DESCRIPTION = (
    "The op, or only its name if it needs no attribute. An alias of an op, such as torch.mul, is also valid. The "
    "default is "
)
Assumptions = Annotated[
    Annotated[dict[str, Dimension], BeforeValidator(limit_names)] | None,
    Field(description="The known range or value of a named size.", examples=[{"N": "2.."}]),
]


class CheckRequest(RequestModel):
    """A check request: do the shapes broadcast, and what are the output shapes?"""

    op: OpField = Field(default=numpy.broadcast_shapes(), description=f"{OP_DESCRIPTION}numpy.broadcast_shapes.")
    inputs: ListOf[DimensionShape] = Field(
        description='The shape of each input. An unknown size is a name ("N", the same size everywhere), a range '
        '("1..8", "2..") or "?" (or null). An attribute that is a shape takes the same forms.',
        examples=[[[8, 1, 6, 1], [7, 1, 5]]],
    )
    assume: Assumptions = None
    dtype: str | None = Field(
        default=None, description="If the request has a dtype, each output has `nbytes`.", examples=["float32"]
    )
    explain: StrictBool = Field(
        default=False,
        description="Whether to add `diagram`, a drawing of the aligned axes in plain text. The default is false.",
    )
    warn: Warn = Field(default_factory=list)
