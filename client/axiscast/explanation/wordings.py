"""Functions that find known wordings of error messages in a string, in linear time.

The wordings are those of ops/error_messages.py, and those of words/error_topics.py.

A wording is a pattern of fixed words and placeholders. The search starts with `str.find` for the longest fixed words of
the wording. It then goes back to the wording's first words, and reads all placeholders once, in order. No placeholder
is read twice for the same occurrence of the longest words, so the search never backtracks. Each placeholder ends within
a few thousand characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from itertools import combinations, islice, pairwise
from typing import Any, NamedTuple

from ..ops import list_error_messages
from ..wire.cancellation import checkpoint
from ..wire.dimensions import as_dimension
from ..wire.shapes import parse_shape

Sizes = list[int | str]

MAX_SHAPES = 32
"""The maximum number of shapes that are read from one message."""
_LONG_GAP = 4000
"""The maximum number of characters from the first words of a wording to its longest words."""
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
_VALUES = {"n": _NUMBER, "s": _SHAPE, "p": _SHAPE, "w": re.compile(r"[\w./:-]{1,100}")}
_PATTERNS = {
    **_BARE,
    **_VALUES,
    "node": re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}"),
    "@": _NUMBER,
    "?": re.compile("true|false"),
    "#": re.compile(r"-?\d{1,19}(?!\d)|[A-Za-z_]\w{0,40}(?!\w)", re.ASCII),
}
"""The patterns of the slots whose end does not depend on the words after them, except those of shapes."""
_GAPS = {"...": 400, ":": 4000, "text": 1000, "%": 1000}
"""The maximum number of characters of a slot that ends at the words after it."""
_PRINTED = re.compile(r"[(\[](\d{1,18}(?:, ?\d{1,18}){0,15},?)[)\]]")
_MAX_PRINTED = 8
"""The maximum number of shapes that are read beside a message."""
_COLOR = re.compile("\x1b\\[[0-9;]{0,20}m")
_ENTRY = re.compile(r"'([A-Za-z_][A-Za-z0-9_]{0,60})': (\d{1,19})")


@dataclass
class Reading:
    """A known error message that was found in a string, and the values of its placeholders."""

    message: Any
    """The ErrorMessage or the Topic whose wording was found."""
    start: int
    end: int
    values: list[tuple[str, int, int]] = field(default_factory=list)
    """The kind, the start and the end of each number, shape, word and short text."""
    shapes: dict[int, Sizes] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    sizes: list[tuple[int | None, int | str]] = field(default_factory=list)
    """The conflicting sizes, each with the index of its input, or with None if the input is unknown."""
    node: str = ""
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
        reading = Reading(self.message, start, start)
        for part, words in pairwise((*self.parts, "")):
            if not isinstance(part, str):
                end = _read_slot(part, text, reading.end, str(words), reading)
            else:
                end = reading.end + len(part) if text.startswith(part, reading.end) else None
            if end is None:
                return None
            reading.end = end
        return reading


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
    for kind in ("...", "*compact", "*", ":", "=", "%", "?", "#", "@"):
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


def _read_slot(slot: _Slot, text: str, at: int, words: str, reading: Reading) -> int | None:
    """Read a slot that ends before `words` into a reading. Return the slot's end, or None if the text does not fit."""
    kind, name = slot
    if kind in ("*", "*compact"):
        return _read_shapes(text, at, reading, is_compact=kind == "*compact")
    if kind in _GAPS:
        end = text.find(words, at, at + _GAPS[kind]) if words else at
        return end if end >= 0 and _read_gap(slot, text, at, end, reading) else None
    found = _PATTERNS.get(kind, _SHAPE).match(text, at)
    if found is None:
        return None
    if kind in _VALUES:
        if read_value(kind, found[0]) is None:
            return None
        reading.values.append((kind, *found.span()))
    elif kind == "node":
        reading.node = found[0]
    elif kind == "@":
        reading.axis = int(found[0])
    elif kind == "?":
        reading.attributes[name] = found[0] == "true"
    elif kind == "#":
        size = found[0] if found[0][0].isalpha() or found[0][0] == "_" else int(found[0])
        reading.sizes.append((int(name) if name else None, size))
    elif (sizes := _sizes(found)) is None:
        return None
    elif kind == "=":
        reading.attributes[name] = sizes
    else:
        reading.shapes[int(name)] = sizes
    return found.end()


def _read_gap(slot: _Slot, text: str, at: int, end: int, reading: Reading) -> bool:
    """Read a slot of any text into a reading. Return whether the text is valid."""
    kind, name = slot
    if kind == "...":
        reading.values.append((kind, at, end))
    elif kind == ":":
        shapes = [_sizes(found) for found in _TYPED.finditer(text, at, end)][:MAX_SHAPES]
        reading.shapes = {number: shape for number, shape in enumerate(shapes) if shape is not None}
        return None not in shapes
    elif kind == "%":
        reading.attributes[name] = {entry[1]: int(entry[2]) for entry in _ENTRY.finditer(text, at, end)}
    else:
        reading.attributes[name] = text[at:end]
    return True


def read_value(kind: str, text: str) -> Any:
    """Return a number as an integer, a shape as a tuple, and a word as it is.

    Return None for a shape with unknown sizes, except in the slot `<p>`, in which unknown sizes are None.
    """
    if kind in ("s", "p"):
        found = _SHAPE.fullmatch(text)
        sizes = found and _sizes(found)
        known = [size if isinstance(size, int) and size >= -1 else None for size in sizes or ()]
        return None if sizes is None or (kind == "s" and None in known) else tuple(known)
    return int(text) if kind == "n" else text


def _read_shapes(text: str, at: int, reading: Reading, is_compact: bool) -> int | None:
    """Read two or more shapes, separated by commas, spaces or "and". Return the end of the last shape, or None."""
    end = at
    for number in range(MAX_SHAPES):
        found = _SHAPE.match(text, at)
        sizes = found and _sizes(found)
        if not found or sizes is None or (is_compact and " " in found[0]):
            break
        reading.shapes[number] = sizes
        end = found.end()
        between = _BETWEEN.match(text, end)
        if not between:
            break
        at = between.end()
    return end if len(reading.shapes) > 1 else None


def _sizes(found: re.Match[str]) -> Sizes | None:
    """Return the sizes of the shape that a pattern found, or None for other text. A negative size means unknown."""
    text = found[found.lastindex or 0]
    if text[0] == "{":
        if re.search("[A-Za-z]", text):
            # The braces contain a name, so this is source code that formats a message, not a message.
            return None
        text = f"[{text[1:-1]}]"
    try:
        return [as_dimension(size) if isinstance(size, str) or size > 0 else size for size in parse_shape(text)]
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
