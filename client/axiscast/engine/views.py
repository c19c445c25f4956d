"""The engine, which computes a view of an output, or the gradient of an input, from a placement and an array.

dense.py writes the bytes of a view, and sums.py computes sums over axes.
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
from .dense import distinct_index
from .memory_layout import Array
from .sums import accumulator, sum_axes, working_bytes

MAX_SUM_ITEMSIZE = 16
"""The size, in bytes, of an element in the widest dtype that is used for sums."""


Window = Sequence[tuple[int, int]]
"""A slice of the output: a pair (start, stop) for each output axis."""


def output_view(placement: Placement, array: Array, window: Window | None = None) -> Array:
    """Return the output before axes are merged, or a window of this output, as a read-only view of the input.

    No element is copied, because the view has stride 0 along the broadcast axes. Only the window must have a shape that
    NumPy supports. The whole output may be larger.
    """
    shape = placement.output_shape if window is None else tuple(stop - start for start, stop in window)
    box: list[Any] = []
    array = array.reshape(placement.input_shape)  # a view, because this reshape only splits axes
    if window is None and array.size and array.flags.c_contiguous:  # the most common case, in a third of the time
        raw = array.view(storage_dtype(array.dtype))
        whole: Array = np.ndarray(shape, raw.dtype, raw, 0, input_strides(placement, array))
        whole.flags.writeable = False
        return whole.view(array.dtype)
    for axis, size in zip(placement.output_axes, array.shape, strict=True):
        own = size == placement.output_shape[axis]
        box.append(slice(*window[axis]) if window and own else slice(None))
    strides = input_strides(placement, array)
    # With an ellipsis, indexing returns an array. A bytes scalar would lose its trailing zeros.
    return strided_view(array[(*box, ...)], shape, strides)


def input_strides(placement: Placement, array: Array) -> list[int]:
    """Return the input's stride, in bytes, for each axis in `output_shape`. It is 0 along the broadcast axes."""
    steps = [0] * len(placement.output_shape)
    for axis, size, step in zip(placement.output_axes, array.shape, array.strides, strict=True):
        if size == placement.output_shape[axis]:
            steps[axis] = step
    return steps


def merged_output_view(placement: Placement, array: Array, window: Window | None = None) -> Array | None:
    """Return the output after axes are merged, or a window of this output, as a read-only view of the input.

    Return None if no single stride describes one of the merged axes.
    """
    box = window or [(0, size) for size in placement.shape]
    shape = [stop - start for start, stop in box]
    array = array.reshape(placement.input_shape)
    if 0 in shape:
        return strided_view(array, shape, [0] * len(shape))
    strides = input_strides(placement, array)
    first: list[int] = []  # the window's first position on each axis of `output_shape`
    steps: list[int] = []
    for axes, (start, stop) in zip(merged_axes(placement), box, strict=True):
        sizes = [placement.output_shape[axis] for axis in axes]
        step = _merged_stride(sizes, strides[axes.start : axes.stop], start, stop)
        if step is None:
            return None
        steps.append(step)
        first += _unravel(start, sizes)
    pairs = zip(array.shape, placement.output_axes, strict=True)
    begin = [slice(first[axis], None) if size > 1 else slice(None) for size, axis in pairs]
    return strided_view(array[(*begin, ...)], shape, steps)  # with the ellipsis, the result is an array


def merged_axes(placement: Placement) -> list[range]:
    """Return, for each axis of the output, the axes in `output_shape` that are merged into the output axis."""
    counts = placement.merges or (1,) * len(placement.output_shape)
    return [range(end - count, end) for end, count in zip(accumulate(counts), counts, strict=True)]


def _unravel(position: int, sizes: Sequence[int]) -> list[int]:
    """Convert a position on a merged axis to the positions on the original axes. `sizes` contains their sizes."""
    positions = []
    for size in reversed(sizes):
        position, own = divmod(position, size)
        positions.append(own)
    return positions[::-1]


def _merged_stride(sizes: Sequence[int], strides: Sequence[int], start: int, stop: int) -> int | None:
    """Return the stride between adjacent elements on a merged axis from `start` to `stop`, or None if strides differ.

    `sizes` and `strides` describe the axes that were merged. Each step on the merged axis advances one of these axes by
    one position and resets the axes inside it. The step therefore moves by the stride of the advanced axis minus the
    extent of the inner axes.
    """
    distinct = set()
    inner_size, inner_extent = 1, 0
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        outer_size = inner_size * size
        steps_of_inner = (stop - 1) // inner_size - start // inner_size
        steps_of_outer = (stop - 1) // outer_size - start // outer_size
        if steps_of_inner > steps_of_outer:  # at least one step advances this axis
            distinct.add(stride - inner_extent)
        inner_size, inner_extent = outer_size, inner_extent + (size - 1) * stride
    return None if len(distinct) > 1 else max(distinct, default=0)


def gradient_elements(gradients: Sequence[Array]) -> int:
    """Return the number of elements that `input_gradients` reads. An axis with stride 0 counts as an axis of size 1."""
    return sum(prod(size for size, step in zip(array.shape, array.strides, strict=True) if step) for array in gradients)


def result_elements(placement: Placement, gradient: Array) -> int:
    """Return the number of elements that `input_gradients` computes from the gradient of one output."""
    steps = gradient.reshape(placement.output_shape).strides
    pairs = zip(placement.input_shape, placement.output_axes, strict=True)
    return prod(size for size, axis in pairs if steps[axis] or size == 1)


def gradient_bytes(plan: Plan, gradients: Sequence[Array]) -> int:
    """Return the maximum memory, in bytes, that `input_gradients` and sending the results need."""
    feeds = Counter(placement.input for placement in plan.outputs)
    total = 0
    for placement, gradient in zip(plan.outputs, gradients, strict=True):
        own, wide = gradient.itemsize, accumulator(gradient.dtype).itemsize
        elements = result_elements(placement, gradient)
        # Four arrays are counted: a sum, the total of several sums, the result in its own dtype, and a copy in C order.
        total += elements * (wide * (1 + (feeds[placement.input] > 1)) + 2 * own)
        if placement.input_shape != plan.input_shapes[placement.input]:
            total += prod(placement.input_shape) * own
    return total + working_bytes(gradient_elements(gradients))


def input_gradients(plan: Plan, gradients: Sequence[Array]) -> list[Array]:
    """Return the gradient of each input: the sum of each output's gradient over the broadcast axes.

    An input's gradient has the shape of the input, and the dtype of its outputs' gradients. If an input is used only
    for its shape, its gradient contains zeros in the dtype of the first gradient. Floating-point sums are computed in
    64 bits and complex sums in 128 bits. Integer sums wrap around. An axis with stride 0 is multiplied by its size
    instead of being summed, or keeps stride 0.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # integers wrap around and floats become infinite, as in NumPy
        return [_input_gradient(plan, number, gradients) for number in range(len(plan.input_shapes))]


def _input_gradient(plan: Plan, number: int, gradients: Sequence[Array]) -> Array:
    shape = plan.input_shapes[number]
    own = [pair for pair in zip(plan.outputs, gradients, strict=True) if pair[0].input == number]
    if not own:
        return np.broadcast_to(np.zeros((), gradients[0].dtype), shape)
    # The sum starts with the first gradient instead of 0, because 0 + -0 is +0.
    total = reduce(np.add, [_sum_to_input(placement, gradient, wide=len(own) > 1) for placement, gradient in own])
    narrow = np.asarray(total).astype(own[0][1].dtype, copy=False)
    placed = own[0][0].input_shape
    whole = narrow if narrow.shape == placed else np.broadcast_to(narrow, placed)
    return whole if placed == shape else whole.reshape(shape)


def _sum_to_input(placement: Placement, gradient: Array, wide: bool) -> Array:
    """Return the gradient of one output, summed over the broadcast axes.

    The result broadcasts to the input's shape. It has size 1 on each remaining axis on which the gradient has stride 0.
    If `wide` is True, the result has the accumulator's dtype.
    """
    gradient = gradient.reshape(placement.output_shape)  # a view, because this reshape only splits axes
    distinct = gradient[distinct_index(gradient)]
    axes = placement.broadcast_axes
    times = prod(gradient.shape[axis] for axis in axes if distinct.shape[axis] == 1)
    dtype = accumulator(gradient.dtype) if wide or times > 1 else gradient.dtype
    summed = sum_axes(distinct, axes, dtype) if axes else distinct
    if times > 1 and dtype.kind == "c":
        summed.real *= times  # the parts are multiplied separately, because a complex product turns infinity into NaN
        summed.imag *= times
    elif times > 1:
        summed *= times if dtype.kind == "f" else np.array(times % 2**64, np.uint64).astype(dtype)
    # Axes that do not exist in the input have size 1 after the sum.
    kept = summed.transpose([*placement.output_axes, *placement.new_axes])
    return kept.reshape(kept.shape[: len(placement.input_shape)])
