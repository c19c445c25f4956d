"""check_jax: the broadcasts of a function that jax traced, with its symbols and the lines it comes from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from ..library import typed
from .finding import Finding
from .programs import Meeting, Names, installed, place, report
from .report import Report

__all__ = ["check_jax"]

OLDEST = "0.10"
"""The first release that this was tried with."""
_ELEMENTWISE = """add add_any sub mul div rem max min pow atan2 nextafter eq ne lt le gt ge and or xor shift_left
    shift_right_logical shift_right_arithmetic select_n clamp complex igamma igammac"""
_MEETING = frozenset(_ELEMENTWISE.split())
_KEEP = _MEETING | {
    "convert_element_type",
    "transpose",
    "copy",
    "neg",
    "exp",
    "log",
    "abs",
    "sqrt",
    "integer_pow",
    "tanh",
}
_EXPLICIT = {"expand_dims", "rewriting_take", "_rewriting_take", "_gather", "_getitem", "reshape", "broadcast_to"}
"""jax's functions by which a caller says that there is to be an axis."""
_PROMOTION = {"promote_shapes", "_promote_shapes", "broadcast_to_rank", "_broadcast_arrays"}
"""Those by which jax.numpy gives operands one rank, though they may call the explicit ones."""

Line = tuple[str | None, int | None]


@typed
def check_jax(traced: Any, *, assume: Mapping[str, int | str] | None = None) -> Report:
    """The report of `jax.jit(function).trace(...)`, or of a jaxpr: each operation in which arrays meet.

    Shapes are those with which the function has them meet, before jax.numpy gives them axes; symbolic dimensions keep
    their names, and `assume` says more of them. A square is meant where an axis of size 1 was written out: x[:, None],
    expand_dims, reshape, keepdims. Raises ImportError where jax is missing or too old, TypeError for what is none.

    >>> import tensorcast
    >>> n, = jax.export.symbolic_shape("n")                                              # doctest: +SKIP
    >>> shapes = [jax.ShapeDtypeStruct(shape, "float32") for shape in ((n, 1), (n,))]    # doctest: +SKIP
    >>> tensorcast.check_jax(jax.jit(loss).trace(*shapes)).exit_status()                 # doctest: +SKIP
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
    return report(name, [*meetings(jaxpr, Names(), folder)], dict(assume or {}))


def meetings(jaxpr: Any, names: Names, folder: str, around: Line = (None, None), path: str = "") -> Iterator[Meeting]:
    """The equations of a jaxpr in which arrays meet, those of the jaxprs that they hold included. jax's own code is in
    `folder`; what has no line of another's stands at the line `around` it."""
    made: dict[Any, Any] = {}  # each variable, and the equation that it comes from
    for number, equation in enumerate(jaxpr.eqns):
        name = f"{path}{equation.primitive.name}_{number}"
        lines = _calls(equation, folder)[1]
        file, line = place(lines) if lines else around
        for parameter in equation.params.values():
            for each in parameter if isinstance(parameter, list | tuple) else (parameter,):
                inner = getattr(each, "jaxpr", each)
                if hasattr(inner, "eqns"):
                    yield from meetings(inner, names, folder, (file, line), f"{name}/")
        if equation.primitive.name in _MEETING:
            values = [_before(value, made, folder) for value in equation.invars]
            values = [value for value in values if value.aval.shape]
            if len(values) > 1:
                operands = names.operands([("", value.aval.shape) for value in values])
                found = Finding(name, f"jax.lax.{equation.primitive.name}", operands, file=file, line=line)
                yield Meeting(found, any(_is_written(value, made) for value in values))
        made |= dict.fromkeys(equation.outvars, equation)


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
    return names, lines


def _before(value: Any, made: Mapping[Any, Any], folder: str) -> Any:
    """A value as the function has it: before jax.numpy gave it axes on the left, or stretched it."""
    while (equation := _made(value, made)) is not None and _promotes(equation, folder):
        value = equation.invars[0]
    return value


def _made(value: Any, made: Mapping[Any, Any]) -> Any:
    """The equation that a value comes from; None of an argument, or of a literal, which has no hash."""
    return None if hasattr(value, "val") else made.get(value)


def _promotes(equation: Any, folder: str) -> bool:
    if equation.primitive.name != "broadcast_in_dim" or _adds_inside(equation):
        return False
    names, _ = _calls(equation, folder)
    return not names & _EXPLICIT or bool(names & _PROMOTION)


def _adds_inside(equation: Any) -> bool:
    """Whether an equation adds an axis that is not on the left, as no promotion does."""
    rank = len(equation.outvars[0].aval.shape)
    dimensions = tuple(equation.params["broadcast_dimensions"])
    return dimensions != tuple(range(rank - len(dimensions), rank))


def _is_written(value: Any, made: Mapping[Any, Any]) -> bool:
    """Whether an axis of size 1 was written out, here or before what keeps it."""
    while any(isinstance(size, int) and size == 1 for size in value.aval.shape):
        equation = _made(value, made)
        if equation is None:
            return False
        name = equation.primitive.name
        if name == "reshape" or (name == "broadcast_in_dim" and _adds_inside(equation)):
            return True
        if name not in _KEEP:
            return False
        value = max(equation.invars, key=lambda operand: len(operand.aval.shape))
    return False
