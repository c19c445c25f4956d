"""Validation of a `window`, which is the part of an output that a user requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import EllipsisType
from typing import Any, SupportsIndex

from ..checks.limits import validate_request
from ..messages.arguments import OpLike, known_op
from ..messages.value_arguments import read_sizes
from ..ops import lower
from ..plan.alignment import ShapeMismatch
from ..wire.problems import Problem
from ..wire.shapes import is_unordered

Slices = slice | EllipsisType | tuple[slice | EllipsisType, ...]
WindowLike = Sequence[tuple[SupportsIndex, SupportsIndex]] | Slices
"""A window: a [start, stop] pair for each output axis, or slices such as np.s_[0:2, :]."""


def window_bounds(window: WindowLike, op: OpLike, shapes: Sequence[tuple[int, ...]]) -> list[list[int]] | None:
    """Return the bounds [start, stop] of a window for each output axis.

    Slices work as in NumPy: they may be open, negative or too long, and axes without a slice are included completely.
    If slices are given and the shapes do not broadcast, return None: the service then reports the conflict. Raises
    TypeError or ValueError if the window is invalid.

    >>> window_bounds(np.s_[-1:, ...], "numpy.broadcast_arrays", [(4, 3)])
    [[3, 4], [0, 3]]
    """
    entries: list[Any] = [window] if isinstance(window, slice | EllipsisType) else _entries(window)
    if not any(isinstance(entry, slice | EllipsisType) for entry in entries):
        return [_pair(entry) for entry in entries]
    whole_op = known_op(op)
    if whole_op is None:
        raise ValueError(
            "slices are supported only for ops that this version of axiscast knows: write (start, stop) for each axis"
        )
    if any(whole_op.symbols()):
        return None
    try:
        validate_request(whole_op, tuple(shapes))
        output_shapes = {output.shape for output in lower(whole_op, tuple(shapes)).outputs}
    except (ShapeMismatch, Problem):
        return None
    if len(output_shapes) != 1:
        raise ValueError("slices require outputs of equal shape: write (start, stop) for each axis")
    (shape,) = output_shapes
    return [
        _slice_bounds(entry, size) if isinstance(entry, slice) else _pair(entry)
        for entry, size in zip(_expand_ellipsis(entries, shape), shape, strict=True)
    ]


def _expand_ellipsis(entries: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """Return one entry for each axis. The ellipsis in `window` stands for all axes without an entry.

    If there is no ellipsis, the missing entries are added at the end.
    """
    places = [number for number, entry in enumerate(entries) if entry is ...] or [len(entries)]
    missing = len(shape) - sum(entry is not ... for entry in entries)
    if missing < 0 or len(places) > 1:
        raise ValueError(f"the window of an output {shape} can have at most {len(shape)} entries and one ...")
    (place,) = places
    return [*entries[:place], *[slice(None)] * missing, *entries[place + 1 :]]


def _slice_bounds(entry: slice, size: int) -> list[int]:
    start, stop, step = entry.indices(size)
    if step != 1:
        raise ValueError(f"a slice in a window can't have a step: {entry!r}")
    return [start, max(start, stop)]


def _entries(window: Any) -> list[Any]:
    if isinstance(window, str | bytes | Mapping) or is_unordered(window) or not isinstance(window, Iterable):
        raise _type_error(window)
    return list(window)


def _pair(entry: Any) -> list[int]:
    if entry is None or len(pair := read_sizes(entry)) != 2:
        raise _type_error(entry)
    return pair


def _type_error(entry: Any) -> TypeError:
    expected = "a window must have a slice or a pair (start, stop) for each output axis"
    return TypeError(f"{expected}, not {entry!r:.60}. A window can't remove or add axes")
