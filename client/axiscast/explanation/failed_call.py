"""The call or operator that failed, as the source lines of a traceback show it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from .static_shapes import literal_sizes

_MARKS = re.compile(r" *([~^]+)")


class FailedCall(NamedTuple):
    """The operands of the call or operator that failed, with those shapes that the source code states."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...] | None, ...]


def failed_calls(text: str) -> Iterator[FailedCall]:
    """Yield the operands on the last line of the user's code in a traceback, without and with the object of a method.

    Yield nothing if the string contains several tracebacks, or if the line is not a complete expression.
    """
    if text.count("Traceback (most recent call last)") != 1:
        return
    lines, source, marks = text.splitlines(), "", ""
    for number, line in enumerate(lines[:-1]):
        if line.lstrip("E ").startswith('File "') and "site-packages" not in line and "dist-packages" not in line:
            source, marks = lines[number + 1], lines[number + 2] if number + 2 < len(lines) else ""
    found = _MARKS.fullmatch(marks.rstrip())
    node = _expression(source[slice(*found.span(1))] if found else source.strip())
    if node is None:
        return
    for parts in _operands(node):
        flat = [item for part in parts for item in (part.elts if isinstance(part, (ast.List, ast.Tuple)) else [part])]
        if not found and any(isinstance(each, ast.BinOp) for part in flat for each in ast.walk(part)):
            continue  # Python before 3.11 does not mark the operator that failed
        arrays = [part for part in flat if not isinstance(part, ast.Constant)]
        yield FailedCall(tuple(map(ast.unparse, arrays)), tuple(map(_shape, arrays)))


def _expression(source: str) -> ast.AST | None:
    try:
        (statement,) = ast.parse(source.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    is_wrapped = isinstance(statement, (ast.Assign, ast.Expr, ast.Return))
    return statement.value if is_wrapped else statement  # type: ignore[attr-defined]


def _operands(node: ast.AST) -> Iterator[list[ast.expr]]:
    if isinstance(node, ast.BinOp):
        yield [node.left, node.right]
    elif isinstance(node, ast.AugAssign):
        yield [node.target, node.value]
    elif isinstance(node, ast.Compare):
        yield [node.left, *node.comparators]
    elif isinstance(node, ast.Call):
        yield node.args
        if isinstance(node.func, ast.Attribute):
            yield [node.func.value, *node.args]


def _shape(node: ast.expr) -> tuple[int, ...] | None:
    """Return the shape of an array that the code creates, such as `np.ones((3, 4)) > 0`, or None if it is unknown."""
    if isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Constant):
        return _shape(node.left)
    return literal_sizes(node) if isinstance(node, ast.Call) else None
