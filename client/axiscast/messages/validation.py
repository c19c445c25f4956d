"""Validation of plain values, and the error messages that users read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..ops import ALIASES, FRAMEWORKS, OPS, Op, op_class
from ..ops.aliases import full_name
from ..wire.problems import Fault, Problem
from ..wire.shapes import json_type_name
from ..wire.validation_errors import allowed_values, error_message, merge_renamed_fields
from ..wire.wording import MAX_NAME_CHARACTERS, close_matches, count_of, did_you_mean
from .attribute_text import other_ops_note
from .notation import JsonNotation, MapNotation
from .repairs import COLUMNS_PATH, ROWS_PATH, Repair, map_fault, repair
from .unsupported_functions import advice_on

M = TypeVar("M", bound=BaseModel)


def find_problem(model: type[BaseModel], value: Any, notation: JsonNotation) -> Problem | None:
    """Return the Problem that a plain value causes, written in the given notation, or None if the value is valid."""
    try:
        validate(model, value, notation)
    except Problem as problem:
        return problem
    return None


def validate(model: type[M], value: Any, notation: JsonNotation | None = None) -> M:
    """Convert a plain value to a model. Raises Problem (invalid-request, unknown-op), written in the given notation."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise problem_from_errors(error, model, value, notation) from None


def problem_from_errors(
    error: ValidationError, model: type[BaseModel], value: Any, notation: JsonNotation | None = None
) -> Problem:
    """Return the Problem for an invalid request, with all its faults."""
    notation = notation or JsonNotation()
    errors = merge_renamed_fields(_errors_in_lists(error.errors(include_url=False), model, value))
    repaired = repair(model, value, errors)
    unknown = [error for error in errors if error["type"] == "extra_forbidden"]
    if "op" in repaired.moved.values() or any(map(_is_in_op, unknown)):
        errors = [error for error in errors if error["type"] != "missing" or not _is_in_op(error)]
    faults = dict.fromkeys(_fault(error, model, value, notation, repaired) for error in errors[:_MAX_ERRORS])
    code = "unknown-op" if errors[0]["type"] == "union_tag_invalid" else "invalid-request"
    problem = Problem(code, "")
    problem.errors = [*faults]
    if (more := len(errors) - _MAX_ERRORS) > 0:
        problem.errors.append(Fault(f"{count_of(more, 'more error')} in this request"))
    return problem


def _is_in_op(error: ErrorDetails) -> bool:
    return len(error["loc"]) == 2 and error["loc"][0] == "op"


def _errors_in_lists(errors: list[ErrorDetails], model: type[BaseModel], value: Any) -> list[ErrorDetails]:
    """Return the errors, with those of the other items of a short list. Validation stops at a list's first error."""
    found = []
    for error in errors:
        found.append(error)
        while len(found) < _MAX_ERRORS and (later := _next_in_list(error, model, value)):
            found.append(error := later)
    return found


def _next_in_list(error: ErrorDetails, model: type[BaseModel], value: Any) -> ErrorDetails | None:
    """Return the error in the next invalid item of the list that contains an error, or None."""
    field, number, *_ = *error["loc"], None, None
    items = value.get(field) if isinstance(value, dict) else None
    if not isinstance(number, int) or not isinstance(items, list) or len(items) > _MAX_CHECKED_ITEMS:
        return None
    try:
        model.model_validate({field: items[number + 1 :]})
    except ValidationError as refused:
        for later in refused.errors(include_url=False):
            match later["loc"]:
                case (place, int(step), *rest) if place == field:
                    return {**later, "loc": (str(field), number + 1 + step, *rest)}
    return None


_MAX_ERRORS = 16
"""The maximum number of errors that a problem describes."""
_MAX_CHECKED_ITEMS = 64
"""The maximum length of a list in which all items are checked after an error. Each error checks the list again."""
_MAX_CHARACTERS = 1000
"""The maximum length of one error message in characters. A message may contain values from the request."""


def _fault(error: ErrorDetails, model: type[BaseModel], value: Any, notation: JsonNotation, repaired: Repair) -> Fault:
    """Return the fault for an error. Its detail begins with the location."""
    location = _location(error)
    pointer = "".join(f"/{str(step)[:100].replace('~', '~0').replace('/', '~1')}" for step in location)
    text = _other_endpoint(error, location, model, value) or repaired.sentence(error, location, notation)
    if error["type"] == "union_tag_invalid" and text is None:
        return unknown_op_problem(str(error["ctx"]["tag"]), pointer, notation).errors[0]
    message = (text or _message(error, location, model, value, notation))[:_MAX_CHARACTERS]
    return Fault(f"{notation.location(location)[:200]}: {message}", pointer)


def _location(error: ErrorDetails) -> tuple[int | str, ...]:
    """Return the location of an error in the request, as the steps to the field."""
    field = error.get("ctx", {}).get("field")
    return (*error["loc"], *([field] if field else []))


def unknown_op_problem(name: str, pointer: str, notation: JsonNotation | None = None) -> Problem:
    """Return the Problem for an unknown op.

    If the name is a known function that does not broadcast, the problem explains this function. Otherwise, the problem
    suggests similar names.
    """
    framework = _framework(name)
    known = advice_on(name[:MAX_NAME_CHARACTERS], framework)
    text = f": {known};" if known else did_you_mean(close_ops(name)) or _ops_note(framework)
    catalogue = (notation or JsonNotation()).catalogue
    return Problem("unknown-op", f"there is no op {name[:MAX_NAME_CHARACTERS]!r}{text} {catalogue}", pointer=pointer)


def _ops_note(framework: str | None) -> str:
    """Return a list of the framework's first ops, which the message about an unknown op shows if no name is similar."""
    own = [op for op in _names()[1] if op.partition(".")[0] == framework]
    return f": {framework} has {', '.join(own[:6])}{', ...' if own[6:] else ''};" if own else ":"


def _framework(name: str) -> str | None:
    """Return the framework in an op's name, or None if the framework is unknown."""
    return _names()[0].get(full_name(name[:MAX_NAME_CHARACTERS]).lower().partition(".")[0])


def framework_named(name: str) -> str:
    """Return the framework with this name or import name, such as tf. Raises ValueError, with a suggestion."""
    frameworks = _names()[0]
    if name in frameworks:
        return frameworks[name]
    close = did_you_mean(close_matches(name, frameworks.values())) or f": write one of {', '.join(FRAMEWORKS)}"
    raise ValueError(f"there is no framework {name[:MAX_NAME_CHARACTERS]!r}{close}")


def close_ops(name: str) -> list[str]:
    """Return the ops whose names are similar to an unknown name.

    If the name includes a framework, only this framework's ops are returned, unless an op of another framework has the
    same name with the same version. Otherwise, the last parts of the names are compared.
    """
    full = full_name(name[:MAX_NAME_CHARACTERS]).lower()
    head, _, tail = full.partition(".")
    frameworks, ops = _names()
    framework = frameworks.get(head)
    if framework is None and not tail and (same := [op for op in ops if _last_part(op) == head]):
        return same[:6]
    framework = framework or next(iter(close_matches(head, frameworks.values(), 1, 0.75)), None)
    if framework is None:
        return close_matches(name, ops)
    own = [op for op in ops if op.startswith(f"{framework}.")]
    if not tail:
        return own[:3]
    others = [alias for alias in ALIASES if alias.startswith(f"{framework}.")]
    versions = [op for op in ops if "-" in tail and op.lower().endswith(f".{tail}")]
    return versions or _close_last_parts(full, own, 0.6) or _close_last_parts(full, others, 0.8)


def _last_part(op: str) -> str:
    """Return the last part of an op's name, in lower case and without the version."""
    return op.lower().partition("-")[0].rpartition(".")[2]


def _close_last_parts(name: str, ops: Sequence[str], cutoff: float) -> list[str]:
    """Return up to three ops whose name has a last part similar to `name`. Ops in the same module are first."""
    module, _, last = name.rpartition(".")
    by_last: dict[str, list[str]] = {}
    for op in ops:
        by_last.setdefault(op.rpartition(".")[2].lower(), []).append(op)
    close = [op for part in close_matches(last, by_last, 3, cutoff) for op in by_last[part]]
    return sorted(close, key=lambda op: op.rpartition(".")[0].lower() != module)[:3]


@cache
def _names() -> tuple[dict[str, str], list[str]]:
    """Return the frameworks, keyed by name and by import name (such as tf), and the names of all ops."""
    frameworks = {name: name for name in FRAMEWORKS}
    for name, framework in FRAMEWORKS.items():
        if imported := re.search(rf"^import {name}(?:\.\w+)? as (\w+)$", framework.preamble, re.MULTILINE):
            frameworks.setdefault(imported[1], name)
    return frameworks, list(OPS)


def _message(
    error: ErrorDetails, location: Sequence[int | str], top: type[BaseModel], value: Any, notation: JsonNotation
) -> str:
    """Return the error message for a request `value` of the model `top`: what is wrong and what is expected."""
    kind, found = error["type"], error["input"]
    model = _model_at(top, error["loc"], value)
    fields = model.model_fields if model else {}
    field = fields.get(str(location[-1])) if location else None
    example = field.examples[0] if field is not None and field.examples else None
    if kind == "bool_type" and isinstance(notation, MapNotation):
        return f"must be True or False, not {type(found).__name__} {found!r:.20}"
    if kind == "literal_error" and (other := _other_op_note(found, location)):
        return f"must be {allowed_values(error)}{other}"
    if kind == "model_attributes_type" and found is None:
        return "must be the name of an op, not null: omit it"
    if kind == "model_type" and not location:
        return map_fault(top, found)
    if kind == "list_type" and example is not None:
        return f"must be a list, such as {notation.assignment(location, example)}"
    if kind == "string_type" and isinstance(example, str):
        noun = "a name" if " " not in example else "one"
        return f"must be a string, not {json_type_name(found)}: write {noun} such as {json.dumps(example)}"
    example = None if example is None else notation.assignment(location, example)
    if kind == "not_an_integer" and isinstance(found, str) and "assume" not in top.model_fields:
        note = "only check, compare and translate accept names, so write an example size such as 2"
        return f"must be an integer, not {found[:MAX_NAME_CHARACTERS]!r}: {note}"
    plain = error_message(error, location[-1] if location else "", fields, example)
    name = str(location[-1]) if location else ""
    if kind == "extra_forbidden" and model is not None and issubclass(model, Op) and not close_matches(name, fields, 1):
        plain += other_ops_note(model, name)
    unknown = kind == "greater_than_equal" and found == -1 and "explain" in top.model_fields
    return f'{plain}; write "?" for an unknown size' if unknown else plain


def _other_endpoint(error: ErrorDetails, location: Sequence[int | str], top: type[BaseModel], value: Any) -> str | None:
    """Return a note about a request whose form is that of another endpoint, or None."""
    field = location[0] if location else None
    is_extra = error["type"] in ("extra_forbidden", "renamed")
    if top.__name__ == "CompareRequest" and field == "op":
        return "is an unknown field: a comparison checks all ops, so omit it"
    if top.__name__ == "CheckColumnsRequest":  # a model that can't be imported here, because it needs NumPy
        if is_extra and field in ("requests", "assume", "dtype", "explain", "warn"):
            return f"is not supported for columns: send a list of requests to {ROWS_PATH}"
        if error["type"] == "model_type" and field == "inputs":
            example = json.dumps((top.model_fields["inputs"].examples or [[{}]])[0][0])
            return f"must be an int64 tensor of shape (n, rank), such as {example}: send single shapes to {ROWS_PATH}"
    if is_extra and field == "inputs" and "requests" in top.model_fields and "shape" in str(value["inputs"])[:20]:
        return f"is an unknown field: send columns of shapes to {COLUMNS_PATH}"
    return None


def _other_op_note(value: Any, location: Sequence[int | str]) -> str:
    """Return a note about a different op that accepts this attribute value, or an empty string."""
    if len(location) == 2 and location[0] == "op" and isinstance(value, str):
        for name, op in OPS.items():
            field = op.model_fields.get(str(location[1]))
            if field is not None and value in get_args(field.annotation):
                return f": {name} takes {value}"
    return ""


def _model_at(model: type[BaseModel], location: Sequence[int | str], value: Any) -> type[BaseModel] | None:
    """Return the model that has the field at a location: the op, a tensor, or the model of the request."""
    if len(location) == 1:
        return model
    if len(location) == 2 and location[0] == "op":
        return op_class(value["op"] if isinstance(value["op"], str) else value["op"]["name"])
    if len(location) == 3 and location[0] in ("inputs", "gradients") and isinstance(location[2], str):
        from ..wire.tensors import Tensor  # this module imports NumPy, which requests without tensors do not need

        return Tensor
    return None
