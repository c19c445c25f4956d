"""MessagePack and JSON: bytes to plain values and back, with limits that hold while parsing."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any, NoReturn

import msgpack

from .problems import Problem

MAX_VALUES = 1_000_000
"""Values in one body: parsed, each takes some 65 bytes."""


MAX_KEY = 1000
"""Characters of a map's key: every field's name is shorter."""

Buffer = bytes | bytearray | memoryview


class Media(Enum):
    """An encoding, by its canonical media type."""

    JSON = "application/json"
    MSGPACK = "application/vnd.msgpack"


MEDIA_NAMES = {
    "application/json": Media.JSON,
    "application/vnd.msgpack": Media.MSGPACK,
    "application/msgpack": Media.MSGPACK,
    "application/x-msgpack": Media.MSGPACK,
}
"""Every media type that is understood."""


def encode(value: Any, media: Media) -> bytes:
    """The bytes of a plain value (maps, lists, strings, numbers, bytes in MessagePack)."""
    if media is Media.JSON:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    return bytes(msgpack.packb(value, unicode_errors="replace"))


def decode(body: Buffer, media: Media) -> Any:
    """The plain value of a whole body. Raises Problem (malformed-body) with what is wrong and where it can be said."""
    return _decode_json(body) if media is Media.JSON else _decode_msgpack(body)


def _malformed(detail: str) -> Problem:
    return Problem("malformed-body", detail)


def _decode_msgpack(body: Buffer) -> Any:
    left = MAX_VALUES
    if bytes(body[:1]) in (b"{", b"["):  # a lone number, to MessagePack
        raise _malformed("the body looks like JSON: send Content-Type: application/json, or MessagePack")

    def count(size: int) -> None:
        nonlocal left
        left -= size
        if left < 0:
            raise _malformed(f"the body holds more than {MAX_VALUES} values")

    def pairs(items: list[tuple[Any, Any]]) -> dict[str, Any]:
        count(1 + 2 * len(items))
        if any(type(value) is msgpack.Timestamp for _, value in items):
            _no_extension(-1, b"")  # the one extension type that does not reach ext_hook
        return _unique(items)

    def listed(items: list[Any]) -> list[Any]:
        count(1 + len(items))
        if msgpack.Timestamp in map(type, items):
            _no_extension(-1, b"")
        return items

    try:
        return msgpack.unpackb(
            body,
            object_pairs_hook=pairs,
            list_hook=listed,
            ext_hook=_no_extension,
            strict_map_key=False,  # _unique refuses other keys than strings, in words
            # An element takes a byte at least. Older releases allocate what a header announces.
            max_array_len=min(MAX_VALUES, len(body)),
            max_map_len=10_000,
        )
    except Problem:
        raise
    except msgpack.ExtraData:
        raise _malformed("bytes follow the MessagePack value: send one map and nothing after it") from None
    except msgpack.StackError:
        raise _malformed("the MessagePack value is nested too deep") from None
    except UnicodeDecodeError:
        raise _malformed("a MessagePack string is not UTF-8; send binary data as bin") from None
    except ValueError as error:
        truncated = "incomplete" in str(error)
        raise _malformed(
            "the MessagePack value is truncated" if truncated else f"the body is not MessagePack: {_reason(error)}"
        ) from None
    except (msgpack.UnpackException, TypeError, OverflowError, RecursionError) as error:
        raise _malformed(f"the body is not MessagePack: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    return str(error)[:120] or type(error).__name__


def _no_extension(code: int, data: bytes) -> NoReturn:
    raise _malformed(f"extension types are not understood (type {code}); send numbers, strings, bin, lists and maps")


def _unique(items: list[tuple[Any, Any]]) -> dict[str, Any]:
    """The map of these pairs. Raises Problem for a key that is no string, or that comes twice."""
    result: dict[str, Any] = {}
    for key, value in items:
        if not isinstance(key, str):
            raise _malformed("a key of a map is not a string")
        if len(key) > MAX_KEY:
            raise _malformed(f"a key of a map has more than {MAX_KEY} characters")
        if key in result:
            raise _malformed(f"the key {key[:60]!r} comes twice in one map")
        result[key] = value
    return result


def _decode_json(body: Buffer) -> Any:
    raw = bytes(body)
    # Each value but the first follows one of these bytes, so this bounds the parsed size before parsing.
    if b"\x80" <= raw[:1] <= b"\x8f" or raw[:1] in (b"\xde", b"\xdf"):  # a map, to MessagePack
        raise _malformed("the body looks like MessagePack: send Content-Type: application/vnd.msgpack, or JSON")
    if raw.count(b",") + raw.count(b"[") + raw.count(b"{") > MAX_VALUES:
        raise _malformed(f"the body may hold more than {MAX_VALUES} values; send tensors as base64 or as MessagePack")
    try:
        return json.loads(raw.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise _malformed("the body is not UTF-8") from None
    except RecursionError:
        raise _malformed("the JSON value is nested too deep") from None
    except json.JSONDecodeError as error:
        raise _malformed(f"the body is not JSON: {error.msg} at byte {error.pos}") from None
    except ValueError:  # an integer of thousands of digits
        raise _malformed("a number in the body has too many digits") from None


def _no_constant(name: str) -> NoReturn:
    raise _malformed(f'{name} is not JSON: write "{name}" in quotes where data holds it')
