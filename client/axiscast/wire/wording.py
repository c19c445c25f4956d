"""Wording of messages: suggestions of similar names, and counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

MAX_NAME_CHARACTERS = 60
"""The number of characters of a name that are compared. All known names are shorter; it bounds the work of difflib."""


def close_matches(name: str, names: Iterable[str], count: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return up to `count` of the names that are similar to a name, the most similar first.

    If a name differs only in case, return it alone.
    """
    lowered = {candidate.lower(): candidate for candidate in names}
    shown = name[:MAX_NAME_CHARACTERS].lower()
    if shown in lowered:
        return [lowered[shown]]
    return [lowered[close] for close in get_close_matches(shown, lowered, count, cutoff)]


def count_of(number: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun: 1 axis, 2 axes."""
    return f"{number} {noun if number == 1 else nouns or f'{noun}s'}"


def did_you_mean(close: Sequence[str]) -> str:
    """Return the question whether one of these names is meant. If there are no names, return an empty text."""
    return f": did you mean {' or '.join(close)}?" if close else ""
