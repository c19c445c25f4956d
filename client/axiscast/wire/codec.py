"""Conversion of plain values to and from MessagePack and JSON. Limits are checked before and during parsing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, NoReturn

import msgpack
from pydantic_core import from_json

from .prescan import Bins, Buffer, ReserveMemory, json_depth, malformed_body, no_limit, prescan_json, prescan_msgpack
from .problems import Problem

MAX_KEY = 1000
"""The maximum number of characters in a map key. All field names are shorter."""
MAX_FIELDS = 2000
"""The maximum number of keys in a map, which limits the number of errors: twice the limit for names in `assume`."""
MAX_DEPTH = 500
"""The maximum nesting depth of JSON lists and maps. The limit of Python's parser differs between releases."""

MAX_DIGITS = 400
"""The maximum number of digits of an integer in a long JSON body. All finite floats are less than 10^309."""
SHORT_JSON_BYTES = 4 * 2**10
"""The maximum size, in bytes, for which any JSON text is parsed in less than a millisecond."""
SHORT_BODY_BYTES = MAX_KEY
"""The maximum size, in bytes, of a body that needs no prescan. No map in it has too many keys or too long keys."""
PACKER_BUFFER_BYTES = 4 * 2**10
"""The initial size, in bytes, of a packer's buffer. In a service, the allocation of the default size, 256 KiB, needs
system calls, which take longer than a check."""


class Encoding(Enum):
    """An encoding of request and response bodies. The value of each member is its canonical media type."""

    JSON = "application/json"
    MSGPACK = "application/vnd.msgpack"


ENCODINGS = {
    "application/json": Encoding.JSON,
    "application/vnd.msgpack": Encoding.MSGPACK,
    "application/msgpack": Encoding.MSGPACK,
    "application/x-msgpack": Encoding.MSGPACK,
}
"""The encoding for each supported media type."""


# json.dumps would create a new encoder for each call.
# The cycle check is disabled because plain values contain no reference cycles.
_TO_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)


def encode(value: Any, media: Encoding) -> bytes:
    """Encode a plain value and return the bytes.

    Plain values are maps, lists, strings, numbers, booleans and null. In MessagePack, bytes are plain values too.
    """
    if media is Encoding.JSON:
        return _TO_JSON.encode(value).encode()
    return bytes(msgpack.packb(value, unicode_errors="replace", buf_size=PACKER_BUFFER_BYTES))


def map_of_lists(fields: Mapping[str, Sequence[bytes]], media: Encoding) -> bytes:
    """Return the encoding of the map {field: [item, ...], ...}, whose items are already encoded."""
    if media is Encoding.JSON:
        lists = [encode(field, media) + b":[" + b",".join(items) + b"]" for field, items in fields.items()]
        return b"{" + b",".join(lists) + b"}"
    packer = msgpack.Packer(buf_size=PACKER_BUFFER_BYTES)
    pieces = [packer.pack_map_header(len(fields))]
    for field, items in fields.items():
        pieces += [packer.pack(field), packer.pack_array_header(len(items)), *items]
    return b"".join(pieces)


def decode(body: Buffer, media: Encoding, reserve: ReserveMemory = no_limit, is_answer: bool = False) -> Any:
    """Decode a body and return its plain value. Long binary values in MessagePack become views of the body.

    Before any values are created, `reserve` is called with the maximum number of bytes that the values need. If
    `is_answer` is true, the limits for MessagePack responses apply. Raises Problem (malformed-body, body-too-large).
    """
    fields = short_fields(bytes(body), media) if len(body) <= SHORT_BODY_BYTES else None
    if fields is not None:
        return fields
    return _decode_json(body, reserve) if media is Encoding.JSON else _decode_msgpack(body, reserve, is_answer)


def short_fields(body: bytes, media: Encoding) -> dict[str, Any] | None:
    """Return the map in a short body. If only the slower parser can read or explain the body, return None.

    The memory for a short body is not reserved.
    """
    is_json = media is Encoding.JSON
    # In JSON, the fields of maps in lists are not counted. msgpack itself reads extension values that are timestamps.
    if body.count(b"{") > 2 if is_json else any(start in body for start in _TIMESTAMPS):
        return None
    try:
        fields = from_json(body, allow_inf_nan=False) if is_json else _unpacked(body, _refuse_extension)
    except (Problem, *_NOT_MSGPACK):
        return None
    if type(fields) is not dict:
        return None
    # If a field is repeated, the JSON parser keeps only the last value. Each field has one colon.
    inner = [value for value in fields.values() if type(value) is dict]
    is_complete = not is_json or body.count(b":") == len(fields) + sum(map(len, inner))
    return fields if is_complete else None


_TIMESTAMPS = (b"\xd6\xff", b"\xd7\xff", b"\xc7\x0c\xff")
_NOT_MSGPACK = (msgpack.UnpackException, ValueError, TypeError, OverflowError, RecursionError)


def _unpacked(body: Buffer, read_extension: Callable[[int, bytes], Any]) -> Any:
    # unique_keys refuses keys that are not strings
    return msgpack.unpackb(body, object_pairs_hook=unique_keys, ext_hook=read_extension, strict_map_key=False)


def _refuse_extension(code: int, data: bytes) -> NoReturn:
    raise ValueError(code)


def parse_json(text: str) -> Any:
    """Parse JSON from a URL or a command line. Raises ValueError if `decode` would refuse the JSON string."""
    try:
        return decode(text.encode(), Encoding.JSON)
    except Problem as problem:
        raise ValueError(problem.detail) from None


def _decode_msgpack(body: Buffer, reserve: ReserveMemory, is_answer: bool) -> Any:
    if bytes(body[:1]) in (b"{", b"["):  # in MessagePack, the body would be a number
        raise malformed_body("the body looks like JSON: set Content-Type to application/json, or send MessagePack")
    nbytes, bins = prescan_msgpack(body, is_answer)
    reserve(nbytes)
    rest, views = _replace_bins(body, bins) if bins else (body, [])
    next_view = iter(views)
    try:
        return _unpacked(rest, lambda code, data: next(next_view))
    except Problem:
        raise
    except msgpack.StackError:
        raise malformed_body("the MessagePack value is nested too deeply") from None
    except UnicodeDecodeError:
        raise malformed_body("a MessagePack string is not UTF-8; send binary data as bin") from None
    except _NOT_MSGPACK as error:
        raise malformed_body(f"the body is not MessagePack: {_reason(error)}") from None


_PLACEHOLDER = b"\xd4\x00\x00"
"""The extension value that replaces each bin that is not copied. No body contains it: extension values are refused."""


def _replace_bins(body: Buffer, bins: Bins) -> tuple[bytes, list[memoryview]]:
    """Return the body with _PLACEHOLDER instead of each long binary value, and a list of views of these values."""
    whole = memoryview(body).toreadonly()
    pieces: list[Buffer] = []
    done = 0
    for header, _, end in bins:
        pieces += [whole[done:header], _PLACEHOLDER]
        done = end
    pieces.append(whole[done:])
    return b"".join(pieces), [whole[start:end] for _, start, end in bins]


def _reason(error: Exception) -> str:
    return str(error)[:120] or type(error).__name__


def unique_keys(items: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Return a dict of the key-value pairs. Raises Problem if a key is not a string or occurs twice."""
    if len(items) > MAX_FIELDS:
        raise malformed_body(f"a map has {len(items)} keys, but the limit is {MAX_FIELDS}")
    result: dict[str, Any] = {}
    for key, value in items:
        if not isinstance(key, str):
            raise malformed_body("a key of a map is not a string")
        if len(key) > MAX_KEY:
            raise malformed_body(f"a key of a map has more than {MAX_KEY} characters")
        if key in result:
            raise malformed_body(f"the key {key[:60]!r} occurs twice in a map")
        result[key] = value
    return result


def _decode_json(body: Buffer, reserve: ReserveMemory) -> Any:
    first = bytes(body[:1])
    if b"\x80" <= first <= b"\x8f" or first in (b"\xde", b"\xdf"):  # a MessagePack map begins with one of these bytes
        raise malformed_body("the body looks like MessagePack: send Content-Type: application/vnd.msgpack, or JSON")
    nbytes, opened = prescan_json(body)
    reserve(nbytes)
    if opened > MAX_DEPTH and json_depth(body) > MAX_DEPTH:
        raise malformed_body(f"the JSON value is nested too deeply: the limit is {MAX_DEPTH} levels")
    try:
        decoder = _FROM_JSON if len(body) <= SHORT_JSON_BYTES else _FROM_LONG_JSON
        return decoder.decode(str(body, "utf-8"))
    except UnicodeDecodeError:
        raise malformed_body("the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        place, remedy = f"{error.msg} at byte {error.pos}", _json_remedy(error)
        raise malformed_body(f"this is not JSON: {f'{remedy} ({place})' if remedy else place}") from None
    except ValueError:  # int() refuses an integer with thousands of digits
        raise _too_many_digits() from None


_JSON_VALUES = {"None": "null", "True": "true", "False": "false", "undefined": "null", "nil": "null"}
"""The JSON notation of null, true and false, keyed by the names in other languages, such as None for null."""
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def _json_remedy(error: json.JSONDecodeError) -> str:
    """Return advice on how to correct JSON that contains another language's syntax, or an empty string."""
    before, after = error.doc[: error.pos].rstrip(), error.doc[error.pos :].lstrip()
    if error.msg.startswith("Illegal trailing comma"):  # Python 3.13 and later report the position of the comma
        before, after = ",", after[1:].lstrip()
    word = _WORD.match(after)
    if not before and not after:
        return 'it is empty: send a map such as {"inputs": [[3], [4]]}'
    if not before and after.startswith("\ufeff"):
        return "remove the byte order mark before the {"
    if word and word[0] in _JSON_VALUES:
        return f"write {_JSON_VALUES[word[0]]} for {word[0]}"
    if not before and after[:1].isalpha():
        return 'a body must begin with {, such as {"inputs": [[3], [4]]}'
    if before.endswith(",") and after.startswith(("}", "]")):
        return f"remove the comma before {after[0]}"
    if word and before.endswith(("{", ",")) and after[word.end() :].lstrip().startswith(":"):
        return f'write "{word[0][:60]}" in double quotes'
    if after.startswith(("//", "/*", "#")):
        return "remove the comment, which JSON does not allow"
    if after.startswith("("):
        return "write [ ] instead of ( )"
    if error.msg == "Extra data":
        return "send a single map, and nothing after it"
    if not after or error.msg.startswith("Unterminated"):
        return "it ends before all brackets and quotes are closed, so it may be truncated"
    return "write \" for '" if after.startswith("'") else ""


def _too_many_digits() -> Problem:
    return malformed_body("a number in the body has too many digits")


def _refuse_constant(name: str) -> NoReturn:
    raise malformed_body(f'{name} is not JSON: write "{name}" in quotes')


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:  # the run time of int() grows with the square of the number of digits
        raise _too_many_digits()
    return int(text)


def _real(text: str) -> float:
    return float(text)


_HOOKS: dict[str, Any] = {"object_pairs_hook": unique_keys, "parse_constant": _refuse_constant}
_FROM_JSON = json.JSONDecoder(**_HOOKS)
_FROM_LONG_JSON = json.JSONDecoder(**_HOOKS, parse_int=_integer, parse_float=_real)
"""The decoder for long JSON strings, which calls a Python function for each number.

Other threads can run during these calls. The calls make this decoder a third slower than _FROM_JSON.
"""
