"""Conversion of a view to its dense bytes, either written to memory or yielded as a stream of chunks.

Axes are merged if possible. Adjacent bytes are copied together as one unsigned integer, called a unit. Therefore, all
dtypes are equally fast and no bit changes. The shape and the strides determine the fastest method, which is cached per
layout. np.copyto is the fastest method for most layouts. Another method is used if benchmarks/engine.py shows that
np.copyto takes at least 1.2 times as long:

- Short rows that repeat: NumPy's overhead per row equals the cost of copying 100 bytes. The rows are written a few
  times. The result is then copied repeatedly as one longer row (2 to 8 times as fast).
- Short rows of a single repeated value, such as (N, 1) -> (N, 3), with narrow units: these rows are written column by
  column (1.3 to 2.8 times as fast).
- Transposes, if the cache can't hold the lines that are read (transposes.py).
- Unaligned memory, such as a tensor in a message: NumPy reads unaligned units one by one. Repeated units are copied to
  aligned memory first (1.3 to 1.8 times as fast with narrow units).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import cycle
from math import lcm, prod
from typing import Any, NamedTuple

import numpy as np

from .memory_layout import LINE_BYTES, Array, Ints, Layout, blocks, collapse, in_units, layout_of, to_units
from .transposes import is_fastest_by_tiles, transpose

Write = Callable[[Array, Array], None]
"""A function that copies its second argument to its first. Both have the same shape and units, and do not overlap."""

CHUNK_BYTES = 2**20 - 2**12
"""The maximum size, in bytes, of a chunk. A chunk fits into the cache but exceeds a send buffer's high-water mark.

A write of 1 MiB or more to a Linux loopback socket costs up to 1.5 times as much per byte. Chunks of half the size are
not faster. The cause is unknown.
"""
CHUNK_BUFFERS = 3
"""The number of buffers to which chunks are written in turn.

Some servers wait before each send until their buffer is below the high-water mark. Such a server can still hold the
last chunk and the end of the previous chunk. The third buffer is then free.
"""

SMALL_BYTES = 2**16
"""The maximum number of bytes that np.copyto copies faster than another method can be set up."""
BLOCK_BYTES = 15 * 2**16
"""The maximum size, in bytes, of a block.

A block stays in the cache until it is read again, and is smaller than a chunk.
"""
SHORT_ROW_BYTES = 2**7
"""The minimum row size, in bytes, for which NumPy's overhead per row is negligible."""
ROW_BLOCK_BYTES = 2**12
"""The row size, in bytes, that is copied fastest per byte."""
NARROW = 2
"""The maximum size, in bytes, of a narrow unit. Narrow units cost more per byte, as each unit takes the same time."""
ROW_BYTES = 96
"""The number of bytes to write unit by unit before these bytes are copied to the remaining repetitions.

For narrow units, the number is halved.
"""
COLUMNS, COLUMN_BYTES = 12, 32
"""The size of the largest row, in units and in bytes, for which writing column by column is the faster method."""
ORDER_BYTES = 2**24
"""The maximum size, in bytes, of an input that is copied to C order before its elements are streamed repeatedly."""


def write_dense(view: Array, out: Array) -> None:
    """Copy the elements of a view to `out`, an array in C order with the same shape and dtype.

    The view and `out` must not overlap in memory.
    """
    if out.shape != view.shape or out.dtype != view.dtype or not out.flags.c_contiguous:
        raise ValueError("out must have the shape and dtype of the view, and must be in C order")
    if view.dtype.kind in "biufc" and (view.nbytes <= SMALL_BYTES or _is_plain(layout_of(view))):
        np.copyto(out, view)
    elif view.size:
        source = in_units(view)
        _writer(layout_of(source))(out.reshape(-1).view(np.uint8).view(source.dtype).reshape(source.shape), source)


def c_ordered(view: Array) -> Array:
    """Return a view in C order: the view itself if possible, otherwise a copy."""
    if view.flags.c_contiguous:
        return view
    copy = np.empty(view.shape, view.dtype)
    write_dense(view, copy)
    return copy


def reordered(view: Array) -> Array:
    """Return a view of the same elements that can be streamed quickly.

    If the view repeats elements and is not in memory order, return a view of a copy of up to ORDER_BYTES.
    """
    once = _out_of_order(view)
    return view if once is None else np.broadcast_to(c_ordered(once), view.shape)


def reordered_bytes(view: Array) -> int:
    """Return the size, in bytes, of the copy that `reordered` makes, or 0 if `reordered` makes no copy."""
    once = _out_of_order(view)
    return 0 if once is None else once.nbytes


def _out_of_order(view: Array) -> Array | None:
    """Return the distinct elements of a view that repeats elements and is not in memory order.

    Return None for any other view, or if a copy of the elements would exceed ORDER_BYTES.
    """
    repeated = next((axis for axis, step in enumerate(view.strides) if step == 0 and view.shape[axis] > 1), view.ndim)
    if repeated == view.ndim or not _is_scattered(view.strides[repeated + 1 :]):
        return None
    once = view[distinct_index(view)]
    return once if 0 < once.nbytes <= ORDER_BYTES else None


def is_fast_to_chunk(view: Array) -> bool:
    """Return whether writing a chunk takes only a fraction of a millisecond because memory is read in long runs."""
    return view.flags.c_contiguous or _has_long_rows(layout_of(in_units(view)))


def chunk_buffer_bytes(view: Array) -> int:
    """Return the total size, in bytes, of the buffers that `chunks` allocates.

    There are at most CHUNK_BUFFERS buffers.
    """
    if view.nbytes <= min(SMALL_BYTES, CHUNK_BYTES):
        return 0 if view.flags.c_contiguous else view.nbytes
    cut = _cut(in_units(view))
    return cut.buffers * cut.pitch


def chunks(view: Array) -> Iterator[memoryview]:
    """Yield the bytes of a view in C order, in chunks of up to CHUNK_BYTES.

    If a chunk is contiguous in the view's memory, the chunk is yielded without copying. Other chunks are written to a
    few buffers in turn, so a chunk is overwritten later. Use each chunk before you request CHUNK_BUFFERS - 1 more
    chunks. Repeated content is written once and yielded several times.
    """
    if not view.size:
        return
    if view.nbytes <= min(SMALL_BYTES, CHUNK_BYTES):
        yield c_ordered(view).reshape(-1).view(np.uint8).data
        return
    source = in_units(view)
    axis, pieces, most, row, count, pitch = _cut(source)
    size, repeats = source.shape[axis], source.strides[axis] == 0
    buffers = cycle(np.empty((count, pitch), np.uint8))
    for part in _parts(source, axis):
        if part.flags.c_contiguous:
            memory = part.reshape(-1).view(np.uint8).data
        elif repeats:
            memory = _chunk(part[:most], next(buffers))
        for piece in range(pieces):
            start, stop = -(-size * piece // pieces), -(-size * (piece + 1) // pieces)
            if part.flags.c_contiguous:
                yield memory[start * row : stop * row]
            elif repeats:
                yield memory[: (stop - start) * row]
            else:
                yield _chunk(part[start:stop], next(buffers))


def _chunk(piece: Array, buffer: Array) -> memoryview:
    chunk = buffer[: piece.nbytes]
    _writer(layout_of(piece))(chunk.view(piece.dtype).reshape(piece.shape), piece)
    return chunk.data


def _parts(array: Array, axes: int) -> Iterator[Array]:
    """Yield the subarray at each index along the first `axes` axes."""
    if not axes:
        yield array
        return
    for row in array:
        yield from _parts(row, axes - 1)


class Cut(NamedTuple):
    """A description of how a view is cut into chunks, and of the buffers that the chunks need."""

    axis: int
    """The axis along which the view is cut."""
    pieces: int
    """The number of chunks at each index along the preceding axes."""
    most: int
    """The maximum number of indices along the axis in one chunk."""
    row: int
    """The number of bytes at one index along the axis."""
    buffers: int
    pitch: int
    """The size of one buffer in bytes."""


def _cut(source: Array) -> Cut:
    axis, pieces = _cuts(layout_of(source), CHUNK_BYTES)
    row = prod(source.shape[axis + 1 :]) * source.itemsize
    most = -(-source.shape[axis] // pieces)
    inner = source[(0,) * axis]
    writes = 0 if inner.flags.c_contiguous else prod(source.shape[:axis]) * (1 if inner.strides[0] == 0 else pieces)
    return Cut(axis, pieces, most, row, min(writes, CHUNK_BUFFERS), -(-most * row // LINE_BYTES) * LINE_BYTES)


@lru_cache(1024)
def _cuts(layout: Layout, chunk_bytes: int) -> tuple[int, int]:
    """Return the axis along which a view is cut into chunks, and the number of pieces along this axis."""
    shape, width = layout.shape, layout.width
    axis = next(axis for axis in range(len(shape)) if prod(shape[axis + 1 :]) * width <= max(chunk_bytes, width))
    return axis, -(-shape[axis] // max(chunk_bytes // (prod(shape[axis + 1 :]) * width), 1))


# --- ways to write --------------------------------------------------------------------------------


@lru_cache(1024)
def _writer(layout: Layout) -> Write:
    """Return the fastest known method that writes a view with this layout."""
    shape, strides, width, aligned = layout
    if prod(shape) * width <= SMALL_BYTES:
        return np.copyto
    scattered = _is_scattered(strides)
    narrow = shape[-1] <= COLUMNS and shape[-1] * width < COLUMN_BYTES
    short = not _has_long_rows(layout) if strides[-1] == width else narrow
    repeated = next((axis for axis, step in enumerate(strides[:-1]) if step == 0), None)
    if repeated is not None and (short or scattered):
        most = ROW_BLOCK_BYTES if not repeated else ROW_BYTES if width > NARROW else ROW_BYTES // 2
        if (times := _times(layout, repeated, most)) < shape[repeated]:
            return partial(_repeat, axis=repeated, times=times)
    if scattered and strides[-1]:
        return transpose if is_fastest_by_tiles(layout) else np.copyto
    if narrow and width < 8:
        return _columns
    return _by_blocks if not aligned and width < 8 and not strides[-1] else np.copyto


def _times(layout: Layout, axis: int, most: int) -> int:
    """Return the number of repetitions to write along an axis before the remaining repetitions are copied from them.

    The repetitions that are written first have about `most` bytes or fewer.
    """
    nbytes = prod(layout.shape[axis + 1 :]) * layout.width
    line = lcm(nbytes, LINE_BYTES)
    return max(most // line * line, most // nbytes * nbytes if line > most else 0, nbytes) // nbytes


@lru_cache(1024)
def _is_plain(layout: Layout) -> bool:
    """Return whether np.copyto is the fastest method for a layout even if its elements are not merged into units."""
    return _writer(to_units(layout, layout.width)) is np.copyto


def distinct_index(array: Array) -> tuple[Any, ...]:
    """Return the index that selects the distinct elements of an array, as a view."""
    return (*[slice(None) if step else slice(1) for step in array.strides], ...)  # an ellipsis never yields a scalar


def _aligned_once(array: Array) -> Array:
    """Return an aligned array: the array itself if possible, otherwise a view of an aligned copy.

    Only the distinct elements are copied.
    """
    return array if array.flags.aligned else np.broadcast_to(array[distinct_index(array)].copy(), array.shape)


def _has_long_rows(layout: Layout) -> bool:
    """Return whether memory is read in runs so long that NumPy's overhead per run is negligible."""
    return layout.strides[-1] == layout.width and layout.shape[-1] * layout.width >= SHORT_ROW_BYTES


def _is_scattered(strides: Ints) -> bool:
    """Return whether memory is read in a different order than it is written."""
    far = [abs(step) for step in strides if step]
    return bool(far) and min(far) < far[-1]


@lru_cache(1024)
def _steps(shape: Ints, width: int) -> Ints:
    """Return the shape of a block of up to BLOCK_BYTES."""
    steps = list(shape)
    for axis, size in enumerate(shape):
        steps[axis] = min(max(BLOCK_BYTES // (prod(shape[axis + 1 :]) * width), 1), size)
    return tuple(steps)


def _columns(out: Array, source: Array) -> None:
    """Copy an array with short rows column by column, because it has only a few columns, which are long.

    If several last axes are short, they are treated as one axis.
    """
    axes = 1
    while axes < out.ndim and prod(out.shape[-axes - 1 :]) <= COLUMNS:
        axes += 1
    for block in blocks(out.shape[:-axes], _steps(out.shape, out.itemsize)[:-axes]):
        target, piece = out[block], _aligned_once(source[block])
        for column in np.ndindex(out.shape[-axes:]):
            np.copyto(target[(..., *column)], piece[(..., *column)])


def _by_blocks(out: Array, source: Array) -> None:
    """Copy an unaligned array block by block, from an aligned copy of the distinct units in each block."""
    for block in blocks(out.shape, _steps(out.shape, out.itemsize)):
        np.copyto(out[block], _aligned_once(source[block]))


def _repeat(out: Array, source: Array, axis: int, times: int) -> None:
    """Write an array that repeats along an axis.

    The function writes `times` repetitions to a buffer, and then copies the buffer repeatedly.
    """
    shape = out.shape
    seed_shape = _steps((*shape[:axis], times, *shape[axis + 1 :]), out.itemsize)
    block_shape = (*seed_shape[:axis], shape[axis], *seed_shape[axis + 1 :])
    memory = np.empty(prod(seed_shape), out.dtype)
    for block in blocks(shape, block_shape):
        target = out[block]
        piece = source[(*block[:axis], slice(times), *block[axis + 1 :])]
        seed = memory[: piece.size].reshape(piece.shape)
        _write(seed, _aligned_once(piece))
        if times == 1:
            np.copyto(target, seed)
        else:
            _copy_rows(target, seed, axis, times)


def _copy_rows(target: Array, seed: Array, axis: int, times: int) -> None:
    """Fill `target` along an axis with copies of `seed`, which already holds `times` repetitions.

    Each copy is one long row, so NumPy's overhead per row is small.
    """
    outer = target.shape[:axis]
    rows, line = target.reshape(*outer, -1), seed.reshape(*outer, -1)
    width = line.shape[-1]
    whole = target.shape[axis] // times * width
    one_row = f"S{width * target.itemsize}"  # NumPy copies each element of this dtype with one memcpy
    np.copyto(rows[..., :whole].view(one_row), line.view(one_row))
    np.copyto(rows[..., whole:], line[..., : rows.shape[-1] - whole])


def _write(out: Array, source: Array) -> None:
    """Copy an array to memory in C order. Axes that can be merged are merged first."""
    shape, [strides] = collapse(source.shape, source.strides)
    if shape != source.shape:
        out, source = out.reshape(shape), np.lib.stride_tricks.as_strided(source, shape, strides)
    _writer(layout_of(source))(out, source)
