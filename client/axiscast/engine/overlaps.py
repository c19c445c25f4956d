"""Sums over axes of arrays whose elements overlap in memory, such as sliding windows.

Such an array may have 2^28 elements in a few bytes, and reading each element takes up to 50 ns. Therefore, the sums are
computed for every position in memory, one axis after another: the sum over an axis adds the values at positions that
are one stride apart. Doubling the number of added positions takes at most 2 log2(size) additions for each axis and
position.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..wire.cancellation import checkpoint
from ..wire.tensors import memory_span, strided_view
from .memory_layout import Array, Ints
from .sums import SMALL_ELEMENTS, accumulator

_ARRAYS = 4
"""The maximum number of arrays that exist at the same time and hold one sum for each memory position."""


def overlapping_memory(array: Array, axes: Ints) -> Array | None:
    """Return a flat view of an array's memory, if summing the memory takes fewer additions than summing the elements.

    Otherwise, return None. Also return None if a stride is 0, negative or not a multiple of the itemsize.
    """
    if not axes or array.size <= SMALL_ELEMENTS or array.flags.c_contiguous:
        return None
    if any(step <= 0 < size - 1 for size, step in zip(array.shape, array.strides, strict=True)):
        return None
    memory = memory_span(array)
    additions = sum(array.shape[axis].bit_length() + array.shape[axis].bit_count() - 2 for axis in axes)
    return None if memory is None or memory.size * max(additions, 1) >= array.size else memory


def overlap_bytes(array: Array, axes: Ints) -> int:
    """Return the maximum memory, in bytes, for summing an array whose elements overlap, without the results."""
    memory = overlapping_memory(array, axes)
    return 0 if memory is None else _ARRAYS * _position_dtype(array.dtype).itemsize * memory.size


def sum_overlapping(array: Array, memory: Array, axes: Ints, dtype: np.dtype[Any]) -> Array:
    """Return the array summed over `axes`, which get size 1. `memory` is the array's overlapping memory.

    >>> windows = np.lib.stride_tricks.sliding_window_view(np.arange(1000), 500)
    >>> sum_overlapping(windows, overlapping_memory(windows, (1,)), (1,), np.dtype(int))[:2, 0].tolist()
    [124750, 125250]
    """
    sums = memory.astype(_position_dtype(array.dtype))
    for axis in axes:
        sums = _sum_positions(sums, array.shape[axis], array.strides[axis] // array.itemsize)
    shape = [1 if axis in axes else size for axis, size in enumerate(array.shape)]
    steps = [step // array.itemsize * sums.itemsize for step in array.strides]
    return strided_view(sums, shape, steps).astype(dtype, order="C")


def _position_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a dtype that is so wide that no sum overflows, because an overflow could not be corrected later."""
    if dtype.kind in "fc" and np.finfo(dtype).bits == 64:
        return np.dtype(np.clongdouble if dtype.kind == "c" else np.longdouble)
    return accumulator(dtype)


def _sum_positions(values: Array, count: int, step: int) -> Array:
    """Return, for every position, the sum of `count` values that are `step` positions apart."""
    positions = len(values) - (count - 1) * step
    total, added = None, 0
    doubled, terms = values, 1  # each element of `doubled` is the sum of `terms` values
    while added < count:
        checkpoint()
        if count & terms:
            part = doubled[added * step :][:positions]
            total = part if total is None else total + part
            added += terms
        if added < count:
            doubled = doubled[: -terms * step] + doubled[terms * step :]
            terms *= 2
    assert total is not None
    return total
