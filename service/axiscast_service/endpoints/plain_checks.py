"""Responses to plain checks, written directly from plain values without a message and a plan.

A plain check has integer sizes that broadcast without a warning. Its op follows NumPy's rule, and has no attribute
except a target shape. The response depends on the sizes only through the common shape and the number of elements.
Everything else is written once, by the code for all checks, and cached. tests/endpoints/test_plain_checks.py compares
both responses.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import from_json

from axiscast.checks.check import check_to_dict, input_to_dict
from axiscast.checks.two_sided import find_outer_product
from axiscast.messages import CheckRequest
from axiscast.ops import op_class
from axiscast.plan.alignment import RightAlignment, ShapeMismatch
from axiscast.plan.relations import Relation
from axiscast.wire.codec import Encoding, encode
from axiscast.wire.problems import Problem
from axiscast.wire.shapes import MAX_SIZE

_MAX_QUERY_BYTES = 1000
_MAX_INPUTS, _MAX_RANK = 8, 16
"""The maximum number of inputs and axes in a plain check, which limits the size of the caches."""
_DEFAULT_OP: str = CheckRequest.model_fields["op"].default.name


def fields_in_query(query: bytes) -> dict[str, Any] | None:
    """Return the fields of the check in a query that consists of inputs with integer sizes. Otherwise, return None."""
    if (
        len(query) > _MAX_QUERY_BYTES
        or not query.startswith(b"input=")
        or query.translate(None, b"input=&x,0123456789")
    ):
        return None
    # Any other use of these letters results in invalid JSON.
    shapes = query[6:].replace(b"x", b",").replace(b"&input=", b"],[")
    try:
        return {"inputs": from_json(b"[[%b]]" % shapes)}
    except ValueError:
        return None


def answer_fields(fields: Any, encoding: Encoding | None) -> bytes | None:
    """Return the encoded answer to the check with these fields, or None if the check is not plain."""
    if encoding is None or type(fields) is not dict or not fields.keys() <= {"inputs", "op"}:
        return None
    name, target = _op_of(fields.get("op", _DEFAULT_OP) if len(fields) == 2 else _DEFAULT_OP)
    inputs = fields.get("inputs")
    if type(name) is not str or type(inputs) is not list or not 0 < len(inputs) <= _MAX_INPUTS:
        return None
    shapes = inputs if target is None else [*inputs, target]
    for shape in shapes:
        if type(shape) is not list or len(shape) > _MAX_RANK:
            return None
    ranks = tuple(map(len, shapes))
    rank = max(ranks)
    sizes, masks, all_axes = [1] * rank, [], 0
    for shape in shapes:  # as in RightAlignment.broadcast_shape
        axis, mask = rank - len(shape), 0
        for size in shape:
            if type(size) is not int:
                return None
            mask += mask
            if size != 1:
                mask += 1
                if sizes[axis] != size:
                    if sizes[axis] != 1 or not 0 <= size <= MAX_SIZE:
                        return None
                    sizes[axis] = size
            axis += 1
        masks.append(mask)
        all_axes |= mask
    if target is not None and target != sizes:
        return None
    if min(ranks) < rank and len({*sizes} - {1}) < all_axes.bit_count() and find_outer_product(shapes, tuple(masks)):
        return None
    template = _template(name, ranks, target is not None, encoding)
    elements = prod(sizes)
    if template is None or elements > MAX_SIZE:
        return None
    shape, count = encode(sizes, encoding), encode(elements, encoding)
    parts = [
        _input_template(number, ranks[number], rank, all_axes & ~masks[number], encoding) % shape
        for number in range(len(inputs))
    ]
    return template.content % (*[shape] * template.shapes, *(shape, count) * template.outputs, *parts)


def _op_of(value: Any) -> tuple[Any, list[Any] | None]:
    """Return the name in a field `op` and its target shape, or None if it has no target."""
    if type(value) is not dict:
        return value, None
    if not 1 <= len(value) <= 2 or next(iter(value)) != "name":
        return None, None
    name, *others = value.values()
    if not others:
        return name, None
    kind = op_class(name) if type(name) is str else None
    return (name, others[0]) if kind is not None and kind.target in value and type(others[0]) is list else (None, None)


class _Template(NamedTuple):
    content: bytes
    """The response, with gaps for the shape, for the shape and the elements of each output, and for each input."""
    shapes: int
    """The number of gaps for the shape before those of the outputs."""
    outputs: int


@lru_cache(512)
def _template(name: str, ranks: tuple[int, ...], has_target: bool, encoding: Encoding) -> _Template | None:
    """Return the template of responses for an op and ranks, or None if a response may depend on more than the shape.

    If `has_target` is true, the last rank is that of the op's target shape.
    """
    kind = op_class(name)
    if kind is None:
        return None
    whole = tuple(range(2, 2 + max(ranks)))
    inputs = [whole[len(whole) - rank :] for rank in ranks]
    written: dict[str, Any] = {"name": name}
    if has_target:
        written[str(kind.target)] = inputs.pop()
    try:
        request = CheckRequest.model_validate({"op": written, "inputs": inputs})
        answer = check_to_dict(request)
        op, alignment = request.op, request.op.align(tuple(request.inputs))
    except (ValidationError, Problem, ShapeMismatch):
        return None
    relation = Relation.BROADCAST_TO if has_target else Relation.BROADCAST
    if not isinstance(alignment, RightAlignment) or alignment.relation is not relation or op.needs_integers():
        return None
    if not answer["compatible"]:  # more axes than the op takes
        return None
    if type(op).has_deviations() or answer["warnings"] or not answer["outputs"]:
        return None
    if has_target:
        answer["op"][kind.target] = "<shape>"
    gaps = {
        "shape": "<shape>",
        "outputs": [output | {"shape": "<shape>", "elements": "<elements>"} for output in answer["outputs"]],
        "broadcast_inputs": ["<input>"] * len(inputs),
    }
    return _Template(_with_gaps(answer | gaps, encoding), 1 + has_target, len(answer["outputs"]))


@lru_cache(2048)
def _input_template(number: int, input_rank: int, rank: int, missing: int, encoding: Encoding) -> bytes:
    """Return the template of an input in a response. `missing` has a bit for each axis with size 1 here only."""
    return _with_gaps(input_to_dict(number, "<shape>", input_rank, rank, missing), encoding)


def _with_gaps(value: Any, encoding: Encoding) -> bytes:
    content = encode(value, encoding).replace(b"%", b"%%")
    for gap in ("<shape>", "<elements>", "<input>"):
        content = content.replace(encode(gap, encoding), b"%b")
    return content
