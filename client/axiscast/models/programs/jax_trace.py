"""check_jax: the broadcasts of a function that jax traced, with its symbols and the lines it comes from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from ...answers.intent import FindingKind, Way
from ...library import typed
from ..finding import Finding
from ..provenance import Fact, Frame, is_meant, made
from ..report import Report
from .program_report import Meeting, Names, installed, place, report

__all__ = ["check_jax"]

OLDEST = "0.10"
"""The first release that this was tried with."""
_ELEMENTWISE = """add add_any sub mul mulhi div rem max min pow atan2 nextafter eq ne lt le gt ge eq_to le_to lt_to and
    or xor shift_left shift_right_logical shift_right_arithmetic select_n clamp complex igamma igammac igamma_grad_a
    random_gamma_grad regularized_incomplete_beta polygamma zeta"""
_MEETING = frozenset(_ELEMENTWISE.split())
_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge", "eq_to", "le_to", "lt_to"}
_AXIS = {"reshape", "broadcast_in_dim"}
_KEEP = (
    _MEETING
    | _AXIS
    | {
        *("convert_element_type", "transpose", "copy", "neg", "exp", "log", "abs", "sqrt", "integer_pow", "tanh"),
        *("square", "log1p", "expm1", "logistic", "sin", "cos", "not", "sign", "floor", "ceil", "round", "rsqrt"),
        *("squeeze", "slice", "rev", "is_finite", "tan", "sinh", "cosh", "erf", "erfc", "exp2", "cbrt", "lgamma"),
        *("stop_gradient", "reduce_precision"),
    }
)
_INDEXING = {"rewriting_take", "_rewriting_take", "_gather", "_getitem"}
"""jax's functions that index an array, which may have None in the index."""
_RESHAPING = {"expand_dims", "reshape"}
_EXPLICIT = {
    *("expand_dims", "rewriting_take", "_rewriting_take", "_gather", "_getitem", "reshape", "broadcast_to"),
    "full",  # by which zeros, ones and zeros_like make an array
}
"""jax's functions by which a caller states a shape, or that there is to be an axis."""
_PROMOTION = {"promote_shapes", "_promote_shapes", "broadcast_to_rank", "_broadcast_arrays"}
"""Those by which jax.numpy gives operands one rank, though they may call the explicit ones."""
_BATCHING = os.path.join("interpreters", "batching.py")
"""jax's file from which vmap calls the rules that give operands one rank."""

Line = tuple[str | None, int | None]


class Value(NamedTuple):
    """What is known of a variable of a jaxpr."""

    row: tuple[Any, ...]
    """Its sizes as the function has them: None for an axis that jax added to give operands one rank, and 1 for one
    that it stretched."""
    fact: Fact
    """Where it comes from."""
    name: str = ""
    """The name of the argument that it is, or that it was promoted from; empty for any other value."""


@typed
def check_jax(
    traced: Any, *, assume: Mapping[str, int | str] | None = None, kinds: Sequence[FindingKind] = ("square",)
) -> Report:
    """The report of `jax.jit(function).trace(...)`, or of a jaxpr: each operation in which arrays meet.

    Shapes are those with which the function has them meet, before jax.numpy gives them axes, and below `vmap` without
    the axes of the batch; symbolic dimensions keep their names, and `assume` says more of them. No warning is given
    where all pairs are meant, as in x[:, None] - y (docs/training.md); `kinds` are those of `watch`. Raises ImportError
    if jax is missing or too old, TypeError for any other object.

    >>> import axiscast
    >>> n, = jax.export.symbolic_shape("n")                                              # doctest: +SKIP
    >>> shapes = [jax.ShapeDtypeStruct(shape, "float32") for shape in ((n, 1), (n,))]    # doctest: +SKIP
    >>> axiscast.check_jax(jax.jit(loss).trace(*shapes)).exit_status()                 # doctest: +SKIP
    1
    """
    jax = installed("jax", OLDEST, "check_jax")
    jaxpr = getattr(traced, "jaxpr", traced)
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    if not hasattr(jaxpr, "eqns"):
        raise TypeError(
            f"check_jax takes what jax.jit(function).trace(...) gives, or a jaxpr, not {type(traced).__name__}"
        )
    folder = os.path.dirname(jax.__file__) + os.sep
    name = str(getattr(traced, "fun_name", "jaxpr"))
    return report(name, meetings(jaxpr, Names(), folder), dict(assume or {}), kinds=kinds)


def meetings(jaxpr: Any, names: Names, folder: str) -> list[Meeting]:
    """Return the equations of a jaxpr in which arrays meet, in order, those of inner jaxprs included.

    jax's own code is in `folder`.
    """
    reader = Reader(names, folder)
    named = getattr(getattr(jaxpr, "debug_info", None), "arg_names", None) or ()
    names_of = [*named, *[""] * len(jaxpr.invars)]
    arguments = [_plain(variable, str(name or "")) for variable, name in zip(jaxpr.invars, names_of, strict=False)]
    reader.read(jaxpr, arguments, (None, None), "")
    return reader.meetings


class Reader:
    """The walk over the equations of a jaxpr: what it knows of variables, and the meetings it has found."""

    def __init__(self, names: Names, folder: str) -> None:
        self.names, self.folder = names, folder
        self.meetings: list[Meeting] = []
        self._own: set[Any] = set()
        """What met in jax's own code, by line and shapes: a function such as jnp.hypot is reported once."""

    def read(self, jaxpr: Any, arguments: Sequence[Value], around: Line, path: str) -> list[Value]:
        """Read a jaxpr that is called with `arguments`, and return its results. An equation without a line of a
        caller's code has the line `around` it."""
        known = dict(zip(jaxpr.invars, arguments, strict=True))
        known |= {variable: _plain(variable) for variable in jaxpr.constvars}

        def of(variable: Any) -> Value:  # a literal has no hash
            return _plain(variable) if hasattr(variable, "val") else known.get(variable) or _plain(variable)

        for number, equation in enumerate(jaxpr.eqns):
            operands = [of(variable) for variable in equation.invars]
            name = f"{path}{equation.params.get('name') or equation.primitive.name}_{number}"
            calls, lines = _calls(equation, self.folder)
            line = place(lines) if lines else around
            results = self._inner(equation, operands, line, f"{name}/")
            if equation.primitive.name in _MEETING:
                self._meet(equation, name, operands, line, is_own=not lines)
            results = results or _results(equation, operands, calls, _frame(line), is_own=not lines)
            known |= zip(equation.outvars, results, strict=True)
        return [of(variable) for variable in jaxpr.outvars]

    def _inner(self, equation: Any, operands: Sequence[Value], line: Line, path: str) -> list[Value]:
        """Read the jaxprs that an equation calls, and return its results, or nothing if it calls none."""
        results: list[Value] = []
        for key, parameter in equation.params.items():
            for each in parameter if isinstance(parameter, list | tuple) else (parameter,):
                inner: Any = getattr(each, "jaxpr", each)
                if hasattr(inner, "eqns"):
                    passed = _passed(equation, key, operands, len(inner.invars))
                    arguments = [_as(variable, value) for variable, value in zip(inner.invars, passed, strict=True)]
                    made = self.read(inner, arguments, line, path)
                    if key != "cond_jaxpr" and len(made) == len(equation.outvars):
                        results = [_as(*pair) for pair in zip(equation.outvars, made, strict=True)]
        return results

    def _meet(self, equation: Any, name: str, operands: Sequence[Value], line: Line, is_own: bool) -> None:
        """Record what meets in an equation, if it is two arrays or more."""
        shapes = _shapes([value.row for value in operands if value.row])
        values = [value for value in operands if value.row]
        met = [(shape, value) for shape, value in zip(shapes, values, strict=True) if shape]
        key = (line, tuple(sorted(str(shape) for shape, _ in met)))
        if len(met) < 2 or (is_own and key in self._own):
            return
        if is_own:
            self._own.add(key)
        file, number = line
        named = self.names.operands([(value.name, shape) for shape, value in met])
        found = Finding(name, f"jax.lax.{equation.primitive.name}", named, file=file, line=number)
        primitive = equation.primitive.name
        is_discrete = primitive in _COMPARISONS or not any(
            variable.aval.dtype.kind in "fcV" for variable in equation.invars
        )
        self.meetings.append(
            Meeting(
                found,
                is_meant(
                    [value.fact for _, value in met],
                    [operand.shape or () for operand in named],
                    _frame(line),
                    is_discrete=is_discrete,
                ),
            )
        )


def _plain(variable: Any, name: str = "") -> Value:
    return Value(tuple(variable.aval.shape), made(), name)


def _frame(line: Line) -> Frame | None:
    file, number = line
    return None if file is None or number is None else Frame(file, number)


def _as(variable: Any, value: Value | None) -> Value:
    """A value as another variable has it, beyond a call: all of it, a step of it (scan), or all of its steps."""
    shape = tuple(variable.aval.shape)
    if value is not None:
        row = value.row
        for there in (row, row[1:], (*shape[:1], *row)):
            if len(there) == len(shape) and all(one in (None, 1, two) for one, two in zip(there, shape, strict=True)):
                return Value(there, value.fact, value.name)
    return Value(shape, made())


def _passed(equation: Any, key: str, operands: Sequence[Value], count: int) -> Sequence[Value | None]:
    """The operands of an equation that are the arguments of the jaxpr which is its parameter `key`."""
    if key == "cond_jaxpr":  # while: the constants of the condition, those of the body, and what changes
        constants = equation.params["cond_nconsts"]
        return [*operands[:constants], *operands[constants + equation.params["body_nconsts"] :]]
    if count > len(operands):
        return [None] * count
    return operands[len(operands) - count :]  # without the index of a branch


def _results(
    equation: Any, operands: Sequence[Value], calls: set[str], frame: Frame | None, is_own: bool
) -> list[Value]:
    """What is known of the results of an equation that calls no jaxpr; jax's `own` function has no line of a caller."""
    plain = [_plain(variable) for variable in equation.outvars]
    if len(plain) != 1:
        return plain
    shape = plain[0].row
    name = equation.primitive.name
    row = shape
    if name == "broadcast_in_dim":
        if _promotes(equation, calls):
            sizes = dict(zip(equation.params["broadcast_dimensions"], operands[0].row, strict=True))
            row = tuple(sizes.get(axis) for axis in range(len(shape)))
            return [Value(row, operands[0].fact, operands[0].name)]
    elif name == "transpose":
        row = tuple(operands[0].row[axis] for axis in equation.params["permutation"])
    else:
        row = _met(shape, [value.row for value in operands if value.row])
    arrays = [value.fact for value in operands if value.row]
    way: Way = ""
    if name in _AXIS and arrays:  # an array made of a number is no array that was given an axis
        # Below vmap, jax's own functions make all pairs that the caller wrote.
        way = "index" if is_own or _BATCHING in calls else _way(calls)
    fact = made(arrays, keeps=name in _KEEP, is_index=name == "iota", way=way, frame=frame)
    return [Value(row, fact if any(map(_is_one, row)) else fact._replace(way="", frame=None))]


def _way(calls: set[str]) -> Way:
    """How an equation that adds an axis was written, by the functions of jax that made it."""
    if calls & _INDEXING:
        return "index"
    return "unsqueeze" if calls & _RESHAPING else "reduction"


def _met(shape: tuple[Any, ...], rows: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The row of what comes of rows element by element; the plain shape of all other results."""
    if not rows or any(len(row) != len(shape) for row in rows):
        return shape
    met = []
    for size, column in zip(shape, zip(*rows, strict=True), strict=True):
        there = [each for each in column if each is not None]
        filled = [each for each in there if not _is_one(each)]
        met.append(filled[0] if filled else 1 if there else None)
        if met[-1] not in (None, 1, size):
            return shape
    return tuple(met)


def _shapes(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The shapes with which a function has operands meet: without the axes that jax added on the left, and without the
    axes of a batch, which are left of an added one."""
    rank = max(map(len, rows), default=0)
    full = [(*[None] * (rank - len(row)), *row) for row in rows]
    for start in range(rank + 1):
        added = [len([*takewhile(lambda size: size is None, row[start:])]) for row in full]
        shapes = [row[start + count :] for row, count in zip(full, added, strict=True)]
        if not any(None in shape for shape in shapes):
            return shapes
    return []


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


def _calls(equation: Any, folder: str) -> tuple[set[str], list[tuple[str, int]]]:
    """The names of jax's functions that made an equation, and the lines of others around them, innermost first."""
    names: set[str] = set()
    lines: list[tuple[str, int]] = []
    traceback = equation.source_info.traceback
    for frame in traceback.frames if traceback is not None else ():
        if not frame.file_name.startswith(folder):
            lines.append((frame.file_name, frame.line_num))
        elif not lines:
            names.add(frame.function_name.rpartition(".")[2])
            if frame.file_name.endswith(_BATCHING):
                names.add(_BATCHING)
    return names, lines


def _promotes(equation: Any, calls: set[str]) -> bool:
    """Whether a broadcast_in_dim gives operands one rank, or stretches one, which no caller wrote."""
    if _adds_inside(equation) and _BATCHING not in calls:
        return False
    return not calls & _EXPLICIT or bool(calls & _PROMOTION)


def _adds_inside(equation: Any) -> bool:
    """Whether an equation adds an axis that is not on the left, as no promotion does but below vmap."""
    rank = len(equation.outvars[0].aval.shape)
    dimensions = tuple(equation.params["broadcast_dimensions"])
    return dimensions != tuple(range(rank - len(dimensions), rank))
