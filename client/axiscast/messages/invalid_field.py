"""The description of an invalid field in a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from pydantic import BaseModel

from ..wire.wording import MAX_NAME_CHARACTERS

MAX_SHOWN_SIZES = 64
"""The maximum number of sizes in a correction. It equals the maximum rank of a shape."""


class _Notation(Protocol):
    def assignment(self, steps: Sequence[int | str], value: Any) -> str: ...


class InvalidField(NamedTuple):
    """A validation error reported by pydantic, and the request that caused it."""

    kind: str
    found: Any
    place: tuple[int | str, ...]
    model: type[BaseModel]
    """The model that validates the request."""
    request: Any
    notation: _Notation

    def write(self, steps: Sequence[int | str], value: Any) -> str:
        """Return a sentence that advises the user to set a field of the request to this value."""
        return f"write {self.notation.assignment(steps, value)}"


def is_short(value: Any, depth: int = 2) -> bool:
    """Return whether a value is short enough for a message.

    A string or a number is short if it has few characters. A list or a map is short if it is small and nested at most
    `depth` levels deep.
    """
    if isinstance(value, (list, tuple, dict)):
        items = [*value, *value.values()] if isinstance(value, dict) else value
        return depth > 0 and len(value) <= MAX_SHOWN_SIZES and all(is_short(item, depth - 1) for item in items)
    if isinstance(value, str):
        return len(value) <= MAX_NAME_CHARACTERS
    return value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**64)
