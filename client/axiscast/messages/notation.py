"""Notations: how messages about a request write the locations and the values of its fields."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from ..wire.shapes import json_type_name
from .corrections import corrected_row


class JsonNotation:
    """The notation of a request over HTTP: JSON, and slashes between the steps to a field."""

    catalogue = "GET /v1/ops lists all"
    """The advice about where to find the names of all ops."""
    request = "the body"
    """The name of the whole request."""

    def location(self, steps: Sequence[int | str]) -> str:
        """Return the location of a field of the request."""
        return "/".join(map(str, steps)) or self.request

    def assignment(self, steps: Sequence[int | str], value: Any) -> str:
        """Return a field with its value."""
        return f'"{steps[-1]}": {json.dumps(value)}'

    def type_error(self, model: type[BaseModel], found: Any) -> str:
        """Return the error message for a request that is not a map, with an example of the model."""
        examples = {name: field.examples[0] for name, field in model.model_fields.items() if field.examples}
        if "requests" in examples:
            return 'must be a map: write {"requests": [...]} around the list'
        if isinstance(found, str) and found.lstrip().startswith("{"):
            return "must be a map, not a string that holds one: encode it as JSON once, not twice"
        required = {name: example for name, example in examples.items() if model.model_fields[name].is_required()}
        is_check = "explain" in model.model_fields and isinstance(found, list)
        many = '; a list of checks goes to /v1/check/batch as {"requests": [...]}' if is_check else ""
        return f"must be a map, such as {json.dumps(required)}{many}"


class RowNotation(JsonNotation):
    """The notation of a row of a batch over HTTP."""

    request = "the row"

    def type_error(self, model: type[BaseModel], found: Any) -> str:
        written = corrected_row(found) or '{"inputs": [[3], [4]]}'
        return f"must be a map, not {json_type_name(found)}: write {written}"


class ArgumentNotation(JsonNotation):
    """The notation of a side whose inputs are separate arguments, and whose attributes are not inside an op."""

    request = "the request"

    def location(self, steps: Sequence[int | str]) -> str:
        match list(steps):
            case ["inputs", number, *axes]:
                return f"input {number}" + "".join(f", axis {axis}" for axis in axes)
            case ["op", name, *rest]:
                return super().location([name, *rest])
        return super().location(steps)


class PythonNotation(ArgumentNotation):
    """The notation of a Python call."""

    catalogue = "`axiscast ops` lists them"

    def location(self, steps: Sequence[int | str]) -> str:
        match list(steps):
            case ["assume", name, *_]:
                return f"assume[{name!r}]"
        return super().location(steps)

    def assignment(self, steps: Sequence[int | str], value: Any) -> str:
        return f"{steps[-1]}={value!r}"


class MapNotation(JsonNotation):
    """The notation of a map in Python, such as a request of a batch."""

    catalogue = PythonNotation.catalogue
    request = PythonNotation.request

    def assignment(self, steps: Sequence[int | str], value: Any) -> str:
        return f'"{steps[-1]}": {value!r}'
