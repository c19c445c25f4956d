"""The models for requests that diagnose an error message, and for their responses."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, WrapValidator

from ..ops import OpMapField
from ..wire.dimensions import DimensionShape
from .base import DrawnAnswer, ListOf, RequestModel, TupleOf
from .check_answer import CheckAnswer, op_or_none

__all__ = ["WhyAnswer"]

MAX_CHARACTERS = 2**16
"""The maximum number of characters of an error text in an HTTP request."""


class WhyRequest(RequestModel):
    """A request to diagnose an error. It contains the text of the error, such as the last lines of a traceback."""

    text: str = Field(
        max_length=MAX_CHARACTERS,
        description=f"An error message, a traceback or part of a log, with at most {MAX_CHARACTERS} characters. The "
        f"last error about shapes in this text is explained.",
        examples=["ValueError: operands could not be broadcast together with shapes (3,4) (5,)"],
    )


class WhyAnswer(DrawnAnswer):
    """The diagnosis of an error message. `op` and `inputs` are the fields of a check. Unknown fields are absent."""

    op: Annotated[OpMapField | None, WrapValidator(op_or_none)] = Field(
        default=None, description="The op that has the rule of the failed call, with its attributes."
    )
    inputs: ListOf[DimensionShape] | None = Field(default=None, description="The shapes of the inputs.")
    sizes: TupleOf[int | str] | None = Field(default=None, description="The sizes in conflict.")
    check: CheckAnswer | None = Field(
        default=None, description="The response to a check with `op` and `inputs`, including a `diagram`."
    )
    message: str = Field(description="The cause or the subject of the error.")
