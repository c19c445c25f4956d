"""The catalogue of ops, typed."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from .base import AnswerModel, ListOf


class InputCount(AnswerModel):
    """How many inputs an op takes."""

    min: int = Field(description="As few as these.")
    max: int | None = Field(description="As many as these; null is any number.")


class Reference(AnswerModel):
    """The release that an op was held against."""

    package: str = Field(description="The package's name where it is published.", examples=["numpy"])
    version: str = Field(description="Its version.")


class OpEntry(AnswerModel):
    """One op of the catalogue."""

    name: str = Field(description="The op's name on the wire.")
    aliases: list[str] = Field(default=[], description="Other names that a request may give it.")
    doc: str = Field(description="What it does, in a sentence.")
    attributes: dict[str, Any] = Field(
        description="JSON Schema of the attributes. `modes`, at one of them, are the values of `mode` that take it."
    )
    target: str | None = Field(default=None, description="The attribute that is the shape to reach, if there is one.")
    inputs: InputCount = Field(description="How many inputs it takes.")
    outputs: str = Field(description="How many tensors come out, in words.", examples=["as many as inputs"])
    link: str = Field(description="Where its rule is written down.")
    reference: Reference = Field(description="The release that it was held against.")
    example: dict[str, Any] = Field(description="A request for check.")


class Catalogue(AnswerModel):
    """Every op."""

    ops: ListOf[OpEntry] = Field(description="Every op, framework by framework.")
