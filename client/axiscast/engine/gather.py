"""Boxes of merged axes that no strides can step along: each element is looked up by itself, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from ..plan.plan import Placement, Shape
from ..wire.cancellation import checkpoint
from ..wire.shapes import MAX_SIZE
from ..wire.tensors import memory_span
from .dense import blocks
from .memory_layout import collapse
from .views import Window, input_strides, merged_axes

Array = np.ndarray[Any, np.dtype[Any]]

GATHER_PIECE_LOOKUPS = 2**16
"""Lookups of one piece: half a millisecond, and the numbers stay in the cache."""
GATHER_PIECE_BYTES = 2**18
"""Bytes of one piece, where an element has no more."""


class Gathered:
    """A box of an output, of one element at the least, in pieces that are made while they are taken. It has shape,
    dtype, size and nbytes as an array does."""

    def __init__(self, placement: Placement, array: Array, window: Window) -> None:
        array = array.reshape(placement.input_shape)  # a view: axes are at most split
        memory = memory_span(array)
        if memory is None:
            raise ValueError("an array that steps back, or between its elements, is not gathered from")
        self.shape: Shape = tuple(stop - start for start, stop in window)
        self.dtype = array.dtype
        self.size = prod(self.shape)
        self.nbytes = self.size * array.itemsize
        # No number of bytes that NumPy would look for at an aligned address, or else copy all.
        self._memory = memory.view(f"V{array.itemsize}")
        self._starts = [start for start, _ in window]
        strides = [step // array.itemsize for step in input_strides(placement, array)]
        self._axes: list[list[tuple[int, int]]] = []
        """Of each axis of the output: the sizes and the strides, in elements, of as few axes as it can be made of."""
        for axes in merged_axes(placement):
            own = slice(axes.start, axes.stop)
            sizes, [steps] = collapse(placement.output_shape[own], tuple(strides[own]))
            self._axes.append(list(zip(sizes, steps, strict=True)))
        self._each = max(sum(len(axes) for axes in self._axes if len(axes) > 1), 1)

    @property
    def lookups(self) -> int:
        """What it takes: each element is looked for on each axis that is merged."""
        return self.size * self._each

    @property
    def held(self) -> int:
        """Bytes of memory that a piece takes while the next one is made, at the most."""
        elements = prod(self._steps())
        return elements * (7 * 8 + 3 * self.dtype.itemsize)

    def pieces(self) -> Iterator[Array]:
        """The elements in C order, flat, a piece at a time."""
        for box in blocks(self.shape, self._steps()):
            numbers = [
                _numbers(axes, start + part.start, start + min(part.stop, size))
                for axes, part, start, size in zip(self._axes, box, self._starts, self.shape, strict=True)
            ]
            checkpoint()
            yield self._memory.take(reduce(np.add.outer, numbers).reshape(-1)).view(self.dtype)

    def whole(self) -> Array:
        """All of it, in memory."""
        return np.concatenate(list(self.pieces())).reshape(self.shape)

    def _steps(self) -> Shape:
        """How to cut the box along its axes: pieces lie in C order one after another."""
        left = max(min(GATHER_PIECE_LOOKUPS // self._each, GATHER_PIECE_BYTES // self.dtype.itemsize), 1)
        steps = []
        for size in reversed(self.shape):
            steps.append(min(size, left))
            left = max(left // size, 1) if steps[-1] == size else 1
        return tuple(reversed(steps))


def _numbers(axes: Sequence[tuple[int, int]], start: int, stop: int) -> Array:
    """How far each place between `start` and `stop` on a merged axis lies from the first one, in elements."""
    places = np.arange(start, stop)
    numbers = np.zeros(len(places), np.int64)
    for size, stride in reversed(axes[1:]):
        places, digits = np.divmod(places, min(size, MAX_SIZE))  # no place lies as far as MAX_SIZE
        numbers += digits * stride
    return numbers + places * axes[0][1] if axes else numbers
