"""Notations for the locations and values of request fields in error messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


class JsonNotation:
    """The notation for an HTTP request: values are JSON, and slashes separate the steps to a field."""

    catalogue = "GET /v1/ops lists all"
    """The phrase that tells users where to find the names of all ops."""
    request = "the body"
    """The name that error locations use for the request as a whole."""

    def location(self, steps: Sequence[int | str]) -> str:
        """Return the location of a field in the request."""
        return "/".join(map(str, steps)) or self.request

    def assignment(self, steps: Sequence[int | str], value: Any) -> str:
        """Return the source code that assigns a value to a field, such as "name": value."""
        return f'"{steps[-1]}": {json.dumps(value)}'


class RowNotation(JsonNotation):
    """The notation for a row in an HTTP batch request."""

    request = "the row"


class ArgumentNotation(JsonNotation):
    """The notation for an interface whose inputs are separate arguments and whose attributes are not inside an op."""

    request = "the request"

    def location(self, steps: Sequence[int | str]) -> str:
        match list(steps):
            case ["inputs", number, *axes]:
                return f"input {number}" + "".join(f", axis {axis}" for axis in axes)
            case ["op", name, *rest]:
                return super().location([name, *rest])
        return super().location(steps)


class PythonNotation(ArgumentNotation):
    """The notation for a Python function call."""

    catalogue = "`axiscast ops` lists them"

    def location(self, steps: Sequence[int | str]) -> str:
        match list(steps):
            case ["assume", name, *_]:
                return f"assume[{name!r}]"
        return super().location(steps)

    def assignment(self, steps: Sequence[int | str], value: Any) -> str:
        return f"{steps[-1]}={value!r}"


class MapNotation(JsonNotation):
    """The notation for a Python map, such as one request in a batch."""

    catalogue = PythonNotation.catalogue
    request = PythonNotation.request

    def assignment(self, steps: Sequence[int | str], value: Any) -> str:
        return f'"{steps[-1]}": {value!r}'
