"""Validation: a plain value as a typed message, or a problem in words that say where and what would be right."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..ops import ALIASES, FRAMEWORKS, OPS, op_class
from ..ops.aliases import full_name
from ..wire.problems import Problem
from ..wire.shapes import json_type_name
from ..wire.validation_errors import allowed_values, error_message, merge_renamed_fields
from ..wire.wording import MAX_NAME_CHARACTERS, close_matches, count_of, did_you_mean
from .corrections import correction_of, shape_in
from .invalid_field import InvalidField
from .notation import JsonNotation, MapNotation
from .unsupported_functions import advice_on

M = TypeVar("M", bound=BaseModel)


def find_problem(model: type[BaseModel], value: Any, notation: JsonNotation) -> Problem | None:
    """Return the problem of an invalid plain value, in these words. If the value is valid, return None."""
    try:
        validate(model, value, notation)
    except Problem as problem:
        return problem
    return None


def validate(model: type[M], value: Any, notation: JsonNotation | None = None) -> M:
    """A plain value as a message. Raises Problem (invalid-request, unknown-op), in these words."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise problem_from_errors(error, model, value, notation) from None


def problem_from_errors(
    error: ValidationError, model: type[BaseModel], value: Any, notation: JsonNotation | None = None
) -> Problem:
    """A request's faults, the first of them with its pointer: where they stand and what would be right."""
    notation = notation or JsonNotation()
    found = error.errors(include_url=False)
    beside = [("op", name) for fault in found if fault["type"] == "extra_forbidden" for name in _names_in(fault)]
    faults = merge_renamed_fields(
        [fault for fault in found if fault["type"] != "missing" or fault["loc"] not in beside]
    )
    place = _place(faults[0])
    pointer = "".join(f"/{str(step)[:100].replace('~', '~0').replace('/', '~1')}" for step in place)
    if faults[0]["type"] == "union_tag_invalid":
        return unknown_op_problem(str(faults[0]["ctx"]["tag"]), pointer, notation)
    sentences = dict.fromkeys(_sentence(fault, model, value, notation) for fault in faults[:_MOST_FAULTS])
    more = len(faults) - _MOST_FAULTS
    rest = f" ({count_of(more, 'more fault')} in this request)" if more > 0 else ""
    return Problem("invalid-request", "; ".join(sentences) + rest, pointer=pointer)


def _names_in(fault: ErrorDetails) -> list[str]:
    """Return the names of the attributes in an unknown field: the field itself, or the keys of a map in `op`."""
    if len(fault["loc"]) == 1:
        return [str(fault["loc"][0])]
    return [*fault["input"]] if fault["loc"][0] == "op" and isinstance(fault["input"], dict) else []


_MOST_FAULTS = 8
"""Faults of one request that its problem tells."""
_MOST_CHARACTERS = 1000
"""Of what is said of one of them: it shows again what was sent."""


def _sentence(fault: ErrorDetails, model: type[BaseModel], value: Any, notation: JsonNotation) -> str:
    """One fault: where it stands, and what is wrong there."""
    place = _place(fault)
    return f"{notation.location(place)[:200]}: {_complaint(fault, place, model, value, notation)[:_MOST_CHARACTERS]}"


def _place(fault: ErrorDetails) -> tuple[int | str, ...]:
    """Where a fault stands in the request."""
    field = fault.get("ctx", {}).get("field")
    return (*fault["loc"], *([field] if field else []))


def unknown_op_problem(name: str, pointer: str, notation: JsonNotation | None = None) -> Problem:
    """Return the problem of an unknown op. It explains a known function that does not broadcast, or suggests names."""
    framework = _framework(name)
    known = advice_on(name[:MAX_NAME_CHARACTERS], framework)
    said = f": {known};" if known else did_you_mean(close_ops(name)) or _has(framework)
    return Problem(
        "unknown-op",
        f"there is no op {name[:MAX_NAME_CHARACTERS]!r}{said} {(notation or JsonNotation()).catalogue}",
        pointer=pointer,
    )


def _has(framework: str | None) -> str:
    """Return what a framework has, for a name that is near none of it."""
    own = [op for op in _names()[1] if op.partition(".")[0] == framework]
    return f": {framework} has {', '.join(own[:6])}{', ...' if own[6:] else ''};" if own else ":"


def _framework(name: str) -> str | None:
    """Return the framework of a name, or None."""
    return _names()[0].get(full_name(name[:MAX_NAME_CHARACTERS]).lower().partition(".")[0])


def close_ops(name: str) -> list[str]:
    """Return the ops that may be meant by a name.

    They are of its framework, if it begins with one or a usual short name of it; else they have the same last part, or
    a name like it.
    """
    full = full_name(name[:MAX_NAME_CHARACTERS]).lower()
    head, _, tail = full.partition(".")
    frameworks, ops = _names()
    framework = frameworks.get(head) or next(iter(close_matches(head, frameworks.values(), 1, 0.75)), None)
    if framework is None:
        return [op for op in ops if op.lower().endswith(f".{head}")][:5] or close_matches(name, ops)
    own = [op for op in ops if op.startswith(f"{framework}.")]
    if not tail:
        return own[:3]
    others = [alias for alias in ALIASES if alias.startswith(f"{framework}.")]
    return _near_last(full, own, 0.6) or _near_last(full, others, 0.8)


def _near_last(name: str, ops: Sequence[str], cutoff: float) -> list[str]:
    """Return up to three of these ops whose last part is like a name's, those of its module first."""
    module, _, last = name.rpartition(".")
    by_last: dict[str, list[str]] = {}
    for op in ops:
        by_last.setdefault(op.rpartition(".")[2].lower(), []).append(op)
    close = [op for part in close_matches(last, by_last, 3, cutoff) for op in by_last[part]]
    return sorted(close, key=lambda op: op.rpartition(".")[0].lower() != module)[:3]


@cache
def _names() -> tuple[dict[str, str], list[str]]:
    """The frameworks by their names, and by those under which their snippets import them, such as tf; and the ops'."""
    frameworks = {name: name for name in FRAMEWORKS}
    for name, framework in FRAMEWORKS.items():
        if imported := re.search(rf"^import {name}(?:\.\w+)? as (\w+)$", framework.preamble, re.MULTILINE):
            frameworks.setdefault(imported[1], name)
    return frameworks, list(OPS)


def _complaint(
    fault: ErrorDetails, place: Sequence[int | str], top: type[BaseModel], value: Any, notation: JsonNotation
) -> str:
    """What is wrong, and what would be right, in a request `value` of the model `top`."""
    kind, found = fault["type"], fault["input"]
    if said := correction_of(InvalidField(kind, found, tuple(place), top, value, notation)):
        return said
    model = _model_at(top, fault["loc"], value)
    fields = model.model_fields if model else {}
    field = fields.get(str(place[-1])) if place else None
    example = field.examples[0] if field is not None and field.examples else None
    if kind == "bool_type" and isinstance(notation, MapNotation):
        return f"must be True or False, not {type(found).__name__} {found!r:.20}"
    if kind == "literal_error" and (other := _elsewhere(found, place)):
        return f"must be {allowed_values(fault)}{other}"
    if kind == "model_type" and not place:
        return notation.type_error(top, found)
    if kind == "list_type" and example is not None:
        shape = shape_in(found) if isinstance(example[0], list) else None
        return f"must be a list, such as {notation.assignment(place, example if shape is None else [shape])}"
    if kind == "string_type" and isinstance(example, str):
        noun = "a name" if " " not in example else "one"
        return f"must be a string, not {json_type_name(found)}: write {noun} such as {json.dumps(example)}"
    example = None if example is None else notation.assignment(place, example)
    plain = error_message(fault, place[-1] if place else "", fields, example)
    unknown = kind == "greater_than_equal" and found == -1 and "explain" in top.model_fields
    return f'{plain}; write "?" for one that is not known' if unknown else plain


def _elsewhere(value: Any, place: Sequence[int | str]) -> str:
    """The op that takes this value of an attribute, where another does."""
    if len(place) == 2 and place[0] == "op" and isinstance(value, str):
        for name, op in OPS.items():
            field = op.model_fields.get(str(place[1]))
            if field is not None and value in get_args(field.annotation):
                return f": {value} is one of {name}'s"
    return ""


def _model_at(model: type[BaseModel], location: Sequence[int | str], value: Any) -> type[BaseModel] | None:
    """The model of the field of `value` that a fault is about: the op's, or the message's own."""
    if len(location) == 1:
        return model
    if len(location) == 2 and location[0] == "op":
        return op_class(value["op"] if isinstance(value["op"], str) else value["op"]["name"])
    if len(location) == 3 and location[0] in ("inputs", "gradients") and isinstance(location[2], str):
        from ..wire.tensors import Tensor  # takes NumPy, which a request without tensors does not

        return Tensor
    return None
