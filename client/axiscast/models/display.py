"""Texts of a file, as they may be shown."""

from __future__ import annotations

_LETTERS = 200
"""Letters of a name, or of why a node is not judged, that are shown."""


def printable(name: str) -> str:
    """Return a name of the file without letters that steer a terminal; a long one without its end."""
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name[:_LETTERS])
    return shown if len(name) <= _LETTERS else f"{shown}..."
