"""The search for the known wordings of error_topics.py in a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from .error_topics import TOPICS, Explanation

_NAMED = re.compile(r"\[\[(\w+)\|(.*?)\]\]")
_SLOT = re.compile(r"<(n|i|s|w|\.\.\.)>")
_SIZES = r"[\d, none?*-]{0,200}"
_PATTERNS = {
    "n": r"(\d{1,19})",
    "i": r"(-?\d{1,19})",
    "s": rf"(torch\.size\(\[{_SIZES}\]\)|\[{_SIZES}\]|\({_SIZES}\))",
    "w": r"([\w./:-]{1,100})",
    "...": r"(.{1,400}?)",
}
"""A pattern for each kind of value. Each repetition is limited, so that the search takes linear time."""
_BEFORE, _AFTER = 500, 1500
"""The number of characters around the longest fixed words of a wording in which the whole wording is searched."""
_BROADCASTING = (
    "cannot be broadcast", "could not be broadcast", "can't be broadcast", "cannot broadcast", "could not broadcast",
    "not broadcastable", "non-broadcastable", "must be broadcastable", "incompatible shapes", "shapes are incompatible",
    "of compatible size or scalars",
    "arrays have incompatible sizes for this operation", "matrix dimensions must agree",
)  # fmt: skip
_UNREAD = (
    "This error is about shapes that do not broadcast, but axiscast does not know this wording. Print the shapes of "
    "the operands, and check them."
)


class _Wording(NamedTuple):
    topic: str
    words: str
    """The longest fixed words. They are searched first."""
    pattern: re.Pattern[str]
    kinds: list[str]
    explanation: Explanation


@cache
def _wordings() -> list[_Wording]:
    found = []
    for topic, wordings in TOPICS.items():
        for text, explanation in wordings.items():
            pieces = _SLOT.split(text)
            words, kinds = pieces[::2], pieces[1::2]
            parts = [_PATTERNS[piece] if number % 2 else re.escape(piece) for number, piece in enumerate(pieces)]
            found.append(_Wording(topic, max(words, key=len), re.compile("".join(parts)), kinds, explanation))
    return found


def topic_of(text: str) -> str | None:
    """Return the explanation for the last known wording in a string, or None if there is no known wording.

    In the string, each run of white space must be replaced by one space.
    """
    lower = text.lower()
    if len(lower) != len(text):  # a few letters have a lower-case form of several letters
        text = lower
    found = [each for wording in _wordings() if (each := _last(wording, lower)) is not None]
    if not found:
        return _UNREAD if any(phrase in lower for phrase in _BROADCASTING) else None
    topic = max(found, key=_end)[0].topic
    end = _end(max(found, key=_end))
    # The wording with the most words states the values of the message.
    near = [each for each in found if each[0].topic == topic and _end(each) > end - _BEFORE]
    wording, match = max(near, key=lambda each: (len(each[0].kinds), len(each[1][0])))
    values = [_value(kind, text[slice(*match.span(number))]) for number, kind in enumerate(wording.kinds, 1)]
    explanation = wording.explanation
    explained = explanation.format(*values) if isinstance(explanation, str) else explanation(*values)
    return f"{topic} {explained}".rstrip()


def _last(wording: _Wording, lower: str) -> tuple[_Wording, re.Match[str]] | None:
    """Return the wording with its last occurrence in a lower-case text, or None if the text does not contain it."""
    at = lower.rfind(wording.words)
    if at < 0:
        return None
    places = wording.pattern.finditer(lower, max(at - _BEFORE, 0), at + _AFTER)
    match = next((place for place in places if place.start() <= at < place.end()), None)
    return None if match is None else (wording, match)


def _end(found: tuple[_Wording, re.Match[str]]) -> int:
    return found[1].end()


def with_names(explanation: str, names: Mapping[str, str] | None = None) -> str:
    """Return an explanation with the name of each array, keyed by its shape such as `(2, 3)`, in its code."""
    return _NAMED.sub(lambda named: (names or {}).get(named[2], named[1]), explanation)


def _value(kind: str, text: str) -> Any:
    """Return a number as an integer, a shape as a tuple with None for unknown sizes, and any other text as it is."""
    if kind in "ni":
        return int(text)
    if kind != "s":
        return text
    sizes = [size.strip() for size in text[text.find("[") + 1 :].strip("()[]").split(",")]
    return tuple(int(size) if size.lstrip("-").isdecimal() else None for size in sizes if size)
