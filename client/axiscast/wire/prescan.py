"""Surveys: how many values a body holds, and what memory they will take, found before any of them is made.

The parsers can't say it. msgpack makes room for as many values as a list announces, each list inside it again, and
copies every bin: one of 62 MiB in 35 ms, in which no other thread runs, and it is then in memory twice. So a walk over
the first bytes of all values counts them, and finds the long bins, which are read where they stand: some 0.08 us a
value, 10 ms for as many as a body may hold. Of JSON, whose parser is bounded by the text, counting a few characters
will do.

The parser's own limits are no help: they hold for each list by itself, and a byte of a body may take 72 of memory. Nor
is one reader in Python, which would make the values while it counts them: it took 1.2 to 2.5 times as long as this walk
and msgpack together.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

from .problems import Problem

Buffer = bytes | bytearray | memoryview
Bins = list[tuple[int, int, int]]
"""The long bins of a MessagePack body: where the header of each begins, where its bytes begin, where they end."""

ReserveMemory = Callable[[int], object]
"""Is called with a number of bytes before they are allocated. Raises Problem if they are not available."""


def unlimited_memory(nbytes: int) -> None:
    """Reserve any number of bytes."""


MAX_VALUES = 2**17
"""Values in one body, the bytes of tensors excepted: a JSON tensor of so many numbers, a batch of 10,000 small checks.
The parsers keep the interpreter to themselves while they make them: some 5 ms."""
MAX_ANSWER_VALUES = 2**20
"""Values in one answer: to a batch of 10,000 checks, each of two inputs or some more."""
MAX_TEXT_BYTES = 4 * 2**20
"""Bytes of a JSON body; of strings, and of tensors too short to be read in place, in MessagePack. Parsers copy them,
some 5 ms long."""
# The most bytes that a value takes while it is parsed and validated (tests/runtime/test_memory_estimates.py).
NUMBER_BYTES = 80
STRING_BYTES = 240
NULL_BYTES = 300
"""A null may be a size that is not known, which is an object of its own."""
LIST_BYTES = 110
MAP_BYTES = 700
LONG_BIN_BYTES = 600
MEMORY_PER_TEXT_BYTE = 5
"""Bytes of memory for a byte of UTF-8, at the most: one wide character makes all of a string wide, and both the
narrow and the wide form exist for a moment."""
MIN_VIEW_BYTES = 1024
"""A bin of so many bytes is read where it stands in the body; shorter ones are copied."""
_PIECE = 2**16
"""Bytes that are counted at once, in a copy."""


def malformed_body(detail: str) -> Problem:
    return Problem("malformed-body", detail)


# --- MessagePack ---------------------------------------------------------------------------------

_NUMBERS = {0xC0: 1, 0xC2: 1, 0xC3: 1, 0xCA: 5, 0xCB: 9, 0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9} | {
    0xD0: 2, 0xD1: 3, 0xD2: 5, 0xD3: 9,
}  # fmt: skip
"""First bytes of nil, booleans and numbers; how many bytes each takes with what follows."""
_BINS = {0xC4: 1, 0xC5: 2, 0xC6: 4}
_STRINGS = {0xD9: 1, 0xDA: 2, 0xDB: 4}
_LISTS = {0xDC: 2, 0xDD: 4}
_MAPS = {0xDE: 2, 0xDF: 4}
_WIDTHS = _BINS | _STRINGS | _LISTS | _MAPS
"""First bytes of what has a size; how many bytes say the size."""
_EXTENSIONS = {0xC7: 1, 0xC8: 2, 0xC9: 4} | dict.fromkeys(range(0xD4, 0xD9), 0)

_LENGTHS = [1 if first < 0x80 or first >= 0xE0 else _NUMBERS.get(first, 0) for first in range(256)]
_LENGTHS[0xA0:0xC0] = range(1, 33)
"""By first byte: how many bytes a value takes that this byte decides; 0 for the others."""
_COSTS = [
    STRING_BYTES + MEMORY_PER_TEXT_BYTE * (first - 0xA0) if 0xA0 <= first < 0xC0 else NUMBER_BYTES
    for first in range(256)
]
_COSTS[0xC0] = NULL_BYTES


def prescan_msgpack(body: Buffer, is_answer: bool = False, most: int | None = None) -> tuple[int, Bins]:
    """Bytes of memory that the values of a MessagePack body take, at the most, beside the bytes of long bins; and those
    bins.

    Raises Problem (malformed-body; body-too-large) where the body is cut short, goes on, or holds an extension type,
    too many values or too much text; what else may be wrong with it is left to the parser. An answer may hold more
    values, and as much text as its reader takes: nobody else waits for it. `most` are the values that are too many.
    """
    bins: Bins = []
    most = most or (MAX_ANSWER_VALUES if is_answer else MAX_VALUES)
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
            start = position
            position += 1
            if first < 0xA0:
                size = first & 0x0F
            else:
                if first not in _WIDTHS:
                    raise _no_value(body, start)
                position += _WIDTHS[first]
                size = int.from_bytes(body[start + 1 : position], "big")
            if first in _BINS:
                if size < MIN_VIEW_BYTES:
                    nbytes += NUMBER_BYTES + size
                    text += size
                else:
                    nbytes += LONG_BIN_BYTES
                    bins.append((start, position, position + size))
                position += size
            elif first in _STRINGS:
                nbytes += STRING_BYTES + MEMORY_PER_TEXT_BYTE * size
                text += size
                position += size
            else:
                is_map = first < 0x90 or first in _MAPS
                nbytes += MAP_BYTES if is_map else LIST_BYTES
                inside = 2 * size if is_map else size
                values += inside
                left += inside
                if values > most:
                    raise malformed_body(f"the body holds more than {most} values")
                if left > len(body) - position:  # each takes a byte at least
                    raise IndexError
    except IndexError:
        position = len(body) + 1
    if position > len(body):
        raise malformed_body("the MessagePack value is truncated")
    if position < len(body):
        raise malformed_body("bytes follow the MessagePack value: send one map and nothing after it")
    if text > MAX_TEXT_BYTES and not is_answer:
        raise Problem(
            "body-too-large",
            f"the body holds {text} bytes of strings, numbers and short tensors; this service reads up to "
            f"{MAX_TEXT_BYTES}: send less at once, and elements as one bin",
            limit=MAX_TEXT_BYTES,
        )
    return nbytes, bins


def _no_value(body: Buffer, start: int) -> Problem:
    """The problem of a first byte that begins no value which is understood."""
    if body[start] not in _EXTENSIONS:
        return malformed_body(f"the body is not MessagePack: no value begins with the byte {body[start]:#x}")
    kind = int.from_bytes(body[start + 1 + _EXTENSIONS[body[start]] :][:1], "big", signed=True)
    return malformed_body(
        f"extension types are not understood (type {kind}); send numbers, strings, bin, lists and maps"
    )


# --- JSON ----------------------------------------------------------------------------------------


_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_STEPS = bytes({*range(256)} - {*b"[{]}"})


def prescan_json(body: Buffer) -> tuple[int, int]:
    """Bytes of memory that the text and the values of a JSON body take, at the most; and how many lists and maps may
    begin in it.

    Raises Problem (malformed-body; body-too-large) for too many values or bytes.
    """
    view = memoryview(body)
    check_json_bytes(len(view))
    commas = colons = lists = maps = quotes = nulls = 0
    plain = True
    for start in range(0, len(view), _PIECE):
        piece = bytes(view[start : start + _PIECE])
        commas += piece.count(b",")
        colons += piece.count(b":")
        lists += piece.count(b"[")
        maps += piece.count(b"{")
        quotes += piece.count(b'"')
        nulls += bytes(view[start : start + _PIECE + 3]).count(b"null")  # one may begin here and end in the next piece
        # Neither other characters than ASCII nor escapes that may stand for some.
        plain = plain and piece.isascii() and b"\\" not in piece
    # Each value but the first follows one of these, so this bounds the values before parsing.
    if commas + colons + lists + maps > MAX_VALUES:
        raise malformed_body(
            f"the body may hold more than {MAX_VALUES} values; send tensors as base64 or as MessagePack"
        )
    text = 2 * len(view) * (1 if plain else MEMORY_PER_TEXT_BYTE)
    nbytes = (
        text
        + commas * NUMBER_BYTES
        + nulls * NULL_BYTES
        + lists * LIST_BYTES
        + maps * MAP_BYTES
        + quotes * STRING_BYTES // 2
    )
    return nbytes, lists + maps


def json_depth(body: Buffer) -> int:
    """How many lists and maps lie inside one another, up to where a body that was surveyed ceases to be JSON."""
    text = bytes(body).replace(rb"\\", b"").replace(rb"\"", b"")  # no quote is left but those around strings
    outside = b"".join(text.split(b'"', 2 * MAX_VALUES + 2)[::2])
    steps = outside.translate(_STEPS, _NO_STEPS)[: 2 * MAX_VALUES]  # beyond it more would be closed than opened
    return max(accumulate(memoryview(steps).cast("b"), initial=0))


def check_json_bytes(nbytes: int) -> None:
    """Raises Problem (body-too-large) for a longer JSON body than is read."""
    if nbytes > MAX_TEXT_BYTES:
        raise Problem(
            "body-too-large",
            f"the body has {nbytes} bytes of JSON; this service reads up to {MAX_TEXT_BYTES}: send tensors as "
            "MessagePack, which may be longer",
            limit=MAX_TEXT_BYTES,
        )
