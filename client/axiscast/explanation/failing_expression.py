"""Functions that find the expression that raised an exception, in its frames or in a traceback as text."""

from __future__ import annotations

import ast
import copy
import linecache
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, pairwise
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
_KEEPS_ORDER = re.compile(r"(?:site|dist)-packages/(?:jax/|paddle/tensor/(?:linalg|math)\.py)")
"""The files of frameworks whose Python functions pass the operands on in the same order."""
_MARKS = re.compile(r" *([~^]+)")
_PROTOCOLS = ("__torch_function__", "__torch_dispatch__", "__array_ufunc__", "__array_function__")
"""The methods through which a class of arrays calls the operation of a framework again."""
_CLOSINGS = ("", ")", "))", "])")
"""The ends that complete the first line of a call over several lines."""
_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # a cell of a notebook may await
_MAX_FRAMES = 200
_MAX_NAME = 60
_MAX_ENTRIES = 8
_NAMES = "np numpy torch F nn jnp jax lax tf keras ops mx paddle da pd xr pl scipy ort onnx ov self"
_MODULES = frozenset(_NAMES.split())
"""The usual names of modules, whose functions are not methods of an array."""


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
    pattern: str | None = None
    """The last argument of a call, if it is a string literal after other arguments, as in einops."""
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

    @property
    def known(self) -> list[tuple[str, ArrayValue]]:
        """The source code and the array of each operand whose array is known."""
        return [(name, array) for name, array in self.operands if array is not None]


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
    trees = (_tree(f"{source.strip()}{closing}") for closing in _CLOSINGS)
    tree = next((tree for tree in trees if tree is not None and len(tree.body) == 1), None)
    if tree is None:
        return None
    statement = tree.body[0]
    is_wrapped = isinstance(statement, (ast.Assign, ast.Expr, ast.Return)) and not is_target
    return statement.value if is_wrapped else statement  # type: ignore[attr-defined]


def expression_at(frame: FrameType) -> Expression | None:
    """Return the expression that a running frame is evaluating, or None if the source is unavailable."""
    path = _path_at(frame, frame.f_lasti)
    return _expression(path[0], frame) if path else None


def _expressions(traces: list[TracebackType]) -> Iterator[Expression]:
    paths = [(one.tb_frame, _path_at(one.tb_frame, one.tb_lasti)) for one in traces]
    own = [
        (frame, path)
        for frame, path in paths
        if path and frame.f_code.co_name not in _PROTOCOLS and not _is_installed(frame.f_code.co_filename)
    ]
    for frame, path in own:
        if (expression := _expression(path[0], frame)) is not None:
            is_last = frame is traces[0].tb_frame
            yield expression._replace(siblings=tuple(_siblings(path, frame)), is_last=is_last)
    if own:
        frame, (node, *_) = own[0]
        names, source = _names(node, frame), _source(node)
        for frame, path in paths:
            if path and _is_installed(frame.f_code.co_filename):
                expression = _expression(path[0], frame, names)
                if expression is not None:
                    yield expression._replace(text=source)


def _path_at(frame: FrameType, instruction: int) -> list[ast.AST]:
    """Return the expression at an instruction and the syntax nodes around it, or [] if the source is unavailable."""
    place = next(islice(frame.f_code.co_positions(), instruction // 2, None), (None, None, None, None))
    tree = _tree("".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals)))
    if None in place or tree is None:
        return []
    first, last, start, end = place
    path: list[ast.AST] = []
    around: list[ast.AST] = [tree]
    while around:
        around = [part for part in ast.iter_child_nodes(around[0]) if _has(part, (first, start), (last, end))]
        path = [*around[:1], *path]
    is_stored = frame.f_code.co_code[instruction] == opmap["STORE_SUBSCR"]
    return path[1:] if is_stored and len(path) > 1 and isinstance(path[1], ast.Assign) else path


@lru_cache(maxsize=8)
def _tree(source: str) -> ast.Module | None:
    """Return the syntax tree of a file, or None if it can't be parsed, for example because it is nested too deeply.

    In the tree, `kind` of each constant is its source code, because ast.unparse writes 1e-8 as 1e-08, and "a" as 'a'.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # Python has already reported the invalid escape sequences
            tree: ast.Module = compile(source, "", "exec", _FLAGS, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = source.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            line = "".join(lines[node.lineno - 1 : node.lineno]).encode()[node.col_offset : node.end_col_offset]
            node.kind = line.decode(errors="replace") if node.lineno == node.end_lineno else None
    return tree


def _has(node: Any, start: tuple[Any, Any], end: tuple[Any, Any]) -> bool:
    """Return whether a position is inside a syntax node. The nodes of arguments and decorators have no position."""
    if hasattr(node, "lineno"):
        if (node.lineno, node.col_offset) <= start and end <= (node.end_lineno, node.end_col_offset):
            return True
        return any(_has(part, start, end) for part in getattr(node, "decorator_list", ()))
    return any(_has(child, start, end) for child in ast.iter_child_nodes(node))


def _siblings(path: list[ast.AST], frame: FrameType) -> Iterator[ExpressionOperand]:
    """Yield the other operands of the operators around an expression, starting with the innermost operator."""
    for node, outer in pairwise(path):
        if not isinstance(outer, ast.BinOp) or isinstance(outer.op, ast.MatMult):
            return
        other = outer.right if node is outer.left else outer.left
        value = value_of(other, frame)
        array = shape_of(other, frame) if value is MISSING else array_of(value)
        yield ExpressionOperand(_source(other), array)


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
    arguments = node.args if isinstance(node, ast.Call) else []
    equation = _string(arguments[0]) if arguments else None
    pattern = _string(arguments[-1]) if len(arguments) > 1 else None
    has_target = isinstance(node, (ast.AugAssign, ast.Assign)) and len(operands) == 2
    operator = type(node.op).__name__ if isinstance(node, (ast.BinOp, ast.AugAssign)) else ""
    found = Expression(_source(node), operands, function, equation, pattern, _sizes(parts), (), operator, has_target)
    return found if operands else None


def _string(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _sizes(parts: list[ast.expr]) -> list[int] | None:
    """Return the shape that is the last of these expressions, or that all of them but the first are the sizes of."""
    last = parts[-1] if parts else None
    sizes = last.elts if isinstance(last, (ast.List, ast.Tuple)) else parts[1:]
    values = [literal_value(size) for size in sizes]
    return values if values and all(type(value) is int for value in values) else None


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
    """Replaces each constant by its source code."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Name(node.kind) if node.kind else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node


def _source(node: ast.AST) -> str:
    text = ast.unparse(_AsWritten().visit(copy.deepcopy(node)))
    return text if len(text) <= _MAX_NAME else f"{text[: _MAX_NAME - 3]}..."


def _is_installed(file: str) -> bool:
    return any(part in file for part in _INSTALLED)
