"""What requests have in common, and what answers have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ..wire.errors import InvalidRequest, UnknownOp
from ..wire.shapes import StopAtFirstError
from .validation import problem_from_errors

T = TypeVar("T")
ListOf = Annotated[list[T], StopAtFirstError()]
"""A list in an answer."""


class RequestModel(BaseModel):
    """A request: unknown fields are an error, since a field that is ignored is a question not answered."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    if not TYPE_CHECKING:  # type checkers know the fields

        def __init__(self, /, **fields: Any) -> None:
            try:
                super().__init__(**fields)
            except ValidationError as error:
                problem = problem_from_errors(error, type(self), fields)
                kind = UnknownOp if problem.code == UnknownOp.code else InvalidRequest
                raise kind(problem.document()) from None

        __init__.__pydantic_base_init__ = True  # pydantic's own mark: what it validates does not come through here


class AnswerModel(BaseModel):
    """An answer: fields that this version does not know are ignored."""

    model_config = ConfigDict(extra="ignore", defer_build=True)
