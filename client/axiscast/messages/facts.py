"""The models of what a check finds: conflicts, hints and warnings, and the exception for a conflict.

Each fact has a `code`, its values as fields, and a `message` that states the same values as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError, WrapValidator

from ..wire.errors import ServiceProblem
from .base import AnswerModel, ListOf, TupleOf
from .check_request import CheckRequest


def _request_or_none(value: Any, read: Any) -> CheckRequest | None:
    """Return the request, or None if this version does not know the op or one of its attributes."""
    try:
        request: CheckRequest = read(value)
    except ValidationError:
        return None
    return request


class Hint(AnswerModel):
    """A change to a request after which the shapes broadcast. `request` is the changed request.

    for hint in answer.conflict.hints:
        assert client.check(hint.request)
    """

    code: str = Field(
        description="The kind of the change: `reshape` (one input has new axes of size 1, or lacks some), `all-pairs` "
        "(a reshape that combines each row of one input with each row of the other), `transpose`, `swap-axes`, "
        "`exchange-inputs`, `attributes` (attributes of the op change) or `other-op`.",
        examples=["reshape"],
    )
    input: int | None = Field(default=None, description="The number of the input that changes.")
    inputs: TupleOf[int] = Field(default=(), description="The numbers of the inputs, if more than one changes.")
    axes: TupleOf[int] = Field(default=(), description="For `swap-axes`: the two axes of the input.")
    shape: TupleOf[int | str] | None = Field(default=None, description="The new shape of the input.")
    attributes: dict[str, Any] | None = Field(default=None, description="The new values of the attributes.")
    suffix: str | None = Field(
        default=None,
        description="The code that makes the change if it is written after the input, in the framework of the op.",
    )
    output: TupleOf[int | str] | None = Field(
        default=None, description="The shape of the output of the changed request, or of the result of a product."
    )
    request: Annotated[CheckRequest | None, WrapValidator(_request_or_none)] = Field(
        default=None, description="The check request that fits. Send it as it is."
    )
    message: str = Field(description="The change as text.")


class ConflictAnswer(AnswerModel):
    """The reason why shapes do not broadcast. `sizes[i]` is a size in `inputs[i]`. Null means the target attribute."""

    code: str = Field(description="The kind of the conflict.", examples=["size-mismatch"])
    axis: int | None = Field(default=None, description="The lowest output axis with a conflict.")
    axes: TupleOf[int | None] = Field(
        default=(),
        description="The axis of each input in `inputs`, if the conflict is not on an output axis. An example is the "
        "summed axis of a matrix product. `axis` is then absent.",
    )
    inputs: TupleOf[int | None] = Field(
        default=(), description="The numbers of the conflicting inputs. Null stands for the target attribute."
    )
    sizes: TupleOf[int | str] = Field(default=(), description="The size of each of `inputs` on the conflicting axis.")
    hints: ListOf[Hint] = Field(
        default_factory=list, description="Changes that fit, with the most likely change first."
    )
    message: str = Field(description="What is wrong, and what is expected.")


class IncompatibleShapes(ServiceProblem, ValueError):
    """The shapes do not broadcast with this op. `conflict` contains the axis, the sizes and hints."""

    __module__ = "axiscast.errors"  # tracebacks show the module that exports the class
    code = "incompatible-shapes"

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.conflict = ConflictAnswer.model_validate(document.get("conflict"))

    def __str__(self) -> str:
        return " ".join([self.detail, *(f"Hint: {hint.message}." for hint in self.conflict.hints)])


class Warned(AnswerModel):
    """A warning about a valid request that is probably a mistake, or about a release that differs from its docs."""

    code: str = Field(
        description="`square`: an accidental outer product. Two inputs expand each other to axes of equal size, "
        "and one input lacks one of these axes, such as (5,) and (5, 1). `release-differs`: the release of the "
        "framework differs from its documentation. An op can have further codes. Two codes appear only if `warn` "
        "contains them: `mutual-stretch`, another broadcast in which two inputs expand each other, and "
        "`rank-promotion`, an input that gets new axes and is not a scalar. They are not added to a `square`."
    )
    inputs: TupleOf[int] = Field(default=(), description="The numbers of the inputs that the warning is about.")
    axes: TupleOf[int] = Field(default=(), description="The output axes along which these inputs expand.")
    hint: Hint | None = Field(default=None, description="The change that was probably intended, if it is known.")
    all_pairs: Hint | None = Field(
        default=None, description="For `square`: the change that forms all pairs without this warning, if it is known."
    )
    message: str = Field(description="The cause, and what to do. In code, the inputs are called `a`, `b` and so on.")
