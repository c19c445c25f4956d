"""The quick codec of checks: plain questions read, and plain answers written, at once.

The one schema is CheckRequest, the one codec schema/codec.py. What is read here they would read, as the same message;
what is written here they would write, in the same bytes. Whatever is not plain, or not valid, is left to them, and so
are the words of every refusal; tests/test_codec_of_checks.py holds both to one verdict. msgspec reads and writes in C;
without it (there is none for PyPy) all goes through the schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

from tensorcast.messages import CheckRequest
from tensorcast.messages.validation import validated
from tensorcast.schema.codec import Media, decode, encode
from tensorcast.schema.memory import Reserve
from tensorcast.schema.problems import Problem
from tensorcast.schema.shapes import MAX_SIZE

msgspec: Any = import_module("msgspec") if find_spec("msgspec") else None

PLAIN_BYTES = 4096
"""A longer question is not plain."""
_BYTES = 80
"""Of memory for each byte of a plain question, at the most: a list of one size takes three bytes."""
_QUERY = re.compile(r"(?!.{2000})input=[0-9]{1,18}(?:[x,][0-9]{1,18})*(?:&input=[0-9]{1,18}(?:[x,][0-9]{1,18})*)*")

_READERS: dict[Media, Callable[[bytes], Any]] = {}
_WRITERS: dict[Media, Callable[[Any], bytes]] = {}
_ERRORS: tuple[type[Exception], ...] = (Problem, TypeError, ValueError)
if msgspec is not None:
    _ERRORS += (msgspec.MsgspecError,)
    _Size: Any = Annotated[int, msgspec.Meta(ge=0, le=MAX_SIZE)]
    _Question = msgspec.defstruct(
        "_Question",
        [("inputs", list[tuple[_Size, ...]]), ("op", msgspec.Raw, msgspec.Raw())],
        forbid_unknown_fields=True,
    )
    for _media, _kind in {Media.JSON: msgspec.json, Media.MSGPACK: msgspec.msgpack}.items():
        _READERS[_media] = _kind.Decoder(_Question).decode
        _WRITERS[_media] = _kind.Encoder().encode


def question_in_body(body: bytes, media: Media, reserve: Reserve) -> CheckRequest | None:
    """A body as a message; None where it is not plain: `inputs` of integers, and an op, each given once."""
    read = _READERS.get(media)
    if read is None or len(body) > PLAIN_BYTES:
        return None
    try:
        question = read(body)
        op = bytes(question.op)
        fields = 2 if op else 1
        # msgspec takes the last of two fields of one name. In JSON each field has a colon; MessagePack counts them.
        if (body.count(b":") - op.count(b":") if media is Media.JSON else body[0] - 0x80) != fields:
            return None
        reserve(_BYTES * len(body))
        return _message(question.inputs, {"op": decode(op, media)} if op else {})
    except _ERRORS:
        return None


def question_in_query(query: str) -> CheckRequest | None:
    """A query as a message; None where it is not plain: inputs of integers."""
    read = _READERS.get(Media.JSON)
    if read is None or not _QUERY.fullmatch(query):
        return None
    sizes = query[6:].replace("x", ",").replace("&input=", "],[")
    try:
        return _message(read(b'{"inputs":[[%b]]}' % sizes.encode()).inputs, {})
    except _ERRORS:  # a number that begins with 0
        return None


def _message(inputs: list[Any], others: dict[str, Any]) -> CheckRequest:
    message = validated(CheckRequest, {"inputs": [], **others})
    message.__dict__["inputs"] = inputs  # as an assignment, at a third of its cost
    return message


def answer_in_bytes(answer: dict[str, Any], media: Media) -> bytes:
    """The bytes of a check's answer, as schema.codec.encode makes them."""
    write = _WRITERS.get(media)
    if write is None:
        return encode(answer, media)
    try:
        content = write(answer)
    except _ERRORS:  # a symbol, which is a kind of string; a lone surrogate
        return encode(answer, media)
    if media is Media.JSON and (not content.isascii() or b"\x7f" in content):
        return encode(answer, media)  # which escapes those
    return content
