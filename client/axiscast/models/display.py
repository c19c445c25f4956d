"""A function that makes text from a file safe to display."""

from __future__ import annotations


def printable(text: str, max_letters: int = 200) -> str:
    """Replace control characters in a string, because such characters could control a terminal.

    If the string is longer than `max_letters` characters, it is truncated.
    """
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[:max_letters])
    return shown if len(text) <= max_letters else f"{shown}..."
