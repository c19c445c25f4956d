"""Sums over axes: accurate to the dtype, and not much slower than reading the memory once. A place for speed tricks.

The axes are put in the order in which they lie in memory, so that a transposed array costs no more than another, and
cut to blocks, each a step of work. Integers and narrow floats are summed by np.add.reduce where their innermost axis
is long; where it is short, what NumPy spends on each row costs five times the sum. Of float32 NumPy converts every
element to 64 bits, at half the speed, or adds to one float32, which saturates; and float64 it adds row after row, so
that the error grows with their number. So these are added up in groups (pairwise summation with wider leaves: Higham,
Accuracy and Stability of Numerical Algorithms, 4.2): a few terms in the dtype itself, by einsum or BLAS with their
compiled loops, and the groups' sums in 64 bits, again in groups. Each level rounds as often as a group has terms, so
that a sum of float32 is off by less than 10^-6 of the sum of its magnitudes. Short rows are added up many at once: a
reshape makes one long row of neighbours, and they are added up at the end.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, prod
from typing import Any

import numpy as np

from ..wire.tensors import strided_view
from .dense import blocks
from .memory_layout import Array, Ints

Dtype = np.dtype[Any]

SMALL_ELEMENTS = 2**12
"""Up to here np.add.reduce has finished before another way is set up."""
BLOCK_ELEMENTS = 2**21
"""What is read in one step; its groups' sums fit the cache."""
COPIED_ELEMENTS = 2**18
"""The same of an array that is copied first, as it is converted or does not lie in C order."""
KEPT_SUMS = 2**18
"""Sums that are added to from step to step stay in the cache."""
RETAKEN_ELEMENTS = 2**14
"""Sums that are taken anew at once, in a wider float."""
RUN_ELEMENTS = 2**10
"""So many elements in a row are read as fast as any more."""
LONG_ROW = 2**6
"""From so many elements on np.add.reduce is as fast as any other way."""
GROUP_TERMS = 16
"""Terms of a group: 15 roundings of 2^-24 are 9 * 10^-7."""
ROW_TERMS = 2**7
"""Terms of a group that lie in a row: einsum has 16 subtotals for them, so that as few roundings add up."""
SHORT_ROW, SHORT_RUN = 48, 8
"""Rows of so few terms and runs are added fastest by a product with a matrix that says what goes where."""
PRODUCT_ELEMENTS = 2**12
"""BLAS leaves a product of this size on one thread."""


def accumulator(dtype: Dtype) -> Dtype:
    """Wide enough that a sum is accurate to `dtype`: 64-bit floats; integers wrap the same at any width."""
    if dtype.kind == "c":
        return np.dtype(np.complex128)
    if dtype.kind in "iu":
        return dtype
    return np.dtype(np.int64 if "int" in dtype.name else np.float64)


def working_bytes(elements: int) -> int:
    """Bytes of memory that sums of so many elements take beside their results, at the most."""
    return 24 * min(elements, COPIED_ELEMENTS)


def sum_axes(array: Array, axes: Ints, dtype: Dtype) -> Array:
    """The array summed over `axes`, which stay with size 1, in `dtype`: the array's own, or its accumulator.

    >>> sum_axes(np.array([[1, 2, 3], [4, 5, 6]]), (1,), np.dtype(int))
    array([[ 6],
           [15]])
    """
    wide = accumulator(array.dtype)
    if dtype.kind != "c" and array.size <= SMALL_ELEMENTS:
        total = np.add.reduce(array, axis=axes, dtype=wide, keepdims=True)
        out = total.astype(dtype)
        _retake(array, axes, total, out)
        return out
    order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]) or -inf)
    source, merged = _collapsed(array, order, axes)
    if dtype.kind == "c":  # as an axis more, which there is room for now
        reals = strided_view(source.real, (*source.shape, 2), (*source.strides, source.itemsize // 2))
        out = sum_axes(reals, merged, np.dtype(f"f{dtype.itemsize // 2}")).view(dtype)
    else:
        out = _add_up_blocks(source, merged, dtype, wide)
    kept = out.reshape([1 if axis in axes else array.shape[axis] for axis in order])
    return kept.transpose([order.index(axis) for axis in range(array.ndim)])


def _add_up_blocks(array: Array, axes: Ints, dtype: Dtype, wide: Dtype) -> Array:
    """The sums, block by block: all blocks of the same sums one after another."""
    narrow = np.dtype(np.float32) if wide == np.float64 and array.itemsize <= 4 else wide
    shape = array.shape
    out = np.empty([1 if axis in axes else size for axis, size in enumerate(shape)], dtype)
    most = BLOCK_ELEMENTS if array.flags.c_contiguous and array.dtype == narrow else COPIED_ELEMENTS
    steps = _steps(shape, axes, most)
    for box in blocks(shape, tuple([size if axis in axes else steps[axis] for axis, size in enumerate(shape)])):
        rows = array[box]
        parts = blocks(rows.shape, steps)
        total = _folded(rows[next(parts)], axes, narrow, wide)
        for number, part in enumerate(parts):  # what is first may be the array's own memory
            total = np.add(total, _folded(rows[part], axes, narrow, wide), out=total if number else None, dtype=wide)
        np.copyto(out[box], total, casting="unsafe")
        _retake(rows, axes, total, out[box])
    return out


def _retake(array: Array, axes: Ints, total: Array, out: Array) -> None:
    """Write to `out` anew the sums of `array` over `axes` of which `total` is not finite, and no other.

    A term that is not finite, found at the ends of the values, decides its sum. Where all are finite, the total is not
    for the way that was taken: 0 times the infinity of another sum is no number, and a group may overflow where its
    sum does not. That is the sum in the widest float (where the platform has none beyond 64 bits, it may overflow).
    """
    if total.dtype.kind != "f" or np.isfinite(total).all():
        return
    steps = _steps(total.shape, (), RETAKEN_ELEMENTS)
    for box in blocks(total.shape, (1,) * total.ndim if total.size <= SHORT_RUN else steps):
        wrong = ~np.isfinite(total[box])
        if not wrong.any():
            continue
        rows = array[tuple([slice(None) if axis in axes else part for axis, part in enumerate(box)])]
        least, most = (end.reduce(rows, axis=axes, dtype=np.float64, keepdims=True) for end in (np.minimum, np.maximum))
        ends = least / 2 + most / 2
        np.copyto(out[box], ends, casting="unsafe", where=wrong)
        wrong &= np.isfinite(ends)
        if wrong.any():
            sums = np.add.reduce(rows, axis=axes, dtype=np.longdouble, keepdims=True, where=wrong)
            np.copyto(out[box], sums, casting="unsafe", where=wrong)


def _folded(array: Array, axes: Ints, narrow: Dtype, wide: Dtype) -> Array:
    """The sums of an array, in `wide`, or in `narrow` where one group holds all terms."""
    if array.shape[-1] >= LONG_ROW and (array.dtype.itemsize < 4 or narrow.kind != "f"):
        total: Array = np.add.reduce(array, axis=axes, dtype=wide, keepdims=True)
        return total
    value, dtype = array, narrow
    for axis in reversed(axes):
        before, after = array.shape[:axis], value.shape[axis + 1 :]
        value = value.reshape(*before, -1, prod(after))
        while value.shape[-2] > 1:
            value, dtype = _fold(value.astype(dtype, copy=False)), wide
        value = value.reshape(*before, 1, *after)
    return value


def _fold(value: Array) -> Array:
    """(..., terms, run) with the terms added up, or groups of them."""
    *before, terms, run = value.shape
    most = ROW_TERMS if run == 1 else GROUP_TERMS
    if terms <= most:
        return _added(value)[..., None, :]
    near = 1 if run == 1 else max(min(RUN_ELEMENTS // run, terms // most), 1)
    groups = terms // (most * near)
    whole = groups * most * near
    sums = _added(value[..., :whole, :].reshape(*before, groups, most, near * run)).reshape(*before, groups * near, run)
    return sums if whole == terms else np.concatenate([sums, value[..., whole:, :]], axis=-2)


def _added(value: Array) -> Array:
    """(..., terms, run) to (..., run)"""
    *before, terms, run = value.shape
    if value.dtype.kind == "f" and run <= SHORT_RUN and terms * run <= SHORT_ROW:
        where = np.tile(np.eye(run, dtype=value.dtype), (terms, 1))
        rows = value.reshape(-1, terms * run)
        near = PRODUCT_ELEMENTS // (terms * run)
        whole = len(rows) // near * near
        out = np.empty((len(rows), run), value.dtype)
        np.matmul(rows[:whole].reshape(-1, near, terms * run), where, out=out[:whole].reshape(-1, near, run))
        np.matmul(rows[whole:], where, out=out[whole:])
        return out.reshape(*before, run)
    if value.dtype.kind == "f" and run > 1 and terms * run <= PRODUCT_ELEMENTS:
        added: Array = np.matmul(np.ones(terms, value.dtype), value)
    else:
        added = np.einsum("...jk->...k", value)
    return added


def _collapsed(array: Array, order: list[int], axes: Ints) -> tuple[Array, Ints]:
    """The same elements with the axes in this order, and in as few as can be; and which of those are summed over."""
    sizes: list[int] = []
    steps: list[int] = []
    summed: list[bool] = []
    for axis in order:
        size, step, gone = array.shape[axis], array.strides[axis], axis in axes
        if sizes and summed[-1] == gone and steps[-1] == step * size:
            sizes[-1], steps[-1] = sizes[-1] * size, step
        elif size != 1:
            sizes.append(size)
            steps.append(step)
            summed.append(gone)
    return strided_view(array, sizes, steps), tuple([axis for axis, gone in enumerate(summed) if gone])


@lru_cache(1024)
def _steps(shape: Ints, summed: Ints, most: int) -> Ints:
    """How to cut an array along its axes, outermost first: to up to `most` elements of up to KEPT_SUMS sums."""
    steps = list(shape)
    kept = [axis for axis in range(len(shape)) if axis not in summed]
    for limit, axes in (KEPT_SUMS, kept), (most, range(len(shape))):
        for axis in axes:
            others = prod(steps[other] for other in axes if other != axis)
            steps[axis] = max(min(limit // others, steps[axis]), 1)
    return tuple(steps)
