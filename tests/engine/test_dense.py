"""Dense bytes, compared with NumPy's own copy: every method and every width, with very small blocks."""

from __future__ import annotations

import math
import tracemalloc
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases import cases
from conftest import limited
from hypothesis import given, settings
from hypothesis import strategies as st

from axiscast.engine import dense, transposes
from axiscast.engine.memory_layout import in_units, layout_of

SMALL = {"SMALL_BYTES": 256, "ROW_BYTES": 64, "ROW_BLOCK_BYTES": 256, "BLOCK_BYTES": 512, "CHUNK_BYTES": 1000}
SMALL_TILES = {"TILE_BYTES": 2**11, "TILE_NEAR": 8, "MIN_TILE_COLUMNS": 2, "MAX_PAGES": 0}
DTYPES = ["u1", "f2", "S3", "f4", "f8", "S10", "U3", "c16", "U25", ml_dtypes.bfloat16, ml_dtypes.int4]


@st.composite
def views(draw: Any) -> Any:
    """Yield arrays as placements return them: permuted, repeated, reversed, with gaps, overlapping or unaligned."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(
        st.lists(st.sampled_from([1, 2, 3, 4, 5, 7, 12, 17, 40, 100]), max_size=5).filter(lambda s: math.prod(s) < 9000)
    )
    kinds = draw(st.lists(st.sampled_from(["own", "own", "replicated", "reversed", "gaps"]), min_size=5, max_size=5))
    own = [
        1 if kind == "replicated" else 2 * size if kind == "gaps" else size
        for kind, size in zip(kinds, shape, strict=False)
    ]
    order = draw(st.permutations(range(len(shape))))
    offset = draw(st.sampled_from([0, 0, 1, 4, 8]))
    raw = np.random.default_rng(1).integers(0, 256, math.prod(own) * dtype.itemsize + offset, np.uint8)[offset:]
    array = (
        raw.view(dtype)
        .reshape([own[axis] for axis in order])
        .transpose([order.index(axis) for axis in range(len(own))])
    )
    steps = {"reversed": slice(None, None, -1), "gaps": slice(None, None, 2)}
    return np.broadcast_to(
        array[tuple(steps.get(kind, slice(None)) for kind, _ in zip(kinds, shape, strict=False))], shape
    )


def copied(view: Any) -> bytes:
    return np.ascontiguousarray(view.view(f"V{view.itemsize}")).tobytes()


@settings(max_examples=150)
@given(views(), st.sampled_from([0, 1, 4, 16]))
def test_write_dense_copies_the_bytes_of_the_view(view: Any, offset: int) -> None:
    memory = np.full(view.nbytes + offset + 9, 0xEE, np.uint8)
    out = memory[offset : offset + view.nbytes].view(view.dtype).reshape(view.shape)
    with limited(dense, SMALL), limited(transposes, SMALL_TILES):
        dense.write_dense(view, out)
    assert out.tobytes() == copied(view)
    assert set(memory[:offset].tolist() + memory[offset + view.nbytes :].tolist()) == {0xEE}


@settings(max_examples=100)
@given(views())
def test_chunks_are_the_bytes_of_the_view(view: Any) -> None:
    with limited(dense, SMALL), limited(transposes, SMALL_TILES):
        chunks = [bytes(chunk) for chunk in dense.chunks(view)]
    assert b"".join(chunks) == copied(view)
    assert max(map(len, chunks)) <= SMALL["CHUNK_BYTES"]


@cases(
    ("own", "order", "shape"),
    [
        ((1, 3, 1, 300, 1), (0, 1, 2, 3, 4), (2, 3, 2, 300, 20)),
        ((2, 70, 1), (2, 1, 0), (200, 70, 2)),
        ((2, 1, 70), (1, 2, 0), (200, 70, 2)),
        ((2, 1, 1, 70, 70), (1, 3, 2, 4, 0), (5, 70, 6, 70, 2)),
    ],
)
def test_several_blocks_repeat_their_seed(own: Any, order: Any, shape: Any) -> None:
    for dtype in ("u4", "u8", "c16"):
        memory = np.arange(math.prod(own)).astype(dtype)
        odd = np.frombuffer(b"\0" + memory.tobytes(), dtype, offset=1)
        view = np.broadcast_to(odd.reshape(own).transpose(order), shape)
        with limited(dense, SMALL), limited(transposes, SMALL_TILES):
            out = np.full(shape, 7, dtype)
            dense.write_dense(view, out)
            assert out.tobytes() == copied(view)
            assert b"".join(bytes(chunk) for chunk in dense.chunks(view)) == copied(view)


N = 2**18
TURNED = np.arange(N).reshape(2**9, 2**9).T
LINES = np.arange(2**21, dtype="f4")
ODD = np.frombuffer(b"\0" + np.arange(N).tobytes(), np.int64, offset=1)
FLOATS = np.arange(N, dtype="f4")
ODD_FLOATS = np.frombuffer(b"\0" + FLOATS.tobytes(), "f4", offset=1)
LARGE: dict[str, tuple[Any, Any]] = {
    "rows": (np.broadcast_to(np.arange(1024), (N // 64, 1024)), "copyto"),
    "rows at an odd address": (np.broadcast_to(ODD[:1024], (N // 64, 1024)), "copyto"),
    "short rows": (np.broadcast_to(np.arange(3), (N, 3)), "_repeat"),
    "rows of one wide unit": (np.broadcast_to(np.arange(4, dtype="f4"), (N, 4)), "copyto"),
    "one element": (np.broadcast_to(np.arange(1), N), "copyto"),
    "columns": (np.broadcast_to(FLOATS[:, None], (N, 3)), "_columns"),
    "columns of wide units": (np.broadcast_to(np.arange(N)[:, None], (N, 3)), "copyto"),
    "long columns": (np.broadcast_to(np.arange(N // 100)[:, None], (N // 100, 100)), "copyto"),
    "rows in the middle": (np.broadcast_to(np.arange(3 * N).reshape(N, 1, 3), (N, 40, 3)), "_repeat"),
    "rows of one element at an odd address": (np.broadcast_to(ODD[: N // 64, None], (N // 64, 1024)), "copyto"),
    "rows of one narrow element at an odd address": (
        np.broadcast_to(ODD_FLOATS[: N // 64, None], (N // 64, 1024)), "_by_blocks",
    ),
    "rows in the middle at an odd address": (
        np.broadcast_to(ODD[: N // 64 * 3].reshape(-1, 1, 3), (N // 64, 40, 3)), "_repeat",
    ),
    "columns at an odd address": (np.broadcast_to(ODD_FLOATS[:, None], (N, 3)), "_columns"),
    "a transposition whose lines share few sets of the cache": (LINES[: 2**20].reshape(1024, 1024).T, "transpose"),
    "a transposition of one-byte units": (np.zeros((512, 512), "u1").T, "transpose"),
    "a transposition of many pages": (LINES[:2_090_000].reshape(2090, 1000).T[:, ::-1], "transpose"),
    "a transposition of more lines than the cache has": (LINES.reshape(-1, 32).T, "transpose"),
    "a transposition of fewer pages": (LINES[:1_000_000].reshape(1000, 1000).T, "copyto"),
    "a transposition of few lines": (LINES[: 64 * 30_000].reshape(64, 30_000).T, "copyto"),
    "a transposition of a medium pitch": (LINES[:350_000].reshape(500, 700).T, "copyto"),
    "a reversal of three axes": (LINES.reshape(128, 128, 128).transpose(2, 1, 0), "transpose"),
    "a transposition, again and again": (np.broadcast_to(TURNED, (9, 2**9, 2**9)), "_repeat"),
    "short columns of a transposition": (
        np.broadcast_to(TURNED.astype("f4", order="A")[..., None], (2**9, 2**9, 3)), "_columns",
    ),
}  # fmt: skip


@cases(("view", "way"), LARGE.values(), ids=LARGE)
def test_every_method_is_used_and_right_at_its_real_size(view: Any, way: str) -> None:
    write = dense._writer(layout_of(in_units(view)))
    assert (write.func if isinstance(write, partial) else write).__name__ == way
    out = np.zeros(view.shape, view.dtype)
    dense.write_dense(view, out)
    assert np.array_equal(out, view)


def test_rank_64_and_overlapping_strides() -> None:
    view = np.lib.stride_tricks.as_strided(np.arange(50.0), [2, 1] * 16 + [1] * 32, [8, 0] * 16 + [8] * 32)
    out = np.zeros(view.shape)
    dense.write_dense(view, out)
    assert np.array_equal(out, view)
    assert b"".join(dense.chunks(view)) == out.tobytes()


@pytest.mark.parametrize("name", ["rows", "one element", "long columns"])
def test_a_view_that_numpy_copies_fastest_is_not_cut_into_units(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "in_units", None)
    view, _ = LARGE[name]
    out = np.zeros(view.shape, view.dtype)
    dense.write_dense(view, out)
    assert np.array_equal(out, view)


@cases("dtype", ["f8", "U3", "S70000", "M8[ns]", ml_dtypes.bfloat16])
@cases("shape", [(0,), (3, 0), (0, 3), (2, 0, 3)])
def test_an_array_without_elements_is_written(dtype: Any, shape: Any) -> None:
    for view in (
        np.empty(shape, dtype),
        np.empty(shape, dtype).T,
        np.broadcast_to(np.empty(shape, dtype), (2, *shape)),
    ):
        dense.write_dense(view, np.empty(view.shape, dtype))
        assert b"".join(dense.chunks(view)) == b""


@cases("wrong", [np.zeros((2, 40_000)), np.zeros((40_000, 2), "f4"), np.zeros((2, 40_000)).T])
def test_the_output_must_have_the_shape_the_dtype_and_c_order(wrong: Any) -> None:
    with pytest.raises(ValueError, match="out must have the shape and dtype of the view"):
        dense.write_dense(np.zeros((40_000, 2)), wrong)


@cases("view", [view for view, _ in LARGE.values()], ids=LARGE)
def test_a_stream_takes_no_more_memory_than_its_buffers_and_one_chunk(view: Any) -> None:
    for _ in dense.chunks(view):  # the first pass fills the caches
        pass
    tracemalloc.start()
    try:
        for _ in dense.chunks(view):
            pass
        assert tracemalloc.get_traced_memory()[1] <= (dense.CHUNK_BUFFERS + 1) * min(view.nbytes, dense.CHUNK_BYTES)
    finally:
        tracemalloc.stop()


CHUNK = 2**20
HELD = {
    "nothing is repeated, nor out of order": (np.zeros(2**22, np.uint8), 0),
    "rows of the view's own memory": (np.broadcast_to(np.zeros(2**20, np.uint8), (100, 2**20)), 0),
    "one short row, repeated": (np.broadcast_to(np.zeros(3, np.uint8), (2**22, 3)), CHUNK),
    "one element, repeated": (np.broadcast_to(np.uint8(1), (2**24,)), CHUNK),
    "two rows of one element": (np.broadcast_to(np.zeros((2, 1), np.uint8), (2, 2**24)), 2 * CHUNK),
    "many rows of one element": (np.broadcast_to(np.zeros((2**14, 1), np.uint8), (2**14, 2**10)), 3 * CHUNK),
    "a few hundred kilobytes": (np.broadcast_to(np.zeros((300, 1), np.uint8), (300, 1000)), 300_032),
    "up to 64 KiB": (np.broadcast_to(np.zeros((60, 1), np.uint8), (60, 1000)), 60_000),
    "nothing": (np.zeros((0, 5), np.uint8), 0),
}


@cases(("view", "most"), HELD.values(), ids=HELD)
def test_a_stream_allocates_the_buffers_that_it_reports(view: Any, most: int) -> None:
    held = dense.chunk_buffer_bytes(view)
    assert most - most // 8 <= held <= most
    stream = dense.chunks(view)
    first = next(stream, None)
    tracemalloc.start()
    again = dense.chunks(view)
    kept = [next(again, None)]
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert (first is None) == (kept == [None])
    assert held <= taken + 100 <= held + 20_000


def test_a_stream_of_a_petabyte_begins_immediately_with_few_buffers() -> None:
    stream = dense.chunks(np.broadcast_to(np.arange(5000)[:, None], (10**6, 5000, 40_000)))
    tracemalloc.start()
    try:
        assert sum(len(next(stream)) for _ in range(50)) > 20 * dense.CHUNK_BYTES
        assert tracemalloc.get_traced_memory()[1] <= (dense.CHUNK_BUFFERS + 1) * dense.CHUNK_BYTES
    finally:
        tracemalloc.stop()


@cases(
    ("view", "copied"),
    [
        (np.broadcast_to(np.arange(6).reshape(2, 3).T, (4, 3, 2)), 48),  # read four times out of order
        (np.broadcast_to(np.arange(6).reshape(2, 3), (4, 2, 3)), 0),  # read four times in memory order
        (np.arange(6).reshape(2, 3).T, 0),  # once
        (np.broadcast_to(np.arange(6).reshape(2, 3).T[..., None], (3, 2, 4)), 0),  # once, each a few times
        (np.broadcast_to(np.zeros((2, 0)).T, (4, 0, 2)), 0),
    ],
)
def test_elements_that_are_read_repeatedly_out_of_order_are_copied_once(view: Any, copied: int) -> None:
    found = dense.reordered(view)
    assert dense.reordered_bytes(view) == copied
    assert np.shares_memory(found, view) is (copied == 0 and view.size > 0)
    assert found.shape == view.shape
    assert (found == view).all()
