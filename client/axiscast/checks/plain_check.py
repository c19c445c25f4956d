"""Plain checks, which are check requests with integer sizes and possibly an op. They need no schema validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from ..messages import CheckRequest
from ..ops import Op, read_op
from ..plan.plan import Shape
from ..wire.shapes import MAX_SIZE

DEFAULT_OP: Op = CheckRequest.model_fields["op"].default
"""The default op of a request. Compare an op with it by `is`, because a request may explicitly name an equal op."""


class PlainCheck(NamedTuple):
    """A valid check request in which all fields except `inputs` and `op` have their defaults. It is fast to create."""

    inputs: Sequence[Shape]
    op: Op = DEFAULT_OP
    assume: Mapping[str, Any] | None = None
    dtype: None = None
    explain: bool = False
    warn: Sequence[str] = ()


def as_plain_check(inputs: Any, op: Op = DEFAULT_OP) -> PlainCheck | None:
    """Return the plain check of these inputs, or None if the inputs are not lists or tuples of integer sizes."""
    if type(inputs) is not list and type(inputs) is not tuple:
        return None
    for shape in inputs:
        if type(shape) is not list and type(shape) is not tuple:
            return None
        for size in shape:
            if type(size) is not int or not 0 <= size <= MAX_SIZE:
                return None
    return PlainCheck([*map(tuple, inputs)], op)


def read_plain_check(value: Any) -> PlainCheck | None:
    """Return the plain check for a decoded request, or None if the request is invalid or not a plain check."""
    if type(value) is not dict or "inputs" not in value or not value.keys() <= {"inputs", "op"}:
        return None
    op = read_plain_op(value["op"]) if "op" in value else DEFAULT_OP
    return None if op is None else as_plain_check(value["inputs"], op)


def read_plain_op(value: Any) -> Op | None:
    """Return the op with this name or with the fields in this map, or None if the value is invalid."""
    fields = {"name": value} if type(value) is str else value
    if type(fields) is not dict or type(fields.get("name")) is not str:
        return None
    try:
        return read_op(fields)
    except ValidationError:
        return None
