"""The source text of the operands of the expression that failed, from the marks of a Python traceback."""

from __future__ import annotations

import re

_OPERAND = re.compile(r"[A-Za-z_][A-Za-z0-9_.\[\], ()]{0,59}")
"""Names, attributes, subscripts and calls of names, without literals of text."""
_MARKS = re.compile(r" *(~+)(\^+)(~+)")


def operands_in(text: str) -> tuple[str, str] | None:
    """Return the two operands that a traceback marks, as `~~^~~` below the source line, in the user's last frame.

    None if the text has several tracebacks, or no such marks.
    """
    if text.count("Traceback (most recent call last)") != 1:
        return None
    found, is_own, source = None, False, ""
    for line in text.splitlines():
        if line.lstrip("E ").startswith('File "'):
            is_own = "site-packages" not in line and "dist-packages" not in line
        marks = _MARKS.fullmatch(line.rstrip())
        if marks and is_own:
            parts = source[slice(*marks.span(1))].strip(), source[slice(*marks.span(3))].strip()
            found = parts if all(map(_OPERAND.fullmatch, parts)) else None
        source = line
    return found
