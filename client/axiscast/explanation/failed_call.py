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
    source, marks = _last_line(text)
    node = _expression(source[marks] if marks else source)
    if node is None:
        return
    for parts in _operands(node):
        flat = [item for part in parts for item in (part.elts if isinstance(part, (ast.List, ast.Tuple)) else [part])]
        if marks is None and any(isinstance(each, ast.BinOp) for part in flat for each in ast.walk(part)):
            continue  # Python before 3.11 does not mark the operator that failed
        arrays = [part for part in flat if not isinstance(part, ast.Constant)]
        yield FailedCall(tuple(map(ast.unparse, arrays)), tuple(map(_shape, arrays)))


def is_assignment(text: str) -> bool:
    """Return whether a traceback marks the target of an assignment to an index, such as `a[0]` in `a[0] = b`."""
    source, marks = _last_line(text)
    return marks is not None and source[marks].endswith("]") and source[marks.stop :].startswith(" = ")


def _last_line(text: str) -> tuple[str, slice | None]:
    """Return the last line of the user's code in a traceback, and the part of this line that the traceback marks.

    The line is empty if the string does not contain exactly one traceback.
    """
    source, marks = "", None
    lines = text.splitlines() if text.count("Traceback (most recent call last)") == 1 else []
    for number, line in enumerate(lines[:-2]):
        if line.lstrip("E ").startswith('File "') and "site-packages" not in line and "dist-packages" not in line:
            source, found = lines[number + 1], _MARKS.fullmatch(lines[number + 2].rstrip())
            marks = found and slice(*found.span(1))
    return source, marks


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
