"""Gradients of inputs, compared with the reference."""

import math

import ml_dtypes
import numpy as np
import pytest
import reference
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from placements import LAYOUTS, axes_of, flat, placements

from axiscast.engine import views as engine
from axiscast.ops import lower, ngraph
from axiscast.plan.plan import Placement, Plan


def backprop_one(placement, gradient):
    """Return the gradient of the only input of a plan with one output."""
    (result,) = engine.input_gradients(Plan((placement.input_shape,), (placement,)), [gradient])
    assert result.shape == placement.input_shape
    assert result.dtype == gradient.dtype
    return result


def summed(input_shape, output_shape, output_axes, gradient):
    return backprop_one(Placement(0, input_shape, output_shape, output_axes), gradient)


def with_replicated_axes(array, axes):
    """Return the array with its first values along some axes repeated by stride 0."""
    box = array[tuple(slice(1) if axis in axes else slice(None) for axis in range(array.ndim))]
    return np.broadcast_to(box, array.shape)


@settings(max_examples=150)
@given(
    placement=placements(),
    dtype=st.sampled_from(["int64", "float64", "complex128"]),
    layout=st.sampled_from(sorted(LAYOUTS)),
    replicated=st.sets(st.integers(0, 5)),
)
def test_the_gradient_is_the_sum_over_every_element_that_reads_an_input(placement, dtype, layout, replicated):
    values = (np.arange(math.prod(placement.output_shape)) * 7919 % 101 - 50).astype(dtype)
    gradient = with_replicated_axes(LAYOUTS[layout](values.reshape(placement.output_shape)), replicated)
    assert flat(backprop_one(placement, gradient)) == reference.gradient(flat(gradient), *axes_of(placement))


@settings(max_examples=100)
@given(placement=placements(), replicated=st.sets(st.integers(0, 5)))
def test_int8_sums_wrap_around(placement, replicated):
    values = (np.arange(math.prod(placement.output_shape)) * 7919).astype(np.int8).reshape(placement.output_shape)
    gradient = with_replicated_axes(values, replicated)
    exact = reference.gradient(flat(gradient), *axes_of(placement))
    assert flat(backprop_one(placement, gradient)) == [(total + 128) % 256 - 128 for total in exact]


@cases("layout", ["dense", "strided"])
@cases(
    ("dtype", "value", "count", "total"),
    [
        ("int8", 1, 200, -56),
        ("uint8", 3, 100, 44),
        ("int64", 2**62, 2, -(2**63)),
        ("uint64", 2**63, 3, 2**63),
        (ml_dtypes.int4, 3, 3, -7),
        (ml_dtypes.uint4, 9, 2, 2),
        (ml_dtypes.int2, 1, 3, -1),
        (ml_dtypes.uint2, 3, 3, 1),
        ("float16", 1, 100_000, math.inf),
        (ml_dtypes.bfloat16, -(2.0**127), 2, -math.inf),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_sums_past_the_range_wrap_in_integers_and_reach_infinity_in_floats(dtype, value, count, total, layout):
    one = np.array([value], dtype)
    gradient = np.broadcast_to(one, count) if layout == "strided" else np.repeat(one, count)
    result = summed((), (count,), (), gradient)
    assert result.astype(object if result.dtype.kind in "iu" else float) == total
    assert result.tobytes() == np.array(total, result.dtype).tobytes()


@cases("summed_axis", [0, 1])
@cases(
    ("dtype", "count", "total"),
    [
        ("float32", 10**6, 5e5),
        ("float16", 10**6, 1e4),
        (ml_dtypes.bfloat16, 10**6, 1e5),
        (ml_dtypes.float8_e4m3fn, 10**5, 200),
        (ml_dtypes.float8_e5m2, 10**5, 1e4),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_long_sum_of_narrow_floats_is_correctly_rounded(dtype, count, total, summed_axis):
    random = np.random.default_rng(1)
    values = random.uniform(0, 2 * total / count, (2, count)).astype(dtype)
    gradient = values if summed_axis == 1 else np.ascontiguousarray(values.T)
    exact = [math.fsum(row.astype(float).tolist()) for row in values]
    output_axes = (1 - summed_axis,)
    assert flat(summed((2,), gradient.shape, output_axes, gradient).astype(float)) == flat(
        np.array(exact).astype(dtype).astype(float)
    )


@cases("summed_axis", [0, 1])
def test_a_long_sum_of_float64_is_accurate(summed_axis):
    values = np.random.default_rng(1).uniform(0, 1, (2, 10**6))
    gradient = values if summed_axis == 1 else np.ascontiguousarray(values.T)
    exact = [math.fsum(row.tolist()) for row in values]
    assert flat(summed((2,), gradient.shape, (1 - summed_axis,), gradient)) == pytest.approx(exact, rel=1e-11)


MANY = 10**15


@cases(
    ("dtype", "value", "total"),
    [
        ("float64", 3, 3e15),
        ("float32", 0.5, np.float32(5e14)),
        ("int64", -3, -3 * MANY),
        ("int8", 3, 0),  # 3 * 10^15 is a multiple of 256
        ("int16", 7, (7 * MANY + 2**15) % 2**16 - 2**15),
        ("uint64", 2**63 + 1, MANY),
        ("complex64", 1 + 2j, np.complex64(complex(MANY, 2 * MANY))),
        ("float64", math.inf, math.inf),
        ("complex128", complex(math.inf, 1), complex(math.inf, MANY)),
        ("complex128", complex(1, -math.inf), complex(MANY, -math.inf)),
    ],
)
def test_an_axis_with_stride_0_is_multiplied_instead_of_summed(dtype, value, total):
    gradient = np.broadcast_to(np.array(value, dtype), (2, MANY // 2))
    assert summed((), gradient.shape, (), gradient) == total


def test_a_gradient_keeps_stride_0_along_a_kept_axis():
    gradient = np.broadcast_to(np.arange(3.0)[:, None, None], (3, 10**9, 10**6))
    result = summed((10**6, 3), gradient.shape, (2, 0), gradient)
    assert result.strides[0] == 0
    assert result[10**6 - 1].tolist() == [0, 1e9, 2e9]


def test_a_gradient_replicated_along_every_kept_axis_is_one_element():
    result = summed((10**15,), (10**15, 4), (0,), np.broadcast_to(np.int32(3), (10**15, 4)))
    assert result.strides == (0,)
    assert result[-1] == 12


def test_each_input_gets_its_own_outputs_gradient():
    plan = Plan(((3,), (2, 1)), (Placement(0, (3,), (2, 3), (1,)), Placement(1, (2, 1), (2, 3), (0, 1))))
    first, second = engine.input_gradients(plan, [np.arange(6).reshape(2, 3), np.arange(6.0).reshape(2, 3)])
    assert first.tolist() == [3, 5, 7]
    assert first.dtype == np.int64
    assert second.tolist() == [[3.0], [12.0]]
    assert second.dtype == np.float64


def test_outputs_are_matched_to_inputs_by_number_not_by_order():
    plan = Plan(((3,), (2, 1)), (Placement(1, (2, 1), (2, 3), (0, 1)), Placement(0, (3,), (2, 3), (1,))))
    first, second = engine.input_gradients(plan, [np.arange(6).reshape(2, 3), np.ones((2, 3), int)])
    assert first.tolist() == [2, 2, 2]
    assert second.tolist() == [[3], [12]]


def test_an_input_used_only_for_its_shape_gets_zeros_with_stride_0():
    shapes = ((2,), (2, 10**12))
    plan = lower(ngraph.BroadcastLike(initial_broadcast_axes=(1,)), shapes)
    arg, like = engine.input_gradients(plan, [np.broadcast_to(np.float32([[1], [2]]), shapes[1])])
    assert arg.tolist() == [np.float32(1e12), np.float32(2e12)]
    assert (like.shape, like.dtype, like.strides) == (shapes[1], np.float32, (0, 0))
    assert like[1, 10**12 - 1] == 0


def test_the_gradients_are_not_changed():
    gradient = np.arange(6.0).reshape(2, 3)
    gradient.flags.writeable = False
    result = summed((2, 3), (2, 3), (0, 1), gradient)
    assert result.tolist() == gradient.tolist()


@pytest.mark.parametrize(
    ("gradients", "work"),
    [
        pytest.param([], 0, id="none"),
        pytest.param([np.zeros((3, 4))], 12, id="dense"),
        pytest.param([np.zeros((3, 4)).T[::-1]], 12, id="transposed and reversed"),
        pytest.param([np.zeros(())], 1, id="scalar"),
        pytest.param([np.ndarray((2, 0, 3), float, b"")], 0, id="empty"),
        pytest.param([np.broadcast_to(np.zeros(4), (10**15, 4))], 4, id="replicated axes count once"),
        pytest.param([np.broadcast_to(0.0, (10**9, 10**9))], 1, id="one element, replicated"),
        pytest.param([np.zeros((3, 4)), np.zeros(5)], 17, id="gradients add up"),
    ],
)
def test_gradient_elements_counts_the_elements_that_are_read(gradients, work):
    assert engine.gradient_elements(gradients) == work


def test_gradient_elements_counts_elements_that_overlap_in_memory():
    overlapping = np.lib.stride_tricks.as_strided(np.zeros(1999), (1000, 1000), (8, 8))
    assert engine.gradient_elements([overlapping]) == 10**6
