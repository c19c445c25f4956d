"""Helper functions for messages: suggestions of similar names, and counts with nouns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from difflib import get_close_matches

MAX_NAME_CHARACTERS = 60
"""The number of leading characters of a name that difflib compares, and of a text that a message shows.

The limit keeps difflib fast. All known names are shorter.
"""


def close_matches(name: str, names: Iterable[str], count: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return up to `count` of the `names` that are similar to `name`, the most similar first.

    If one of the names differs from `name` only in case, return only that name.
    """
    lowered = {candidate.lower(): candidate for candidate in names}
    shown = name[:MAX_NAME_CHARACTERS].lower()
    if shown in lowered:
        return [lowered[shown]]
    return [lowered[close] for close in get_close_matches(shown, lowered, count, cutoff)]


def quoted(text: str) -> str:
    """Return a text of the request in quotes. If the text is long, return only its first characters."""
    shown = text if len(text) <= MAX_NAME_CHARACTERS else f"{text[:MAX_NAME_CHARACTERS]}\u2026"
    return f"'{shown}'" if shown.isprintable() else repr(shown)


def count_of(number: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun, such as "1 axis" or "2 axes"."""
    return f"{number} {noun if number == 1 else nouns or f'{noun}s'}"


def axis_count(shape: Sized) -> str:
    """Return the number of axes of a shape as words, such as "1 axis"."""
    return count_of(len(shape), "axis", "axes")


def did_you_mean(close: Sequence[str]) -> str:
    """Return the question ": did you mean ...?" with the given names, or an empty string if there are no names."""
    return f": did you mean {' or '.join(close)}?" if close else ""


def printable(text: str, max_letters: int = 200) -> str:
    """Replace control characters in a string, because such characters could control a terminal.

    If the string is longer than `max_letters` characters, it is truncated.
    """
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[:max_letters])
    return shown if len(text) <= max_letters else f"{shown}..."
