"""Sums over axes: accurate to the dtype, and not much slower than reading the memory once. A place for speed tricks.

Floats of up to 32 bits are added up in groups of a few terms in float32, and the groups in 64 bits, so that a sum is
off by less than 10^-6 of the sum of its magnitudes. (NumPy converts every element, which is slower, or adds to one
float32, which saturates.) Other dtypes are added up in their accumulator throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from tensorcast.schema.tensors import strided_view

from .dense import blocks

Array = np.ndarray[Any, np.dtype[Any]]
Dtype = np.dtype[Any]
Sizes = tuple[int, ...]

SMALL_ELEMENTS = 2**12
"""Up to here np.add.reduce has finished before another way is set up."""
BLOCK_ELEMENTS = 2**21
"""What is read in one step; its groups' sums fit the cache."""
COPIED_ELEMENTS = 2**18
"""The same of an array that is copied first, as it is converted or does not lie in C order."""
KEPT_ELEMENTS = 2**18
"""Sums that are added to from step to step stay in the cache."""
RETAKEN_ELEMENTS = 2**14
"""Sums that are taken anew at once, in a wider float."""
RUN_ELEMENTS = 2**10
"""So many elements in a row are read as fast as any more."""
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


def add_up(array: Array, axes: Sizes, dtype: Dtype) -> Array:
    """The array summed over `axes`, which stay with size 1, in `dtype`: the array's own, or its accumulator."""
    if dtype.kind == "c":
        source, summed = _collapsed(array, axes)  # else there might be no room for one axis more
        merged = tuple([axis for axis, gone in enumerate(summed) if gone])
        reals = strided_view(source.real, (*source.shape, 2), (*source.strides, source.itemsize // 2))
        sums = add_up(reals, merged, np.dtype(f"f{dtype.itemsize // 2}"))
        return sums.view(dtype).reshape([1 if axis in axes else size for axis, size in enumerate(array.shape)])
    wide = accumulator(array.dtype)
    if array.size <= SMALL_ELEMENTS:
        total = np.add.reduce(array, axis=axes, dtype=wide, keepdims=True)
        out = total.astype(dtype)
        _retake(array, axes, total, out)
        return out
    narrow = np.dtype(np.float32) if wide == np.float64 and array.itemsize <= 4 else wide
    source, summed = _collapsed(array, axes)
    merged = tuple([axis for axis, gone in enumerate(summed) if gone])
    out = np.empty([1 if gone else size for size, gone in zip(source.shape, summed, strict=True)], dtype)
    most = BLOCK_ELEMENTS if source.flags.c_contiguous and source.dtype == narrow else COPIED_ELEMENTS
    shape, steps = source.shape, _steps(source.shape, summed, most)
    kept = [size if gone else step for size, step, gone in zip(shape, steps, summed, strict=True)]
    for box in blocks(shape, tuple(kept)):
        rows = source[box]
        parts = blocks(rows.shape, steps)
        total = _folded(rows[next(parts)], merged, narrow, wide)
        for number, part in enumerate(parts):  # what is first may be the array's own memory
            total = np.add(total, _folded(rows[part], merged, narrow, wide), out=total if number else None, dtype=wide)
        np.copyto(out[box], total, casting="unsafe")
        _retake(rows, merged, total, out[box])
    return out.reshape([1 if axis in axes else size for axis, size in enumerate(array.shape)])


def _retake(array: Array, axes: Sizes, total: Array, out: Array) -> None:
    """Write to `out` anew the sums of `array` over `axes` of which `total` is not finite, and no other.

    A term that is not finite, found at the ends of the values, decides its sum. Where all are finite, the total is not
    for the way that was taken: 0 times the infinity of another sum is no number, and a group may overflow where its
    sum does not. That is the sum in the widest float (where the platform has none beyond 64 bits, it may overflow).
    """
    if total.dtype.kind != "f" or np.isfinite(total).all():
        return
    steps = _steps(total.shape, (False,) * total.ndim, RETAKEN_ELEMENTS)
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


def _folded(array: Array, axes: Sizes, narrow: Dtype, wide: Dtype) -> Array:
    """The sums of an array, in `wide`, or in `narrow` where one group holds all terms."""
    value = array.astype(narrow, copy=False)
    dtype = narrow
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


def _collapsed(array: Array, axes: Sizes) -> tuple[Array, tuple[bool, ...]]:
    """The same elements in as few axes as can be, and which of them are summed over."""
    sizes: list[int] = []
    steps: list[int] = []
    summed: list[bool] = []
    for axis, (size, step) in enumerate(zip(array.shape, array.strides, strict=True)):
        gone = axis in axes
        if sizes and summed[-1] == gone and steps[-1] == step * size:
            sizes[-1], steps[-1] = sizes[-1] * size, step
        elif size != 1:
            sizes.append(size)
            steps.append(step)
            summed.append(gone)
    return strided_view(array, sizes, steps), tuple(summed)


@lru_cache(1024)
def _steps(shape: Sizes, summed: Sequence[bool], most: int) -> Sizes:
    """How to cut an array along its axes, outermost first."""
    steps = list(shape)
    kept = [axis for axis, gone in enumerate(summed) if not gone]
    for limit, axes in (KEPT_ELEMENTS, kept), (most, range(len(shape))):
        for axis in axes:
            total = prod(steps[other] for other in axes)
            if total > limit:
                inside = prod(shape[axis + 1 :])
                near = max(RUN_ELEMENTS // inside, 1)
                group = near if not summed[axis] else ROW_TERMS if inside == 1 else GROUP_TERMS * near
                least = group if summed[axis] and prod(steps[:axis]) == 1 else near
                step = max(steps[axis] * limit // total, min(least, steps[axis]))
                steps[axis] = step - step % group if step > group else step
    return tuple(steps)
