"""axiscast.watch: reports suspicious broadcasts of torch operations while a block of code runs.

The watch is a torch function mode, which sees each call of a torch function with the shapes that the user wrote. A
dispatch mode would only see lower-level operations, whose operands are already expanded. The code in this file runs at
each call of torch and must be fast. It is therefore plain Python, and imports other modules only for the first finding.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from math import prod
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, Literal, Self

from ..checks.two_sided import TwoSidedBroadcast, find_two_sided
from ..models.intent import AxisOrigin, FindingKind, OperandPair, has_operand_with_both_axes, is_meant, validate_kinds
from ..models.packages import import_package
from ..models.torch_functions import COMPARISONS
from .call_sites import CallSites, calling_frame
from .frames import is_installed, operation_frames, user_frame
from .origins import TensorOrigins, is_basic_index, written_axis_origin

if TYPE_CHECKING:  # importing these modules at run time would also import pydantic, which is slow
    from ..messages.findings import Finding
    from .torch_ops import FunctionRole

__all__ = ["SuspiciousBroadcast", "watch"]


OLDEST_WATCHED_TORCH = "2.4"
"""The oldest torch release with which axiscast.watch is tested."""
_LOSSES = "torch.nn.functional."
_SCALARS = frozenset({int, float, bool, complex, type(None)})
_MAX_FINDINGS = 1000
_getframe = sys._getframe


class SuspiciousBroadcast(UserWarning):
    """The warning or exception for a broadcast that is legal, but nearly always a mistake."""

    finding: Finding | None = None
    """The details of the broadcast, or None if another process has issued the warning."""


def watch(
    on: Literal["warn", "error"] | Callable[[Finding], object] = "warn", kinds: Sequence[FindingKind] = ("square",)
) -> Watch:
    """Return a context manager that reports suspicious broadcasts of torch operations, once for each line of code.

    Only the thread that enters the context manager is watched.

    Args:
        on: The action for a suspicious broadcast. "warn" issues the warning SuspiciousBroadcast at the line of your
            code. "error" raises SuspiciousBroadcast at that line, before the operation is executed. If `on` is a
            function, the function is called with the finding.
        kinds: The kinds of broadcasts to report.
            "square": (N,) is combined with (N, 1), which gives (N, N). This is not reported if the code means to
            combine all pairs, as in x[:, None] - y.
            "every-square": The same broadcast is reported even if the code means to combine all pairs.
            "mutual-stretch": Each of two operands expands the other in a different way, as for (3, 1) and (1, 4).
            "rank-promotion": The operands have different ranks, as for `jax.numpy_rank_promotion`.

    Raises:
        ValueError: `on` or `kinds` is invalid.
        ImportError: torch is missing or too old. This is raised when the context manager is entered.

    >>> import axiscast
    >>> with axiscast.watch(on="error") as seen:     # doctest: +SKIP
    ...     loss = ((model(x) - y) ** 2).mean()
    >>> seen.findings                                  # doctest: +SKIP
    []
    """
    return Watch(on, kinds)


class Watch:
    """A watched block of code. `findings` is a list of at most 1,000 findings, with one for each line and operation."""

    def __init__(
        self, on: Literal["warn", "error"] | Callable[[Finding], object], kinds: Sequence[FindingKind]
    ) -> None:
        if on not in ("warn", "error") and not callable(on):
            raise ValueError(f'on must be "warn", "error" or a function that takes a finding, not {on!r}')
        self.findings: list[Finding] = []
        self.on, self.kinds = on, frozenset(validate_kinds(kinds))
        self._finding_at: dict[tuple[str, int, str], Finding] = {}
        self._mode: Any = None

    def __enter__(self) -> Self:
        if self._mode is not None:
            raise RuntimeError("this watch is already entered: create another one with axiscast.watch()")
        mode, roles = load_mode()
        self._mode = mode(self, roles)
        self._mode.__enter__()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        mode, self._mode = self._mode, None
        mode.__exit__(kind, error, trace)
        if isinstance(error, Exception):
            from ..explanation.exceptions import add_why

            add_why(error)

    def report(self, op: str, shapes: Sequence[tuple[int, ...]], kind: FindingKind) -> None:
        """Report operands with these shapes.

        If `on` is "error", the error is raised each time. Otherwise each line and operation is reported only once.
        """
        frame = user_frame()
        key = (frame.f_code.co_filename, frame.f_lineno, op)
        finding = self._finding_at.get(key)
        if finding is None and len(self._finding_at) < _MAX_FINDINGS:
            finding = _finding(frame, op, shapes, kind)
            if finding is None:
                return
            self._finding_at[key] = finding
            self.findings.append(finding)
            if self.on == "warn":
                registry = frame.f_globals.setdefault("__warningregistry__", {})
                module = frame.f_globals.get("__name__")
                warnings.warn_explicit(_suspicious_broadcast(finding), None, *key[:2], module, registry)
            elif self.on != "error":
                self.on(finding)
        if finding is not None and self.on == "error":
            raise _suspicious_broadcast(finding)


def _finding(frame: FrameType, op: str, shapes: Sequence[tuple[int, ...]], kind: FindingKind) -> Finding | None:
    """Return the finding for an operation, or None if the shapes do not broadcast and torch itself raises an error."""
    from ..library import check
    from ..messages.findings import Finding, Operand
    from ..models.warning_kinds import select_warnings, warn_field
    from .operand_names import operand_names

    answer = check("torch.broadcast_tensors", *shapes, warn=warn_field([kind]))
    answer = select_warnings(answer, [kind], shapes)
    if not answer.compatible:
        return None
    names = operand_names(frame, shapes)
    operands = tuple(Operand(f"input {number}", names[number], shape) for number, shape in enumerate(shapes))
    return Finding("", op, operands, answer, file=frame.f_code.co_filename, line=frame.f_lineno)


def _suspicious_broadcast(finding: Finding) -> SuspiciousBroadcast:
    """Return the SuspiciousBroadcast to warn with or to raise for a finding."""
    from ..words.findings import finding_text

    suspicious = SuspiciousBroadcast(f"{finding.op}: {finding_text(finding)}")
    suspicious.finding = finding
    return suspicious


class WatchMode:
    """A torch function mode that checks each torch call before the call is executed.

    The final class also has TorchFunctionMode as a base class. It is added when torch is imported.
    """

    tensor: Any
    """The class torch.Tensor. It is not imported at the top of this file, because importing torch is slow."""
    plain: frozenset[type]
    """The tensor classes whose attributes can be read without running any Python code."""
    other_modes: Callable[[], int]
    """A function that returns the number of other active function modes."""
    unnoticed: Callable[[], AbstractContextManager[Any]]
    """A context manager that prevents torch from calling function modes and tensor subclasses."""
    weak_reference: Callable[[Any], Any]
    """A function that returns torch's own weak reference to a tensor, unnoticed by the program."""
    dynamo_is_tracing: Callable[[], bool]
    """A function that returns whether Dynamo is tracing the code that calls this function."""

    def __init__(self, watch: Watch, roles: Mapping[Any, FunctionRole]) -> None:
        super().__init__()
        self.watch = watch
        self.is_compiling = self.dynamo_is_tracing  # an instance attribute: torch 2.13 can't guard a staticmethod
        self.role_of = roles.get
        self.sites = CallSites()
        self.callers = self.sites.callers
        self.needs_different_ranks = watch.kinds == {"square"}
        self.origins = TensorOrigins(self.weak_reference, self.whole_base)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Check the operands of a torch call, execute the call, and record the origin of its result."""
        if self.is_compiling():  # Dynamo traces this method, and compiled code must not contain the checks
            return func(*args, **kwargs) if kwargs else func(*args)
        try:  # this code is calling_frame, inlined for speed
            frame = _getframe(3) if type(func) is FunctionType else _getframe(1)
            call = self.callers[id(frame.f_code) + frame.f_lasti]
        except (ValueError, KeyError):
            frame = calling_frame(func)
            call = self.sites.caller(frame)
        try:
            role = self.role_of(func)
        except TypeError:  # the function is not hashable
            role = None
        if role is None:
            return call(func, args, kwargs)
        if role.broadcasts:
            has_record = self.check_operands(role, args, kwargs, frame)
        elif role.keeps_origin:
            has_record = bool(args) and self.origins.has_record(args[0])
        else:
            has_record = False
            if role.takes_lists:
                self.check_lists(role, args if kwargs is None else (*args, *kwargs.values()), frame)
        result = call(func, args, kwargs)
        axis_origin: AxisOrigin | Literal["range"] = ""
        if role.axis and (role.axis != "index" or type(args[1]) is not int):
            axis_origin = written_axis_origin(role.axis, args, kwargs)
        if axis_origin or has_record:
            operands = args[: role.operand_count] if role.broadcasts else args
            self.record_result(role, axis_origin, result, operands or [*(kwargs or {}).values()], frame)
        return result

    def check_operands(
        self, role: FunctionRole, args: Sequence[Any], kwargs: Mapping[str, Any] | None, frame: FrameType
    ) -> bool:
        """Report the operands of a call if their broadcast is suspicious.

        Return whether the result of the call keeps the recorded origin of an operand.
        """
        plain = () if self.other_modes() else self.plain
        operands = args if role.operand_count is None else args[: role.operand_count]
        if kwargs:
            operands = (*operands, *[kwargs[name] for name in role.keywords if name in kwargs])
        rank, has_different_ranks, has_record, records = 0, False, False, self.origins.records
        for operand in operands:
            kind = type(operand)
            if kind in plain:
                operand_rank = operand.ndim
            elif kind in _SCALARS:
                continue
            else:
                operand_rank = self.rank(operand)
            if operand_rank:  # a tensor without axes can't expand any other operand
                if operand_rank != rank:
                    has_different_ranks, rank = rank != 0, operand_rank
                if records and (record := records.get(id(operand))) is not None and not record[4].expired():
                    has_record = True
        if has_different_ranks or not self.needs_different_ranks:
            self.report_if_suspicious(role, [operand for operand in operands if self.rank(operand)], frame)
        return has_record and role.keeps_origin

    def record_result(
        self,
        role: FunctionRole,
        axis_origin: AxisOrigin | Literal["range"],
        result: Any,
        operands: Sequence[Any],
        frame: FrameType,
    ) -> None:
        """Record the origin of the results of a function that adds an axis of size 1, or keeps an operand's origin."""
        if axis_origin == "range":
            self.origins.add_range(result)
            return
        for tensor in result if isinstance(result, tuple) else (result,):
            if type(tensor) in self.plain and not self.other_modes():
                has_axis = not tensor.is_nested and 1 in tensor.shape
            else:
                has_axis = 1 in (self.shape(tensor) or ())
            if has_axis and axis_origin:
                operand = operands[0]
                if type(operand) not in self.plain:
                    operand = next((each for each in operands if self.rank(each)), tensor)
                self.origins.add_written(tensor, axis_origin, frame, operand)
            elif (has_axis or self.is_derived(tensor, operands)) and (
                role.axis != "index" or is_basic_index(operands[1])
            ):
                tensors = [each for each in operands if self.rank(each)]
                counts = [prod(self.shape(each) or ()) for each in (tensor, *tensors)]
                is_whole = self.rank(tensor) == 1 and counts[0] in counts[1:]
                self.origins.add_derived(tensor, tensors, has_axis, is_whole)

    def is_derived(self, result: Any, operands: Sequence[Any]) -> bool:
        """Return whether a result may be positions or a vector, and the origins of all of its operands are recorded."""
        return (self.origins.has_positions or self.rank(result) == 1) and all(
            id(operand) in self.origins.records for operand in operands if isinstance(operand, self.tensor)
        )

    def report_if_suspicious(self, role: FunctionRole, operands: Sequence[Any], frame: FrameType | None = None) -> None:
        """Report the operands of a call if their broadcast is suspicious and appears to be unintended."""
        shapes = []
        for operand in operands:
            shape = self.shape(operand)
            if shape is None:
                return
            shapes.append(shape)
        kinds = self.watch.kinds
        # If no shape has an axis of size 1, at most one of two operands can expand the other.
        found = find_two_sided(shapes) if any(1 in shape for shape in shapes) else None
        if found is not None and found.kind == "square" and "every-square" in kinds:
            self.watch.report(role.op, shapes, "every-square")
        elif found is not None and found.kind in kinds and not self.is_meant(role, operands, shapes, found, frame):
            self.watch.report(role.op, shapes, found.kind)
        elif "rank-promotion" in kinds and len({*map(len, shapes)}) > 1:
            self.watch.report(role.op, shapes, "rank-promotion")

    def is_meant(
        self,
        role: FunctionRole,
        operands: Sequence[Any],
        shapes: Sequence[tuple[int, ...]],
        found: TwoSidedBroadcast,
        frame: FrameType | None,
    ) -> bool:
        """Return whether the user intended to combine all pairs of elements in a two-sided broadcast."""
        frames = [*operation_frames(frame)]
        pair = [operands[number] for number in found.inputs]
        one, other = (self.origins.origin(operand, frames) for operand in pair)
        with self.unnoticed():
            types = [self.tensor.dtype.__get__(operand) for operand in pair]
        has_reals = any(each.is_floating_point or each.is_complex for each in types)
        return is_meant(
            OperandPair(
                (one, other),
                is_square=found.kind == "square",
                is_loss=role.op.startswith(_LOSSES),
                is_discrete=role.op.rpartition(".")[2] in COMPARISONS or not has_reals,
                has_operand_with_both_axes=has_operand_with_both_axes(shapes, found),
                is_installed=bool(frames) and is_installed(frames[0].f_code.co_filename),
            )
        )

    def whole_base(self, operand: Any) -> Any:
        """Return the base tensor if the operand is a view of all of its elements, else None."""
        if type(operand) not in self.plain:
            return None
        with self.unnoticed():
            base = self.tensor._base.__get__(operand)
        base_shape, shape = self.shape(base), self.shape(operand)
        return base if base_shape is not None and shape is not None and prod(base_shape) == prod(shape) else None

    def check_lists(self, role: FunctionRole, arguments: Sequence[Any], frame: FrameType) -> None:
        """Report suspicious operands of a function whose arguments are lists of tensors.

        The first tensors of all lists are combined, then the second tensors, and so on.
        """
        lists = [argument for argument in arguments if isinstance(argument, list | tuple)]
        for elements in zip(*lists, strict=False):
            operands = [element for element in elements if self.rank(element)]
            if len(operands) > 1:
                self.report_if_suspicious(role, operands, frame)

    def rank(self, operand: Any) -> int:
        """Return the number of axes of a tensor, or 0 for any other object.

        The watch must not run code of other function modes or of tensor subclasses. If a subclass has its own
        `__torch_dispatch__`, reading the sizes may run the subclass's code. Such a tensor is therefore treated like an
        object that is not a tensor.
        """
        kind = type(operand)
        rank: int
        if kind in self.plain and not self.other_modes():
            rank = operand.ndim
            return rank
        if not issubclass(kind, self.tensor) or kind.__torch_dispatch__ is not self.tensor.__torch_dispatch__:
            return 0
        with self.unnoticed():
            rank = self.tensor.ndim.__get__(operand)
        return rank

    def shape(self, operand: Any) -> tuple[int, ...] | None:
        """Return the shape of a tensor, or None if the tensor has no axes or has symbolic sizes."""
        if not self.rank(operand):
            return None
        if type(operand) in self.plain and not self.other_modes():
            shape = () if operand.is_nested else tuple(operand.shape)
        else:
            with self.unnoticed():
                shape = () if self.tensor.is_nested.__get__(operand) else tuple(self.tensor.shape.__get__(operand))
        if not shape:
            return None
        return shape if all(type(size) is int for size in shape) else None


@cache
def load_mode() -> tuple[Any, Mapping[Any, FunctionRole]]:
    """Return the class of the watch's function mode, and the role of each torch function.

    Raises ImportError if torch is missing or too old.
    """
    torch = import_package("torch", OLDEST_WATCHED_TORCH, "axiscast.watch")
    from torch.overrides import TorchFunctionMode

    from .torch_ops import function_roles

    attributes = {
        "tensor": torch.Tensor,
        "plain": frozenset({torch.Tensor, torch.nn.Parameter}),
        "other_modes": staticmethod(torch._C._len_torch_function_stack),
        "unnoticed": torch._C.DisableTorchFunction,
        "weak_reference": torch._C._WeakTensorRef,
        "dynamo_is_tracing": staticmethod(torch.compiler.is_dynamo_compiling),
    }
    return type("TorchWatchMode", (WatchMode, TorchFunctionMode), attributes), function_roles()
