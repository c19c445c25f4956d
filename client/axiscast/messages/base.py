"""The base classes for the models of requests and responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from ..wire.errors import InvalidRequest, InvalidType, UnknownOp
from ..wire.shapes import StopAtFirstError, in_order
from ..wire.validation_errors import is_type_error, merge_renamed_fields

T = TypeVar("T")
ListOf = Annotated[list[T], StopAtFirstError(), BeforeValidator(in_order)]
"""The type of a list in a request or a response."""
TupleOf = Annotated[tuple[T, ...], StopAtFirstError()]
"""The type of a shape, or of axes, in a response. It is a list in JSON and MessagePack."""


class RequestModel(BaseModel):
    """The base class for request models. An unknown field causes an error."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    if not TYPE_CHECKING:  # type checkers derive the constructor from the fields

        def __init__(self, /, **fields: Any) -> None:
            try:
                super().__init__(**fields)
            except ValidationError as error:
                from .validation import problem_from_errors  # few requests are invalid

                problem = problem_from_errors(error, type(self), fields)
                first = merge_renamed_fields(error.errors(include_url=False))[0]
                invalid = InvalidType if is_type_error(first) else InvalidRequest
                kind = UnknownOp if problem.code == UnknownOp.code else invalid
                raise kind(problem.document()) from None

        __init__.__pydantic_base_init__ = True  # this setting stops pydantic from calling __init__ during validation


class AnswerModel(BaseModel):
    """The base class for response models. Unknown fields, which newer services may send, are ignored."""

    model_config = ConfigDict(extra="ignore", defer_build=True)


class DrawnAnswer(AnswerModel):
    """The base class for answers that print() and notebooks show as a drawing. The drawing is made only when shown."""

    if not TYPE_CHECKING:  # type checkers would treat `__str__` as a field

        def __str__(self) -> str:
            picture = self.__dict__.get("_picture")
            return super().__str__() if picture is None else picture.text(self)

    def _repr_svg_(self) -> str | None:
        picture = self.__dict__.get("_picture")
        return None if picture is None else picture.svg(self)


D = TypeVar("D", bound=DrawnAnswer)


def drawn_by(picture: Any, answer: D) -> D:
    """Set the Picture that draws an answer, and return the answer. Comparisons ignore it, because it is not a field."""
    answer.__dict__["_picture"] = picture
    return answer
