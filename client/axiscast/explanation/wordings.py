"""Functions that find known wordings of error messages in a string, in linear time.

The wordings are those of ops/error_messages.py, and those of error_topics.py.

A wording is a pattern of fixed words and placeholders. The search starts with `str.find` for the longest fixed words of
the wording. It then goes back to the wording's first words, and reads all placeholders once, in order. No placeholder
is read twice for the same occurrence of the longest words, so the search never backtracks. Each placeholder ends within
a few thousand characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from itertools import combinations, islice
from typing import Any, NamedTuple

from ..ops import list_error_messages
from ..wire.cancellation import checkpoint
from ..wire.shapes import parse_shape

Sizes = list[int | str]

MAX_SHAPES = 32
"""The maximum number of shapes that are read from one message."""
_GAP = 400
"""The maximum number of characters that the placeholder `<...>` matches."""
_LONG_GAP = 4000
"""The maximum number of characters from the first words of a wording to its longest words, and in a `<:>`."""
_SLOT = re.compile(r"<([^<>]+)>")
_INNER = r"[^][(){}]{0,1000}"
_SHAPE = re.compile(
    r"(?:\[const vector\]|[A-Za-z][A-Za-z0-9_.]{0,19})?"
    rf"(?:\((\[{_INNER}\])\)|(\({_INNER}\)|\[{_INNER}\]|\{{{_INNER}\}}))"
)
_BETWEEN = re.compile(r", and | and |, |,| |")
_TYPED = re.compile(rf"\]:[a-z0-9_]{{1,20}}(\[{_INNER}\])")
_BARE = {
    "x": re.compile(r"\d{1,19}(?:x\d{1,19}){0,63}(?![0-9x])"),
    ",": re.compile(r"\d{1,19}(?:,\d{1,19}){0,63}(?![0-9,])"),
}
"""The pattern of a shape without brackets, keyed by the character between its sizes."""
_NUMBER = re.compile(r"-?\d{1,19}(?!\d)")
_SIZE = re.compile(r"-?\d{1,19}(?!\d)|[A-Za-z_]\w{0,40}(?!\w)", re.ASCII)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")
_VALUES = {"n": _NUMBER, "s": _SHAPE, "p": _SHAPE, "w": re.compile(r"[\w./:-]{1,100}")}
_PRINTED = re.compile(r"[(\[](\d{1,19}(?:, ?\d{1,19}){0,15},?)[)\]]")
_MAX_PRINTED = 8
"""The maximum number of shapes that are read beside a message."""
_COLOR = re.compile("\x1b\\[[0-9;]{0,20}m")
_ENTRY = re.compile(r"'([A-Za-z_][A-Za-z0-9_]{0,60})': (\d{1,19})")


class Reading(NamedTuple):
    """A known error message that was found in a string, and the values of its placeholders."""

    message: Any
    """The ErrorMessage or the Topic whose wording was found."""
    start: int
    end: int
    values: list[tuple[str, int, int]]
    """The kind, the start and the end of each number, shape, word and short text."""
    shapes: dict[int, Sizes]
    attributes: dict[str, Any]
    sizes: list[tuple[int | None, int | str]]
    """The conflicting sizes, each with the index of its input, or with None if the input is unknown."""
    node: str
    axis: int | None = None
    """The output axis on which the sizes conflict."""


class _Slot(NamedTuple):
    kind: str
    name: str


class Wording(NamedTuple):
    """The fixed words and the placeholders of an error message."""

    message: Any
    parts: tuple[str | _Slot, ...]
    longest: str
    first: str

    def readings(self, text: str) -> Iterator[Reading]:
        """Yield all occurrences of this wording, without overlaps. In `text`, all white space must be single spaces."""
        at, last = -1, -1
        while (at := text.find(self.longest, at + 1)) >= 0:
            start = at if self.first == self.longest else text.rfind(self.first, max(at - _LONG_GAP, last + 1), at)
            if start <= last:
                # There are no first words before these longest words, or an earlier reading already contains the first
                # words.
                continue
            last = start
            if reading := self._read(text, start):
                yield reading
                at = last = max(at, reading.end - 1)

    def _read(self, text: str, start: int) -> Reading | None:
        reading, at = Reading(self.message, start, start, [], {}, {}, [], ""), start
        for number, part in enumerate(self.parts):
            if isinstance(part, str):
                if not text.startswith(part, at):
                    return None
                at += len(part)
                continue
            words = self.parts[number + 1] if number + 1 < len(self.parts) else ""
            found = _read_slot(part, text, at, str(words), reading)
            if found is None:
                return None
            at, reading = found
        return reading._replace(end=at)


@cache
def _wordings() -> list[Wording]:
    """Return all wordings, in the order in which ops/error_messages.py lists them."""
    return [compiled(message.text, message) for message in list_error_messages()]


def compiled(text: str, message: Any) -> Wording:
    """Return the wording of a message, in which angle brackets mark the placeholders."""
    pieces = _SLOT.split(text)
    parts = tuple(_slot(piece) if number % 2 else piece for number, piece in enumerate(pieces) if piece or number % 2)
    words = [part for part in parts if isinstance(part, str)]
    return Wording(message, parts, max(words, key=len), words[0])


def _slot(text: str) -> _Slot:
    if text == "node" or text in _VALUES:
        return _Slot(text, "")
    for kind in ("...", "*compact", "*", ":", "=", "%", "#", "@"):
        if text.startswith(kind):
            return _Slot(kind, text[len(kind) :])
    if text[-1] in _BARE and text[:-1].isdecimal():
        return _Slot(text[-1], text[:-1])
    return _Slot("shape", text) if text.isdecimal() else _Slot("text", text)


def readings(text: str) -> list[Reading]:
    """Return the occurrences of all wordings, in order and without overlaps. All white space must be single spaces.

    If several occurrences start at the same position, the longest of them is returned.
    """
    found: list[Reading] = []
    every: list[Reading] = []
    for wording in _wordings():
        checkpoint()
        every += wording.readings(text)
    for reading in sorted(every, key=_place):
        if not found or reading.start >= found[-1].end:
            found.append(reading)
    return found


def _place(reading: Reading) -> tuple[int, int]:
    return reading.start, -reading.end


def _read_slot(slot: _Slot, text: str, at: int, words: str, reading: Reading) -> tuple[int, Reading] | None:
    """Read a slot that ends before `words`. Return the slot's end, and the reading with the slot's value, or None."""
    kind, name = slot
    if kind == "...":
        end = text.find(words, at, at + _GAP) if words else at
        reading.values.append((kind, at, end))
        return None if end < 0 else (end, reading)
    if kind in _VALUES:
        found = _VALUES[kind].match(text, at)
        if found is None or read_value(kind, found[0]) is None:
            return None
        reading.values.append((kind, *found.span()))
        return found.end(), reading
    if kind in ("*", "*compact"):
        return _read_shapes(text, at, reading, is_compact=kind == "*compact")
    if kind == ":":
        end = text.find(words, at, at + _LONG_GAP)
        shapes = [_sizes(found[1]) for found in _TYPED.finditer(text, at, max(end, at))][:MAX_SHAPES]
        return None if end < 0 or None in shapes else (end, reading._replace(shapes=dict(enumerate(shapes))))  # type: ignore[arg-type]
    if kind in ("text", "%"):
        end = text.find(words, at, at + 1000)
        value: Any = text[at:end]
        if kind == "%":
            value = {entry[1]: int(entry[2]) for entry in _ENTRY.finditer(value)}
        reading.attributes[name] = value
        return None if end < 0 else (end, reading)
    if kind == "node":
        found = _WORD.match(text, at)
        return found and (found.end(), reading._replace(node=found[0]))
    if kind == "@":
        found = _NUMBER.match(text, at)
        return found and (found.end(), reading._replace(axis=int(found[0])))
    if kind == "#":
        found = _SIZE.match(text, at)
        if found:
            size = found[0] if found[0][0].isalpha() or found[0][0] == "_" else int(found[0])
            reading.sizes.append((int(name) if name else None, size))
        return found and (found.end(), reading)
    found = _BARE.get(kind, _SHAPE).match(text, at)
    sizes = found and _sizes(found[0] if kind in _BARE else found[1] or found[2])
    if not found or sizes is None:
        return None
    if kind == "=":
        reading.attributes[name] = sizes
    else:
        reading.shapes[int(name)] = sizes
    return found.end(), reading


def read_value(kind: str, text: str) -> Any:
    """Return a number as an integer, a shape as a tuple, and a word as it is.

    Return None for a shape with unknown sizes, except in the slot `<p>`, in which unknown sizes are None.
    """
    if kind in ("s", "p"):
        found = _SHAPE.fullmatch(text)
        sizes = found and _sizes(found[1] or found[2])
        known = [size if isinstance(size, int) and size >= -1 else None for size in sizes or ()]
        return None if sizes is None or (kind == "s" and None in known) else tuple(known)
    return int(text) if kind == "n" else text


def _read_shapes(text: str, at: int, reading: Reading, is_compact: bool) -> tuple[int, Reading] | None:
    """Read two or more shapes, separated by commas, spaces or "and"."""
    end = at
    for number in range(MAX_SHAPES):
        found = _SHAPE.match(text, at)
        sizes = found and _sizes(found[1] or found[2])
        if not found or sizes is None or (is_compact and " " in found[0]):
            break
        reading.shapes[number] = sizes
        end = found.end()
        between = _BETWEEN.match(text, end)
        if not between:
            break
        at = between.end()
    return (end, reading) if len(reading.shapes) > 1 else None


def _sizes(text: str) -> Sizes | None:
    """Return the sizes of a shape written as a string, or None for any other string. A negative size means unknown."""
    if text[0] == "{":
        if re.search("[A-Za-z]", text):
            # The braces contain a name, so this is source code that formats a message, not a message.
            return None
        text = f"[{text[1:-1]}]"
    try:
        return parse_shape(text)
    except ValueError:
        return None


def single_blanks(text: str) -> str:
    """Return the text with each run of white space replaced by one space.

    Terminal colors, and the E that pytest writes before each line, are removed. The entities of HTML are replaced.
    """
    text = unescape(text) if "&" in text else text
    return " ".join(_COLOR.sub("", text).replace("\nE  ", "\n ").split())


def printed_shapes(text: str) -> list[Sizes]:
    """Return the first shapes that a text contains, such as `[64, 10]` and `(64,)`."""
    return [parse_shape(f"[{found[1]}]") for found in islice(_PRINTED.finditer(text), _MAX_PRINTED)]


def shape_pairs_in(text: str) -> Iterator[tuple[Sizes, Sizes]]:
    """Yield pairs of shapes that a text contains, such as `logits is (64, 10) and labels (64,)`, in both orders."""
    for one, other in combinations(printed_shapes(text), 2):
        yield one, other
        yield other, one
