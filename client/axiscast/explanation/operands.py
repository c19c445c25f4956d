"""Functions that find what a text says about a failed call: its operands, its einsum equation, and their shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, islice
from typing import NamedTuple

from ..wire.shapes import parse_shape

_OPERAND = re.compile(r"[A-Za-z_][A-Za-z0-9_.\[\], ()]{0,59}")
"""A pattern for names, attributes, subscripts and calls, without string literals."""
_EINSUM = re.compile(
    r"((?:\b[A-Za-z_]\w{0,20}\.){0,3}\beinsum)\((?: {0,20}[rR]?(?:'([^'\\]{1,200})'|\"([^\"\\]{1,200})\"))?"
)
_FRAMEWORK = re.compile(r"(?:site|dist)-packages/(?:numpy|torch|jax|tensorflow|keras|opt_einsum|paddle|mlx)/")
_MARKS = re.compile(r" *(~+)(\^+)(~+)")
_PRINTED = re.compile(r"[(\[](\d{1,19}(?:, ?\d{1,19}){0,15},?)[)\]]")
_MAX_PRINTED = 8
"""The maximum number of shapes that are read beside a message."""

Sizes = list[int | str]


class MarkedOperands(NamedTuple):
    """The source code of the two operands that a traceback marks."""

    left: str
    right: str
    are_ordered: bool
    """Whether the user's frame is the last one, so that the framework received the operands in this order."""


def operands_in(text: str) -> MarkedOperands | None:
    """Return the two operands that a traceback marks with `~~^~~` below the source line of the last user frame.

    Return None if the string contains several tracebacks, or if the last user frame has no such marks.
    """
    if text.count("Traceback (most recent call last)") != 1:
        return None
    found, is_own, source = None, False, ""
    for line in text.splitlines():
        if line.lstrip("E ").startswith('File "'):
            is_own = "site-packages" not in line and "dist-packages" not in line
            found = found if is_own else found and found._replace(are_ordered=False)
        marks = _MARKS.fullmatch(line.rstrip())
        if marks and is_own:
            parts = source[slice(*marks.span(1))].strip(), source[slice(*marks.span(3))].strip()
            found = MarkedOperands(*parts, True) if all(map(_OPERAND.fullmatch, parts)) else None
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


def printed_shapes(text: str) -> list[Sizes]:
    """Return the first shapes that a text contains, such as `[64, 10]` and `(64,)`."""
    return [parse_shape(f"[{found[1]}]") for found in islice(_PRINTED.finditer(text), _MAX_PRINTED)]


def shape_pairs_in(text: str) -> Iterator[tuple[Sizes, Sizes]]:
    """Yield pairs of shapes that a text contains, such as `logits is (64, 10) and labels (64,)`, in both orders."""
    for one, other in combinations(printed_shapes(text), 2):
        yield one, other
        yield other, one
