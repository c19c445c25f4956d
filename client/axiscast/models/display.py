"""Text from a file, made safe to display."""

from __future__ import annotations


def printable(text: str, max_letters: int = 200) -> str:
    """Return a text without control characters, which could steer a terminal, and cut it after `max_letters`."""
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[:max_letters])
    return shown if len(text) <= max_letters else f"{shown}..."
