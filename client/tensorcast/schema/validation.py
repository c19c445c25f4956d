"""Validation: a plain value as a typed message, or a problem in words that say where and what would be right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from .ops import OPS
from .problems import Problem
from .tensors import Tensor

M = TypeVar("M", bound=BaseModel)


def validated(model: type[M], value: Any) -> M:
    """A plain value as a message. Raises Problem (invalid-request, unknown-op)."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise problem_of(error, model) from None


def problem_of(error: ValidationError, model: type[BaseModel]) -> Problem:
    """The first of a request's faults, where it stands and what would be right."""
    first, *others = error.errors(include_url=False, include_input=False)
    field = first.get("ctx", {}).get("field")
    place = (*_place(first["loc"]), *([field] if field else []))
    pointer = "".join(f"/{str(step)[:100].replace('~', '~0').replace('/', '~1')}" for step in place)
    if first["type"] == "union_tag_invalid":
        return unknown_op(str(first["ctx"]["tag"]), pointer)
    said = _say(first["type"], first.get("ctx", {}), first["msg"], _model_at(model, first["loc"]), place)
    more = f" ({len(others)} more fault{'s' if len(others) > 1 else ''} in this request)" if others else ""
    where = "/".join(map(str, place)) or "the body"
    return Problem("invalid-request", f"{where[:200]}: {said}{more}", pointer=pointer)


def _place(location: Sequence[int | str]) -> tuple[int | str, ...]:
    """Where a fault stands in the request: without the op's name, by which pydantic tells the union's members."""
    return tuple(
        step for number, step in enumerate(location) if not (number == 1 and location[0] == "op" and step in OPS)
    )


def unknown_op(name: str, pointer: str) -> Problem:
    """The problem of a name that no op has, with those that are close to it."""
    shown = name[:60]
    close = get_close_matches(shown, OPS, n=3, cutoff=0.4)
    lowered = {known.lower(): known for known in OPS}
    if shown.lower() in lowered:
        close = [lowered[shown.lower()]]
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    return Problem("unknown-op", f"there is no op {shown!r}: {meant}GET /v1/ops lists all", pointer=pointer)


_SAYINGS = {
    "union_tag_not_found": 'an op needs its name, such as {"name": "numpy.broadcast_to", "shape": [4, 3]}',
    "model_type": "must be a map of fields",
    "model_attributes_type": "must be the name of an op, or a map such as "
    '{"name": "numpy.broadcast_to", "shape": [4, 3]}',
    "list_type": "must be a list",
    "dict_type": 'must be a map, such as {"N": "2.."}',
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "greater_than_equal": "must not be negative: a size is 0 or more",
    "less_than_equal": "must be at most 2^63-1",
    "too_long": "must be a pair [start, stop]",
    "too_short": "must be a pair [start, stop]",
    "tuple_type": "must be a pair [start, stop]",
}


def _say(
    kind: str,
    context: dict[str, Any],
    message: str,
    model: type[BaseModel] | None,
    place: Sequence[int | str],
) -> str:
    """What is wrong, and what would be right. `model` is the one that has the field, where that is known."""
    if kind == "missing":
        examples = model.model_fields[str(place[-1])].examples if model else None
        return f'is missing: write for instance "{place[-1]}": {json.dumps(examples[0])}' if examples else "is missing"
    if kind == "extra_forbidden":
        known = list(model.model_fields) if model else []
        if len(place) == 1 and any(place[0] in op.model_fields for op in OPS.values()):
            return f'belongs inside op: {{"name": ..., "{place[0]}": ...}}'
        close = get_close_matches(str(place[-1])[:100], known, n=1)
        meant = f": did you mean {close[0]}?" if close else ""
        return f"is no field here{meant}" + (f" (there are {', '.join(known)})" if known else "")
    if kind == "model_type" and not place:
        return 'must be a map of fields, such as {"inputs": ...}'
    if kind in ("model_type", "model_attributes_type") and len(place) == 2 and place[0] in ("inputs", "gradients"):
        return 'must be a tensor such as {"dtype": "float32", "shape": [3], "data": [1, 2, 3]}'
    if kind == "literal_error":
        return f"must be {context.get('expected', 'another value')}"
    return _SAYINGS.get(kind, message)


def _model_at(model: type[BaseModel], location: Sequence[int | str]) -> type[BaseModel] | None:
    """The model whose field a fault is about: the op's, or the message's own."""
    if len(location) == 1:
        return model
    if len(location) == 3 and location[0] == "op":
        return OPS[str(location[1])]
    if len(location) == 3 and location[0] in ("inputs", "gradients"):
        return Tensor
    return None
