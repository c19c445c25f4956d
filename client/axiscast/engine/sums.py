"""Summation over axes, as accurate as the dtype and only a little slower than reading the memory once.

The axes are sorted by their order in memory, so that a transposed array takes no longer than any other array. The array
is summed block by block, and each block is one step of work.

np.add.reduce is used for integers and narrow floats if the innermost axis is long. If the innermost axis is short,
NumPy's overhead per row is five times the cost of the sum. For float32, NumPy either converts every element to 64 bits,
at half the speed, or adds to a single float32, which saturates. For float64, NumPy adds row after row, so the error
grows with the number of rows.

These arrays are therefore summed in groups. This method is pairwise summation with wider leaves (Higham, Accuracy and
Stability of Numerical Algorithms, 4.2). The compiled loops of einsum or BLAS add the few terms of a group in the dtype
itself. The group sums are then added in 64 bits, again in groups. On each level, the number of roundings is at most the
number of terms in a group. The error of a float32 sum is therefore less than 10^-6 of the sum of the magnitudes. A
reshape joins short rows into one long row, whose parts are added at the end.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, prod
from typing import Any

import numpy as np

from ..wire.tensors import strided_view
from .memory_layout import Array, Ints, blocks, collapse

Dtype = np.dtype[Any]

SMALL_ELEMENTS = 2**12
"""The maximum number of elements that np.add.reduce sums faster than another method can be set up."""
BLOCK_ELEMENTS = 2**21
"""The maximum number of elements in one step. The sums of its groups fit into the cache."""
COPIED_ELEMENTS = 2**18
"""The maximum number of elements in one step if the array is first converted or copied to C order."""
KEPT_SUMS = 2**18
"""The maximum number of partial sums that are kept between two steps. These sums stay in the cache."""
RETAKEN_ELEMENTS = 2**14
"""The maximum number of sums that one step recomputes in a wider float dtype."""
RUN_ELEMENTS = 2**10
"""The row length, in elements, above which longer rows are not read any faster."""
LONG_ROW = 2**6
"""The minimum number of elements in a row for which np.add.reduce is as fast as any other method."""
GROUP_TERMS = 16
"""The number of terms in a group. 15 roundings of 2^-24 each give an error of 9 * 10^-7."""
ROW_TERMS = 2**7
"""The number of terms in a group within one row.

einsum adds the terms of a row to 16 subtotals, so each subtotal has as few roundings as a group of GROUP_TERMS.
"""
SHORT_ROW, SHORT_RUN = 48, 8
"""The maximum row length and run length, in elements, for which multiplying by a matrix of 0 and 1 is fastest."""
PRODUCT_ELEMENTS = 2**12
"""The maximum number of elements in a matrix product for which BLAS uses only one thread."""


def accumulator(dtype: Dtype) -> Dtype:
    """Return the dtype in which sums are computed: a 64-bit float, a 128-bit complex number or an integer dtype.

    A sum in this dtype is accurate to `dtype`. Integer sums wrap around.
    """
    if dtype.kind == "c":
        return np.dtype(np.complex128)
    if dtype.kind in "iu":
        return dtype
    return np.dtype(np.int64 if "int" in dtype.name else np.float64)


def working_bytes(elements: int) -> int:
    """Return the maximum memory, in bytes, that summing `elements` elements takes, without the results."""
    return 24 * min(elements, COPIED_ELEMENTS)


def sum_axes(array: Array, axes: Ints, dtype: Dtype) -> Array:
    """Return the array summed over `axes`, which get size 1. `dtype` is the array's dtype or its accumulator's dtype.

    >>> sum_axes(np.array([[1, 2, 3], [4, 5, 6]]), (1,), np.dtype(int))
    array([[ 6],
           [15]])
    """
    wide = accumulator(array.dtype)
    if array.size <= (0 if dtype.kind == "c" else SMALL_ELEMENTS):
        total = np.add.reduce(array, axis=axes, dtype=wide, keepdims=True)
        out = total.astype(dtype)
        _recompute_nonfinite(array, axes, total, out)
        return out
    order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]) or -inf)
    source, merged = _collapsed(array, order, axes)
    if dtype.kind == "c":  # the real and imaginary parts form another axis
        reals = strided_view(source.real, (*source.shape, 2), (*source.strides, source.itemsize // 2))
        out = sum_axes(reals, merged, np.dtype(f"f{dtype.itemsize // 2}")).view(dtype)
    else:
        out = _sum_blocks(source, merged, dtype, wide)
    kept = out.reshape([1 if axis in axes else array.shape[axis] for axis in order])
    return kept.transpose([order.index(axis) for axis in range(array.ndim)])


def _sum_blocks(array: Array, axes: Ints, dtype: Dtype, wide: Dtype) -> Array:
    """Return the sums, computed block by block.

    Blocks that contribute to the same sums are processed one after another.
    """
    narrow = np.dtype(np.float32) if wide == np.float64 and array.itemsize <= 4 else wide
    shape = array.shape
    out = np.empty([1 if axis in axes else size for axis, size in enumerate(shape)], dtype)
    most = BLOCK_ELEMENTS if array.flags.c_contiguous and array.dtype == narrow else COPIED_ELEMENTS
    steps = _steps(shape, axes, most)
    for box in blocks(shape, tuple([size if axis in axes else steps[axis] for axis, size in enumerate(shape)])):
        rows = array[box]
        parts = blocks(rows.shape, steps)
        total = _sum_block(rows[next(parts)], axes, narrow, wide)
        # The first total can be a view of the array's memory, so it is not changed.
        for number, part in enumerate(parts):
            total = np.add(total, _sum_block(rows[part], axes, narrow, wide), out=total if number else None, dtype=wide)
        np.copyto(out[box], total, casting="unsafe")
        _recompute_nonfinite(rows, axes, total, out[box])
    return out


def _recompute_nonfinite(array: Array, axes: Ints, total: Array, out: Array) -> None:
    """Recompute each sum of `array` over `axes` whose `total` is not finite, and write the new sum to `out`.

    If a term is not finite, the smallest or the largest term is not finite either, and these two terms determine the
    sum. If all terms are finite, the summation method caused the non-finite total. For example, 0 times the infinity in
    another sum is NaN, and a group can overflow even if the whole sum does not. Such a sum is recomputed in the widest
    float dtype. On platforms where this dtype has only 64 bits, the sum may still overflow.
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
        extremes = least / 2 + most / 2
        np.copyto(out[box], extremes, casting="unsafe", where=wrong)
        wrong &= np.isfinite(extremes)
        if wrong.any():
            sums = np.add.reduce(rows, axis=axes, dtype=np.longdouble, keepdims=True, where=wrong)
            np.copyto(out[box], sums, casting="unsafe", where=wrong)


def _sum_block(array: Array, axes: Ints, narrow: Dtype, wide: Dtype) -> Array:
    """Return the sums in a block. Their dtype is `wide`, or `narrow` if all terms are in one group."""
    if array.shape[-1] >= LONG_ROW and (array.dtype.itemsize < 4 or narrow.kind != "f"):
        total: Array = np.add.reduce(array, axis=axes, dtype=wide, keepdims=True)
        return total
    value, dtype = array, narrow
    for axis in reversed(axes):
        before, after = array.shape[:axis], value.shape[axis + 1 :]
        value = value.reshape(*before, -1, prod(after))
        while value.shape[-2] > 1:
            value, dtype = _sum_groups(value.astype(dtype, copy=False)), wide
        value = value.reshape(*before, 1, *after)
    return value


def _sum_groups(value: Array) -> Array:
    """Sum an array of shape (..., terms, run) over groups of terms. Return an array of shape (..., sums, run).

    Terms that are in no group are appended to the sums.
    """
    *before, terms, run = value.shape
    group_terms = ROW_TERMS if run == 1 else GROUP_TERMS
    if terms <= group_terms:
        return _sum_terms(value)[..., None, :]
    # To make a short run longer, `neighbours` adjacent terms are assigned to different groups.
    neighbours = 1 if run == 1 else max(min(RUN_ELEMENTS // run, terms // group_terms), 1)
    blocks_of_groups = terms // (group_terms * neighbours)
    grouped_terms = blocks_of_groups * group_terms * neighbours
    grouped = value[..., :grouped_terms, :].reshape(*before, blocks_of_groups, group_terms, neighbours * run)
    sums = _sum_terms(grouped).reshape(*before, blocks_of_groups * neighbours, run)
    return sums if grouped_terms == terms else np.concatenate([sums, value[..., grouped_terms:, :]], axis=-2)


def _sum_terms(value: Array) -> Array:
    """Sum an array of shape (..., terms, run) over the terms, by the fastest of three methods.

    Return shape (..., run).
    """
    *before, terms, run = value.shape
    is_float = value.dtype.kind == "f"
    if is_float and run <= SHORT_RUN and terms * run <= SHORT_ROW:
        return _sum_short_rows(value.reshape(-1, terms * run), run).reshape(*before, run)
    if is_float and run > 1 and terms * run <= PRODUCT_ELEMENTS:
        sums: Array = np.matmul(np.ones(terms, value.dtype), value)
    else:
        sums = np.einsum("...jk->...k", value)
    return sums


def _sum_short_rows(rows: Array, run: int) -> Array:
    """Sum the terms in each row by multiplying by stacked identity matrices. A term is a run of `run` elements."""
    count, width = rows.shape
    selection = np.tile(np.eye(run, dtype=rows.dtype), (width // run, 1))
    rows_of_product = PRODUCT_ELEMENTS // width
    whole = count // rows_of_product * rows_of_product
    out = np.empty((count, run), rows.dtype)
    products = out[:whole].reshape(-1, rows_of_product, run)
    np.matmul(rows[:whole].reshape(-1, rows_of_product, width), selection, out=products)
    np.matmul(rows[whole:], selection, out=out[whole:])
    return out


def _collapsed(array: Array, order: list[int], axes: Ints) -> tuple[Array, Ints]:
    """Return a view of the same elements with the fewest axes, in the given order, and the axes to sum.

    An axis to sum is never merged with an axis to keep, because one of their two strides is 0.
    """
    kept = tuple([0 if axis in axes else array.strides[axis] for axis in order])
    summed = tuple([array.strides[axis] if axis in axes else 0 for axis in order])
    shape, (kept, summed) = collapse(tuple([array.shape[axis] for axis in order]), kept, summed)
    strides = [step or other for step, other in zip(kept, summed, strict=True)]
    return strided_view(array, shape, strides), tuple([axis for axis, step in enumerate(summed) if step])


@lru_cache(1024)
def _steps(shape: Ints, summed: Ints, most: int) -> Ints:
    """Return the shape of blocks with up to `most` elements and KEPT_SUMS sums. The outermost axes are cut first."""
    steps = list(shape)
    kept = [axis for axis in range(len(shape)) if axis not in summed]
    for limit, axes in (KEPT_SUMS, kept), (most, range(len(shape))):
        for axis in axes:
            others = prod(steps[other] for other in axes if other != axis)
            steps[axis] = max(min(limit // others, steps[axis]), 1)
    return tuple(steps)
