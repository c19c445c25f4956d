"""Windows of merged axes that no strides describe: each element is looked up by itself, in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod

import numpy as np

from ..plan.plan import Placement, Shape
from ..wire.cancellation import checkpoint
from ..wire.shapes import MAX_SIZE
from ..wire.tensors import memory_span
from .dense import blocks
from .memory_layout import Array, collapse
from .views import Window, input_strides, merged_axes

GATHER_PIECE_LOOKUPS = 2**16
"""The largest number of lookups of one piece. They take half a millisecond, and their indices stay in the cache."""
GATHER_PIECE_BYTES = 2**18
"""The largest number of bytes of one piece, unless one element has more."""


class Gathered:
    """A window of an output, with at least one element. Its pieces are computed during iteration.

    It has the attributes shape, dtype, size and nbytes, as an array does.
    """

    def __init__(self, placement: Placement, array: Array, window: Window) -> None:
        array = array.reshape(placement.input_shape)  # a view, because a reshape only splits axes
        memory = memory_span(array)
        if memory is None:
            raise ValueError("the array has negative strides, or strides that are not multiples of its item size")
        self.shape: Shape = tuple(stop - start for start, stop in window)
        self.dtype = array.dtype
        self.size = prod(self.shape)
        self.nbytes = self.size * array.itemsize
        # A void type has no alignment, so NumPy does not copy an unaligned array first.
        self._memory = memory.view(f"V{array.itemsize}")
        self._starts = [start for start, _ in window]
        strides = [step // array.itemsize for step in input_strides(placement, array)]
        self._axes: list[list[tuple[int, int]]] = []
        """For each axis of the output, the sizes and the strides (in elements) of the fewest axes that it merges."""
        for axes in merged_axes(placement):
            own = slice(axes.start, axes.stop)
            sizes, [steps] = collapse(placement.output_shape[own], tuple(strides[own]))
            self._axes.append(list(zip(sizes, steps, strict=True)))
        self._lookups_of_element = max(sum(len(axes) for axes in self._axes if len(axes) > 1), 1)

    @property
    def lookups(self) -> int:
        """The number of lookups of all pieces: for each element, one on each axis that is merged."""
        return self.size * self._lookups_of_element

    @property
    def held(self) -> int:
        """The largest number of bytes of memory that a piece takes while the next one is computed."""
        elements = prod(self._piece_shape())
        return elements * (7 * 8 + 3 * self.dtype.itemsize)

    def pieces(self) -> Iterator[Array]:
        """Yield the elements in C order, as one-dimensional arrays."""
        for box in blocks(self.shape, self._piece_shape()):
            offsets = [
                _offsets(axes, start + part.start, start + min(part.stop, size))
                for axes, part, start, size in zip(self._axes, box, self._starts, self.shape, strict=True)
            ]
            checkpoint()
            yield self._memory.take(reduce(np.add.outer, offsets).reshape(-1)).view(self.dtype)

    def whole(self) -> Array:
        """Return the whole window as an array in memory."""
        return np.concatenate(list(self.pieces())).reshape(self.shape)

    def _piece_shape(self) -> Shape:
        """Return the shape of a piece. The pieces follow one another in C order."""
        lookups = GATHER_PIECE_LOOKUPS // self._lookups_of_element
        elements = max(min(lookups, GATHER_PIECE_BYTES // self.dtype.itemsize), 1)
        steps = []
        for size in reversed(self.shape):
            steps.append(min(size, elements))
            elements = max(elements // size, 1) if steps[-1] == size else 1
        return tuple(reversed(steps))


def _offsets(axes: Sequence[tuple[int, int]], start: int, stop: int) -> Array:
    """Return the distance in elements from the first position on a merged axis to each of `start` to `stop`."""
    positions = np.arange(start, stop)
    offsets = np.zeros(len(positions), np.int64)
    for size, stride in reversed(axes[1:]):
        positions, inner = np.divmod(positions, min(size, MAX_SIZE))  # every position is below MAX_SIZE
        offsets += inner * stride
    return offsets + positions * axes[0][1] if axes else offsets
