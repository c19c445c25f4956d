"""Copies of transposed views, tile by tile.

If values are read in output order, each value loads a whole cache line. If the lines are evicted before their next
values are needed, which depends on the pitch and the number of lines, tiles that fit into the cache are 2 to 7 times as
fast, and otherwise up to 3 times slower. This method is called cache blocking (Lam, Rothberg and Wolf, The cache
performance and optimizations of blocked algorithms, 1991).
"""

from __future__ import annotations

from math import gcd, prod

import numpy as np

from .memory_layout import LINE_BYTES, Array, Ints, Layout, blocks, layout_of

PAGE_BYTES = 2**12
TILE_BYTES, TILE_NEAR = 2**18, 64
"""The maximum size, in bytes, of a transpose tile, and the number of its units along the axis that is read."""
CACHE_SETS, CACHE_WAYS = 2**11, 16
NEAR_CACHE_SETS, NEAR_CACHE_WAYS = 2**6, 12
"""The sets, and the lines per set, of a core's L2 and L1 cache. Addresses that differ by a multiple of the number of
sets times LINE_BYTES share a set."""
MAX_PAGES = 2000
"""The number of memory pages whose addresses a core remembers (in its TLB)."""
MIN_TILE_COLUMNS = 2**8
"""The minimum number of units that a tile writes in one run."""
MIN_TILE_BYTES = 2**14
"""The minimum size, in bytes, of a tile. For smaller tiles, a step in Python costs more than it saves.

If most axes are short, a tile would have only a few units. np.copyto is then up to a thousand times faster.
"""


def is_fastest_by_tiles(layout: Layout) -> bool:
    """Return whether copying tile by tile is faster than np.copyto for a layout that is read out of order."""
    return _evicts(layout) and prod(_tile(layout)) * layout.width >= MIN_TILE_BYTES


def _reading_order(strides: Ints) -> list[int]:
    """Return the axes in memory order, the outermost first."""
    return sorted(range(len(strides)), key=lambda axis: -abs(strides[axis]))


def _evicts(layout: Layout) -> bool:
    """Return whether np.copyto loads each cache line several times, because a sweep evicts the lines that it has read.

    A sweep reads one unit on every line, and the next sweep reads the next unit on the same lines. A pitch that is a
    multiple of a large power of two leaves the sweep only a few sets of the cache.
    """
    near = _reading_order(layout.strides)[-1]
    shape, strides = layout.shape[near + 1 :], layout.strides[near + 1 :]
    units, pitch, width = prod(shape), gcd(*strides), layout.width
    if units < MIN_TILE_COLUMNS:
        return False
    span = sum((size - 1) * abs(step) for size, step in zip(shape, strides, strict=True))
    if min(units, span // PAGE_BYTES) >= MAX_PAGES or min(units, span // LINE_BYTES) > _held_lines(
        pitch, CACHE_SETS, CACHE_WAYS
    ):
        return True
    return width <= 2 and not pitch % LINE_BYTES and units > 2 * _held_lines(pitch, NEAR_CACHE_SETS, NEAR_CACHE_WAYS)


def _held_lines(pitch: int, sets: int, ways: int) -> int:
    """Return the number of lines at multiples of a pitch that a cache holds."""
    return ways * min(sets, sets * LINE_BYTES // gcd(pitch, sets * LINE_BYTES))


def _tile(layout: Layout) -> Ints:
    """Return the shape of a transpose tile, which is long on the axis that is written and on the axis that is read."""
    steps = [1] * len(layout.shape)
    steps[-1] = TILE_BYTES // TILE_NEAR // layout.width
    steps[_reading_order(layout.strides)[-1]] = TILE_NEAR
    return tuple(map(min, steps, layout.shape))


def transpose(out: Array, source: Array) -> None:
    """Copy tile by tile. Each tile is read in memory order to a cached buffer, and then written in output order."""
    order = _reading_order(source.strides)
    back = [order.index(axis) for axis in range(out.ndim)]
    memory = np.empty(min(TILE_BYTES // out.itemsize, out.size), out.dtype)
    for block in blocks(out.shape, _tile(layout_of(source))):
        tile = source[block]
        near = memory[: tile.size].reshape([tile.shape[axis] for axis in order]).transpose(back)
        np.copyto(near, tile)
        np.copyto(out[block], near)
