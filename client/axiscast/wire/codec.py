"""MessagePack and JSON: bytes to plain values and back, with limits that hold while parsing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NoReturn

import msgpack

from .prescan import (
    Bins,
    Buffer,
    ReserveMemory,
    json_depth,
    malformed_body,
    prescan_json,
    prescan_msgpack,
    unlimited_memory,
)
from .problems import Problem

MAX_KEY = 1000
"""Characters of a map's key: every field's name is shorter."""
MAX_FIELDS = 2000
"""Keys of one map: twice as many as sizes can be named; a fault may be found in each."""
MAX_DEPTH = 500
"""Lists and maps of JSON inside one another. Each Python's parser has a limit of its own; that of 3.14 is the stack."""

MAX_DIGITS = 400
"""Digits of an integer in a long body: beyond 309 no float holds it."""
SHORT_JSON_BYTES = 4 * 2**10
"""JSON of up to so many bytes is read in a fraction of a millisecond, whatever it holds."""
PACKER_BUFFER_BYTES = 4 * 2**10
"""What a packer begins with, and lets grow. By itself it takes 256 KiB, which the service's allocator has from the
system, and gives back, for each value anew."""


class Encoding(Enum):
    """An encoding, by its canonical media type."""

    JSON = "application/json"
    MSGPACK = "application/vnd.msgpack"

    __hash__ = object.__hash__  # that of Enum is in Python, and each request needs it three times


ENCODINGS = {
    "application/json": Encoding.JSON,
    "application/vnd.msgpack": Encoding.MSGPACK,
    "application/msgpack": Encoding.MSGPACK,
    "application/x-msgpack": Encoding.MSGPACK,
}
"""Every media type that is understood."""


# Kept, as json.dumps makes one on each call; and no plain value holds itself.
_TO_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)


def encode(value: Any, media: Encoding) -> bytes:
    """The bytes of a plain value (maps, lists, strings, numbers, bytes in MessagePack)."""
    if media is Encoding.JSON:
        return _TO_JSON.encode(value).encode()
    return bytes(msgpack.packb(value, unicode_errors="replace", buf_size=PACKER_BUFFER_BYTES))


def map_of_lists(fields: Mapping[str, Sequence[bytes]], media: Encoding) -> bytes:
    """Return the bytes of {field: [item, ...], ...}, whose items are already encoded."""
    if media is Encoding.JSON:
        lists = [encode(field, media) + b":[" + b",".join(items) + b"]" for field, items in fields.items()]
        return b"{" + b",".join(lists) + b"}"
    packer = msgpack.Packer()
    pieces = [packer.pack_map_header(len(fields))]
    for field, items in fields.items():
        pieces += [packer.pack(field), packer.pack_array_header(len(items)), *items]
    return b"".join(pieces)


def decode(body: Buffer, media: Encoding, reserve: ReserveMemory = unlimited_memory, is_answer: bool = False) -> Any:
    """The plain value of a whole body; long binary data in MessagePack is a view of the body, not a copy.

    Raises Problem (malformed-body) with what is wrong and where it can be said. `reserve` is told what memory the
    values take, at the most, before they are made. An answer in MessagePack may hold more than a request.
    """
    return _decode_json(body, reserve) if media is Encoding.JSON else _decode_msgpack(body, reserve, is_answer)


def parse_json(text: str) -> Any:
    """The plain value of JSON that stands in a URL or a command. Raises ValueError where a body would be refused."""
    try:
        return decode(text.encode(), Encoding.JSON)
    except Problem as problem:
        raise ValueError(problem.detail.replace("the body is", "it is")) from None


def _decode_msgpack(body: Buffer, reserve: ReserveMemory, is_answer: bool) -> Any:
    if bytes(body[:1]) in (b"{", b"["):  # a lone number, to MessagePack
        raise malformed_body("the body looks like JSON: send Content-Type: application/json, or MessagePack")
    nbytes, bins = prescan_msgpack(body, is_answer)
    reserve(nbytes)
    rest, views = _apart(body, bins) if bins else (body, [])
    given = iter(views)
    try:
        return msgpack.unpackb(
            rest,
            object_pairs_hook=_unique,
            ext_hook=lambda code, data: next(given),
            strict_map_key=False,  # _unique refuses other keys than strings, in words
        )
    except Problem:
        raise
    except msgpack.StackError:
        raise malformed_body("the MessagePack value is nested too deep") from None
    except UnicodeDecodeError:
        raise malformed_body("a MessagePack string is not UTF-8; send binary data as bin") from None
    except (msgpack.UnpackException, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise malformed_body(f"the body is not MessagePack: {_reason(error)}") from None


_ABSENT = b"\xd4\x00\x00"
"""Stands for a bin that is not copied: an extension type, since a body that holds one of its own is refused."""


def _apart(body: Buffer, bins: Bins) -> tuple[bytes, list[memoryview]]:
    """The body with _ABSENT for each of its long bins, and views of the bins."""
    whole = memoryview(body).toreadonly()
    pieces: list[Buffer] = []
    done = 0
    for header, _, end in bins:
        pieces += [whole[done:header], _ABSENT]
        done = end
    pieces.append(whole[done:])
    return b"".join(pieces), [whole[start:end] for _, start, end in bins]


def _reason(error: Exception) -> str:
    return str(error)[:120] or type(error).__name__


def _unique(items: list[tuple[Any, Any]]) -> dict[str, Any]:
    """The map of these pairs. Raises Problem for a key that is no string, or that comes twice."""
    if len(items) > MAX_FIELDS:
        raise malformed_body(f"a map has {len(items)} keys; {MAX_FIELDS} are the most")
    result: dict[str, Any] = {}
    for key, value in items:
        if not isinstance(key, str):
            raise malformed_body("a key of a map is not a string")
        if len(key) > MAX_KEY:
            raise malformed_body(f"a key of a map has more than {MAX_KEY} characters")
        if key in result:
            raise malformed_body(f"the key {key[:60]!r} comes twice in one map")
        result[key] = value
    return result


def _decode_json(body: Buffer, reserve: ReserveMemory) -> Any:
    first = bytes(body[:1])
    if b"\x80" <= first <= b"\x8f" or first in (b"\xde", b"\xdf"):  # a map, to MessagePack
        raise malformed_body("the body looks like MessagePack: send Content-Type: application/vnd.msgpack, or JSON")
    nbytes, opened = prescan_json(body)
    reserve(nbytes)
    if opened > MAX_DEPTH and json_depth(body) > MAX_DEPTH:
        raise malformed_body(
            f"the JSON value is nested too deep: {MAX_DEPTH} lists and maps inside one another are the most"
        )
    try:
        decoder = _FROM_JSON if len(body) <= SHORT_JSON_BYTES else _FROM_LONG_JSON
        return decoder.decode(str(body, "utf-8"))
    except UnicodeDecodeError:
        raise malformed_body("the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        place, remedy = f"{error.msg} at byte {error.pos}", _json_remedy(error)
        raise malformed_body(f"the body is not JSON: {f'{remedy} ({place})' if remedy else place}") from None
    except ValueError:  # an integer of thousands of digits
        raise _too_many_digits() from None


_COPIED = {"None": "null", "True": "true", "False": "false", "undefined": "null", "nil": "null"}
"""What other languages write for a value of JSON."""
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def _json_remedy(error: json.JSONDecodeError) -> str:
    """What to do about a text that is not JSON, but JSON in another language's form; empty if it is not."""
    before, after = error.doc[: error.pos].rstrip(), error.doc[error.pos :].lstrip()
    if error.msg.startswith("Illegal trailing comma"):  # from Python 3.13 on, and at the comma
        before, after = ",", after[1:].lstrip()
    word = _WORD.match(after)
    if not before and not after:
        return 'it is empty, and a body is a map such as {"inputs": [[3], [4]]}'
    if not before and after.startswith("\ufeff"):
        return "take away the byte order mark before the {"
    if word and word[0] in _COPIED:
        return f"write {_COPIED[word[0]]} for {word[0]}"
    if not before and after[:1].isalpha():
        return 'a body begins with {, such as {"inputs": [[3], [4]]}'
    if before.endswith(",") and after.startswith(("}", "]")):
        return f"take away the comma before {after[0]}"
    if word and before.endswith(("{", ",")) and after[word.end() :].lstrip().startswith(":"):
        return f'write "{word[0][:60]}" in double quotes'
    if after.startswith(("//", "/*", "#")):
        return "take away the comment, which JSON does not have"
    if after.startswith("("):
        return "write [ ] for ( )"
    if error.msg == "Extra data":
        return "send one map, and nothing after it"
    if not after or error.msg.startswith("Unterminated"):
        return "it ends before all brackets and quotes are closed, and seems cut short"
    return "write \" for '" if after.startswith("'") else ""


def _too_many_digits() -> Problem:
    return malformed_body("a number in the body has too many digits")


def _no_constant(name: str) -> NoReturn:
    raise malformed_body(f'{name} is not JSON: write "{name}" in quotes where data holds it')


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:  # which takes the square of them
        raise _too_many_digits()
    return int(text)


def _real(text: str) -> float:
    return float(text)


_FROM_JSON = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
_FROM_LONG_JSON = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_integer, parse_float=_real
)
"""The same, made slower by a third: other threads may run whenever it calls Python, at each number and map."""
