"""A fault: what is wrong with one field of a request, and the request around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from pydantic import BaseModel

from ..schema.names import LONGEST

MOST_SIZES = 64
"""Sizes that a message writes in another form: a shape has no more."""


class _Words(Protocol):
    def field(self, steps: Sequence[int | str], value: Any) -> str: ...


class Fault(NamedTuple):
    """What pydantic found wrong in a request."""

    kind: str
    found: Any
    place: tuple[int | str, ...]
    model: type[BaseModel]
    """The model of the whole request."""
    request: Any
    words: _Words

    def write(self, steps: Sequence[int | str], value: Any) -> str:
        """Return an advice: a field of the request with the value that it should have."""
        return f"write {self.words.field(steps, value)}"


def is_short(value: Any, depth: int = 2) -> bool:
    """Whether a message can show a value: a text or a number, or a list or a map of some, nested `depth` deep."""
    if isinstance(value, (list, tuple, dict)):
        items = [*value, *value.values()] if isinstance(value, dict) else value
        return depth > 0 and len(value) <= MOST_SIZES and all(is_short(item, depth - 1) for item in items)
    if isinstance(value, str):
        return len(value) <= LONGEST
    return value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**64)
