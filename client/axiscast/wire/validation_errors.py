"""Faults: what pydantic finds wrong with a field, in words that say what would be right."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic_core import ErrorDetails

from .shapes import json_type_name
from .wording import close_matches, did_you_mean

_COMPLAINTS = {
    "union_tag_not_found": 'an op needs its name, such as {"name": "numpy.broadcast_to", "shape": [4, 3]}',
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
"""What others write for false."""


def merge_renamed_fields(faults: list[ErrorDetails]) -> list[ErrorDetails]:
    """The same faults, where a field that is missing and the only one that stands in its place are one."""
    places: dict[tuple[int | str, ...], list[ErrorDetails]] = {}
    for fault in faults:
        if fault["type"] in ("missing", "extra_forbidden"):
            places.setdefault(fault["loc"][:-1], []).append(fault)
    gone = []
    for pair in places.values():
        if [fault["type"] for fault in pair] == ["missing", "extra_forbidden"]:
            missing, extra = pair
            extra |= {"type": "renamed", "ctx": {"name": str(missing["loc"][-1])}}
            gone.append(missing)
    return [fault for fault in faults if fault not in gone]


def error_message(fault: ErrorDetails, name: int | str, fields: Iterable[str], example: str | None) -> str:
    """What is wrong with the field of this name, of a map that has these `fields`; `example` is the field as it might
    be written."""
    kind, found = fault["type"], fault["input"]
    if kind == "missing":
        return "is missing" if example is None else f"is missing: write for instance {example}"
    if kind == "renamed":
        return f"is no field here: write {fault['ctx']['name']}, which is missing, in place of {name}"
    if kind == "extra_forbidden":
        fields = list(fields)
        there = f" (there are {', '.join(fields)})" if fields else ""
        return f"is no field here{did_you_mean(close_matches(str(name), fields, 1))}{there}"
    if kind == "literal_error":
        expected = allowed_values(fault)
        close = close_matches(found, re.findall("'([^']*)'", expected), 1) if isinstance(found, str) else []
        return f"must be {expected}{did_you_mean(close)}"
    if kind == "not_an_integer" and isinstance(found, float) and found.is_integer():
        return f"{fault['msg']}: write {found:.0f}"
    if kind == "string_type":
        return f"must be a string, not {json_type_name(found)}"
    if kind == "bool_type":
        no = isinstance(found, (int, float, str)) and found in _NO
        return f"must be true or false, not {json_type_name(found)}: write {'false' if no else 'true'}"
    return _COMPLAINTS.get(kind, fault["msg"])


def allowed_values(fault: ErrorDetails) -> str:
    """The values that a field may have, in words."""
    return str(fault.get("ctx", {}).get("expected", "another value"))
