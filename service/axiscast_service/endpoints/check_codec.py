"""Fast reading of plain checks from a short body or query, and fast writing of their responses.

CheckRequest is the schema and wire/codec.py the codec. Plain checks need neither: this module reads the same request
and writes the same bytes, and leaves all other requests to them. tests/endpoints/test_check_codec.py compares both.
msgspec decodes and encodes in C. It does not exist for PyPy: without it, all bodies are left to the codec.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

from pydantic_core import to_json

from axiscast.answers.plain_check import DEFAULT_OP, PlainCheck, read_plain_check, read_plain_op
from axiscast.messages import CheckRequest
from axiscast.messages.validation import validate
from axiscast.wire.codec import MAX_KEY, Encoding, decode, encode
from axiscast.wire.shapes import MAX_SIZE

msgspec: Any = import_module("msgspec") if find_spec("msgspec") else None

_MAX_QUERY = 2000
"""Characters of the longest query that is read as a plain check."""
_SCALARS = {int, str, bool, type(None)}
"""Types of the attributes of an op, or of their items, that all decoders read alike."""
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
    """Return the check in a body of a few thousand bytes. Raises Problem if it is invalid."""
    if plain := plain_check_in_body(body, encoding):
        return plain
    value = decode(body, encoding)
    return read_plain_check(value) or validate(CheckRequest, value)


def plain_check_in_body(body: bytes, encoding: Encoding) -> PlainCheck | None:
    """Return the plain check in a body. If it is not plain, is invalid, or may repeat a field, return None."""
    read = _DECODERS.get(encoding)
    if read is None:
        return None
    try:
        fields = read(body)
        count = 1 if fields.op is None else 2 + _count_fields(fields.op)
        if encoding is Encoding.JSON:  # msgspec keeps the last of two fields with one name, and each has a colon
            is_whole = body.count(b":") == count
        else:  # the encoder writes the shortest form, so no field was dropped if the length is the same
            is_whole = len(_ENCODERS[encoding](fields)) == len(body)
    except _ERRORS:
        return None
    op = DEFAULT_OP if fields.op is None else read_plain_op(fields.op)
    return PlainCheck(fields.inputs, op) if is_whole and op is not None else None


def _count_fields(value: Any) -> int:
    """Return the number of fields of all maps in a value. Raises ValueError for a value that decoders read unlike."""
    kind = type(value)
    if kind in _SCALARS:
        return 0
    if kind is list:
        return sum(map(_count_fields, value))
    if kind is dict and all(type(key) is str and len(key) <= MAX_KEY for key in value):
        return len(value) + sum(map(_count_fields, value.values()))
    raise ValueError


def plain_check_in_query(query: str) -> PlainCheck | None:
    """Return the check in a query. If the query has other parameters than inputs of integers, return None."""
    read = _DECODERS.get(Encoding.JSON)
    if read is None or len(query) > _MAX_QUERY or not query.startswith("input="):
        return None
    if query.encode().translate(None, b"input=&x,0123456789"):
        return None
    shapes = query[6:].replace("x", ",").replace("&input=", "],[")  # other uses of these letters are invalid JSON
    try:
        return PlainCheck(read(b'{"inputs":[[%b]]}' % shapes.encode()).inputs)
    except _ERRORS:
        return None


def encode_check(response: dict[str, Any], encoding: Encoding) -> bytes:
    """Return the same bytes as wire.codec.encode for the response to a check."""
    write = _ENCODERS.get(encoding)
    if write is None:
        return encode(response, encoding)
    try:
        content = write(response)
    except _ERRORS:  # a symbol, which is a subclass of str, or a lone surrogate
        return encode(response, encoding)
    if encoding is Encoding.JSON and (not content.isascii() or b"\x7f" in content):
        return encode(response, encoding)  # it escapes these characters
    return content
