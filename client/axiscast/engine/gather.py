"""Windows of outputs with merged axes that strides cannot describe. Each element is looked up separately, in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod

import numpy as np

from ..plan.plan import Placement, Shape
from ..wire.cancellation import checkpoint
from ..wire.shapes import MAX_SIZE
from ..wire.tensors import memory_span
from .memory_layout import Array, blocks, collapse
from .views import Window, input_strides, merged_axes

GATHER_PIECE_LOOKUPS = 2**16
"""The maximum number of lookups per piece.

These lookups take half a millisecond, and their indices stay in the cache.
"""
GATHER_PIECE_BYTES = 2**18
"""The maximum size, in bytes, of a piece. A piece with a single element may be larger."""


class Gathered:
    """A window of an output, with at least one element. The pieces of the window are computed during iteration.

    Like an array, the window has the attributes shape, dtype, size and nbytes.
    """

    def __init__(self, placement: Placement, array: Array, window: Window) -> None:
        array = array.reshape(placement.input_shape)  # a view, because this reshape only splits axes
        memory = memory_span(array)
        if memory is None:
            raise ValueError("the array has negative strides, or strides that are not multiples of its item size")
        self.shape: Shape = tuple(stop - start for start, stop in window)
        self.dtype = array.dtype
        self.size = prod(self.shape)
        self.nbytes = self.size * array.itemsize
        # A void dtype has no alignment, so NumPy does not copy an unaligned array first.
        self._memory = memory.view(f"V{array.itemsize}")
        self._starts = [start for start, _ in window]
        strides = [step // array.itemsize for step in input_strides(placement, array)]
        self._axes: list[list[tuple[int, int]]] = []
        """For each output axis, the sizes and strides (in elements) of its merged axes, reduced to the fewest axes."""
        for axes in merged_axes(placement):
            own = slice(axes.start, axes.stop)
            sizes, [steps] = collapse(placement.output_shape[own], tuple(strides[own]))
            self._axes.append(list(zip(sizes, steps, strict=True)))
        self._lookups_of_element = max(sum(len(axes) for axes in self._axes if len(axes) > 1), 1)

    @property
    def lookups(self) -> int:
        """The number of lookups in all pieces. Each element needs one lookup per axis that takes part in a merge."""
        return self.size * self._lookups_of_element

    @property
    def held(self) -> int:
        """The maximum memory, in bytes, that a piece takes while the next piece is computed."""
        elements = prod(self._piece_shape())
        return elements * (7 * 8 + 3 * self.dtype.itemsize)

    def pieces(self) -> Iterator[Array]:
        """Yield the elements in C order as one-dimensional arrays."""
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
        """Return the shape of one piece. Successive pieces are in C order."""
        lookups = GATHER_PIECE_LOOKUPS // self._lookups_of_element
        elements = max(min(lookups, GATHER_PIECE_BYTES // self.dtype.itemsize), 1)
        steps = []
        for size in reversed(self.shape):
            steps.append(min(size, elements))
            elements = max(elements // size, 1) if steps[-1] == size else 1
        return tuple(reversed(steps))


def _offsets(axes: Sequence[tuple[int, int]], start: int, stop: int) -> Array:
    """Return the offsets, in elements, of the positions from `start` to `stop` on a merged axis.

    An offset is the distance in memory from the first position on the axis.
    """
    positions = np.arange(start, stop)
    offsets = np.zeros(len(positions), np.int64)
    for size, stride in reversed(axes[1:]):
        positions, inner = np.divmod(positions, min(size, MAX_SIZE))  # all positions are below MAX_SIZE
        offsets += inner * stride
    return offsets + positions * axes[0][1] if axes else offsets
