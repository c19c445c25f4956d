"""The models for the catalogue of ops."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from .base import AnswerModel, ListOf


class InputCount(AnswerModel):
    """The number of inputs that an op accepts."""

    min: int = Field(description="The smallest number.")
    max: int | None = Field(default=None, description="The largest number. It is absent if the op accepts any number.")


class Reference(AnswerModel):
    """The framework release against which an op was tested."""

    package: str = Field(description="The name of the published package.", examples=["numpy"])
    version: str = Field(description="The version of the package.")


class OpEntry(AnswerModel):
    """The description of one op in the catalogue."""

    name: str = Field(description="The name of the op in requests.")
    aliases: list[str] = Field(default_factory=list, description="Other names of the op in requests.")
    doc: str = Field(description="A description of the op in one sentence.")
    attributes: dict[str, Any] = Field(
        description="The JSON Schema of the attributes. The `modes` of an attribute are the values of `mode` for "
        "which the attribute is valid."
    )
    target: str | None = Field(
        default=None, description="The name of the attribute that contains the target shape, if the op has a target."
    )
    inputs: InputCount = Field(description="The number of inputs.")
    outputs: str = Field(description="The number of outputs as text.", examples=["as many as inputs"])
    link: str = Field(description="The URL of the definition.")
    reference: Reference = Field(description="The release that the op was tested against.")
    example: dict[str, Any] = Field(description="An example of a check request.")


class Catalogue(AnswerModel):
    """The catalogue, which describes all ops."""

    ops: ListOf[OpEntry] = Field(description="All ops, by framework.")
