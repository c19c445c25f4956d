"""Responses to plain checks, written directly from plain values without a message and a plan.

A plain check has integer sizes and an op of NumPy's rule without attributes, and its shapes broadcast without a
warning. Its response depends on the sizes only through the common shape and the number of elements. Everything else is
written once, by the code for all checks, and cached. tests/endpoints/test_plain_checks.py compares both responses.

This module uses msgspec, which is written in C and is not available for PyPy. Without msgspec, all checks in bodies and
URLs take the general way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from math import prod
from typing import Any, NamedTuple

from pydantic_core import to_json

from axiscast.checks.check import check_to_dict, input_to_dict
from axiscast.checks.two_sided import find_outer_product
from axiscast.messages import CheckRequest
from axiscast.messages.validation import validate
from axiscast.ops import Op, op_class
from axiscast.plan.alignment import RightAlignment, ShapeMismatch
from axiscast.plan.relations import Relation
from axiscast.wire.codec import ENCODINGS, Encoding, encode
from axiscast.wire.prescan import Buffer
from axiscast.wire.problems import Problem
from axiscast.wire.shapes import MAX_SIZE

msgspec: Any = import_module("msgspec") if find_spec("msgspec") else None

_MAX_BYTES = 2000
"""The maximum length, in bytes, of a body or a query that is read as a plain check."""
_MAX_INPUTS, _MAX_RANK = 8, 16
"""The maximum number of inputs and axes in a plain check, which limits the size of the caches."""
_DEFAULT_OP: str = CheckRequest.model_fields["op"].default.name
_ERRORS: tuple[type[Exception], ...] = (TypeError, ValueError, OverflowError, RecursionError)
_DECODERS: dict[Encoding, Callable[[Buffer], Any]] = {}
_ENCODERS: dict[Encoding, Callable[[Any], bytes]] = {Encoding.JSON: to_json}
if msgspec is not None:
    _ERRORS += (msgspec.MsgspecError,)
    for _encoding, _module in ((Encoding.JSON, msgspec.json), (Encoding.MSGPACK, msgspec.msgpack)):
        _DECODERS[_encoding] = _module.Decoder().decode
        _ENCODERS[_encoding] = _module.Encoder().encode


def answer_body(body: Buffer, media: Encoding, media_type: str) -> bytes | None:
    """Return the response to the check in a body, or None if the check is not plain or its fields may be repeated."""
    read = _DECODERS.get(media)
    if read is None or len(body) > _MAX_BYTES:
        return None
    try:
        fields = read(body)
        count = len(fields)
    except _ERRORS:
        return None
    # If a field is repeated, msgspec keeps only the last value. In JSON, each field has one colon. In MessagePack, the
    # first byte has the number of fields.
    if media is Encoding.JSON:
        if type(fields) is dict and type(fields.get("op")) is dict:
            count += 1
        is_whole = bytes(body).count(b":") == count
    else:
        is_whole = body[0] == 0x80 + count and type(fields) is dict and type(fields.get("op")) is not dict
    return answer_fields(fields, ENCODINGS.get(media_type)) if is_whole else None


def fields_in_query(query: bytes) -> dict[str, Any] | None:
    """Return the fields of the check in a query that consists of inputs with integer sizes. Otherwise, return None."""
    read = _DECODERS.get(Encoding.JSON)
    if read is None or len(query) > _MAX_BYTES or not query.startswith(b"input="):
        return None
    if query.translate(None, b"input=&x,0123456789"):
        return None
    # Any other use of these letters results in invalid JSON.
    shapes = query[6:].replace(b"x", b",").replace(b"&input=", b"],[")
    try:
        return {"inputs": read(b"[[%b]]" % shapes)}
    except _ERRORS:
        return None


def answer_fields(fields: Any, encoding: Encoding | None) -> bytes | None:
    """Return the encoded answer to the check with these fields, or None if the check is not plain."""
    if encoding is None or type(fields) is not dict or len(fields) > 2:
        return None
    name = fields.get("op") if len(fields) == 2 else _DEFAULT_OP
    if type(name) is dict and len(name) == 1:
        name = name.get("name")
    shapes = fields.get("inputs")
    if type(name) is not str or type(shapes) is not list or not 0 < len(shapes) <= _MAX_INPUTS:
        return None
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
    if min(ranks) < rank and len({*sizes} - {1}) < all_axes.bit_count() and find_outer_product(shapes, tuple(masks)):
        return None
    elements = prod(sizes)
    template = _template(name, ranks, encoding)
    if template is None or elements > MAX_SIZE:
        return None
    write = _ENCODERS[encoding]
    shape, count = write(sizes), write(elements)
    inputs = [
        _input_template(number, ranks[number], rank, all_axes & ~mask, encoding) % shape
        for number, mask in enumerate(masks)
    ]
    return template.content % (shape, *(shape, count) * template.outputs, *inputs)


class _Template(NamedTuple):
    content: bytes
    """The response, with gaps for the shape, for the shape and the elements of each output, and for each input."""
    outputs: int


@lru_cache(512)
def _template(name: str, ranks: tuple[int, ...], encoding: Encoding) -> _Template | None:
    """Return the template of responses for an op and ranks, or None if a response may depend on more than the shape."""
    if op_class(name) is None:
        return None
    whole = tuple(range(2, 2 + max(ranks)))
    try:
        request = validate(CheckRequest, {"op": name, "inputs": [whole[len(whole) - rank :] for rank in ranks]})
        answer = check_to_dict(request)
        op, alignment = request.op, request.op.align(tuple(request.inputs))
    except (Problem, ShapeMismatch):
        return None
    if not isinstance(alignment, RightAlignment) or alignment.relation is not Relation.BROADCAST or op.needs_integers():
        return None
    if type(op).known_deviation is not Op.known_deviation or answer["warnings"] or not answer["outputs"]:
        return None
    gaps = {
        "shape": "<shape>",
        "outputs": [output | {"shape": "<shape>", "elements": "<elements>"} for output in answer["outputs"]],
        "broadcast_inputs": ["<input>"] * len(ranks),
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


def encode_check(response: dict[str, Any], encoding: Encoding) -> bytes:
    """Return the encoded response to a check, which consists of the same bytes as from wire.codec.encode."""
    write = _ENCODERS.get(encoding)
    if write is None:
        return encode(response, encoding)
    try:
        content = write(response)
    except _ERRORS:  # the response contains a symbol, which is a subclass of str, or a lone surrogate
        return encode(response, encoding)
    if encoding is Encoding.JSON and (not content.isascii() or b"\x7f" in content):
        return encode(response, encoding)  # the standard codec escapes such characters
    return content
