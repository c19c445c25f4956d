"""The source code of the operands of a failing expression, found by the marks in a Python traceback."""

from __future__ import annotations

import re

_OPERAND = re.compile(r"[A-Za-z_][A-Za-z0-9_.\[\], ()]{0,59}")
"""A pattern for names, attributes, subscripts and calls, without string literals."""
_MARKS = re.compile(r" *(~+)(\^+)(~+)")


def operands_in(text: str) -> tuple[str, str] | None:
    """Return the two operands that a traceback marks with `~~^~~` below the source line of the last user frame.

    Return None if the string contains several tracebacks, or if the last user frame has no such marks.
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
