"""Error messages for the validation errors that pydantic reports."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic_core import ErrorDetails

from .shapes import json_type_name
from .wording import close_matches, did_you_mean

_MESSAGES = {
    "union_tag_not_found": 'an op must have a name, such as {"name": "numpy.broadcast_to", "shape": [4, 3]}',
    "model_type": "must be a map of fields",
    "model_attributes_type": "must be the name of an op, or a map such as "
    '{"name": "numpy.broadcast_to", "shape": [4, 3]}',
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": 'must be a map, such as {"N": "2.."}',
    "string_unicode": "must be a string without half a surrogate pair",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "greater_than_equal": "must not be negative: a size is 0 or more",
    "less_than_equal": "must be at most 2^63-1",
}
_NO = (0, "", "0", "no", "false", "False")
"""The values that other languages and programs use for false."""


def is_type_error(error: ErrorDetails) -> bool:
    """Return whether the type of a value is wrong, in contrast to a value that is not allowed."""
    return error["type"] in ("not_a_list", "not_an_integer") or error["type"].endswith("_type")


def merge_renamed_fields(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """Return the errors, with one error for a field that was sent under another name.

    pydantic reports a missing field and an unknown field in the same map. These two errors are merged only if no other
    field in this map is missing or unknown.
    """
    places: dict[tuple[int | str, ...], list[ErrorDetails]] = {}
    for error in errors:
        if error["type"] in ("missing", "extra_forbidden"):
            places.setdefault(error["loc"][:-1], []).append(error)
    gone = []
    for pair in places.values():
        if [error["type"] for error in pair] == ["missing", "extra_forbidden"]:
            missing, extra = pair
            extra |= {"type": "renamed", "ctx": {"name": str(missing["loc"][-1])}}
            gone.append(missing)
    return [error for error in errors if error not in gone]


def error_message(error: ErrorDetails, name: int | str, fields: Iterable[str], example: str | None) -> str:
    """Return the message for an invalid field. `fields` are the valid names in the map that contains this field.

    `example` shows the field with a valid value, as a string.
    """
    kind, found = error["type"], error["input"]
    if kind == "missing":
        return "is missing" if example is None else f"is missing: write for instance {example}"
    if kind == "renamed":
        return f"is an unknown field: write {error['ctx']['name']}, which is missing, instead of {name}"
    if kind == "extra_forbidden":
        fields = list(fields)
        known = f" (the fields are {', '.join(fields)})" if fields else ""
        return f"is an unknown field{did_you_mean(close_matches(str(name), fields, 1))}{known}"
    if kind == "literal_error":
        expected = allowed_values(error)
        close = close_matches(found, re.findall("'([^']*)'", expected), 1) if isinstance(found, str) else []
        return f"must be {expected}{did_you_mean(close)}"
    if kind == "not_an_integer" and isinstance(found, float) and found.is_integer():
        return f"{error['msg']}: write {found:.0f}"
    if kind == "string_type":
        return f"must be a string, not {json_type_name(found)}"
    if kind == "bool_type":
        no = isinstance(found, (int, float, str)) and found in _NO
        return f"must be true or false, not {json_type_name(found)}: write {'false' if no else 'true'}"
    return _MESSAGES.get(kind, error["msg"])


def allowed_values(error: ErrorDetails) -> str:
    """Return a string that lists the values that a field may have."""
    return str(error.get("ctx", {}).get("expected", "another value"))
