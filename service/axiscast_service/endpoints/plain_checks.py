"""Responses to plain checks, written directly from plain values without a message and a plan.

A plain check has integer sizes that broadcast without a warning. Its op follows NumPy's rule, and has no attributes.
The response depends on the sizes only through the common shape and the number of elements. Everything else is written
once, by the code for all checks, and cached. size_patterns.py does the same for many other checks.
tests/endpoints/test_plain_checks.py compares both responses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from math import prod
from typing import Any, NamedTuple

import msgpack
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from axiscast.checks.check import check_to_dict, input_to_dict
from axiscast.checks.two_sided import find_outer_product
from axiscast.messages import CheckRequest
from axiscast.plan.alignment import RightAlignment, ShapeMismatch
from axiscast.plan.relations import Relation
from axiscast.wire.codec import PACKER_BUFFER_BYTES, Encoding, encode
from axiscast.wire.problems import Problem
from axiscast.wire.shapes import MAX_SIZE

from .size_patterns import MAX_INPUTS, MAX_RANK, answer_by_pattern

_MAX_QUERY_BYTES = 1000
_WRITERS: dict[Encoding, Callable[[Any], bytes]] = {
    Encoding.JSON: to_json,
    Encoding.MSGPACK: partial(msgpack.packb, buf_size=PACKER_BUFFER_BYTES),
}
"""Encoders of integers, which take a third of the time of `encode`."""
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
    """Return the encoded answer to the check with these fields, or None if no template fits the check."""
    if encoding is None or type(fields) is not dict or not fields.keys() <= {"inputs", "op"}:
        return None
    inputs, op = fields.get("inputs"), fields.get("op", _DEFAULT_OP)
    if type(inputs) is not list or not 0 < len(inputs) <= MAX_INPUTS:
        return None
    for shape in inputs:
        if type(shape) is not list or len(shape) > MAX_RANK:
            return None
    if type(op) is not dict:
        op = {"name": op}
    content = _plain_answer(op["name"], inputs, encoding) if op.keys() == {"name"} else None
    return answer_by_pattern(op, inputs) if content is None and encoding is Encoding.JSON else content


def _plain_answer(name: Any, inputs: list[list[Any]], encoding: Encoding) -> bytes | None:
    """Return the encoded answer to a plain check, or None if the check is not plain."""
    if type(name) is not str:
        return None
    ranks = tuple(map(len, inputs))
    rank = max(ranks)
    sizes, masks, all_axes = [1] * rank, [], 0
    for shape in inputs:  # as in RightAlignment.broadcast_shape
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
    if min(ranks) < rank and len({*sizes} - {1}) < all_axes.bit_count() and find_outer_product(inputs, tuple(masks)):
        return None
    template = _template(name, ranks, encoding)
    elements = prod(sizes)
    if template is None or elements > MAX_SIZE:
        return None
    write = _WRITERS[encoding]
    common, count = write(sizes), write(elements)
    parts = [
        _input_template(number, ranks[number], rank, all_axes & ~masks[number], encoding) % common
        for number in range(len(inputs))
    ]
    return template.content % (common, *(common, count) * template.outputs, *parts)


class _Template(NamedTuple):
    content: bytes
    """The response, with gaps for the shape, for the shape and the elements of each output, and for each input."""
    outputs: int


@lru_cache(512)
def _template(name: str, ranks: tuple[int, ...], encoding: Encoding) -> _Template | None:
    """Return the template of responses for an op and ranks, or None if a response may depend on more than the shape."""
    whole = tuple(range(2, 2 + max(ranks)))
    inputs = [whole[len(whole) - rank :] for rank in ranks]
    try:
        request = CheckRequest.model_validate({"op": name, "inputs": inputs})
        answer = check_to_dict(request)
        op, alignment = request.op, request.op.align(tuple(request.inputs))
    except (ValidationError, Problem, ShapeMismatch):
        return None
    if not isinstance(alignment, RightAlignment) or alignment.relation is not Relation.BROADCAST or op.needs_integers():
        return None
    if not answer["compatible"]:  # more axes than the op takes
        return None
    if type(op).has_deviations() or answer["warnings"] or not answer["outputs"]:
        return None
    gaps = {
        "shape": "<shape>",
        "outputs": [output | {"shape": "<shape>", "elements": "<elements>"} for output in answer["outputs"]],
        "broadcast_inputs": ["<input>"] * len(inputs),
    }
    return _Template(_with_gaps(answer | gaps, encoding), len(answer["outputs"]))


@lru_cache(2048)
def _input_template(number: int, input_rank: int, rank: int, missing: int, encoding: Encoding) -> bytes:
    """Return the template of an input in a response. `missing` has a bit for each axis with size 1 here only."""
    return _with_gaps(input_to_dict(number, "<shape>", input_rank, rank, missing), encoding)


def _with_gaps(value: Any, encoding: Encoding) -> bytes:
    content = encode(value, encoding).replace(b"%", b"%%")
    for gap in ("<shape>", "<elements>", "<input>"):
        content = content.replace(encode(gap, encoding), b"%b")
    return content
