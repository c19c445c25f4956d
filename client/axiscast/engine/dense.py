"""The dense bytes of a view: written into memory, or as a stream of chunks. A place for speed tricks.

Axes are collapsed, and what lies together moves as one unsigned integer (a unit), so that no dtype costs more than
another and no bit changes. How it moves follows from shape and strides alone, and is worked out once for each.
np.copyto is best for most; other ways stand where it takes 1.2 times as long in benchmarks/engine.py, or longer:

- short rows that repeat: NumPy spends on each row what 100 bytes cost. They are written a few times, and copied as one
  longer row (2 to 8 times as fast);
- short rows of one value each, such as (N, 1) -> (N, 3): column by column, where units are narrow (1.3 to 2.8 times);
- transposes: read in the order of the output, each value takes a whole line from memory, which has left the cache when
  its next value is needed. The cure is known as cache blocking (Lam, Rothberg and Wolf, The cache performance and
  optimizations of blocked algorithms, 1991): tiles that fit the cache (2 to 7 times as fast);
- what came in a message lies at any address, odd ones too, and NumPy reads units from there one by one: what repeats is
  copied to an aligned address first (1.3 to 1.8 times as fast, where units are narrow).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import cycle
from math import lcm, prod
from typing import NamedTuple

import numpy as np

from ..wire.cancellation import checkpoint
from .memory_layout import Array, Ints, Layout, collapse, in_units, layout_of, to_units

Write = Callable[[Array, Array], None]
"""Writes its second argument into its first, which has the same shape and units, and whose elements do not overlap."""

CHUNK_BYTES = 2**20 - 2**12
"""A chunk fits the cache, and is well above the send buffer's high-water mark (64 KiB). From 1 MiB on a write to a
loopback socket costs Linux up to half as much again per byte, and half as long a one does no better (not explained)."""
CHUNK_BUFFERS = 3
"""A server that waits before each send until its buffer has drained below the high-water mark still
holds the last chunk, and may hold the end of the one before it; the third is free to be filled."""

SMALL_BYTES = 2**16
"""Up to here np.copyto has finished before another way is set up."""
BLOCK_BYTES = 15 * 2**16
"""What is read again once it is written stays in the cache meanwhile; what is set aside takes no more than this, and
less than a chunk."""
SHORT_ROW_BYTES = 2**7
"""Rows of so many bytes hide what NumPy spends on each."""
LINE_BYTES, ALIGNMENT = 2**12, 64
"""Rows of about so many bytes are copied fastest, and buffers of whole cache lines."""
NARROW = 2
"""Units of so few bytes cost as much each as others, and so more a byte."""
ROW_BYTES = 96
"""What is written unit by unit, before it is copied, where each of many rows repeats; half of it of narrow units."""
COLUMNS, COLUMN_BYTES = 12, 32
"""Rows of so few units and bytes are written faster column by column."""
ORDER_BYTES = 2**24
"""An input of up to so many bytes is put in order before it is streamed again and again."""
TILE_BYTES, TILE_NEAR = 2**18, 64
"""A transpose's tiles, and how many of their units lie near each other in the view."""
MIN_TILE_BYTES = 2**14
"""A tile of fewer bytes does not pay for the step of Python that it takes: where most axes are short, tiles would have
a handful of units each, and np.copyto is up to a thousand times faster."""


def write_dense(view: Array, out: Array) -> None:
    """Write a view's elements into `out`, an array of its shape and dtype in C order, elsewhere in memory."""
    if out.shape != view.shape or out.dtype != view.dtype or not out.flags.c_contiguous:
        raise ValueError("out has another shape or dtype than the view, or does not lie in C order")
    if view.dtype.kind in "biufc" and (view.nbytes <= SMALL_BYTES or _is_plain(layout_of(view))):
        np.copyto(out, view)
    elif view.size:
        source = in_units(view)
        _writer(layout_of(source))(out.reshape(-1).view(np.uint8).view(source.dtype).reshape(source.shape), source)


def c_ordered(view: Array) -> Array:
    """A view in C order: itself, or a copy."""
    if view.flags.c_contiguous:
        return view
    copy = np.empty(view.shape, view.dtype)
    write_dense(view, copy)
    return copy


def reordered(view: Array) -> Array:
    """The same elements, from a copy of up to ORDER_BYTES where they would be read out of order again and again."""
    once = _out_of_order(view)
    return view if once is None else np.broadcast_to(c_ordered(once), view.shape)


def reordered_bytes(view: Array) -> int:
    """Bytes of the copy that `reordered` makes, 0 where it makes none."""
    once = _out_of_order(view)
    return 0 if once is None else once.nbytes


def _out_of_order(view: Array) -> Array | None:
    """The distinct elements of a view that are read out of order again and again, if a copy of them is to be made."""
    repeated = next((axis for axis, step in enumerate(view.strides) if step == 0 and view.shape[axis] > 1), view.ndim)
    if repeated == view.ndim or not _is_scattered(view.strides[repeated + 1 :]):
        return None
    once = view[_once(view)]
    return once if 0 < once.nbytes <= ORDER_BYTES else None


def is_fast_to_chunk(view: Array) -> bool:
    """Whether a chunk is surely made in a fraction of a millisecond: memory is read in long runs, or as it lies."""
    return view.flags.c_contiguous or _has_long_rows(layout_of(in_units(view)))


def chunk_buffer_bytes(view: Array) -> int:
    """Bytes of the buffers that `chunks` fills: as many as it writes chunks, up to CHUNK_BUFFERS."""
    if view.nbytes <= min(SMALL_BYTES, CHUNK_BYTES):
        return 0 if view.flags.c_contiguous else view.nbytes
    cut = _cut(in_units(view))
    return cut.buffers * cut.pitch


def chunks(view: Array) -> Iterator[memoryview]:
    """The bytes of a view in C order, in chunks of up to CHUNK_BYTES.

    Where they lie together in the view's own memory, they are that memory. Else they are a few buffers that are
    filled again: use each before CHUNK_BUFFERS - 1 more have been taken. Content that repeats is written once and
    given again and again.
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
    """What lies at each index of the outer axes."""
    if not axes:
        yield array
        return
    for row in array:
        yield from _parts(row, axes - 1)


class Cut(NamedTuple):
    """Chunks are cut along an axis, each of its indices of so many pieces, of up to `most` rows of so many bytes; and
    the buffers that they need, each of `pitch` bytes."""

    axis: int
    pieces: int
    most: int
    row: int
    buffers: int
    pitch: int


def _cut(source: Array) -> Cut:
    axis, pieces = _cuts(layout_of(source), CHUNK_BYTES)
    row = prod(source.shape[axis + 1 :]) * source.itemsize
    most = -(-source.shape[axis] // pieces)
    inner = source[(0,) * axis]
    writes = 0 if inner.flags.c_contiguous else prod(source.shape[:axis]) * (1 if inner.strides[0] == 0 else pieces)
    return Cut(axis, pieces, most, row, min(writes, CHUNK_BUFFERS), -(-most * row // ALIGNMENT) * ALIGNMENT)


@lru_cache(1024)
def _cuts(layout: Layout, chunk_bytes: int) -> tuple[int, int]:
    """The axis along which chunks are cut, and to how many pieces."""
    shape, width = layout.shape, layout.width
    axis = next(axis for axis in range(len(shape)) if prod(shape[axis + 1 :]) * width <= max(chunk_bytes, width))
    return axis, -(-shape[axis] // max(chunk_bytes // (prod(shape[axis + 1 :]) * width), 1))


# --- ways of writing -----------------------------------------------------------------------------


@lru_cache(1024)
def _writer(layout: Layout) -> Write:
    """The fastest way found."""
    shape, strides, width, aligned = layout
    if prod(shape) * width <= SMALL_BYTES:
        return np.copyto
    scattered = _is_scattered(strides)
    narrow = shape[-1] <= COLUMNS and shape[-1] * width < COLUMN_BYTES
    short = not _has_long_rows(layout) if strides[-1] == width else narrow
    repeated = next((axis for axis, step in enumerate(strides[:-1]) if step == 0), None)
    if repeated is not None and (short or scattered):
        most = LINE_BYTES if not repeated else ROW_BYTES if width > NARROW else ROW_BYTES // 2
        if (times := _times(layout, repeated, most)) < shape[repeated]:
            return partial(_repeat, axis=repeated, times=times)
    if scattered and strides[-1]:
        return _transpose if _tile_bytes(layout) >= MIN_TILE_BYTES else np.copyto
    if narrow and width < 8:
        return _columns
    return _by_blocks if not aligned and width < 8 and not strides[-1] else np.copyto


def _times(layout: Layout, axis: int, most: int) -> int:
    """How often to write what an axis repeats before the rest is copied from there: up to about so many bytes."""
    nbytes = prod(layout.shape[axis + 1 :]) * layout.width
    line = lcm(nbytes, ALIGNMENT)
    return max(most // line * line, most // nbytes * nbytes if line > most else 0, nbytes) // nbytes


@lru_cache(1024)
def _is_plain(layout: Layout) -> bool:
    """Whether np.copyto does best with the elements as they are."""
    return _writer(to_units(layout, layout.width)) is np.copyto


def _once(array: Array) -> tuple[slice, ...]:
    """Where each element is that is not a repetition."""
    return tuple(slice(None) if step else slice(1) for step in array.strides)


def _aligned_once(array: Array) -> Array:
    """The same, in a copy of what it repeats if NumPy, which reads other addresses one by one, would read it so again
    and again."""
    return array if array.flags.aligned else np.broadcast_to(array[_once(array)].copy(), array.shape)


def _has_long_rows(layout: Layout) -> bool:
    """Whether memory is read in runs that are long enough to hide what NumPy spends on each."""
    return layout.strides[-1] == layout.width and layout.shape[-1] * layout.width >= SHORT_ROW_BYTES


def _is_scattered(strides: Ints) -> bool:
    """Whether memory is read in another order than it is written in."""
    far = [abs(step) for step in strides if step]
    return bool(far) and min(far) < far[-1]


def blocks(shape: Ints, steps: Ints) -> Iterator[tuple[slice, ...]]:
    """Boxes of so many steps along each axis, that together are the whole: each a step of work."""
    if not shape:
        yield ()
        return
    for start in range(0, shape[0], steps[0]):
        checkpoint()
        for inner in blocks(shape[1:], steps[1:]):
            yield (slice(start, start + steps[0]), *inner)


@lru_cache(1024)
def _steps(shape: Ints, width: int) -> Ints:
    """How to cut an array to blocks of up to BLOCK_BYTES."""
    steps = list(shape)
    for axis, size in enumerate(shape):
        steps[axis] = min(max(BLOCK_BYTES // (prod(shape[axis + 1 :]) * width), 1), size)
    return tuple(steps)


def _columns(out: Array, source: Array) -> None:
    """Column by column, which makes as many long rows of many short ones; those of several short axes together."""
    axes = 1
    while axes < out.ndim and prod(out.shape[-axes - 1 :]) <= COLUMNS:
        axes += 1
    for block in blocks(out.shape[:-axes], _steps(out.shape, out.itemsize)[:-axes]):
        into, piece = out[block], _aligned_once(source[block])
        for column in np.ndindex(out.shape[-axes:]):
            np.copyto(into[(..., *column)], piece[(..., *column)])


def _by_blocks(out: Array, source: Array) -> None:
    """As np.copyto, from a copy of each block's distinct units that is aligned."""
    for block in blocks(out.shape, _steps(out.shape, out.itemsize)):
        np.copyto(out[block], _aligned_once(source[block]))


def _repeat(out: Array, source: Array, axis: int, times: int) -> None:
    """What an axis repeats is written beside the output, a few times in a row, and copied from there as often as it
    must be: as whole rows, by memcpy."""
    shape = out.shape
    row = times * prod(shape[axis + 1 :])
    seed = _steps((*shape[:axis], times, *shape[axis + 1 :]), out.itemsize)
    steps = (*seed[:axis], shape[axis], *seed[axis + 1 :])
    memory = np.empty(prod(seed), out.dtype)
    for block in blocks(shape, steps):
        into = out[block]
        piece = source[(*block[:axis], slice(times), *block[axis + 1 :])]
        beside = memory[: piece.size].reshape(piece.shape)
        _write(beside, _aligned_once(piece))
        if times == 1:
            np.copyto(into, beside)
        else:
            outer, whole = into.shape[:axis], shape[axis] // times * row
            rows, line = into.reshape(*outer, -1), beside.reshape(*outer, row)
            one = f"S{row * out.itemsize}"  # whose elements NumPy copies one by one by memcpy, with nothing between
            np.copyto(rows[..., :whole].view(one), line.view(one))
            np.copyto(rows[..., whole:], line[..., : rows.shape[-1] - whole])


def _write(out: Array, source: Array) -> None:
    """Write to memory in C order what may have axes that can be merged."""
    shape, [strides] = collapse(source.shape, source.strides)
    if shape != source.shape:
        out, source = out.reshape(shape), np.lib.stride_tricks.as_strided(source, shape, strides)
    _writer(layout_of(source))(out, source)


def _reading_order(strides: Ints) -> list[int]:
    """The axes in the order in which memory is read straight through."""
    return sorted(range(len(strides)), key=lambda axis: -abs(strides[axis]))


def _tile(layout: Layout) -> Ints:
    """The shape of a transpose's tile: long on the axis along which it is written, and on that along which it is
    read."""
    steps = [1] * len(layout.shape)
    steps[-1] = TILE_BYTES // TILE_NEAR // layout.width
    steps[_reading_order(layout.strides)[-1]] = TILE_NEAR
    return tuple(map(min, steps, layout.shape))


def _tile_bytes(layout: Layout) -> int:
    return prod(_tile(layout)) * layout.width


def _transpose(out: Array, source: Array) -> None:
    """Tile by tile: each is read in the order in which it lies, into memory that stays in the cache, and from there
    written in the order of the output."""
    order = _reading_order(source.strides)
    back = [order.index(axis) for axis in range(out.ndim)]
    memory = np.empty(min(TILE_BYTES // out.itemsize, out.size), out.dtype)
    for block in blocks(out.shape, _tile(layout_of(source))):
        tile = source[block]
        near = memory[: tile.size].reshape([tile.shape[axis] for axis in order]).transpose(back)
        np.copyto(near, tile)
        np.copyto(out[block], near)
