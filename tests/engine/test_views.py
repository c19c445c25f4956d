"""Views of outputs and their windows, compared with the reference."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
import reference
from cases import cases
from conftest import limited
from hypothesis import given, settings
from hypothesis import strategies as st
from placements import LAYOUTS, axes_of, flat, numbered, placements, windows

from axiscast.engine import gather
from axiscast.engine import views as engine
from axiscast.plan.plan import Placement


@settings(max_examples=150)
@given(placements(), st.sampled_from(sorted(LAYOUTS)))
def test_the_view_has_the_elements_of_the_reference(placement, layout):
    array = numbered(placement.input_shape, layout)
    view = engine.output_view(placement, array)
    assert view.shape == placement.output_shape
    assert flat(view) == reference.broadcast(flat(array), *axes_of(placement))


@settings(max_examples=100)
@given(st.data(), placements(), st.sampled_from(sorted(LAYOUTS)))
def test_a_window_is_the_slice_of_the_full_output(data, placement, layout):
    array = numbered(placement.input_shape, layout)
    window = data.draw(windows(placement.output_shape))
    view = engine.output_view(placement, array, window)
    full = reference.broadcast(flat(array), *axes_of(placement))
    assert view.shape == tuple(stop - start for start, stop in window)
    assert flat(view) == reference.box(full, placement.output_shape, window)


@settings(max_examples=100)
@given(st.data(), placements(), st.booleans())
def test_a_view_shares_the_inputs_memory_and_is_read_only(data, placement, windowed):
    array = numbered(placement.input_shape, "C")
    view = engine.output_view(placement, array, data.draw(windows(placement.output_shape)) if windowed else None)
    assert not view.flags.writeable
    if view.size:
        assert np.shares_memory(view, array)
        array += 1000
        assert view.min() >= 1000


@pytest.mark.parametrize(
    ("input_shape", "output_shape", "output_axes", "strides"),
    [
        pytest.param((2, 3), (2, 3), (0, 1), (24, 8), id="identity"),
        pytest.param((2, 3), (3, 2), (1, 0), (8, 24), id="swapped axes"),
        pytest.param((3,), (2, 3), (1,), (0, 8), id="new axis"),
        pytest.param((1, 3), (2, 3), (0, 1), (0, 8), id="stretched axis"),
    ],
)
def test_replicated_axes_have_stride_zero(input_shape, output_shape, output_axes, strides):
    placement = Placement(0, input_shape, output_shape, output_axes)
    assert engine.output_view(placement, numbered(input_shape, "C")).strides == strides


@st.composite
def merges(draw):
    """Draw a placement that merges output axes, and a window of its output."""
    placement = draw(placements())
    counts, left = [], len(placement.output_shape)
    while left:
        counts.append(draw(st.integers(1, left)))
        left -= counts[-1]
    merged = replace(placement, merges=tuple(counts))
    return merged, draw(windows(merged.shape))


def is_strided(box):
    """Return whether strides can describe an array, given the positions of its elements in memory."""
    return not box.size or all(len(np.unique(np.diff(box, axis=axis))) < 2 for axis in range(box.ndim))


@settings(max_examples=150)
@given(case=merges(), lookups=st.integers(1, 20))
def test_a_window_of_merged_axes_is_strided_exactly_if_strides_can_describe_it(case, lookups):
    placement, window = case
    array = numbered(placement.input_shape, "C")
    elements = reference.broadcast(flat(array), placement.input_shape, placement.output_shape, placement.output_axes)
    expected = reference.box(elements, placement.shape, window)
    shape = tuple(stop - start for start, stop in window)
    view = engine.merged_output_view(placement, array, window)
    assert (view is not None) == is_strided(np.array(expected, int).reshape(shape))
    if view is not None:
        assert (view.shape, flat(view)) == (shape, expected)
        assert not view.flags.writeable
    else:
        with limited(gather, {"GATHER_PIECE_LOOKUPS": lookups}):
            gathered = gather.Gathered(placement, array, window)
            assert [element for piece in gathered.pieces() for element in piece.tolist()] == expected
        assert (gathered.whole().tolist(), gathered.nbytes) == (
            np.array(expected).reshape(shape).tolist(),
            len(expected) * array.itemsize,
        )


@cases("dtype", ["int8", "bfloat16", "<U3", "S5", "M8[ns]", "complex128", "S300000"])
def test_elements_are_gathered_in_every_dtype_and_at_any_address(dtype):
    kind = np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)
    raw = np.random.default_rng(0).integers(0, 127, 6 * kind.itemsize + 1, np.uint8)
    odd = np.frombuffer(raw.tobytes(), kind, 6, 1).reshape(2, 3)
    box = gather.Gathered(Placement(0, (2, 3), (2, 2, 3), (0, 2), (2, 1)), odd, [(1, 4), (0, 2)])
    expected = odd.tobytes()[: 2 * kind.itemsize] + odd.tobytes()[3 * kind.itemsize : 5 * kind.itemsize] * 2
    assert b"".join(piece.tobytes() for piece in box.pieces()) == expected
    assert (box.whole().dtype, box.whole().tobytes()) == (kind, expected)


def test_a_window_of_merged_axes_may_be_in_an_output_too_large_for_an_array():
    far = Placement(0, (3,), (3, 2**30, 2**31), (0,), (3,))
    start = 2**62 - 1  # the last position of the middle element
    assert gather.Gathered(far, np.array([5, 6, 7]), [(start - 1, start + 3)]).whole().tolist() == [6, 6, 7, 7]
    within = engine.merged_output_view(far, np.array([5, 6, 7]), [(start - 2**50, start + 1)])
    assert (within.shape, within.strides, within[0]) == ((2**50 + 1,), (0,), 6)
    farther = Placement(0, (2, 2), (2, 2**40, 2**40, 2), (3, 0), (4,))
    assert gather.Gathered(farther, np.array([[1, 2], [3, 4]]), [(1, 4)]).whole().tolist() == [3, 1, 3]


def test_a_window_may_be_in_an_output_too_large_for_an_array():
    far = 2**62
    placement = Placement(0, (1, 3), (far, far, 3), (1, 2))
    view = engine.output_view(placement, np.array([[5, 6, 7]]), [(far - 2, far), (far - 1, far), (1, 3)])
    assert view.tolist() == [[[6, 7]], [[6, 7]]]


def test_a_view_of_a_quadrillion_elements_copies_nothing():
    view = engine.output_view(Placement(0, (3,), (10**15, 3), (1,)), np.array([5, 6, 7], np.int8))
    assert view.shape == (10**15, 3)
    assert view[10**15 - 1].tolist() == [5, 6, 7]
