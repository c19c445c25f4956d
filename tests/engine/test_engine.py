"""The engine, compared with the reference: views, windows, chunks and gradients."""

import math
import tracemalloc
from collections import deque
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
import reference
from conftest import limited
from hypothesis import given, settings
from hypothesis import strategies as st

from axiscast.engine import dense, gather
from axiscast.engine import views as engine
from axiscast.ops import lower, ngraph
from axiscast.plan.plan import Placement, Plan

SIZES = st.sampled_from([0, 1, 2, 3, 4, 2, 3])

LAYOUTS = {
    "C": lambda array: array,
    "Fortran": lambda array: array.copy("F"),
    "negative strides": lambda array: np.flip(np.flip(array).copy()) if array.ndim else array,
    "every other": lambda array: np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array,
    "replicated": lambda array: np.broadcast_to(array[:1], array.shape) if array.ndim and array.size else array,
}
"""Return the values, or fewer distinct values, in one of several memory layouts."""


@st.composite
def placements(draw):
    """Draw a placement with rank 0 to 6, permuted axes, expanded axes and new axes."""
    output_shape = tuple(draw(st.lists(SIZES, max_size=6)))
    axes = draw(st.permutations(range(len(output_shape))))
    output_axes = tuple(axes[: draw(st.integers(0, len(axes)))])
    input_shape = tuple(draw(st.sampled_from([1, output_shape[axis]])) for axis in output_axes)
    return Placement(0, input_shape, output_shape, output_axes)


@st.composite
def windows(draw, shape):
    """Draw a window of a shape: (start, stop) for each axis."""
    return [tuple(sorted(draw(st.tuples(st.integers(0, size), st.integers(0, size))))) for size in shape]


def axes_of(placement):
    return placement.input_shape, placement.output_shape, placement.output_axes


def numbered(shape, layout):
    return LAYOUTS[layout](np.arange(math.prod(shape)).reshape(shape))


def flat(array):
    """Return the elements in C order as Python numbers."""
    return array.ravel().tolist()


# --- output_view ---------------------------------------------------------------------------------


@settings(max_examples=300)
@given(placements(), st.sampled_from(sorted(LAYOUTS)))
def test_the_view_has_the_elements_of_the_reference(placement, layout):
    array = numbered(placement.input_shape, layout)
    view = engine.output_view(placement, array)
    assert view.shape == placement.output_shape
    assert flat(view) == reference.broadcast(flat(array), *axes_of(placement))


@settings(max_examples=200)
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


@settings(max_examples=400)
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


@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "<U3", "S5", "M8[ns]", "complex128", "S300000"])
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


# --- chunks --------------------------------------------------------------------------------------

WIDTHS = {
    1: ["bool", "S1", ml_dtypes.float8_e4m3fn, ml_dtypes.int4],
    2: ["float16", ml_dtypes.bfloat16, "S2"],
    3: ["S3"],
    4: ["float32", "U1"],
    8: ["complex64", "M8[ns]", "m8[D]", "U2"],
    12: ["U3"],
    16: ["complex128", "U4"],
    100: ["U25"],
}
"""The dtypes by the number of bytes of an element."""
DTYPES = [np.dtype(name) for names in WIDTHS.values() for name in names]


def elements_of(count, width):
    """Return elements with distinct byte patterns if the width allows. They are not valid in every dtype."""
    return [(index * 7 + 1).to_bytes(8, "little")[:width].ljust(width, b"\xa5") for index in range(count)]


def array_of(elements, dtype, shape):
    return np.frombuffer(b"".join(elements), np.dtype(f"V{dtype.itemsize}")).view(dtype).reshape(shape)


def consumed_late(stream, lag):
    """Return the bytes of a stream if each chunk is read after `lag` further chunks are taken."""
    waiting, consumed = deque(), []
    for chunk in stream:
        waiting.append(chunk)
        if len(waiting) > lag:
            consumed.append(bytes(waiting.popleft()))
    return b"".join([*consumed, *waiting])


@settings(max_examples=300)
@given(
    placement=placements(),
    dtype=st.sampled_from(DTYPES),
    layout=st.sampled_from(sorted(LAYOUTS)),
    chunk_bytes=st.sampled_from([1, 16, 64, 100, 1000, 2**20]),
    lag=st.integers(0, 2),
)
def test_chunks_of_any_size_are_the_dense_bytes(placement, dtype, layout, chunk_bytes, lag):
    elements = elements_of(math.prod(placement.input_shape), dtype.itemsize)
    array = LAYOUTS[layout](array_of(elements, dtype, placement.input_shape))
    elements = [element.tobytes() for element in array.view(f"V{dtype.itemsize}").ravel()]
    expected = b"".join(reference.broadcast(elements, *axes_of(placement)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense, "CHUNK_BYTES", chunk_bytes)
        assert consumed_late(dense.chunks(engine.output_view(placement, array)), lag) == expected


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_chunks_cross_rows_and_stay_valid_for_two_further_chunks(dtype, monkeypatch):
    monkeypatch.setattr(dense, "CHUNK_BYTES", 64)
    elements = elements_of(50 * 7 * 3, dtype.itemsize)
    view = array_of(elements, dtype, (50, 7, 3))
    assert len(list(dense.chunks(view))) > 10
    assert consumed_late(dense.chunks(view), dense.CHUNK_BUFFERS - 1) == b"".join(elements)
    backwards = np.flip(view)
    assert consumed_late(dense.chunks(backwards), dense.CHUNK_BUFFERS - 1) == b"".join(reversed(elements))


@pytest.mark.parametrize(
    ("view", "sizes"),
    [
        pytest.param(np.zeros((5, 5), np.float32), [52, 48], id="all distinct: evenly, not along rows"),
        pytest.param(np.broadcast_to(np.zeros(5, np.float32), (7, 5)), [60, 40, 40], id="replicated: whole rows"),
        pytest.param(np.broadcast_to(np.float32(0), (40,)), [56, 52, 52], id="one element"),
        pytest.param(np.broadcast_to(np.zeros(17, np.float32), (2, 17)), [36, 32] * 2, id="rows longer than a chunk"),
        pytest.param(np.zeros(2, "U25"), [56, 48, 48, 48], id="elements longer than a chunk"),
        pytest.param(np.zeros((), np.float32), [4], id="scalar"),
        pytest.param(np.zeros((3, 0), np.float32), [], id="empty"),
    ],
)
def test_chunks_have_similar_sizes_below_the_limit(view, sizes, monkeypatch):
    monkeypatch.setattr(dense, "CHUNK_BYTES", 64)
    assert [len(chunk) for chunk in dense.chunks(view)] == sizes


@pytest.mark.parametrize(
    ("view", "buffers"),
    [
        pytest.param(np.broadcast_to(np.arange(5), (1000, 5)), 1, id="repeating rows"),
        pytest.param(np.broadcast_to(np.arange(2000)[:, None], (2000, 5)), dense.CHUNK_BUFFERS, id="distinct rows"),
    ],
)
def test_repeated_content_is_written_once(view, buffers, monkeypatch):
    monkeypatch.setattr(dense, "CHUNK_BYTES", 64)
    assert len({np.frombuffer(chunk, np.uint8).ctypes.data for chunk in dense.chunks(view)}) == buffers


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(np.broadcast_to(np.zeros((2**22, 1), np.uint8), (2**22, 16)), id="64 MiB, distinct"),
        pytest.param(np.broadcast_to(np.zeros(16, np.uint8), (2**22, 16)), id="64 MiB, repeating"),
    ],
)
def test_a_large_output_streams_through_a_few_chunks(view):
    tracemalloc.start()
    try:
        assert sum(map(len, dense.chunks(view))) == 2**26
        assert tracemalloc.get_traced_memory()[1] < (dense.CHUNK_BUFFERS + 1) * dense.CHUNK_BYTES
    finally:
        tracemalloc.stop()


# --- input_gradients -----------------------------------------------------------------------------


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


@settings(max_examples=300)
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


@pytest.mark.parametrize("layout", ["dense", "strided"])
@pytest.mark.parametrize(
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


@pytest.mark.parametrize("summed_axis", [0, 1])
@pytest.mark.parametrize(
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


@pytest.mark.parametrize("summed_axis", [0, 1])
def test_a_long_sum_of_float64_is_accurate(summed_axis):
    values = np.random.default_rng(1).uniform(0, 1, (2, 10**6))
    gradient = values if summed_axis == 1 else np.ascontiguousarray(values.T)
    exact = [math.fsum(row.tolist()) for row in values]
    assert flat(summed((2,), gradient.shape, (1 - summed_axis,), gradient)) == pytest.approx(exact, rel=1e-11)


MANY = 10**15


@pytest.mark.parametrize(
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
