"""watch: every broadcast of a block's torch operations, as it happens.

A torch function mode sees what is called, with the shapes that were written; the operations below it, which a dispatch
mode sees, have been broadcast by then. Each call costs it about two microseconds, so all is decided here in plain
Python, and nothing else is imported before there is something to say.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from math import prod
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from ..answers.intent import FindingKind, OperandPair, Way, has_operand_with_both_axes, is_meant
from ..answers.two_sided import TwoSidedBroadcast, find_two_sided
from .call_sites import CallSites, place
from .frames import is_installed, own_frames, user_frame
from .origins import Origins
from .torch_ops import COMPARISONS

if TYPE_CHECKING:  # which takes pydantic
    from ..models import Finding
    from .torch_ops import Role

__all__ = ["SuspiciousBroadcast", "watch"]


MINIMUM = "2.4"
_KINDS: tuple[FindingKind, ...] = get_args(FindingKind)
_LOSSES = "torch.nn.functional."
_NUMBERS = frozenset({int, float, bool, complex, type(None)})
_MAX_FINDINGS = 1000
_getframe = sys._getframe


class SuspiciousBroadcast(UserWarning):
    """A broadcast that is legal, and nearly always a mistake: warned of, or raised."""

    finding: Finding | None = None
    """The facts. None where it comes from another process, by its words alone."""


def watch(
    on: Literal["warn", "error"] | Callable[[Finding], object] = "warn", kinds: Sequence[FindingKind] = ("square",)
) -> Watch:
    """A context in which each suspicious broadcast of a torch operation is a finding, told once for each line.

    `on` says how: "warn" warns with SuspiciousBroadcast at the line of your code, "error" raises it there before the
    operation is done, a function is called with the finding. `kinds` are some of:

    - "square": (N,) meets (N, 1), which gives (N, N), unless all pairs are meant, as in x[:, None] - y
    - "every-square": each of them
    - "mutual-stretch": any other two operands that stretch each other, such as (3, 1) and (1, 4)
    - "rank-promotion": any operands of different ranks, as `jax.numpy_rank_promotion` has it

    Only the thread that enters it is watched. Raises ImportError if torch is missing or too old.

    >>> import axiscast
    >>> with axiscast.watch(on="error") as seen:     # doctest: +SKIP
    ...     loss = ((model(x) - y) ** 2).mean()
    >>> seen.findings                                  # doctest: +SKIP
    []
    """
    return Watch(on, kinds)


class Watch:
    """What a watched block did: `findings`, in order, one for each line and operation, up to 1,000."""

    def __init__(
        self, on: Literal["warn", "error"] | Callable[[Finding], object], kinds: Sequence[FindingKind]
    ) -> None:
        if on not in ("warn", "error") and not callable(on):
            raise ValueError(f'on must be "warn", "error" or a function of a finding, not {on!r}')
        if isinstance(kinds, str) or not kinds or not set(kinds) <= set(_KINDS):
            raise ValueError(f"kinds must be some of {_KINDS}, not {kinds!r}")
        self.findings: list[Finding] = []
        self.on, self.kinds = on, frozenset(kinds)
        self._lines: dict[tuple[str, int, str], Finding] = {}
        self._mode: Any = None

    def __enter__(self) -> Self:
        if self._mode is not None:
            raise RuntimeError("this watch is entered already: take another")
        mode, roles = watching()
        self._mode = mode(self, roles)
        self._mode.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        mode, self._mode = self._mode, None
        mode.__exit__(*exception)

    def report(self, op: str, shapes: Sequence[tuple[int, ...]], kind: FindingKind) -> None:
        """Report operands that meet with these shapes, once for each line and operation; as an error, each time."""
        frame = user_frame()
        line = (frame.f_code.co_filename, frame.f_lineno, op)
        finding = self._lines.get(line)
        if finding is None and len(self._lines) < _MAX_FINDINGS:
            finding = _finding(*line, shapes, kind)
            if finding is None:
                return
            self._lines[line] = finding
            self.findings.append(finding)
            if self.on == "warn":
                registry = frame.f_globals.setdefault("__warningregistry__", {})
                module = frame.f_globals.get("__name__")
                warnings.warn_explicit(_suspicious(finding), None, *line[:2], module, registry)
            elif self.on != "error":
                self.on(finding)
        if finding is not None and self.on == "error":
            raise _suspicious(finding)


def _finding(file: str, line: int, op: str, shapes: Sequence[tuple[int, ...]], kind: FindingKind) -> Finding | None:
    """None where the shapes do not broadcast, which torch says itself."""
    from ..library import check
    from ..models import Finding, Operand
    from ..models.warning_kinds import narrowed, to_warn

    answer = check("torch.broadcast_tensors", *shapes, warn=to_warn([kind]))
    answer = narrowed(answer, [kind], shapes)
    operands = tuple(Operand(f"input {number}", "", shape) for number, shape in enumerate(shapes))
    return Finding("", op, operands, answer, file=file, line=line) if answer.compatible else None


def _suspicious(finding: Finding) -> SuspiciousBroadcast:
    """A finding in words: what comes out, what to write, and how to say that it is meant."""
    from ..models.formats.finding_message import sentence

    suspicious = SuspiciousBroadcast(f"{finding.op}: {sentence(finding)}")
    suspicious.finding = finding
    return suspicious


class Calls:
    """The calls of torch's functions, seen before they are done: those of a mode, with TorchFunctionMode as a base."""

    tensor: Any
    """The class torch.Tensor."""
    plain: frozenset[type]
    """The classes of tensors whose attributes are read without calling Python."""
    other_modes: Callable[[], int]
    """Counts the modes that are called for what this mode does."""
    unnoticed: Callable[[], AbstractContextManager[Any]]
    """A context in which no mode and no class of tensors is called."""
    weak: Callable[[Any], Any]
    """Makes a weak reference to a tensor, which its program does not see."""
    dynamo_is_tracing: Callable[[], bool]
    """Whether Dynamo is tracing the code that calls this."""

    def __init__(self, watch: Watch, roles: Mapping[Any, Role]) -> None:
        super().__init__()
        self.watch = watch
        self.is_compiling = self.dynamo_is_tracing  # read from an instance, since torch 2.13 can't guard a staticmethod
        self.role_of = roles.get
        self.sites = CallSites()
        self.callers = self.sites.callers
        self.uneven_alone = watch.kinds == {"square"}  # which only operands of different ranks make
        self.origins = Origins(self.weak)
        self.known = self.origins.known

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.is_compiling():  # Dynamo traces this method: for compiled code it is that of a mode that does nothing
            return func(*args, **kwargs) if kwargs else func(*args)
        try:  # as `place` says
            frame = _getframe(3) if type(func) is FunctionType else _getframe(1)
            call = self.callers[id(frame.f_code) + frame.f_lasti]
        except (ValueError, KeyError):
            frame = place(func)
            call = self.sites.caller(frame, func)
        try:
            role = self.role_of(func)
        except TypeError:  # it has no hash
            role = None
        if role is None:
            return call(func, args, kwargs)
        if role.meets:
            is_noted = self.compare(role, args, kwargs, frame)
        elif role.keeps:
            is_noted = bool(args) and (note := self.known.get(id(args[0]))) is not None and note[5]() is args[0]
        else:
            is_noted = False
            if role.lists:
                self.meet_lists(role, args if kwargs is None else (*args, *kwargs.values()), frame)
        result = call(func, args, kwargs)
        way: Way | Literal["range"] = ""
        if role.axis and (role.axis != "index" or type(args[1]) is not int):
            way = _way(role.axis, args, kwargs)
        if way or is_noted:
            operands = args[: role.operand_count] if role.meets else args
            self.note(role, way, result, operands or [*(kwargs or {}).values()], frame)
        return result

    def compare(self, role: Role, args: Sequence[Any], kwargs: Mapping[str, Any] | None, frame: FrameType) -> bool:
        """Report operands that meet, if they are suspicious. Return whether something is known of one of them, which
        the result keeps."""
        plain = () if self.other_modes() else self.plain
        operands = args if role.operand_count is None else args[: role.operand_count]
        if kwargs:
            operands = (*operands, *[kwargs[name] for name in role.keywords if name in kwargs])
        rank, is_uneven, is_known, known = 0, False, False, self.known
        for operand in operands:
            kind = type(operand)
            if kind in plain:
                its_rank = operand.ndim
            elif kind in _NUMBERS:
                continue
            else:
                its_rank = self.rank(operand)
            if its_rank:  # one value stretches nothing
                if its_rank != rank:
                    is_uneven, rank = rank != 0, its_rank
                if known and (note := known.get(id(operand))) is not None and note[5]() is operand:
                    is_known = True
        if is_uneven or not self.uneven_alone:
            self.meet(role, [operand for operand in operands if self.rank(operand)], frame)
        return is_known and role.keeps

    def note(
        self, role: Role, way: Way | Literal["range"], result: Any, operands: Sequence[Any], frame: FrameType
    ) -> None:
        """Note where the results of a function come from that writes an axis of size 1, or keeps one of an operand."""
        if way == "range":
            self.origins.count(result)
            return
        for tensor in result if isinstance(result, tuple) else (result,):
            if type(tensor) in self.plain and not self.other_modes():
                has_axis = not tensor.is_nested and 1 in tensor.shape
            else:
                has_axis = 1 in (self.shape(tensor) or ())
            if has_axis and way:
                made_of = operands[0]
                if type(made_of) not in self.plain:
                    made_of = next((operand for operand in operands if self.rank(operand)), tensor)
                self.origins.write(tensor, way, frame, made_of)
            elif (has_axis or (self.origins.has_positions and self.all_known(operands))) and (
                role.axis != "index" or _is_view(operands[1])
            ):
                self.origins.derive(tensor, [operand for operand in operands if self.rank(operand)], has_axis)

    def all_known(self, operands: Sequence[Any]) -> bool:
        """Return whether there is a note of each operand that is a tensor."""
        return all(id(operand) in self.known for operand in operands if isinstance(operand, self.tensor))

    def meet(self, role: Role, operands: Sequence[Any], frame: FrameType | None = None) -> None:
        """Report operands that meet on the line of a frame, if they are suspicious and not meant."""
        shapes = []
        for operand in operands:
            shape = self.shape(operand)
            if shape is None:
                return
            shapes.append(shape)
        kinds = self.watch.kinds
        # Without an axis of size 1 an operand of the highest rank has all axes, and stretches along none.
        found = find_two_sided(shapes) if any(1 in shape for shape in shapes) else None
        if found is not None and found.kind == "square" and "every-square" in kinds:
            self.watch.report(role.op, shapes, "every-square")
        elif found is not None and found.kind in kinds and not self.is_meant(role, operands, shapes, found, frame):
            self.watch.report(role.op, shapes, found.kind)
        elif "rank-promotion" in kinds and len({*map(len, shapes)}) > 1:
            self.watch.report(role.op, shapes, "rank-promotion")

    def is_meant(
        self,
        role: Role,
        operands: Sequence[Any],
        shapes: Sequence[tuple[int, ...]],
        found: TwoSidedBroadcast,
        frame: FrameType | None,
    ) -> bool:
        """Return whether all pairs are meant where two of these operands make a square, or stretch each other."""
        frames = [*own_frames(frame)]
        pair = [operands[number] for number in found.inputs]
        one, other = (self.origins.origin(operand, self.whole(operand), frames) for operand in pair)
        with self.unnoticed():
            types = [self.tensor.dtype.__get__(operand) for operand in pair]
        return is_meant(
            OperandPair(
                (one, other),
                is_square=found.kind == "square",
                is_loss=role.op.startswith(_LOSSES),
                is_discrete=role.op in COMPARISONS
                or not any(each.is_floating_point or each.is_complex for each in types),
                has_operand_with_both_axes=has_operand_with_both_axes(shapes, found),
                is_installed=bool(frames) and is_installed(frames[0].f_code.co_filename),
            )
        )

    def whole(self, operand: Any) -> Any:
        """Return the tensor of which an operand is a view, if it has all of its elements."""
        if type(operand) not in self.plain:
            return None
        with self.unnoticed():
            base = self.tensor._base.__get__(operand)
        shape, own = self.shape(base), self.shape(operand)
        return base if shape is not None and own is not None and prod(shape) == prod(own) else None

    def meet_lists(self, role: Role, arguments: Sequence[Any], frame: FrameType) -> None:
        """Report the operands at each place in lists of them, like those of single operations."""
        for part in zip(*[each for each in arguments if isinstance(each, list | tuple)], strict=False):
            operands = [operand for operand in part if self.rank(operand)]
            if len(operands) > 1:
                self.meet(role, operands, frame)

    def rank(self, operand: Any) -> int:
        """Return the number of a tensor's axes, or 0 for anything else.

        Neither another mode nor a class of tensors notices: their code must not be called for a watch. So a class with
        a `__torch_dispatch__`, which may be called for its sizes, counts as something else.
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
        """Return a tensor's shape, or None if it has none, or sizes that are not known, which check_torch handles."""
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


def _way(axis: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Way | Literal["range"]:
    """Return how a call writes an axis of size 1, if it does, or that it makes a range."""
    if axis == "index":
        index = args[1]
        return "index" if index is None or (type(index) is tuple and any(part is None for part in index)) else ""
    if axis == "keepdim":
        return "reduction" if (kwargs and kwargs.get("keepdim")) or any(part is True for part in args) else ""
    return "unsqueeze" if axis == "always" else "range"


def _is_view(index: Any) -> bool:
    """Return whether an index takes elements by their places, not by another tensor."""
    parts = index if type(index) is tuple else (index,)
    return all(part is None or part is ... or isinstance(part, slice | int) for part in parts)


@cache
def watching() -> tuple[Any, Mapping[Any, Role]]:
    """The class of modes, and what torch's functions do. Raises ImportError."""
    try:
        import torch
        from torch.overrides import TorchFunctionMode
    except ImportError as error:
        raise ImportError(f"axiscast.watch needs torch {MINIMUM}, or later: {error}") from error
    if tuple(map(int, torch.__version__.split(".")[:2])) < tuple(map(int, MINIMUM.split("."))):
        raise ImportError(
            f"axiscast.watch needs torch {MINIMUM} or later, not {torch.__version__}: pip install 'torch>={MINIMUM}'"
        )
    from .torch_ops import roles

    of_torch = {
        "tensor": torch.Tensor,
        "plain": frozenset({torch.Tensor, torch.nn.Parameter}),
        "other_modes": staticmethod(torch._C._len_torch_function_stack),
        "unnoticed": torch._C.DisableTorchFunction,
        "weak": torch._C._WeakTensorRef,
        "dynamo_is_tracing": staticmethod(torch.compiler.is_dynamo_compiling),
    }
    return type("Watching", (Calls, TorchFunctionMode), of_torch), roles()
