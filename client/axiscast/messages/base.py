"""The base classes for the models of requests and responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ..wire.errors import InvalidRequest, UnknownOp
from ..wire.shapes import StopAtFirstError
from .validation import problem_from_errors

T = TypeVar("T")
ListOf = Annotated[list[T], StopAtFirstError()]
"""The type of a list in a response."""


class RequestModel(BaseModel):
    """The base class for request models. An unknown field causes an error."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    if not TYPE_CHECKING:  # type checkers derive the constructor from the fields

        def __init__(self, /, **fields: Any) -> None:
            try:
                super().__init__(**fields)
            except ValidationError as error:
                problem = problem_from_errors(error, type(self), fields)
                kind = UnknownOp if problem.code == UnknownOp.code else InvalidRequest
                raise kind(problem.document()) from None

        __init__.__pydantic_base_init__ = True  # this setting stops pydantic from calling __init__ during validation


class AnswerModel(BaseModel):
    """The base class for response models. Unknown fields, which newer services may send, are ignored."""

    model_config = ConfigDict(extra="ignore", defer_build=True)
