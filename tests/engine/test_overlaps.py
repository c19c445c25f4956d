"""Sums over axes that overlap in memory, compared with sums over copies and with binomial coefficients."""

from __future__ import annotations

import math
import time
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from conftest import limited, taken, unhurried
from hypothesis import given, settings
from hypothesis import strategies as st

from axiscast.engine import overlaps
from axiscast.engine.views import gradient_bytes, input_gradients
from axiscast.ops import lower, numpy

RANK = 26
"""The number of axes of size 2 and stride 1: 2^26 elements in 27 positions of memory."""


def overlapping(values: Any, shape: Any, steps: Any) -> Any:
    """Return the values as an array with these strides in elements."""
    return np.lib.stride_tricks.as_strided(values, shape, [step * values.itemsize for step in steps])


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float32", "float64", "complex64"])
def test_the_sum_over_26_overlapping_axes_weighs_positions_by_binomials_in_no_time(dtype: str) -> None:
    weights = [math.comb(RANK, position) for position in range(RANK + 1)]
    plan = lower(numpy.broadcast_to(shape=(2,) * RANK), ((1,) * RANK,))

    def claim(seconds: float) -> None:
        for position in 0, 1, 12, 26:
            values = np.zeros(RANK + 1, dtype)
            values[position] = 1
            gradient = overlapping(values, (2,) * RANK, (1,) * RANK)
            start = time.process_time()
            [result] = input_gradients(plan, [gradient])
            assert time.process_time() - start < seconds
            assert result.item() == np.array(weights[position]).astype(dtype)

    with np.errstate(over="ignore"):
        unhurried(claim, 0.01)


def test_axes_that_are_kept_overlap_too() -> None:
    gradient = overlapping(np.arange(20_003), (2, 2, 10_000, 2), (1, 10_000, 1, 1))
    plan = lower(numpy.broadcast_to(shape=gradient.shape), ((10_000, 1),))
    # Rows r to r + 2 with the weights 1, 2 and 1, and the same 10,000 positions further on.
    expected = [4 * (r + 1) + 4 * (r + 10_001) for r in range(10_000)]
    assert input_gradients(plan, [gradient])[0].reshape(-1).tolist() == expected


@st.composite
def cases(draw: Any) -> Any:
    axes = draw(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4), st.booleans()), min_size=1, max_size=4))
    shape, steps, gone = zip(*axes, strict=True)
    return shape, steps, tuple(axis for axis, is_summed in enumerate(gone) if is_summed)


@settings(max_examples=200)
@given(
    cases(),
    st.sampled_from(["f4", "f8", "f2", "c8", "c16", "i1", "u4", ml_dtypes.bfloat16, ml_dtypes.int4]),
    st.lists(st.tuples(st.integers(0, 200), st.sampled_from([math.inf, -math.inf, math.nan])), max_size=3),
)
def test_sums_equal_the_sums_of_a_copy(case: Any, dtype: Any, planted: Any) -> None:
    shape, steps, axes = case
    values = np.random.default_rng(1).integers(-2, 2, 200).astype(dtype)
    for at, spoiler in planted if np.issubdtype(values.dtype, np.inexact) else ():
        values[at % len(values)] = spoiler
    array = overlapping(values, shape, steps)
    with limited(overlaps, {"SMALL_ELEMENTS": 0}), np.errstate(all="ignore"):
        memory = overlaps.overlapping_memory(array, axes)
        if memory is not None:
            wide = overlaps.accumulator(array.dtype)
            found = overlaps.sum_overlapping(array, memory, axes, wide)
            assert np.array_equal(
                found, np.sum(array.astype(wide), axes, wide, keepdims=True), equal_nan=wide.kind in "fc"
            )


@pytest.mark.parametrize(
    ("dtype", "large"), [("f4", 3e38), ("f8", 1.5e308), (ml_dtypes.bfloat16, 3e38), ("c16", 1.5e308)]
)
def test_the_sum_is_finite_although_a_sum_over_one_axis_overflows(dtype: Any, large: float) -> None:
    values = np.tile(np.array([large, large, -large, -large]).astype(dtype), 3000)
    array = overlapping(values, (2000, 2, 2000), (1, 2, 4))  # the axis of size 2 joins each value with its negative
    memory = overlaps.overlapping_memory(array, (0, 1, 2))
    assert memory is not None
    assert overlaps.sum_overlapping(array, memory, (0, 1, 2), array.dtype).tolist() == [[[0]]]


@pytest.mark.parametrize("shape", [(9, 9, 9), (2000, 3), (300, 20), (1, 1, 5000)])
def test_an_array_whose_positions_take_more_additions_is_left_to_other_sums(shape: Any) -> None:
    array = np.ones(shape).T
    assert overlaps.overlapping_memory(array, tuple(range(array.ndim))) is None


@pytest.mark.parametrize("dtype", ["i1", "f4", "f8", "c16"])
def test_a_gradient_that_overlaps_takes_no_more_memory_than_is_reported(dtype: str) -> None:
    gradient = overlapping(np.ones(100_000 + 2**17, dtype), (100_000, *[2] * 17), (1, *[2**axis for axis in range(17)]))
    plan = lower(numpy.broadcast_to(shape=gradient.shape), ((1,) * gradient.ndim,))
    assert overlaps.overlapping_memory(gradient, tuple(range(18))) is not None
    assert taken(lambda: input_gradients(plan, [gradient])) <= gradient_bytes(plan, [gradient])
