"""The request and the answer about the text of an error."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, WrapValidator

from ..ops import OpMapField
from ..wire.dimensions import DimensionShape
from . import CheckAnswer, _op_or_none
from .base import AnswerModel, ListOf, RequestModel

__all__ = ["WhyAnswer"]

MAX_CHARACTERS = 2**16
"""Characters of a text over HTTP."""


class WhyRequest(RequestModel):
    """The text of an error, such as the last lines of a traceback."""

    text: str = Field(
        max_length=MAX_CHARACTERS,
        description=f"A message, a traceback or a piece of a log, of at most {MAX_CHARACTERS} characters. The last "
        "error about shapes in it is read.",
        examples=["ValueError: operands could not be broadcast together with shapes (3,4) (5,)"],
    )


class WhyAnswer(AnswerModel):
    """What the text of an error says. `op` and `inputs` are those of a check; what the text does not hold is null."""

    op: Annotated[OpMapField | None, WrapValidator(_op_or_none)] = Field(
        default=None, description="The op whose rule the failed call follows, with its attributes."
    )
    inputs: ListOf[DimensionShape] | None = Field(default=None, description="The shapes of its inputs.")
    sizes: ListOf[int | str] | None = Field(default=None, description="The sizes that conflict.")
    check: CheckAnswer | None = Field(
        default=None, description="The answer to a check of `op` and `inputs`, with a `diagram`."
    )
    message: str = Field(description="What went wrong, or what the error is about, in words.")
