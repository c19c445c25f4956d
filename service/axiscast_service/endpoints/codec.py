"""The quick codec of checks: plain questions read, and plain answers written, at once.

The one schema is CheckRequest, the one codec wire/codec.py. What is read here they would read, as the same message;
what is written here they would write, in the same bytes. Whatever is not plain, or not valid, is left to them, and so
are the words of every refusal; tests/fastpath/test_codec_of_checks.py holds both to one verdict. msgspec is in C.
Without it (there is none for PyPy) pydantic does so for JSON, and msgpack reads.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import msgpack
from pydantic_core import from_json, to_json

from axiscast.answers.check import PlainCheck, plain_check, read_plain_check
from axiscast.messages import CheckRequest
from axiscast.messages.validation import validate
from axiscast.ops import Op, read_op
from axiscast.wire.codec import Encoding, decode, encode
from axiscast.wire.shapes import MAX_SIZE

msgspec: Any = import_module("msgspec") if find_spec("msgspec") else None

_QUERY = 2000
"""Characters of a query that may be plain."""

_PLAIN = {int, str, bool, type(None)}
"""Types of an attribute, or of the items of one that is a list, that msgspec and the codec read alike."""

_READERS: dict[Encoding, Callable[[bytes | str], Any]] = {}
_VALUES: dict[Encoding, Callable[[bytes], Any]] = {}
_WRITERS: dict[Encoding, Callable[[Any], bytes]] = {}
_ERRORS: tuple[type[Exception], ...] = (TypeError, ValueError, RecursionError)
if msgspec is not None:
    _ERRORS += (msgspec.MsgspecError,)
    _Size: Any = Annotated[int, msgspec.Meta(ge=0, le=MAX_SIZE)]
    _fields = [("inputs", list[tuple[_Size, ...]]), ("op", msgspec.Raw, msgspec.Raw())]
    _Fields = msgspec.defstruct("_Fields", _fields, forbid_unknown_fields=True)
    for _media, _kind in {Encoding.JSON: msgspec.json, Encoding.MSGPACK: msgspec.msgpack}.items():
        _READERS[_media] = _kind.Decoder(_Fields).decode
        _VALUES[_media] = _kind.Decoder().decode
        _WRITERS[_media] = _kind.Encoder().encode
else:
    _WRITERS[Encoding.JSON] = to_json


def message_in_body(body: bytes, media: Encoding) -> CheckRequest | PlainCheck:
    """The message in a body of at most a few thousand bytes. Raises Problem for anything that is wrong with it."""
    if (read := _READERS.get(media)) is not None:
        try:
            fields = read(body)
            question, inner = PlainCheck(fields.inputs), 0
            if fields.op:
                op, inner = _op(fields.op, media)
                question = PlainCheck(fields.inputs, op)
            # msgspec takes the last of two fields of one name. In JSON each field has a colon; MessagePack counts them.
            outer = 2 if fields.op else 1
            if body.count(b":") == outer + inner if media is Encoding.JSON else body[0] - 0x80 == outer:
                return question
        except _ERRORS:
            pass  # not plain, or not valid
    elif plain := _without_msgspec(body, media):
        return plain
    value = decode(body, media)
    return read_plain_check(value) or validate(CheckRequest, value)


def _without_msgspec(body: bytes, media: Encoding) -> PlainCheck | None:
    """Return the PlainCheck in a body; None if it is not plain, or not valid, or may have a field twice."""
    try:
        value = from_json(body, allow_inf_nan=False) if media is Encoding.JSON else msgpack.unpackb(body)
    except _ERRORS:
        return None
    if type(value) is not dict:
        return None
    inner = len(op) if type(op := value.get("op")) is dict else 0
    if media is Encoding.JSON:
        is_plain = body.count(b":") == len(value) + inner
    else:
        is_plain = not inner and body[0] - 0x80 == len(value)
    return read_plain_check(value) if is_plain else None


def _op(content: Any, media: Encoding) -> tuple[Op, int]:
    """An op and the number of its fields, of which a bare name has none. Raises ValueError where it is not plain, or
    not valid."""
    value = _VALUES[media](content)
    fields = {"name": value} if type(value) is str else value
    if type(fields) is not dict or (media is Encoding.MSGPACK and fields is value and content[0] - 0x80 != len(fields)):
        raise ValueError
    for attribute in fields.values():
        kinds = {*map(type, attribute)} if type(attribute) is list else {type(attribute)}
        if not kinds <= _PLAIN:
            raise ValueError
    op = read_op(fields) if "name" in fields else None
    if op is None:
        raise ValueError
    return op, len(fields) if fields is value else 0


def question_in_query(query: str) -> PlainCheck | None:
    """A query as a message; None where it is not plain: inputs of integers."""
    if len(query) > _QUERY or not query.startswith("input=") or query.encode().translate(None, b"input=&x,0123456789"):
        return None
    shapes = query[6:].replace("x", ",").replace("&input=", "],[")  # of all else than sizes JSON makes an error
    try:
        if (read := _READERS.get(Encoding.JSON)) is not None:
            return PlainCheck(read(f'{{"inputs":[[{shapes}]]}}').inputs)
        return plain_check(from_json(f"[[{shapes}]]"))
    except _ERRORS:
        return None


def answer_in_bytes(answer: dict[str, Any], media: Encoding) -> bytes:
    """The bytes of a check's answer, as wire.codec.encode makes them."""
    write = _WRITERS.get(media)
    if write is None:
        return encode(answer, media)
    try:
        content = write(answer)
    except _ERRORS:  # a symbol, which is a kind of string; a lone surrogate
        return encode(answer, media)
    if media is Encoding.JSON and (not content.isascii() or b"\x7f" in content):
        return encode(answer, media)  # which escapes those
    return content
