"""Windows: the box of an output that a caller asks for, in pairs or in slices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import EllipsisType
from typing import Any, SupportsIndex

from ..answers.limits import validate_request
from ..messages.arguments import OpLike, read_sizes
from ..ops import lower
from ..plan.alignment import ShapeMismatch
from ..wire.problems import Problem
from .expected import instance

Slices = slice | EllipsisType | tuple[slice | EllipsisType, ...]
Window = Sequence[tuple[SupportsIndex, SupportsIndex]] | Slices
"""[start, stop] on each output axis, or slices, as np.s_[0:2, :] writes them."""


def bounds(window: Window, op: OpLike, shapes: Sequence[tuple[int, ...]]) -> list[list[int]] | None:
    """[start, stop] on each output axis. Slices say what they say of a NumPy array of the output's shape: they may be
    open, negative or too long, and axes left out are taken whole. None where the output has no shape, which the service
    puts in words. Raises TypeError and ValueError for what is no window.

    >>> bounds(np.s_[-1:, ...], "numpy.broadcast_arrays", [(4, 3)])
    [[3, 4], [0, 3]]
    """
    entries: list[Any] = [window] if isinstance(window, slice | EllipsisType) else _entries(window)
    if not any(isinstance(entry, slice | EllipsisType) for entry in entries):
        return [_pair(entry) for entry in entries]
    whole = instance(op)
    if whole is None:
        raise ValueError("slices need an op whose output is known here: write (start, stop) for each axis")
    if any(whole.symbols()):
        return None
    try:
        validate_request(whole, tuple(shapes))
        outputs = {output.shape for output in lower(whole, tuple(shapes)).outputs}
    except (ShapeMismatch, Problem):
        return None
    if len(outputs) != 1:
        raise ValueError("slices need outputs of one shape: write (start, stop) for each axis")
    (shape,) = outputs
    dots = [number for number, entry in enumerate(entries) if entry is ...] or [len(entries)]
    left_out = len(shape) - sum(entry is not ... for entry in entries)
    if left_out < 0 or len(dots) > 1:
        raise ValueError(f"a window of the output {shape} has at most {len(shape)} entries and one ...")
    entries[dots[0] : dots[0] + 1] = [slice(None)] * left_out
    return [
        _of_slice(entry, size) if isinstance(entry, slice) else _pair(entry)
        for entry, size in zip(entries, shape, strict=True)
    ]


def _of_slice(entry: slice, size: int) -> list[int]:
    start, stop, step = entry.indices(size)
    if step != 1:
        raise ValueError(f"a window has no steps: {entry!r}")
    return [start, max(start, stop)]


def _entries(window: Any) -> list[Any]:
    if isinstance(window, str | bytes | Mapping) or not isinstance(window, Iterable):
        raise _refused(window)
    return list(window)


def _pair(entry: Any) -> list[int]:
    if entry is None or len(pair := read_sizes(entry)) != 2:
        raise _refused(entry)
    return pair


def _refused(entry: Any) -> TypeError:
    return TypeError(f"a window has a slice or (start, stop) for each output axis, not {entry!r:.60}; all axes stay")
