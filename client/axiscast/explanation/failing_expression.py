"""Functions that find the expression that raised an exception, in its frames or in a traceback as text."""

from __future__ import annotations

import ast
import copy
import linecache
import re
from collections.abc import Iterator
from itertools import islice
from opcode import opmap
from pathlib import Path
from sysconfig import get_paths
from types import FrameType, TracebackType
from typing import Any, NamedTuple

from .frame_values import MISSING, ArrayValue, array_of, parameters, value_of
from .static_shapes import is_number, literal_value, shape_of

_OWN = str(Path(__file__).parents[1])
_STANDARD = [get_paths()[name] for name in ("stdlib", "platstdlib", "purelib")]
_INSTALLED = (*_STANDARD, "site-packages", "dist-packages", "<frozen", _OWN)
_KEEPS_ORDER = re.compile(r"(?:site|dist)-packages/jax/")
"""The files of frameworks whose Python functions pass the operands on in the same order."""
_MARKS = re.compile(r" *([~^]+)")
_CLOSINGS = ("", ")", "))", "])")
"""The ends that complete the first line of a call over several lines."""
_MAX_FRAMES = 200
_MAX_NAME = 60
_MAX_ENTRIES = 8
_NAMES = "np numpy torch F nn jnp jax lax tf keras ops mx paddle da pd xr pl scipy ort onnx ov self"
_MODULES = frozenset(_NAMES.split())
"""The usual names of modules, whose functions are not methods of an array."""
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
    sizes: list[int] | None = None
    """The last argument of a call, if it is a shape of integers, or if all arguments after an array are integers."""
    siblings: tuple[ExpressionOperand, ...] = ()
    """The other operands of the operators around the expression, starting with the innermost operator."""
    operator: str = ""
    """The name of the operator in the module `ast`."""
    has_target: bool = False
    """Whether the first of the two operands is assigned to, in place or by an index."""
    is_last: bool = True
    """Whether the framework received the operands in this order, and not in a call inside other installed code."""


def failing_expressions(trace: TracebackType | None) -> list[Expression]:
    """Return the failing expression of each frame that is not installed code, starting with the innermost frame.

    The failing expressions of frames in installed code follow. Their operands are the arrays that the innermost user
    frame passed, and have the names from this user frame. If all frames are in installed code, or if an expression is
    nested too deeply to be parsed, return an empty list.
    """
    traces = []
    while trace is not None:
        traces.append(trace)
        trace = trace.tb_next
    try:
        return [*_expressions(traces[-_MAX_FRAMES:][::-1])]
    except RecursionError:
        return []


def expressions_in(text: str) -> list[Expression]:
    """Return the expression that failed in a traceback, without and with the object of a method as an operand.

    The expression is on the last line of the user's code. Return an empty list if the text contains several tracebacks,
    or if the line is not a complete expression.
    """
    source, marks, is_last = _last_line(text)
    is_target = marks is not None and source[marks].endswith("]") and source[marks.stop :].startswith(" = ")
    if marks is not None:
        source = source[marks.start :] if is_target else source[marks]
    node = _statement(source, is_target)
    if node is None:
        return []
    parts, _ = _parts(node, None)
    if marks is None and any(isinstance(each, ast.BinOp) for part in parts for each in ast.walk(part)):
        return []  # Python before 3.11 does not mark the operator that failed
    found = [_expression(node, None, None, has_object) for has_object in (False, True)]
    return [each._replace(is_last=is_last) for each in found if each is not None]


def _last_line(text: str) -> tuple[str, slice | None, bool]:
    """Return the last line of the user's code in a traceback, the part that is marked, and whether it is the last line.

    The line is empty if the string does not contain exactly one traceback.
    """
    source, marks, is_last = "", None, True
    lines = text.splitlines() if text.count("Traceback (most recent call last)") == 1 else []
    for number, line in enumerate(lines[:-2]):
        if line.lstrip("E ").startswith('File "'):
            is_own = not _is_installed(line)
            is_last = is_own or (is_last and _KEEPS_ORDER.search(line) is not None)
            if is_own:
                source, found = lines[number + 1], _MARKS.fullmatch(lines[number + 2].rstrip())
                marks = found and slice(*found.span(1))
    return source, marks, is_last


def _statement(source: str, is_target: bool) -> ast.AST | None:
    """Return the expression of a statement, the statement itself if it has none, or None if it can't be parsed."""
    for closing in _CLOSINGS:
        try:
            (statement,) = ast.parse(f"{source.strip()}{closing}").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        is_wrapped = isinstance(statement, (ast.Assign, ast.Expr, ast.Return)) and not is_target
        return _with_source(statement.value if is_wrapped else statement, source.strip())  # type: ignore[attr-defined]
    return None


def expression_at(frame: FrameType) -> Expression | None:
    """Return the expression that a running frame is evaluating, or None if the source is unavailable."""
    node = _node_at(frame, frame.f_lasti)
    return None if node is None else _expression(node, frame)


def _expressions(traces: list[TracebackType]) -> Iterator[Expression]:
    found = [(one.tb_frame, node) for one in traces if (node := _node_at(one.tb_frame, one.tb_lasti)) is not None]
    own = [(frame, node) for frame, node in found if not _is_installed(frame.f_code.co_filename)]
    instructions = {id(one.tb_frame): one.tb_lasti for one in traces}
    for frame, node in own:
        if (expression := _expression(node, frame)) is not None:
            siblings = tuple(_siblings(node, frame, instructions[id(frame)]))
            yield expression._replace(siblings=siblings, is_last=frame is traces[0].tb_frame)
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
        return _with_source(statement.value if isinstance(statement, ast.Expr) else statement, wrapped)
    return None


def _with_source(node: ast.AST, source: str) -> ast.AST:
    for constant in ast.walk(node):
        if isinstance(constant, ast.Constant):
            constant.kind = ast.get_source_segment(source, constant)  # see _AsWritten
    return node


def _expression(
    node: ast.AST, frame: FrameType | None, names: dict[int, str] | None = None, has_object: bool = False
) -> Expression | None:
    """Return the expression of a syntax node. If `names` is given, only operands in `names` are included.

    If `has_object` is true, the object of a method is an operand. In a frame, it is one if it is an array.
    """
    parts, function = _parts(node, frame, has_object)
    operands = []
    for part in _members(parts):
        value = value_of(part, frame)
        array = None if value is MISSING else array_of(value)
        if names is not None:
            if array is not None and id(value) in names:
                operands.append(ExpressionOperand(names[id(value)], array))
            continue
        operands += _entries(part, value)
        if array is None and (derived := shape_of(part, frame)) is not None:
            array = derived._replace(dtype="")  # an earlier operation in the expression may have changed the dtype
        if array is None and (value is not MISSING or is_number(part, frame)):
            continue  # a number, a string or a list has no shape to explain
        operands.append(ExpressionOperand(_source(part), array))
    if isinstance(node, ast.Call) and names is None and frame is not None:
        called = parameters(value_of(node.func, frame))
        arrays = ((f"{_source(node.func)}.{name}", array_of(value)) for name, value in called)
        operands += [ExpressionOperand(name, array) for name, array in arrays if array and "bias" not in name]
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    equation = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
    has_target = isinstance(node, (ast.AugAssign, ast.Assign)) and len(operands) == 2
    operator = type(node.op).__name__ if isinstance(node, (ast.BinOp, ast.AugAssign)) else ""
    found = Expression(_source(node), operands, function, equation, _sizes(parts), (), operator, has_target)
    return found if operands else None


def _sizes(parts: list[ast.expr]) -> list[int] | None:
    """Return the shape that is the last of these expressions, or that all of them but the first are the sizes of."""
    last = parts[-1] if parts else None
    sizes = last.elts if isinstance(last, (ast.List, ast.Tuple)) else parts[1:]
    values = [literal_value(size) for size in sizes]
    return values if values and all(type(value) is int for value in values) else None  # type: ignore[return-value]


def _members(parts: list[ast.expr]) -> Iterator[ast.expr]:
    """Yield the expressions, with the members of those that are a list, a tuple or a dictionary."""
    for part in parts:
        if isinstance(part, (ast.List, ast.Tuple)):
            yield from part.elts
        elif isinstance(part, ast.Dict):
            yield from part.values
        else:
            yield part


def _entries(part: ast.expr, value: Any) -> Iterator[ExpressionOperand]:
    """Yield the first arrays in the value of an expression, if it is a list, a tuple or a dictionary."""
    entries = enumerate(value) if type(value) in (list, tuple) else value.items() if type(value) is dict else ()
    for key, entry in islice(entries, _MAX_ENTRIES):
        if type(key) in (int, str) and (array := array_of(entry)) is not None:
            yield ExpressionOperand(f"{_source(part)}[{key!r}]", array)


def _parts(node: ast.AST, frame: FrameType | None, has_object: bool = False) -> tuple[list[ast.expr], str]:
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
            is_path = isinstance(function.value, (ast.Name, ast.Attribute))
            is_module = is_path and ast.unparse(function.value).partition(".")[0] in _MODULES
            if (has_object and not is_module) or (frame and shape_of(function.value, frame) is not None):
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
