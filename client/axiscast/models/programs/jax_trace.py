"""check_jax: checks the broadcasts in a function that jax has traced."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import typed
from ...messages.findings import Finding
from ..intent import AxisOrigin, FindingKind
from ..node_checks import NodeCheck
from ..packages import import_package
from ..provenance import Provenance, SourceLine, are_pairs_meant, derive, user_line
from ..report import Report
from .program_report import ProgramSizes, operation_check, report_program

__all__ = ["check_jax"]

OLDEST_JAX = "0.10"
"""The oldest jax release with which axiscast is tested."""
_BROADCASTING = frozenset(
    """add add_any sub mul mulhi div rem max min pow atan2 nextafter eq ne lt le gt ge eq_to le_to lt_to and
    or xor shift_left shift_right_logical shift_right_arithmetic select_n clamp complex igamma igammac igamma_grad_a
    random_gamma_grad regularized_incomplete_beta polygamma zeta""".split()  # noqa: SIM905
)
"""The jax primitives whose operands may be broadcast in the user's function."""
_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge", "eq_to", "le_to", "lt_to"}
_ADD_AXIS = {"reshape", "broadcast_in_dim"}
_KEEP_PROVENANCE = (
    _BROADCASTING
    | _ADD_AXIS
    | {
        *("convert_element_type", "transpose", "copy", "neg", "exp", "log", "abs", "sqrt", "integer_pow", "tanh"),
        *("square", "log1p", "expm1", "logistic", "sin", "cos", "not", "sign", "floor", "ceil", "round", "rsqrt"),
        *("squeeze", "slice", "rev", "is_finite", "tan", "sinh", "cosh", "erf", "erfc", "exp2", "cbrt", "lgamma"),
        *("stop_gradient", "reduce_precision"),
    }
)
_INDEXING = {"rewriting_take", "_rewriting_take", "_gather", "_getitem"}
"""The internal jax functions that index an array. The index may contain None."""
_RESHAPING = {"expand_dims", "reshape"}
_EXPLICIT = {*_INDEXING, *_RESHAPING, "broadcast_to", "full"}
"""The jax functions with which a user sets the shape of an array. zeros, ones and zeros_like call `full`."""
_PROMOTION = {"promote_shapes", "_promote_shapes", "broadcast_to_rank", "_broadcast_arrays"}
"""The internal jax functions that give operands the same rank. They may call the functions in _EXPLICIT."""
_BATCHING = os.path.join("interpreters", "batching.py")
"""The path of the jax source file in which vmap gives operands the same rank."""

SourceLocation = tuple[str | None, int | None]
"""A source location: a file and a line number, or two None values if the location is unknown."""


class JaxValue(NamedTuple):
    """What is known about a variable in a jaxpr."""

    written_shape: tuple[Any, ...]
    """The variable's shape in the user's code, with None for each axis that jax added, and 1 for each axis that jax
    expanded."""
    provenance: Provenance
    name: str = ""
    """The name of the argument from which the variable comes, or "" if it does not come from an argument."""


@typed
def check_jax(
    traced: Any, *, assume: Mapping[str, int | str] | None = None, kinds: Sequence[FindingKind] = ("square",)
) -> Report:
    """Check every broadcasting operation in a traced jax function, and return a report.

    The report shows the shapes in your code, before jax.numpy promotes ranks and without the batch axes of `vmap`.
    Symbolic dimensions keep their names. An outer product ("square") is not reported if the code means to combine all
    pairs, as in x[:, None] - y (docs/training.md).

    Args:
        traced: The result of `jax.jit(function).trace(...)`, or a jaxpr.
        assume: Known sizes or ranges for symbolic dimensions, keyed by name.
        kinds: The kinds of suspicious broadcasts to report, as in `watch`.

    Raises:
        TypeError: `traced` is neither a traced function nor a jaxpr.
        ImportError: jax is missing or too old.

    >>> import axiscast
    >>> n, = jax.export.symbolic_shape("n")                                              # doctest: +SKIP
    >>> shapes = [jax.ShapeDtypeStruct(shape, "float32") for shape in ((n, 1), (n,))]    # doctest: +SKIP
    >>> axiscast.check_jax(jax.jit(loss).trace(*shapes)).exit_status()                 # doctest: +SKIP
    1
    """
    jax = import_package("jax", OLDEST_JAX, "check_jax")
    jaxpr = getattr(traced, "jaxpr", traced)
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    if not hasattr(jaxpr, "eqns"):
        expected = "the result of jax.jit(function).trace(...) or a jaxpr"
        raise TypeError(f"traced must be {expected}, not {type(traced).__name__}")
    jax_folder = os.path.dirname(jax.__file__) + os.sep
    name = str(getattr(traced, "fun_name", "jaxpr"))
    operations = jax_operations(jaxpr, ProgramSizes(), jax_folder)
    return report_program(name, operations, dict(assume or {}), kinds=kinds)


def jax_operations(jaxpr: Any, sizes: ProgramSizes, jax_folder: str) -> list[NodeCheck]:
    """Return the equations of a jaxpr that broadcast, in order, including the equations of inner jaxprs.

    `jax_folder` is the folder that contains jax's own code.
    """
    reader = JaxprReader(sizes, jax_folder)
    argument_names = getattr(getattr(jaxpr, "debug_info", None), "arg_names", None) or ()
    names = [*argument_names, *[""] * len(jaxpr.invars)]
    arguments = [_unpromoted(variable, str(name or "")) for variable, name in zip(jaxpr.invars, names, strict=False)]
    reader.read(jaxpr, arguments, (None, None), "")
    return reader.operations


class JaxprReader:
    """An object that visits all equations of a jaxpr and collects the operations that broadcast."""

    def __init__(self, sizes: ProgramSizes, jax_folder: str) -> None:
        self.operations: list[NodeCheck] = []
        self._sizes, self._jax_folder = sizes, jax_folder
        self._seen_in_jax: set[Any] = set()
        """The lines and shapes of the operations in jax's own code that have already been recorded.

        A function such as jnp.hypot has several such operations, but is reported only once.
        """

    def read(self, jaxpr: Any, arguments: Sequence[JaxValue], caller: SourceLocation, path: str) -> list[JaxValue]:
        """Read a jaxpr that is called with `arguments`, and return the results of the jaxpr.

        `caller` is the file and line of the call. Equations in jax's own code are reported at this location.
        """
        values = dict(zip(jaxpr.invars, arguments, strict=True))
        values |= {variable: _unpromoted(variable) for variable in jaxpr.constvars}

        def value_of(variable: Any) -> JaxValue:
            if hasattr(variable, "val"):  # a literal is not hashable
                return _unpromoted(variable)
            return values.get(variable) or _unpromoted(variable)

        for number, equation in enumerate(jaxpr.eqns):
            operands = [value_of(variable) for variable in equation.invars]
            name = f"{path}{equation.params.get('name') or equation.primitive.name}_{number}"
            jax_functions, user_lines = self._call_stack(equation)
            location = user_line(user_lines) if user_lines else caller
            results = self._read_inner(equation, operands, location, f"{name}/")
            if equation.primitive.name in _BROADCASTING:
                self._add_operation(equation, name, operands, location, is_in_jax=not user_lines)
            if not results:
                results = _results(equation, operands, jax_functions, location, is_in_jax=not user_lines)
            values |= zip(equation.outvars, results, strict=True)
        return [value_of(variable) for variable in jaxpr.outvars]

    def _read_inner(
        self, equation: Any, operands: Sequence[JaxValue], location: SourceLocation, path: str
    ) -> list[JaxValue]:
        """Read the jaxprs that an equation calls, and return the results of the equation.

        If the equation does not call a jaxpr, return an empty list.
        """
        results: list[JaxValue] = []
        for parameter, value in equation.params.items():
            for each in value if isinstance(value, list | tuple) else (value,):
                inner: Any = getattr(each, "jaxpr", each)
                if not hasattr(inner, "eqns"):
                    continue
                passed = _arguments(equation, parameter, operands, len(inner.invars))
                arguments = [_convert(*pair) for pair in zip(inner.invars, passed, strict=True)]
                returned = self.read(inner, arguments, location, path)
                if parameter != "cond_jaxpr" and len(returned) == len(equation.outvars):
                    results = [_convert(*pair) for pair in zip(equation.outvars, returned, strict=True)]
        return results

    def _add_operation(
        self, equation: Any, name: str, operands: Sequence[JaxValue], location: SourceLocation, is_in_jax: bool
    ) -> None:
        """If an equation broadcasts two or more arrays, record the equation as an operation."""
        arrays = [value for value in operands if value.written_shape]
        shapes = _user_shapes([value.written_shape for value in arrays])
        broadcast = [(shape, value) for shape, value in zip(shapes, arrays, strict=True) if shape]
        key = (location, tuple(sorted(str(shape) for shape, _ in broadcast)))
        if len(broadcast) < 2 or (is_in_jax and key in self._seen_in_jax):
            return
        if is_in_jax:
            self._seen_in_jax.add(key)
        file, line = location
        primitive = equation.primitive.name
        named = self._sizes.operands([(value.name, shape) for shape, value in broadcast])
        expressions = self._sizes.names.expressions
        finding = Finding(name, f"jax.lax.{primitive}", named, file=file, line=line, size_expressions=expressions)
        has_reals = any(variable.aval.dtype.kind in "fcV" for variable in equation.invars)
        is_meant = are_pairs_meant(
            [value.provenance for _, value in broadcast],
            [operand.shape or () for operand in named],
            _source_line(location),
            is_discrete=primitive in _COMPARISONS or not has_reals,
        )
        self.operations.append(operation_check(finding, is_meant))

    def _call_stack(self, equation: Any) -> tuple[set[str], list[SourceLine]]:
        """Return the jax functions that created an equation, and the lines of other code that called these functions.

        The innermost line is the last one. If vmap created the equation, the set of functions contains _BATCHING.
        """
        jax_functions: set[str] = set()
        lines: list[SourceLine] = []
        traceback = equation.source_info.traceback
        for frame in traceback.frames if traceback is not None else ():  # the first frame is the innermost one
            if not frame.file_name.startswith(self._jax_folder):
                lines.append(SourceLine(frame.file_name, frame.line_num))
            elif not lines:
                jax_functions.add(frame.function_name.rpartition(".")[2])
                if frame.file_name.endswith(_BATCHING):
                    jax_functions.add(_BATCHING)
        return jax_functions, lines[::-1]


def _unpromoted(variable: Any, name: str = "") -> JaxValue:
    """Return a value for a variable whose shape in the jaxpr is the same as in the user's code."""
    return JaxValue(tuple(variable.aval.shape), derive(), name)


def _source_line(location: SourceLocation) -> SourceLine | None:
    file, line = location
    return None if file is None or line is None else SourceLine(file, line)


def _convert(variable: Any, value: JaxValue | None) -> JaxValue:
    """Return the value of a variable that receives `value` when a jaxpr is called or returns.

    The variable may receive the whole value, one step of the value in a scan, or all steps of the value in a scan.
    """
    shape = tuple(variable.aval.shape)
    if value is not None:
        whole = value.written_shape
        for candidate in (whole, whole[1:], (*shape[:1], *whole)):
            pairs = zip(candidate, shape, strict=False)
            if len(candidate) == len(shape) and all(written in (None, 1, size) for written, size in pairs):
                return JaxValue(candidate, value.provenance, value.name)
    return JaxValue(shape, derive())


def _arguments(equation: Any, parameter: str, operands: Sequence[JaxValue], count: int) -> Sequence[JaxValue | None]:
    """Return the operands that an equation passes to the jaxpr in the given parameter."""
    # The operands of a while loop are the constants of the condition, the constants of the body, and the state.
    if parameter == "cond_jaxpr":
        constants = equation.params["cond_nconsts"]
        return [*operands[:constants], *operands[constants + equation.params["body_nconsts"] :]]
    if count > len(operands):
        return [None] * count
    return operands[len(operands) - count :]  # leave out the first operand, which selects a branch


def _results(
    equation: Any, operands: Sequence[JaxValue], jax_functions: set[str], location: SourceLocation, is_in_jax: bool
) -> list[JaxValue]:
    """Return the results of an equation that does not call a jaxpr."""
    results = [_unpromoted(variable) for variable in equation.outvars]
    if len(results) != 1:
        return results
    shape = results[0].written_shape
    primitive = equation.primitive.name
    if primitive == "broadcast_in_dim" and _is_promotion(equation, jax_functions):
        sizes = dict(zip(equation.params["broadcast_dimensions"], operands[0].written_shape, strict=True))
        return [operands[0]._replace(written_shape=tuple(sizes.get(axis) for axis in range(len(shape))))]
    written = shape
    if primitive == "transpose":
        written = tuple(operands[0].written_shape[axis] for axis in equation.params["permutation"])
    elif primitive != "broadcast_in_dim":
        written = _broadcast_written([value.written_shape for value in operands if value.written_shape], shape)
    arrays = [value.provenance for value in operands if value.written_shape]
    axis_origin: AxisOrigin = ""
    # If no operand is an array, the equation converts a number to an array, which does not add an axis.
    if primitive in _ADD_AXIS and arrays:
        # Inside vmap, jax's own functions add these axes, which are treated like axes that the user's code adds
        # explicitly.
        axis_origin = "index" if is_in_jax or _BATCHING in jax_functions else _axis_origin(jax_functions)
    keeps, is_index = primitive in _KEEP_PROVENANCE, primitive == "iota"
    provenance = derive(arrays, keeps=keeps, is_index=is_index, axis_origin=axis_origin, line=_source_line(location))
    if not any(map(_is_one, written)):
        provenance = provenance._replace(axis_origin="", written_at=None)
    return [JaxValue(written, provenance)]


def _axis_origin(jax_functions: set[str]) -> AxisOrigin:
    """Return how the user's code adds an axis, from the jax functions that created the equation."""
    if jax_functions & _INDEXING:
        return "index"
    return "unsqueeze" if jax_functions & _RESHAPING else "reduction"


def _broadcast_written(shapes: Sequence[tuple[Any, ...]], result: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the shape that the result of an elementwise operation has in the user's code.

    If this shape can't be determined, return the shape `result` unchanged.
    """
    if not shapes or any(len(shape) != len(result) for shape in shapes):
        return result
    written: list[Any] = []
    for size, sizes in zip(result, zip(*shapes, strict=True), strict=True):
        present = [each for each in sizes if each is not None]
        expanding = [each for each in present if not _is_one(each)]
        written.append(expanding[0] if expanding else 1 if present else None)
        if written[-1] not in (None, 1, size):
            return result
    return tuple(written)


def _user_shapes(written_shapes: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the shapes that the user's function broadcasts, without the axes that jax and vmap added.

    jax adds axes on the left. The batch axes of vmap are to the left of the axes that jax added.
    """
    rank = max(map(len, written_shapes), default=0)
    full = [(*[None] * (rank - len(shape)), *shape) for shape in written_shapes]
    for batch_axes in range(rank):
        shapes = [_without_leading_none(shape[batch_axes:]) for shape in full]
        if not any(None in shape for shape in shapes):
            return shapes
    return [() for _ in full]


def _without_leading_none(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    first = next((axis for axis, size in enumerate(shape) if size is not None), len(shape))
    return shape[first:]


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


def _is_promotion(equation: Any, jax_functions: set[str]) -> bool:
    """Return whether jax's rank promotion, and not the user's code, created a broadcast_in_dim equation."""
    rank = len(equation.outvars[0].aval.shape)
    dimensions = tuple(equation.params["broadcast_dimensions"])
    adds_inner_axis = dimensions != tuple(range(rank - len(dimensions), rank))
    if adds_inner_axis and _BATCHING not in jax_functions:  # only inside vmap, promotion can add inner axes
        return False
    return not jax_functions & _EXPLICIT or bool(jax_functions & _PROMOTION)
