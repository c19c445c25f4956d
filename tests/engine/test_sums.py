"""Sums, compared with exact sums, and with 64-bit sums of many values."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases import cases
from conftest import limited
from costs import taken
from hypothesis import given, settings
from hypothesis import strategies as st

from axiscast.engine import sums

SMALL = {"SMALL_ELEMENTS": 1, "BLOCK_ELEMENTS": 600, "COPIED_ELEMENTS": 300, "KEPT_SUMS": 50, "RUN_ELEMENTS": 20}
DTYPES = ["f4", "f8", "f2", "c8", "c16", "i1", "u4", "i8", ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.int4]
SHAPES = st.lists(st.sampled_from([1, 2, 3, 4, 5, 16, 17, 33, 130, 300]), min_size=1, max_size=5)


@st.composite
def drawn_sums(draw: Any) -> Any:
    shape = tuple(draw(SHAPES.filter(lambda shape: math.prod(shape) < 20_000)))
    axes = tuple(sorted(draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
    return shape, axes, draw(st.permutations(range(len(shape)))), draw(st.booleans())


def laid_out(values: Any, order: Any, reverse: bool) -> Any:
    """Return the same values in another memory order."""
    array = np.ascontiguousarray(values.transpose(order)).transpose(np.argsort(order))
    return np.flip(np.flip(array).copy()) if reverse else array


@settings(max_examples=150)
@given(drawn_sums(), st.sampled_from(DTYPES))
def test_sums_of_small_whole_numbers_are_exact(case: Any, dtype: Any) -> None:
    shape, axes, order, reverse = case
    values = np.random.default_rng(1).integers(-2, 2, shape)
    array = laid_out(values.astype(dtype), order, reverse)
    array.flags.writeable = False
    exact = np.sum(values, axes, keepdims=True)
    wide = sums.accumulator(array.dtype)
    with limited(sums, SMALL):
        assert np.array_equal(sums.sum_axes(array, axes, wide), exact.astype(wide))
        assert np.array_equal(sums.sum_axes(array, axes, array.dtype), exact.astype(wide).astype(dtype))


SPOILERS = [np.inf, -np.inf, np.nan, np.finfo("f8").max, np.finfo("f8").min, np.finfo("f4").max, np.finfo("f4").min]


@settings(max_examples=100)
@given(
    drawn_sums(),
    st.sampled_from(["f4", "f8", "f2", "c8", "c16", ml_dtypes.bfloat16, ml_dtypes.float8_e5m2]),
    st.lists(st.tuples(st.integers(0, 2**20), st.sampled_from(SPOILERS)), max_size=6),
    st.booleans(),
)
def test_a_value_that_is_not_finite_affects_only_its_own_sum(case: Any, dtype: Any, planted: Any, small: bool) -> None:
    shape, axes, order, reverse = case
    values = np.random.default_rng(1).standard_normal(shape)
    for at, value in planted:
        values.reshape(-1)[at % values.size] = value
    with limited(sums, SMALL if small else {}), np.errstate(all="ignore"):
        array = laid_out(values.astype(dtype), order, reverse)
        if array.dtype.kind != "c":
            assert_each_is_exact(sums.sum_axes(array, axes, np.dtype(np.float64)), array, axes)
            return
        array.imag = array.real[::-1]
        ours = sums.sum_axes(array, axes, np.dtype(np.complex128))
        assert_each_is_exact(ours.real, array.real, axes)
        assert_each_is_exact(ours.imag, array.imag, axes)


def assert_each_is_exact(ours: Any, array: Any, axes: tuple[int, ...]) -> None:
    """Assert that the error of each sum is below the precision of its dtype times the sum of its magnitudes."""
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    terms = array.astype(np.float64).transpose([*kept, *axes]).reshape(ours.size, -1)
    for column, found in zip(terms, ours.reshape(-1).tolist(), strict=True):
        if not np.isfinite(column).all():
            assert np.array_equal(found, column[~np.isfinite(column)].sum(), equal_nan=True)
            continue
        exact, magnitude = sum(map(Fraction, column.tolist())), sum(map(Fraction, np.abs(column).tolist()))
        if abs(exact) >= LARGEST:
            assert found == (math.inf if exact > 0 else -math.inf)
        else:
            assert abs(Fraction(found) - exact) <= magnitude / (2**49 if array.itemsize == 8 else 10**6)


LARGEST = 2**1024 - 2**970
"""The largest finite value: larger ones are rounded to infinity."""


@cases("spoiler", [math.nan, math.inf])
@cases("dtype", ["f8", "c16"])
def test_other_columns_stay_exact_beside_values_that_are_not_finite(dtype: str, spoiler: float) -> None:
    array = np.full((2**17, 40), 0.1, dtype)
    array[5, 7] = spoiler
    ours = sums.sum_axes(array, (0,), array.dtype)[0]
    exact = float(2**17 * Fraction(0.1))
    assert np.array_equal(ours[7].real, spoiler, equal_nan=True)
    assert np.max(np.abs(np.delete(ours, 7) - exact)) <= 8 * math.ulp(exact)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from([2, 3, 16, 40, 300, 10**6]), st.booleans()), min_size=1, max_size=16))
def test_a_step_is_not_larger_than_the_limit(axes: Any) -> None:
    shape, summed = zip(*axes, strict=True)
    gone = tuple(axis for axis, again in enumerate(summed) if again)
    assert math.prod(sums._steps(shape, gone, sums.COPIED_ELEMENTS)) <= sums.COPIED_ELEMENTS


@cases("times", [1, 10_000])
@cases(("dtype", "large"), [("f4", 3e38), ("f8", 1.5e308), (ml_dtypes.bfloat16, 3e38), ("c16", 1.5e308)])
def test_the_sum_is_finite_although_one_of_its_groups_overflows(dtype: Any, large: float, times: int) -> None:
    values = np.tile(np.array([large, large, -large, -large]).astype(dtype), times)
    with np.errstate(over="ignore", invalid="ignore"):
        assert sums.sum_axes(values, (0,), values.dtype).tolist() == [0]


MANY = 10**7
PATTERNS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "one sum": ((MANY,), (0,)),
    "rows": ((MANY // 1000, 1000), (0,)),
    "short rows": ((MANY // 3, 3), (0,)),
    "short columns": ((MANY // 3, 3), (1,)),
    "columns": ((1000, MANY // 1000), (1,)),
    "the middle": ((MANY // 3000, 1000, 3), (1,)),
    "channels": ((50, 64, MANY // 3200), (0, 2)),
    "alternating": ((50, 40, 10, 20, 25), (1, 3)),
}


@pytest.fixture(
    scope="module",
    params=[("f4", False), ("f4", True), ("f2", False), (ml_dtypes.bfloat16, False)],
    ids=["float32", "signed float32", "float16", "bfloat16"],
)
def many(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ten million random values, the same values as doubles, and their magnitudes."""
    dtype, signed = request.param
    array = (np.random.default_rng(1).random(MANY, np.float32) - np.float32(0.5 if signed else 0)).astype(dtype)
    doubles = array.astype(np.float64)
    return array, doubles, np.abs(doubles)


@pytest.mark.parametrize(("shape", "axes"), PATTERNS.values(), ids=PATTERNS)
def test_ten_million_values_are_off_by_less_than_a_millionth_of_their_magnitudes(
    many: tuple[np.ndarray, np.ndarray, np.ndarray], shape: Any, axes: Any
) -> None:
    array, doubles, magnitudes = (values[: math.prod(shape)].reshape(shape) for values in many)
    own = np.dtype(np.float32 if array.dtype == np.float32 else np.float64)
    ours = sums.sum_axes(array, axes, own)
    exact = doubles.sum(axes, keepdims=True)
    assert np.max(np.abs(ours - exact) / magnitudes.sum(axes, keepdims=True)) < 1e-6


def test_a_long_sum_is_close_to_the_exact_fraction() -> None:
    values = np.random.default_rng(1).random(200_000, np.float32)
    exact = sum(map(Fraction, values.tolist()))
    assert abs(Fraction(float(sums.sum_axes(values, (0,), values.dtype)[0])) / exact - 1) < Fraction(1, 10**6)


@cases(
    ("dtype", "transposed"),
    [*((dtype, False) for dtype in ("f4", "f2", "f8", "c16", "i8", ml_dtypes.bfloat16)), ("f4", True), ("c16", True)],
)
@cases(("shape", "axes"), PATTERNS.values(), ids=PATTERNS)
def test_sums_take_no_more_memory_than_they_report(shape: Any, axes: Any, dtype: Any, transposed: bool) -> None:
    array = np.zeros([max(size // 5, 1) for size in shape], dtype)
    if transposed:
        array, axes = np.ascontiguousarray(array.T).T, axes
    results = array.size // math.prod(array.shape[axis] for axis in axes) * array.itemsize
    sums.sum_axes(array, axes, array.dtype)
    assert taken(lambda: sums.sum_axes(array, axes, array.dtype)) <= results + sums.working_bytes(array.size) + 2**16


@cases("dtype", [np.complex64, np.complex128])
def test_complex_sums_work_with_the_largest_rank_of_numpy(dtype: Any) -> None:
    summed = sums.sum_axes(np.full([2] * 13 + [1] * 51, 1 + 2j, dtype), (0, 1), np.dtype(np.complex128))
    assert summed.shape == (1, 1, *[2] * 11, *[1] * 51)
    assert (summed == 4 + 8j).all()
