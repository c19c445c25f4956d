"""Streams of chunks, compared with the dense bytes."""

import math
import tracemalloc
from collections import deque

import ml_dtypes
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from placements import LAYOUTS, axes_of, placements

from axiscast.engine import dense
from axiscast.engine import views as engine

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


@settings(max_examples=150)
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
