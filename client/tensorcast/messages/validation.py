"""Validation: a plain value as a typed message, or a problem in words that say where and what would be right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..ops import OPS
from ..schema.problems import Problem

M = TypeVar("M", bound=BaseModel)


def validated(model: type[M], value: Any) -> M:
    """A plain value as a message. Raises Problem (invalid-request, unknown-op)."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _problem_of(error, model, value) from None


def _problem_of(error: ValidationError, model: type[BaseModel], value: Any) -> Problem:
    """A request's faults, the first of them with its pointer: where they stand and what would be right."""
    faults = error.errors(include_url=False)
    place = _place(faults[0])
    pointer = "".join(f"/{str(step)[:100].replace('~', '~0').replace('/', '~1')}" for step in place)
    if faults[0]["type"] == "union_tag_invalid":
        return unknown_op(str(faults[0]["ctx"]["tag"]), pointer)
    sentences = dict.fromkeys(_sentence(fault, model, value) for fault in faults[:_MOST_FAULTS])
    more = len(faults) - _MOST_FAULTS
    rest = f" ({more} more fault{'s' if more > 1 else ''} in this request)" if more > 0 else ""
    return Problem("invalid-request", "; ".join(sentences) + rest, pointer=pointer)


_MOST_FAULTS = 3
"""Faults of one request that its problem tells."""


def _sentence(fault: ErrorDetails, model: type[BaseModel], value: Any) -> str:
    """One fault: where it stands, and what is wrong there."""
    place = _place(fault)
    complaint = _complaint(fault, _model_at(model, fault["loc"], value), place)
    return f"{('/'.join(map(str, place)) or 'the body')[:200]}: {complaint}"


def _place(fault: ErrorDetails) -> tuple[int | str, ...]:
    """Where a fault stands in the request."""
    field = fault.get("ctx", {}).get("field")
    return (*fault["loc"], *([field] if field else []))


def unknown_op(name: str, pointer: str) -> Problem:
    """The problem of a name that no op has, with those that are close to it."""
    shown = name[:60]
    close = get_close_matches(shown, OPS, n=3, cutoff=0.4)
    lowered = {op.lower(): op for op in OPS}
    if shown.lower() in lowered:
        close = [lowered[shown.lower()]]
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    return Problem("unknown-op", f"there is no op {shown!r}: {meant}GET /v1/ops lists all", pointer=pointer)


_COMPLAINTS = {
    "union_tag_not_found": 'an op needs its name, such as {"name": "numpy.broadcast_to", "shape": [4, 3]}',
    "model_type": "must be a map of fields",
    "model_attributes_type": "must be the name of an op, or a map such as "
    '{"name": "numpy.broadcast_to", "shape": [4, 3]}',
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": 'must be a map, such as {"N": "2.."}',
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "greater_than_equal": "must not be negative: a size is 0 or more",
    "less_than_equal": "must be at most 2^63-1",
}


def _complaint(fault: ErrorDetails, model: type[BaseModel] | None, place: Sequence[int | str]) -> str:
    """What is wrong, and what would be right. `model` is the one that has the field, where that is known."""
    kind = fault["type"]
    if kind == "missing":
        examples = model.model_fields[str(place[-1])].examples if model else None
        return f'is missing: write for instance "{place[-1]}": {json.dumps(examples[0])}' if examples else "is missing"
    if kind == "extra_forbidden":
        fields = list(model.model_fields) if model else []
        if len(place) == 1 and any(place[0] in op.model_fields for op in OPS.values()):
            return f'belongs inside op: {{"name": ..., "{place[0]}": ...}}'
        close = get_close_matches(str(place[-1])[:100], fields, n=1)
        meant = f": did you mean {close[0]}?" if close else ""
        return f"is no field here{meant}" + (f" (there are {', '.join(fields)})" if fields else "")
    if kind == "model_type" and not place:
        return 'must be a map of fields, such as {"inputs": ...}'
    if kind in ("model_type", "model_attributes_type") and len(place) == 2 and place[0] in ("inputs", "gradients"):
        return 'must be a tensor such as {"dtype": "float32", "shape": [3], "data": [1, 2, 3]}'
    if kind == "literal_error":
        return f"must be {fault.get('ctx', {}).get('expected', 'another value')}{_elsewhere(fault['input'], place)}"
    if place[:1] == ("window",) and kind in ("too_long", "too_short", "tuple_type", "list_type"):
        return "must be a pair [start, stop] for each output axis, such as [[0, 2], [0, 3]]"
    return _COMPLAINTS.get(kind, fault["msg"])


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
        return OPS[value["op"] if isinstance(value["op"], str) else value["op"]["name"]]
    if len(location) == 3 and location[0] in ("inputs", "gradients") and isinstance(location[2], str):
        from ..schema.tensors import Tensor  # takes NumPy, which a request without tensors does not

        return Tensor
    return None
