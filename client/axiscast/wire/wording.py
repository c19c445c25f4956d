"""Names that are close to one that is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

MAX_NAME_CHARACTERS = 60
"""Characters of a name that are looked at: all that there are have fewer, and difflib's work grows with both."""


def close_matches(name: str, names: Iterable[str], most: int = 3, cutoff: float = 0.6) -> list[str]:
    """Of these names those that may be meant by another, the likeliest first; one alone, where it differs in case."""
    lowered = {candidate.lower(): candidate for candidate in names}
    shown = name[:MAX_NAME_CHARACTERS].lower()
    return [lowered[shown]] if shown in lowered else [
        lowered[close] for close in get_close_matches(shown, lowered, most, cutoff)
    ]  # fmt: skip


def count_of(number: int, noun: str, nouns: str = "") -> str:
    """A number of things, in words: 1 axis, 2 axes."""
    return f"{number} {noun if number == 1 else nouns or f'{noun}s'}"


def did_you_mean(close: Sequence[str]) -> str:
    """The question whether one of these is meant; empty where there are none."""
    return f": did you mean {' or '.join(close)}?" if close else ""
