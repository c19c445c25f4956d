"""The prescan, which counts the values in a body and estimates their memory before a parser creates the values.

The parsers do not report these numbers. At each nesting level, msgpack allocates as many list items as a header
announces. msgpack also copies every bin: 62 MiB take 35 ms, during which no other thread runs. Therefore, the
MessagePack prescan reads the first bytes of each value. It counts the values and finds the long bins, which are then
read without copying. The prescan takes about 0.08 us per value, and 10 ms for the largest body. For JSON, the prescan
counts only a few characters, because the length of the body limits the parser's work. A pure Python parser was also
measured: it took 1.2 to 2.5 times as long as the prescan and msgpack together.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

from .problems import Problem

Buffer = bytes | bytearray | memoryview
Bins = list[tuple[int, int, int]]
"""The long binary values (bins) in a MessagePack body.

Each entry holds three offsets: of the header, of the first byte, and of the end.
"""

ReserveMemory = Callable[[int], object]
"""A function that is called with a number of bytes before their allocation. It raises Problem if memory is short."""


def no_limit(nbytes: int) -> None:
    """Accept any number of bytes. This function is the default if a caller reserves no memory."""


MAX_VALUES = 2**17
"""The maximum number of values in a request. The limit allows a batch of 10,000 small checks.

The bytes of tensors do not count as values. The parsers hold the GIL while they create the values, for about 5 ms.
"""
ANSWER_VALUES = 2**20
"""The maximum number of values in a response. The limit allows the results of a batch of 10,000 checks."""
MAX_TEXT_BYTES = 4 * 2**20
"""The maximum size, in bytes, of a JSON body, or of all strings and short tensors in a MessagePack body.

The parsers copy these bytes, which takes about 5 ms.
"""
# The maximum memory, in bytes, per value during parsing and validation.
# tests/runtime/test_memory_estimates.py checks these constants.
NUMBER_BYTES = 80
STRING_BYTES = 240
NULL_BYTES = 300
"""The maximum memory, in bytes, per null value. A null can mean an unknown size, which becomes a Symbol object."""
LIST_BYTES = 110
MAP_BYTES = 700
LONG_BIN_BYTES = 600
MEMORY_PER_TEXT_BYTE = 5
"""The maximum memory, in bytes, that a string needs per byte of its UTF-8 encoding.

A single wide character makes the whole string wide. For a moment, both the narrow string and the wide string exist.
"""
MIN_VIEW_BYTES = 1024
"""The minimum size, in bytes, of a binary value that becomes a view of the body. Shorter binary values are copied."""
_PIECE = 2**16
"""The number of body bytes that are copied and counted in one step."""


def malformed_body(detail: str) -> Problem:
    """Return the Problem for a body that cannot be parsed."""
    return Problem("malformed-body", detail)


def _too_many_values(limit: int, remark: str = "") -> Problem:
    remedy = "send a batch of shapes in several requests, or as columns. Send tensors in MessagePack, or as base64"
    return Problem("malformed-body", f"the body has more than {limit} values{remark}: {remedy}", limit=limit)


# --- MessagePack ---------------------------------------------------------------------------------

_NUMBERS = {0xC0: 1, 0xC2: 1, 0xC3: 1, 0xCA: 5, 0xCB: 9, 0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9} | {
    0xD0: 2, 0xD1: 3, 0xD2: 5, 0xD3: 9,
}  # fmt: skip
"""The encoded length, in bytes, of nil, booleans and numbers, keyed by the first byte of the encoding."""
_BINS = {0xC4: 1, 0xC5: 2, 0xC6: 4}
_STRINGS = {0xD9: 1, 0xDA: 2, 0xDB: 4}
_WIDTHS = _BINS | _STRINGS | {0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
"""The width, in bytes, of the size field in a bin, string, list or map, keyed by the first byte of the encoding."""
_ITEM_VALUES = [0] * 256
_ITEM_VALUES[0x80:0xA0] = [2] * 16 + [1] * 16
_ITEM_VALUES[0xDC:0xE0] = [1, 1, 2, 2]
"""The number of values per item, indexed by the first byte: 2 for a map, 1 for a list, and 0 for any other value."""
_COPIED = dict.fromkeys(_STRINGS, (STRING_BYTES, MEMORY_PER_TEXT_BYTE)) | dict.fromkeys(_BINS, (NUMBER_BYTES, 1))
"""The memory, in bytes, for a string or a copied bin: a fixed part, and a part for each byte of the content.

The keys are the first bytes of the encodings. Long bins are not copied.
"""
_EXTENSIONS = {0xC7: 1, 0xC8: 2, 0xC9: 4} | dict.fromkeys(range(0xD4, 0xD9), 0)

_LENGTHS = [1 if first < 0x80 or first >= 0xE0 else _NUMBERS.get(first, 0) for first in range(256)]
_LENGTHS[0xA0:0xC0] = range(1, 33)
"""The encoded length, in bytes, of a value, indexed by the first byte of the encoding.

It is 0 if the first byte does not determine the length.
"""
_COSTS = [NUMBER_BYTES] * 256
_COSTS[0xA0:0xC0] = [STRING_BYTES + MEMORY_PER_TEXT_BYTE * length for length in range(32)]
_COSTS[0xC0] = NULL_BYTES


def prescan_msgpack(body: Buffer, is_answer: bool = False, max_values: int | None = None) -> tuple[int, Bins]:
    """Return the maximum memory, in bytes, that the values in a MessagePack body need, and the list of long bins.

    The memory does not include the bytes in long bins. The parser detects the errors that this function does not
    detect. A response may have more values than a request, and any amount of text. If `max_values` is given, it
    replaces the limit on the number of values.

    Raises Problem (malformed-body, body-too-large) if the body is truncated or has trailing bytes. The same error is
    raised for extension types, too many values or too much text.
    """
    bins: Bins = []
    max_values = max_values or (ANSWER_VALUES if is_answer else MAX_VALUES)
    nbytes, position, left, values, text = 0, 0, 1, 1, 0
    try:
        while left:
            first = body[position]
            left -= 1
            if length := _LENGTHS[first]:
                position += length
                nbytes += _COSTS[first]
                text += length
                continue
            start, position, size = position, position + 1, first & 0x0F
            if first in _WIDTHS:
                position += _WIDTHS[first]
                size = int.from_bytes(body[start + 1 : position], "big")
            if item_values := _ITEM_VALUES[first]:
                nbytes += MAP_BYTES if item_values == 2 else LIST_BYTES
                values += item_values * size
                left += item_values * size
                if values > max_values:
                    raise _too_many_values(max_values)
                if left > len(body) - position:  # each value has at least one byte
                    raise IndexError
                continue
            if first in _BINS and size >= MIN_VIEW_BYTES:
                nbytes += LONG_BIN_BYTES
                bins.append((start, position, position + size))
            elif costs := _COPIED.get(first):
                nbytes += costs[0] + costs[1] * size
                text += size
            else:
                raise _no_value(body, start)
            position += size
    except IndexError:
        position = len(body) + 1
    _check_end(body, position, 0 if is_answer else text)
    return nbytes, bins


def _check_end(body: Buffer, position: int, text: int) -> None:
    """Raise Problem if a MessagePack value does not end at the end of its body, or if the value has too much text."""
    if position > len(body):
        raise malformed_body("the MessagePack value is truncated")
    if position < len(body):
        raise malformed_body("bytes follow the MessagePack value: send a single map and nothing after it")
    if text > MAX_TEXT_BYTES:
        raise Problem(
            "body-too-large",
            f"the body has {text} bytes of strings, numbers and short tensors, but the limit is {MAX_TEXT_BYTES}: "
            f"send a smaller request, and the elements of a tensor as a single bin",
            limit=MAX_TEXT_BYTES,
        )


def _no_value(body: Buffer, start: int) -> Problem:
    """Return the Problem for a first byte that is invalid or that begins an extension type."""
    if body[start] not in _EXTENSIONS:
        return malformed_body(f"the body is not MessagePack: no value begins with the byte {body[start]:#x}")
    kind = int.from_bytes(body[start + 1 + _EXTENSIONS[body[start]] :][:1], "big", signed=True)
    remedy = "send numbers, strings, bin, lists and maps"
    return malformed_body(f"extension types are not supported (type {kind}): {remedy}")


# --- JSON ----------------------------------------------------------------------------------------


_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_STEPS = bytes({*range(256)} - {*b"[{]}"})


def prescan_json(body: Buffer) -> tuple[int, int]:
    """Return the maximum memory, in bytes, that a JSON body needs, and an upper bound on its number of lists and maps.

    Raises Problem (malformed-body, body-too-large) if the body has too many values or bytes.
    """
    view = memoryview(body)
    check_json_bytes(len(view))
    counts = dict.fromkeys((b",", b":", b"[", b"{", b'"'), 0)
    nulls, plain = 0, True
    for start in range(0, len(view), _PIECE):
        piece = bytes(view[start : start + _PIECE])
        for character in counts:
            counts[character] += piece.count(character)
        # A `null` literal can be split across two pieces.
        nulls += bytes(view[start : start + _PIECE + 3]).count(b"null")
        # Plain text is ASCII without backslash escapes, because an escape may encode a non-ASCII character.
        plain = plain and piece.isascii() and b"\\" not in piece
    # Each value except the first follows one of these characters. Their number therefore limits the number of values.
    commas, colons, lists, maps, quotes = counts.values()
    values = commas + colons + lists + maps
    if values > MAX_VALUES:
        raise _too_many_values(MAX_VALUES, f" (about {values + 1})")  # strings can contain such characters
    nbytes = 2 * len(view) * (1 if plain else MEMORY_PER_TEXT_BYTE) + quotes * STRING_BYTES // 2
    nbytes += commas * NUMBER_BYTES + nulls * NULL_BYTES + lists * LIST_BYTES + maps * MAP_BYTES
    return nbytes, lists + maps


def json_depth(body: Buffer) -> int:
    """Return the nesting depth of lists and maps in a body, up to the first byte that is not valid JSON."""
    text = bytes(body).replace(rb"\\", b"").replace(rb"\"", b"")  # each remaining quote begins or ends a string
    outside = b"".join(text.split(b'"', 2 * MAX_VALUES + 2)[::2])
    # A valid body opens at most MAX_VALUES lists and maps, so it has at most 2 * MAX_VALUES brackets.
    steps = outside.translate(_STEPS, _NO_STEPS)[: 2 * MAX_VALUES]
    return max(accumulate(memoryview(steps).cast("b"), initial=0))


def check_json_bytes(nbytes: int) -> None:
    """Raise Problem (body-too-large) if the size of a JSON body exceeds the limit."""
    if nbytes > MAX_TEXT_BYTES:
        raise Problem(
            "body-too-large",
            f"the body has {nbytes} bytes of JSON, but the limit is {MAX_TEXT_BYTES}: send tensors as MessagePack, "
            f"which has a higher limit",
            limit=MAX_TEXT_BYTES,
        )
