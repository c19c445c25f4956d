"""Functions that find the expression that a frame evaluates, or that raised an exception, and its operands."""

from __future__ import annotations

import ast
import copy
import linecache
from collections.abc import Iterator
from itertools import islice
from opcode import opmap
from pathlib import Path
from sysconfig import get_paths
from types import FrameType, TracebackType
from typing import NamedTuple

from .frame_values import MISSING, ArrayValue, array_of, parameters, value_of
from .static_shapes import is_number, shape_of

_OWN = str(Path(__file__).parents[1])
_STANDARD = [get_paths()[name] for name in ("stdlib", "platstdlib", "purelib")]
_INSTALLED = (*_STANDARD, "site-packages", "dist-packages", "<frozen", _OWN)
_MAX_FRAMES = 200
_MAX_NAME = 60
_MAX_SOURCE = 2000
"""The maximum length, in characters, of an expression that the parser accepts."""


class ExpressionOperand(NamedTuple):
    """An operand, with its source code, and with its array if the array is known."""

    name: str
    array: ArrayValue | None


class Expression(NamedTuple):
    """An expression that failed, with its source code, its operands, and the name of its function."""

    text: str
    operands: list[ExpressionOperand]
    function: str
    """The name of a called function, "matmul" for the operator @, or "add" for any other operator."""
    equation: str | None = None
    """The first argument of a call, if it is a string literal."""
    siblings: tuple[ExpressionOperand, ...] = ()
    """The other operands of the operators around the expression, starting with the innermost operator."""


def failing_expressions(trace: TracebackType | None) -> list[Expression]:
    """Return the failing expression of each frame that is not installed code, starting with the innermost frame.

    The failing expressions of frames in installed code follow. Their operands are the arrays that the innermost user
    frame passed, and have the names from this user frame. If all frames are in installed code, the operands have the
    names from their own frames. If an expression is nested too deeply to be parsed, return an empty list.
    """
    traces = []
    while trace is not None:
        traces.append(trace)
        trace = trace.tb_next
    try:
        return [*_expressions(traces[-_MAX_FRAMES:][::-1])]
    except RecursionError:
        return []


def expression_at(frame: FrameType) -> Expression | None:
    """Return the expression that a running frame is evaluating, or None if the source is unavailable."""
    node = _node_at(frame, frame.f_lasti)
    return None if node is None else _expression(node, frame, None)


def _expressions(traces: list[TracebackType]) -> Iterator[Expression]:
    found = [(one.tb_frame, node) for one in traces if (node := _node_at(one.tb_frame, one.tb_lasti)) is not None]
    own = [(frame, node) for frame, node in found if not _is_installed(frame.f_code.co_filename)]
    instructions = {id(one.tb_frame): one.tb_lasti for one in traces}
    for frame, node in own or found:
        if (expression := _expression(node, frame, None)) is not None:
            yield expression._replace(siblings=tuple(_siblings(node, frame, instructions[id(frame)])))
    if own:
        frame, node = own[0]
        names, source = _names(node, frame), _source(node)
        for frame, node in found:
            if _is_installed(frame.f_code.co_filename):
                expression = _expression(node, frame, names)
                if expression is not None:
                    yield expression._replace(text=source)


def _node_at(frame: FrameType, instruction: int) -> ast.AST | None:
    """Return the syntax tree of the expression at an instruction, or None if the source is unavailable."""
    place = next(islice(frame.f_code.co_positions(), instruction // 2, None), None)
    if place is None or None in place:
        return None
    node = _parsed(frame, place)
    if isinstance(node, ast.Subscript) and frame.f_code.co_code[instruction] == opmap["STORE_SUBSCR"]:
        return _assignment(frame, place, node) or node
    return node


def _assignment(frame: FrameType, place: tuple[int | None, ...], target: ast.Subscript) -> ast.Assign | None:
    """Return the assignment to a target, whose place is known, or None if its source has several lines."""
    line = linecache.getline(frame.f_code.co_filename, place[0] or 0, frame.f_globals)
    try:
        statements = ast.parse(line.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    own = ast.unparse(target)
    found = (each for each in statements if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == own)
    return next(found, None)


def _siblings(node: ast.AST, frame: FrameType, instruction: int) -> Iterator[ExpressionOperand]:
    """Yield the other operands of the operators around an expression, starting with the innermost operator."""
    places = [*frame.f_code.co_positions()]
    own = _Span(*places[instruction // 2])  # type: ignore[arg-type]
    spans = {_Span(*place) for place in places if None not in place} - {own}  # type: ignore[arg-type]
    around = [span for span in spans if span.start <= own.start and own.end <= span.end]
    for span in sorted(around, key=lambda span: (span.end, [-part for part in span.start])):
        outer = _parsed(frame, span)
        if not isinstance(outer, ast.BinOp) or isinstance(outer.op, ast.MatMult):
            return
        left, right = ast.dump(outer.left), ast.dump(outer.right)
        if ast.dump(node) not in (left, right):
            return
        other = outer.right if ast.dump(node) == left else outer.left
        value = value_of(other, frame)
        array = shape_of(other, frame) if value is MISSING else array_of(value)
        yield ExpressionOperand(_source(other), array)
        node = outer


class _Span(NamedTuple):
    """The position of an expression in a file."""

    first_line: int
    last_line: int
    first_column: int
    last_column: int

    @property
    def start(self) -> tuple[int, int]:
        return self.first_line, self.first_column

    @property
    def end(self) -> tuple[int, int]:
        return self.last_line, self.last_column


def _parsed(frame: FrameType, place: tuple[int | None, ...]) -> ast.AST | None:
    """Return the syntax tree of the source code at a position, or None if the source is unavailable."""
    code = frame.f_code
    first, last, start, end = place
    lines = [linecache.getline(code.co_filename, number, frame.f_globals) for number in range(first, last + 1)]  # type: ignore[operator, arg-type]
    if not all(lines) or sum(map(len, lines)) > _MAX_SOURCE:
        return None
    source = [line.encode() for line in lines]
    source[-1] = source[-1][:end]
    source[0] = source[0][start:]
    text = b"".join(source).decode(errors="replace").strip()
    for wrapped in (f"({text}\n)", text):
        try:
            (statement,) = ast.parse(wrapped).body
        # The parser raises RecursionError or MemoryError for deeply nested source code.
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for constant in ast.walk(statement):
            if isinstance(constant, ast.Constant):
                constant.kind = ast.get_source_segment(wrapped, constant)  # see _AsWritten
        return statement.value if isinstance(statement, ast.Expr) else statement
    return None


def _expression(node: ast.AST, frame: FrameType, names: dict[int, str] | None) -> Expression | None:
    """Return the expression of a syntax node. If `names` is given, only operands in `names` are included."""
    parts, function = _parts(node, frame)
    parts = [item for part in parts for item in (part.elts if isinstance(part, (ast.List, ast.Tuple)) else [part])]
    operands = []
    for part in parts:
        value = value_of(part, frame)
        array = None if value is MISSING else array_of(value)
        if names is not None:
            if array is not None and id(value) in names:
                operands.append(ExpressionOperand(names[id(value)], array))
            continue
        if array is None and (derived := shape_of(part, frame)) is not None:
            array = derived._replace(dtype="")  # an earlier operation in the expression may have changed the dtype
        if array is None and (value is not MISSING or is_number(part, frame)):
            continue  # a number, a string or a list has no shape to explain
        operands.append(ExpressionOperand(_source(part), array))
    if isinstance(node, ast.Call) and names is None:
        called = parameters(value_of(node.func, frame))
        arrays = ((f"{_source(node.func)}.{name}", array_of(value)) for name, value in called)
        operands += [ExpressionOperand(name, array) for name, array in arrays if array and "bias" not in name]
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    equation = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
    return Expression(_source(node), operands, function, equation) if operands else None


def _parts(node: ast.AST, frame: FrameType) -> tuple[list[ast.expr], str]:
    """Return the expressions of the operands, and the name of the function."""
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        left, right = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        return [left, right], "matmul" if isinstance(node.op, ast.MatMult) else "add"
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators], "add"
    if isinstance(node, ast.Subscript):
        return [node.value, node.slice], "getitem"
    if isinstance(node, ast.Assign):
        return [*node.targets, node.value], "setitem"
    if isinstance(node, ast.Call):
        parts = [*node.args, *[keyword.value for keyword in node.keywords]]
        function = node.func
        if isinstance(function, ast.Attribute):
            if array_of(value_of(function.value, frame)) is not None:
                parts.insert(0, function.value)
            return parts, function.attr
        if isinstance(function, ast.Name):
            return parts, function.id
        return parts, ""
    return [], ""


def _names(node: ast.AST, frame: FrameType) -> dict[int, str]:
    """Return the source code with which a frame refers to each array in an expression, keyed by `id(array)`.

    The parameters of the modules that the expression calls are included.
    """
    names: dict[int, str] = {}
    for part in ast.walk(node):
        if not isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)):
            continue
        value = value_of(part, frame)
        if value is MISSING:
            continue
        if array_of(value) is not None:
            names.setdefault(id(value), _source(part))
        else:
            for name, parameter in parameters(value):
                names.setdefault(id(parameter), f"{_source(part)}.{name}")
    return names


class _AsWritten(ast.NodeTransformer):
    """Replaces each constant by its source code in `kind`, because ast.unparse writes 1e-8 as 1e-08, and "a" as 'a'."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Name(node.kind) if node.kind and "\n" not in node.kind else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node


def _source(node: ast.AST) -> str:
    text = ast.unparse(_AsWritten().visit(copy.deepcopy(node)))
    return text if len(text) <= _MAX_NAME else f"{text[: _MAX_NAME - 3]}..."


def _is_installed(file: str) -> bool:
    return any(part in file for part in _INSTALLED)
