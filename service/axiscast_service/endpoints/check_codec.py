"""A fast decoder for plain checks in a short body or query, and a fast encoder for the responses.

In general, wire/codec.py decodes a check, and the schema CheckRequest validates the check. For plain checks, this
module reads the same requests and writes the same bytes faster. The codec and the schema handle all other checks.
tests/endpoints/test_check_codec.py compares the two implementations. This module uses msgspec, which is written in C
and is not available for PyPy. Without msgspec, the codec handles all bodies.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

from pydantic_core import to_json

from axiscast.checks.plain_check import DEFAULT_OP, PlainCheck, read_plain_check, read_plain_op
from axiscast.messages import CheckRequest
from axiscast.messages.validation import validate
from axiscast.wire.codec import MAX_KEY, Encoding, decode, encode
from axiscast.wire.shapes import MAX_SIZE

msgspec: Any = import_module("msgspec") if find_spec("msgspec") else None

_MAX_QUERY = 2000
"""The maximum length, in characters, of a query that is read as a plain check."""
_SCALARS = {int, str, bool, type(None)}
"""The types of op attributes and their items that all decoders read in the same way."""
_ERRORS: tuple[type[Exception], ...] = (TypeError, ValueError, OverflowError, RecursionError)

_DECODERS: dict[Encoding, Callable[[bytes], Any]] = {}
_ENCODERS: dict[Encoding, Callable[[Any], bytes]] = {Encoding.JSON: to_json}
if msgspec is not None:
    _ERRORS += (msgspec.MsgspecError,)
    _Size: Any = Annotated[int, msgspec.Meta(ge=0, le=MAX_SIZE)]
    _Fields = msgspec.defstruct(
        "_Fields",
        [("inputs", list[tuple[_Size, ...]]), ("op", Any, None)],
        forbid_unknown_fields=True,
        omit_defaults=True,
    )
    for _encoding, _module in ((Encoding.JSON, msgspec.json), (Encoding.MSGPACK, msgspec.msgpack)):
        _DECODERS[_encoding] = _module.Decoder(_Fields).decode
        _ENCODERS[_encoding] = _module.Encoder().encode


def check_in_body(body: bytes, encoding: Encoding) -> CheckRequest | PlainCheck:
    """Return the check that a body of a few thousand bytes contains. Raises Problem if the check is invalid."""
    if plain := plain_check_in_body(body, encoding):
        return plain
    value = decode(body, encoding)
    return read_plain_check(value) or validate(CheckRequest, value)


def plain_check_in_body(body: bytes, encoding: Encoding) -> PlainCheck | None:
    """Return the check in a body, or None if the check is not plain or not valid, or may contain a repeated field."""
    read = _DECODERS.get(encoding)
    if read is None:
        return None
    try:
        fields = read(body)
        count = 1 if fields.op is None else 2 + _count_fields(fields.op)
        # If a field is repeated, msgspec keeps only the last value, so the fields in the body are counted.
        if encoding is Encoding.JSON:  # each field has one colon
            is_whole = body.count(b":") == count
        elif count <= 2:  # there are no nested maps, and the first byte of the outer map encodes its number of fields
            is_whole = body[0] == 0x80 + count
        else:  # the encoder writes the shortest form, so if the lengths are equal, no field was dropped
            is_whole = len(_ENCODERS[encoding](fields)) == len(body)
    except _ERRORS:
        return None
    op = DEFAULT_OP if fields.op is None else read_plain_op(fields.op)
    return PlainCheck(fields.inputs, op) if is_whole and op is not None else None


def _count_fields(value: Any) -> int:
    """Return the total number of fields in all maps of a value. Raises ValueError if decoders disagree on the value."""
    kind = type(value)
    if kind in _SCALARS:
        return 0
    if kind is list:
        return sum(map(_count_fields, value))
    if kind is dict and all(type(key) is str and len(key) <= MAX_KEY for key in value):
        return len(value) + sum(map(_count_fields, value.values()))
    raise ValueError


def plain_check_in_query(query: str) -> PlainCheck | None:
    """Return the check that a query contains, or None if the query has anything except inputs with integer sizes."""
    read = _DECODERS.get(Encoding.JSON)
    if read is None or len(query) > _MAX_QUERY or not query.startswith("input="):
        return None
    if query.encode().translate(None, b"input=&x,0123456789"):
        return None
    shapes = query[6:].replace("x", ",").replace("&input=", "],[")  # other uses of these letters result in invalid JSON
    try:
        return PlainCheck(read(b'{"inputs":[[%b]]}' % shapes.encode()).inputs)
    except _ERRORS:
        return None


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
