"""Functions that find the operands, or the einsum equation, of the failing expression in a Python traceback."""

from __future__ import annotations

import re

_OPERAND = re.compile(r"[A-Za-z_][A-Za-z0-9_.\[\], ()]{0,59}")
"""A pattern for names, attributes, subscripts and calls, without string literals."""
_EINSUM = re.compile(
    r"((?:\b[A-Za-z_]\w{0,20}\.){0,3}\beinsum)\((?: {0,20}[rR]?(?:'([^'\\]{1,200})'|\"([^\"\\]{1,200})\"))?"
)
_FRAMEWORK = re.compile(r"(?:site|dist)-packages/(?:numpy|torch|jax|tensorflow|keras|opt_einsum|paddle|mlx)/")
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


def einsum_in(text: str) -> tuple[str, str] | None:
    """Return the function and the equation of the einsum that failed, if the last user frame's source line has both.

    Return None if the string contains several tracebacks, or if another library called einsum.
    """
    if text.count("Traceback (most recent call last)") != 1:
        return None
    found, is_own = None, False
    for line in text.splitlines():
        if line.lstrip("E ").startswith('File "'):
            is_own = "site-packages" not in line and "dist-packages" not in line
            if is_own or not _FRAMEWORK.search(line):
                found = None
        elif is_own and (calls := _EINSUM.findall(line)):
            function, single, double = calls[0]
            found = (function, single or double) if len(calls) == 1 and (single or double) else None
    return found
