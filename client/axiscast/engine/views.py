"""The engine: a placement and an array become a view or a gradient.

How a view's bytes are written is in dense.py, and how sums are taken in sums.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from ..plan.plan import Placement, Plan
from ..wire.dtypes import storage_dtype
from ..wire.tensors import strided_view
from .sums import accumulator, sum_axes, working_bytes

Array = np.ndarray[Any, np.dtype[Any]]

MAX_SUM_ITEMSIZE = 16
"""Bytes of the widest dtype in which sums are taken."""


Window = Sequence[tuple[int, int]]
"""[start, stop] on each output axis: a box of the output."""


def output_view(placement: Placement, array: Array, window: Window | None = None) -> Array:
    """The output before its axes are merged, or a box of it, as a read-only view of the input: strides 0 where it is
    replicated.

    No element is copied. Only the box need be a shape that an array can have.
    """
    shape = placement.output_shape if window is None else tuple(stop - start for start, stop in window)
    box: list[Any] = []
    array = array.reshape(placement.input_shape)  # a view: axes are at most split
    if window is None and array.size and array.flags.c_contiguous:  # most are: the same view, at a third of the cost
        raw = array.view(storage_dtype(array.dtype))
        whole: Array = np.ndarray(shape, raw.dtype, raw, 0, input_strides(placement, array))
        whole.flags.writeable = False
        return whole.view(array.dtype)
    for axis, size in zip(placement.output_axes, array.shape, strict=True):
        own = size == placement.output_shape[axis]
        box.append(slice(*window[axis]) if window and own else slice(None))
    strides = input_strides(placement, array)
    # The ellipsis keeps an array of no axes an array: its one element may be bytes that end in zeros.
    return strided_view(array[(*box, ...)], shape, strides)


def input_strides(placement: Placement, array: Array) -> list[int]:
    """For each axis of `output_shape` the bytes to step in the input (of `input_shape`): 0 where it is replicated."""
    steps = [0] * len(placement.output_shape)
    for axis, size, step in zip(placement.output_axes, array.shape, array.strides, strict=True):
        if size == placement.output_shape[axis]:
            steps[axis] = step
    return steps


def merged_output_view(placement: Placement, array: Array, window: Window | None = None) -> Array | None:
    """The output, or a box of it, as a read-only view of the input with the axes merged that are to be; None where no
    strides step along one of them."""
    box = window or [(0, size) for size in placement.shape]
    shape = [stop - start for start, stop in box]
    array = array.reshape(placement.input_shape)
    if 0 in shape:
        return strided_view(array, shape, [0] * len(shape))
    strides = input_strides(placement, array)
    first: list[int] = []
    steps: list[int] = []
    for axes, (start, stop) in zip(merged_axes(placement), box, strict=True):
        sizes = [placement.output_shape[axis] for axis in axes]
        step = _step(sizes, strides[axes.start : axes.stop], start, stop)
        if step is None:
            return None
        steps.append(step)
        first += _places(start, sizes)
    at: list[Any] = [...]  # keeps an array of no axes an array
    for size, axis in reversed(list(zip(array.shape, placement.output_axes, strict=True))):
        at.insert(0, slice(first[axis], None) if size > 1 else slice(None))
    return strided_view(array[tuple(at)], shape, steps)


def merged_axes(placement: Placement) -> list[range]:
    """For each axis of the output the axes of `output_shape` that it is made of."""
    counts = placement.merges or (1,) * len(placement.output_shape)
    return [range(end - count, end) for end, count in zip(accumulate(counts), counts, strict=True)]


def _places(place: int, sizes: Sequence[int]) -> list[int]:
    """Where a place on a merged axis lies on each of the axes, of these sizes, that it is made of."""
    places = []
    for size in reversed(sizes):
        place, digit = divmod(place, size)
        places.append(digit)
    return places[::-1]


def _step(sizes: Sequence[int], steps: Sequence[int], start: int, stop: int) -> int | None:
    """The one step that leads from each place between `start` and `stop` on a merged axis to the next; None where there
    is none. Where an outer axis moves on, the inner ones go back to their beginning."""
    found = set()
    inner, back = 1, 0
    for size, step in zip(reversed(sizes), reversed(steps), strict=True):
        outer = inner * size
        if (stop - 1) // inner - start // inner > (stop - 1) // outer - start // outer:
            found.add(step - back)
        inner, back = outer, back + (size - 1) * step
    return None if len(found) > 1 else max(found, default=0)


def gradient_elements(gradients: Sequence[Array]) -> int:
    """Elements that `input_gradients` would read: those of the gradients, replicated (stride 0) axes counted once."""
    return sum(prod(size for size, step in zip(array.shape, array.strides, strict=True) if step) for array in gradients)


def result_elements(placement: Placement, gradient: Array) -> int:
    """Elements that `input_gradients` makes of one output's gradient: those of its input, replicated ones once."""
    steps = gradient.reshape(placement.output_shape).strides
    return prod(
        size
        for size, axis in zip(placement.input_shape, placement.output_axes, strict=True)
        if steps[axis] or size == 1
    )


def gradient_bytes(plan: Plan, gradients: Sequence[Array]) -> int:
    """Bytes of memory that `input_gradients` and the sending of what it makes take, at the most."""
    feeds = Counter(placement.input for placement in plan.outputs)
    total = 0
    for placement, gradient in zip(plan.outputs, gradients, strict=True):
        own, wide = gradient.itemsize, accumulator(gradient.dtype).itemsize
        elements = result_elements(placement, gradient)
        # The sum, the sum of several such, the result in its own dtype, and in C order.
        total += elements * (wide * (1 + (feeds[placement.input] > 1)) + 2 * own)
        if placement.input_shape != plan.input_shapes[placement.input]:
            total += prod(placement.input_shape) * own
    return total + working_bytes(gradient_elements(gradients))


def input_gradients(plan: Plan, gradients: Sequence[Array]) -> list[Array]:
    """The gradient of each input: each output's gradient summed over its broadcast axes.

    Shapes are the inputs', the dtype is that of the gradients for that input (of the first gradient for an
    input that only lends its shape: zeros, replicated). Floating sums are taken in 64 bits, complex ones in
    128; integer sums wrap. Replicated axes of a gradient are multiplied, not summed, or stay replicated.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # integers wrap, and floats reach infinity, as they do in NumPy
        return [_input_gradient(plan, number, gradients) for number in range(len(plan.input_shapes))]


def _input_gradient(plan: Plan, number: int, gradients: Sequence[Array]) -> Array:
    shape = plan.input_shapes[number]
    own = [pair for pair in zip(plan.outputs, gradients, strict=True) if pair[0].input == number]
    if not own:
        return np.broadcast_to(np.zeros((), gradients[0].dtype), shape)
    # From the first on: a sum that starts with 0 would make +0 of -0.
    total = reduce(np.add, [_sum_to_input(placement, gradient, wide=len(own) > 1) for placement, gradient in own])
    narrow = np.asarray(total).astype(own[0][1].dtype, copy=False)
    placed = own[0][0].input_shape
    whole = narrow if narrow.shape == placed else np.broadcast_to(narrow, placed)
    return whole if placed == shape else whole.reshape(shape)


def _sum_to_input(placement: Placement, gradient: Array, wide: bool) -> Array:
    """One output's gradient, summed over its broadcast axes, in its own dtype or its accumulator's: an array that
    broadcasts to the input's shape (size 1 where the gradient is replicated along a kept axis)."""
    gradient = gradient.reshape(placement.output_shape)  # a view: axes are at most split
    times = 1
    index: list[Any] = []
    for axis, (size, step) in enumerate(zip(gradient.shape, gradient.strides, strict=True)):
        replicated = size > 1 and step == 0
        index.append(slice(0, 1) if replicated else slice(None))
        if replicated and axis in placement.broadcast_axes:
            times *= size
    distinct = gradient[(*index, ...)]
    axes = placement.broadcast_axes
    dtype = accumulator(gradient.dtype) if wide or times > 1 else gradient.dtype
    summed = sum_axes(distinct, axes, dtype) if axes else distinct
    if times > 1 and dtype.kind == "c":
        summed.real *= times  # each part by itself: a product of complex numbers makes NaN of infinity
        summed.imag *= times
    elif times > 1:
        summed *= times if dtype.kind == "f" else np.array(times % 2**64, np.uint64).astype(dtype)
    # The axes that the input lacks have size 1 once they are summed.
    kept = summed.transpose([*placement.output_axes, *placement.new_axes])
    return kept.reshape(kept.shape[: len(placement.input_shape)])
