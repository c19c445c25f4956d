"""The models of conditions on symbolic sizes, which are parts of responses."""

from __future__ import annotations

from pydantic import Field

from .base import AnswerModel, ListOf


class DimensionPlace(AnswerModel):
    """The location of a size that has no name, which is an axis of an input or of an attribute."""

    input: int | None = Field(default=None, description="The number of the input.")
    attribute: str | None = Field(default=None, description="The name of the attribute.")
    axis: int = Field(description="The axis of the input or the attribute.")


Side = int | str | DimensionPlace
"""A side of an equation: a size, a name, or the location of an unknown size without a name."""


class Equation(AnswerModel):
    """A statement that two sizes are equal, or that one size divides another. Only 0 is a multiple of 0."""

    equal: tuple[Side, Side] | None = Field(default=None, description="Two equal sizes.")
    divides: tuple[Side, Side] | None = Field(
        default=None, description="The divisor, and the size that must be a multiple of the divisor."
    )


class Condition(AnswerModel):
    """A condition, which is met if at least one of its equations is true."""

    code: str = Field(
        default="equal",
        description="`equal` if all equations are about equal sizes, and `divides` if a size must divide another.",
    )
    any: ListOf[Equation] = Field(description="The equations. At least one of them must be true.")
    message: str = Field(description="The condition as text.", examples=["N == M or M == 1"])


class ExplainedSize(AnswerModel):
    """The size of an output axis that depends on symbolic sizes."""

    axis: int = Field(description="The axis of the result, or of the first output.")
    message: str = Field(description="The size as text.", examples=["C if W == 1, else W"])
