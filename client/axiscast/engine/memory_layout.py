"""The memory layout of a view, reduced to the fewest axes and the largest units that describe the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from ..wire.cancellation import checkpoint

Array = np.ndarray[Any, np.dtype[Any]]
Ints = tuple[int, ...]

LINE_BYTES = 64
"""The size, in bytes, of a cache line."""
MAX_UNIT_BYTES = 16
"""The size, in bytes, of the largest element that NumPy copies in one operation."""


class Layout(NamedTuple):
    """The layout of units of `width` bytes: sizes, strides in bytes, and whether NumPy considers the units aligned."""

    shape: Ints
    strides: Ints
    width: int
    aligned: bool


def layout_of(array: Array) -> Layout:
    """Return the layout of an array. The units are the array's elements."""
    return Layout(array.shape, array.strides, array.itemsize, array.flags.aligned)


def in_units(view: Array) -> Array:
    """Return a view of the same bytes with the fewest axes and the largest units. The view may be unaligned."""
    shape, strides, width, _ = to_units(layout_of(view), MAX_UNIT_BYTES)
    first_element: Any = (*[slice(1)] * view.ndim, ...)  # with an ellipsis, indexing returns an array, never a scalar
    first = view[first_element].reshape(-1).view(np.uint8)
    units = np.lib.stride_tricks.as_strided(first, (*shape, width), (*strides, 1), writeable=False)
    return units.view("c16" if width == MAX_UNIT_BYTES else f"u{width}")[..., 0]


@lru_cache(1024)
def to_units(layout: Layout, widest: int) -> Layout:
    """Return the layout of the same bytes with the fewest axes, in units of at most `widest` bytes."""
    shape, [strides] = collapse((*layout.shape, layout.width), (*layout.strides, 1))
    if not shape:
        return Layout((1,), (1,), 1, True)
    width = gcd(widest, shape[-1], *strides[:-1]) if strides[-1] == 1 else 1
    if width == shape[-1] and len(shape) > 1:
        return Layout(shape[:-1], strides[:-1], width, layout.aligned)
    return Layout((*shape[:-1], shape[-1] // width), (*strides[:-1], strides[-1] * width), width, layout.aligned)


@lru_cache(1024)
def collapse(shape: Ints, *strides: Ints) -> tuple[Ints, list[Ints]]:
    """Return the fewest axes that give the same elements in the same order, and each array's strides on these axes."""
    sizes: list[int] = []
    steps: list[Ints] = []
    for size, step in zip(shape, zip(*strides, strict=True), strict=True):
        if sizes and all(outer == inner * size for outer, inner in zip(steps[-1], step, strict=True)):
            sizes[-1], steps[-1] = sizes[-1] * size, step
        elif size > 1:
            sizes.append(size)
            steps.append(step)
    return tuple(sizes), list(zip(*steps, strict=True)) or [()] * len(strides)


def blocks(shape: Ints, steps: Ints) -> Iterator[tuple[slice, ...]]:
    """Yield the slices of the blocks that make up an array. A block has the shape `steps` and is one step of work."""
    if not shape:
        yield ()
        return
    for start in range(0, shape[0], steps[0]):
        checkpoint()
        for inner in blocks(shape[1:], steps[1:]):
            yield (slice(start, start + steps[0]), *inner)
