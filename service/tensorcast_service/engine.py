"""The engine: a placement and an array become a view, a stream of chunks, or a gradient.

Elements move as unsigned integers of their width, so no dtype costs more than another and no bit
changes. The only place for speed tricks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import cycle, pairwise
from math import prod
from typing import Any

import numpy as np

from tensorcast.schema.dtypes import storage
from tensorcast.schema.tensors import strided_view

from .plan import Placement, Plan

Array = np.ndarray[Any, np.dtype[Any]]

CHUNK_BYTES = 2**20
"""A chunk fits the cache, and is well above the send buffer's high-water mark (64 KiB)."""
CHUNK_BUFFERS = 3
"""A server that waits before each send until its buffer has drained below the high-water mark still
holds the last chunk, and may hold the end of the one before it; the third is free to be filled."""
WIDEST_SUM = 16
"""Bytes of the widest dtype in which sums are taken."""


Window = Sequence[tuple[int, int]]
"""[start, stop] on each output axis: a box of the output."""


def place(placement: Placement, array: Array, window: Window | None = None) -> Array:
    """The output, or a box of it, as a read-only view of the input: strides 0 where it is replicated.

    No element is copied. Only the box need be a shape that an array can have.
    """
    shape = placement.output_shape if window is None else tuple(stop - start for start, stop in window)
    strides = [0] * len(shape)
    box: list[Any] = []
    array = array.reshape(placement.input_shape)  # a view: axes are at most split
    for axis, size, step in zip(placement.output_axes, array.shape, array.strides, strict=True):
        own = size == placement.output_shape[axis]
        strides[axis] = step if own else 0
        box.append(slice(*window[axis]) if window and own else slice(None))
    # The ellipsis keeps an array of no axes an array: its one element may be bytes that end in zeros.
    return strided_view(array[(*box, ...)], shape, strides)


def merge(placement: Placement, view: Array) -> Array | None:
    """The whole output, as a view with its merged axes; None where their strides do not allow one."""
    if placement.merges is None:
        return view
    shape, strides, start = [], [], 0
    for count in placement.merges:
        axes = [
            (size, step)
            for size, step in zip(view.shape[start : start + count], view.strides[start : start + count], strict=True)
            if size != 1
        ]
        start += count
        if view.size and any(step != after * size for (_, step), (size, after) in pairwise(axes)):
            return None
        shape.append(prod(size for size, _ in axes))
        strides.append(axes[-1][1] if axes else 0)
    return strided_view(view, shape, strides)


def chunk_elements(view: Array) -> int:
    """Elements in each chunk of `chunks(view)` but the last."""
    elements: int = max(CHUNK_BYTES // view.itemsize, 1)
    period = _period(view)
    return elements if period > elements else elements - elements % period


def _period(view: Array) -> int:
    """After so many elements, in C order, the view's content repeats to its end."""
    leading = 0
    while leading < view.ndim and (view.strides[leading] == 0 or view.shape[leading] == 1):
        leading += 1
    return max(int(prod(view.shape[leading:])), 1)


def chunks(view: Array) -> Iterator[memoryview]:
    """The bytes of a view in C order, chunk by chunk, each of `chunk_elements` but the last.

    The chunks are views of a few buffers that are filled again: use each before CHUNK_BUFFERS - 1
    more have been taken. Content that repeats is written once and given again and again.
    """
    raw = view.view(storage(view.dtype)) if view.dtype != storage(view.dtype) else view
    total, step = raw.size, chunk_elements(raw)
    repeats = step % _period(raw) == 0
    flat: Array = np.empty((1 if repeats else CHUNK_BUFFERS, min(step, total)), raw.dtype)
    buffers = cycle(flat)
    filled: Array | None = None
    for start in range(0, total, step):
        size = min(step, total - start)
        if filled is None or not repeats:
            filled = next(buffers)
            _copy_range(raw, start, start + size, filled)
        yield filled[:size].view(np.uint8).data


def _copy_range(view: Array, start: int, stop: int, out: Array) -> None:
    """Copy elements `start` to `stop` of a view, counted in C order, to the head of a flat buffer."""
    if start == stop:
        return
    if view.ndim <= 1:
        out[: stop - start] = view.reshape(-1)[start:stop] if view.ndim == 0 else view[start:stop]
        return
    row = prod(view.shape[1:])
    first, head = divmod(start, row)
    last, tail = divmod(stop, row)
    if first == last:
        _copy_range(view[first], head, tail, out)
        return
    done = 0
    if head:
        _copy_range(view[first], head, row, out)
        first, done = first + 1, row - head
    rows = (last - first) * row
    if rows:
        out[done : done + rows].reshape(last - first, *view.shape[1:])[...] = view[first:last]
    if tail:
        _copy_range(view[last], 0, tail, out[done + rows :])


def gradient_work(gradients: Sequence[Array]) -> int:
    """Elements that `backprop` would read: those of the gradients, replicated (stride 0) axes counted once."""
    return sum(prod(size for size, step in zip(array.shape, array.strides, strict=True) if step) for array in gradients)


def result_elements(placement: Placement, gradient: Array) -> int:
    """Elements that `backprop` makes of one output's gradient: those of its input, replicated ones once."""
    steps = gradient.reshape(placement.output_shape).strides
    return prod(
        size
        for size, axis in zip(placement.input_shape, placement.output_axes, strict=True)
        if steps[axis] or size == 1
    )


def gradient_bytes(plan: Plan, gradients: Sequence[Array]) -> int:
    """Bytes of memory that `backprop` and the sending of what it makes take, at the most."""
    feeds = Counter(placement.input for placement in plan.outputs)
    total = 0
    for placement, gradient in zip(plan.outputs, gradients, strict=True):
        own, wide = gradient.itemsize, _accumulator(gradient.dtype).itemsize
        elements = result_elements(placement, gradient)
        # The sum, the sum of several such, the result in its own dtype, and in C order.
        total += elements * (wide * (1 + (feeds[placement.input] > 1)) + 2 * own)
        if placement.input_shape != plan.input_shapes[placement.input]:
            total += prod(placement.input_shape) * own
    return total


def backprop(plan: Plan, gradients: Sequence[Array]) -> list[Array]:
    """The gradient of each input: each output's gradient summed over its broadcast axes.

    Shapes are the inputs', the dtype is that of the gradients for that input (of the first gradient for an
    input that only lends its shape: zeros, replicated). Floating sums are taken in 64 bits, complex ones in
    128; integer sums wrap. Replicated axes of a gradient are multiplied, not summed, or stay replicated.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # integers wrap, and floats reach infinity, as they do in NumPy
        return [_backprop_input(plan, number, gradients) for number in range(len(plan.input_shapes))]


def _backprop_input(plan: Plan, number: int, gradients: Sequence[Array]) -> Array:
    shape = plan.input_shapes[number]
    own = [pair for pair in zip(plan.outputs, gradients, strict=True) if pair[0].input == number]
    if not own:
        return np.broadcast_to(np.zeros((), gradients[0].dtype), shape)
    # From the first on: a sum that starts with 0 would make +0 of -0.
    total = reduce(np.add, [_sum_to_input(placement, gradient) for placement, gradient in own])
    narrow = np.asarray(total).astype(own[0][1].dtype, copy=False)
    placed = own[0][0].input_shape
    whole = narrow if narrow.shape == placed else np.broadcast_to(narrow, placed)
    return whole if placed == shape else whole.reshape(shape)


def _sum_to_input(placement: Placement, gradient: Array) -> Array:
    """One output's gradient, summed over its broadcast axes, in the accumulator's dtype: an array that
    broadcasts to the input's shape (size 1 where the gradient is replicated along a kept axis)."""
    gradient = gradient.reshape(placement.output_shape)  # a view: axes are at most split
    wide = _accumulator(gradient.dtype)
    times = 1
    index: list[Any] = []
    for axis, (size, step) in enumerate(zip(gradient.shape, gradient.strides, strict=True)):
        replicated = size > 1 and step == 0
        index.append(slice(0, 1) if replicated else slice(None))
        if replicated and axis in placement.broadcast_axes:
            times *= size
    distinct = gradient[(*index, ...)]
    axes = placement.broadcast_axes
    # The reduction converts to the accumulator's dtype block by block.
    summed = np.add.reduce(distinct, axis=axes, dtype=wide, keepdims=True) if axes else distinct
    if times > 1 and wide.kind == "c":
        summed.real *= times  # each part by itself: a product of complex numbers makes NaN of infinity
        summed.imag *= times
    elif times > 1:
        summed *= times if wide.kind == "f" else np.array(times % 2**64, np.uint64).astype(wide)
    # The axes that the input lacks have size 1 once they are summed.
    kept = summed.transpose([*placement.output_axes, *placement.new_axes])
    return kept.reshape(kept.shape[: len(placement.input_shape)])


def _accumulator(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Wide enough that a sum is accurate to `dtype`: 64-bit floats; integers wrap the same at any width."""
    if dtype.kind == "c":
        return np.dtype(np.complex128)
    if dtype.kind in "iu":
        return dtype
    return np.dtype(np.int64 if "int" in dtype.name else np.float64)
