"""Conversion of attributes and assumptions to and from strings, for URLs and the command line."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from ..ops import OPS, Op
from ..wire.shapes import MAX_SHAPE_CHARACTERS, parse_shape
from ..wire.wording import close_matches, did_you_mean


def parse_attribute(op: type[Op], name: str, text: str) -> Any:
    """Parse the text of an attribute's value, which is a number, a string, a shape or JSON. Return the plain value.

    Raises ValueError if the op does not have the attribute, or if the string is not valid.
    """
    attributes = [field for field in op.model_fields if field != "name"]
    if name not in attributes:
        wire_name, close = op.model_fields["name"].default, did_you_mean(close_matches(name, attributes, 1))
        known = ", ".join(attributes) or "none"
        others = "" if close else other_ops_note(op, name)
        raise ValueError(f"{wire_name} does not have this attribute{close or others} (valid attributes: {known})")
    schemas = _schemas(op, name)
    if any(schema.get("type") == "array" and _holds_integers(schema) for schema in schemas):
        return parse_shape(text)
    kinds = {schema.get("type") for schema in schemas}
    if "integer" in kinds:
        if not re.fullmatch(r"\s*-?[0-9]{1,19}\s*", text):
            raise ValueError("must be an integer")
        return int(text)
    if "number" in kinds:
        return _number(text)
    if "boolean" in kinds:
        if text.strip().lower() not in ("true", "false"):
            raise ValueError("must be true or false")
        return text.strip().lower() == "true"
    if "array" in kinds and text.strip() == "()":
        return []
    if "string" in kinds and not ("array" in kinds and text.lstrip().startswith("[")):
        return text
    example = (op.model_fields[name].examples or [[["x", "y"], ["y"]]])[0]
    return _json_in(text, f"must be JSON, such as {json.dumps(example)}")


def other_ops_note(op: type[Op], attribute: str) -> str:
    """Return a clause that names other ops with this attribute, or an empty string.

    Only ops with a similar name are named, such as openvino.Broadcast-3 for ngraph.Broadcast, or up to three ops.
    """
    stem = _stem(op.model_fields["name"].default)
    having = [name for name, kind in OPS.items() if attribute in kind.model_fields]
    named = [name for name in having if _stem(name) == stem] or (having if len(having) <= _MAX_OTHER_OPS else [])
    return f", but {' and '.join(named[:_MAX_OTHER_OPS])} {'has' if len(named) == 1 else 'have'} it" if named else ""


_MAX_OTHER_OPS = 3


def _stem(name: str) -> str:
    """Return the last part of an op's name in lower case, without a version or an underscore."""
    return name.rpartition(".")[2].partition("-")[0].replace("_", "").lower()


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("must be a number") from None


def format_attribute(value: Any) -> str:
    """Return an attribute or a shape as a string that `parse_attribute` can read."""
    if isinstance(value, list) and all(isinstance(item, int) for item in value):
        return ",".join(map(str, value)) or "()"
    return value if isinstance(value, str) else json.dumps(value)


_BETWEEN = re.compile(r"[\s,;]+")
_NEXT_NAME = re.compile(r" (?=[A-Za-z_])")
_ASSUMPTION = re.compile(r"([A-Za-z_][A-Za-z0-9_]*) ?=(.*)")


def parse_assumptions(text: str) -> dict[str, Any]:
    """Parse assumptions in a string such as ``N=2..``, ``N=2.., M=1..8`` or ``{"N": "2.."}``.

    Raises ValueError for any other string. The web page accepts the same strings (assumptionsIn and assumeOf in
    question.js).
    """
    if text.lstrip().startswith("{"):
        return dict(_json_in(text, 'write N=2.., or JSON such as {"N":"2.."}'))
    if len(text) > MAX_SHAPE_CHARACTERS:
        raise ValueError(f"can have at most {MAX_SHAPE_CHARACTERS} characters")
    assumptions: dict[str, int | str] = {}
    for part in _NEXT_NAME.split(_BETWEEN.sub(" ", text).strip()):
        found = _ASSUMPTION.fullmatch(part)
        sizes = parse_shape(found[2]) if found else []
        if found is None or len(sizes) != 1:
            raise ValueError("write a name and its sizes, such as N=2.., N=1..8 or N=3")
        if found[1] in assumptions:
            raise ValueError(f"{found[1][:60]} is given twice")
        assumptions[found[1]] = sizes[0]
    return assumptions


def _json_in(text: str, form: str) -> Any:
    from ..wire.codec import parse_json  # this module imports msgpack

    try:
        return parse_json(text)
    except ValueError as error:
        if not text.lstrip().startswith(("[", "{")):
            raise ValueError(form) from None
        raise ValueError(f"{form} ({error})") from None


@cache
def _schemas(op: type[Op], name: str) -> list[dict[str, Any]]:
    """Return the JSON Schema of an attribute, followed by the schemas of its variants."""
    schema = op.model_json_schema()["properties"][name]
    return [schema, *schema.get("anyOf", [])]


def _holds_integers(schema: dict[str, Any]) -> bool:
    """Return whether the schema of a list allows integers as items."""
    items = schema.get("items", {})
    return any(variant.get("type") == "integer" for variant in [items, *items.get("anyOf", [])])
