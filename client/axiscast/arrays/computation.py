"""Broadcasts and gradients that are computed in this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks.limits import Limit, RequestSize, validate_request
from ..checks.tensor_checks import not_strided_problem, validate_gradients, validate_outputs
from ..engine.dense import write_dense
from ..engine.gather import Gathered
from ..engine.views import Window, gradient_bytes, input_gradients, merged_output_view, output_view
from ..messages import IntegerRequest
from ..messages.arguments import OpLike, plain_op
from ..messages.base import ListOf
from ..messages.notation import PythonNotation
from ..messages.validation import validate
from ..messages.value_arguments import InputShape
from ..plan.plan import Placement, Shape
from ..wire.dtypes import UnknownDtype, dtype_from_name, dtype_name
from ..wire.shapes import MAX_SIZE, ShapeField
from ..wire.tensors import Array, TensorLayout, replicated_axes, to_little_endian
from .array_libraries import Like, may_overlap
from .tensor_arguments import ResultOptions, read_backprop, read_broadcast

_OUTPUT_TEXT = (
    "the outputs need {nbytes} bytes of memory (the largest shape is {shape}), but this machine has {limit}: use "
    "layout='strided', which needs no memory, or a window of the output"
)
_GRADIENTS_TEXT = (
    "the gradients need up to {nbytes} bytes of memory, but this machine has {limit}: pass the gradient in slices"
)


class _ShapesRequest(IntegerRequest):
    inputs: ListOf[ShapeField]


def compute_broadcast(op: OpLike, arrays: Sequence[Any], options: ResultOptions) -> list[Any]:
    """Return the inputs of an op after broadcasting. This function implements axiscast.broadcast."""
    layout, _, out, like = options
    if layout not in (None, "dense", "strided"):
        raise ValueError(f'layout must be "dense", "strided" or None, not {layout!r:.40}')
    if layout is None and (out is not None or like != "numpy"):
        layout = "dense"  # results that are written to `out` or converted to another library are copies
    inputs, window, targets, convert = read_broadcast(op, arrays, options._replace(layout=layout or "dense"))
    box = None if window is None else [(start, stop) for start, stop in window]
    request_size = _request_size(op, inputs, [array.shape for array in inputs])
    max_bytes = _memory_bytes() if layout == "dense" and targets is None else None
    plan, shapes = validate_outputs(request_size, inputs, box, max_bytes, _OUTPUT_TEXT)
    if targets is not None:
        _check_targets(targets, [inputs[placement.input].dtype for placement in plan.outputs], shapes)
        inputs = [array.copy() if may_overlap([array], targets) else array for array in inputs]
    memory: Sequence[Array | None] = targets or [None] * len(shapes)
    results = [
        _output(placement, inputs[placement.input], box, shape, layout, target)
        for placement, shape, target in zip(plan.outputs, shapes, memory, strict=True)
    ]
    return convert(results)


def _output(
    placement: Placement,
    array: Array,
    window: Window | None,
    shape: Shape,
    layout: TensorLayout | None,
    target: Array | None,
) -> Array:
    """Return one output of an op, or a window of this output.

    The result is a read-only view, unless the layout is dense or no strides can describe the output.
    """
    view = (output_view if placement.merges is None else merged_output_view)(placement, array, window)
    if view is not None and layout != "dense":
        return view
    if layout == "strided":
        raise not_strided_problem(placement)
    if target is None:
        target = np.empty(shape, array.dtype)
    if view is not None:
        write_dense(view, target)
    elif window is None:
        write_dense(output_view(placement, array), target.reshape(placement.output_shape))
    else:
        target[...] = Gathered(placement, np.ascontiguousarray(array), window).whole()
    return target


def _check_targets(targets: Sequence[Array], dtypes: Sequence[np.dtype[Any]], shapes: Sequence[Shape]) -> None:
    """Raise ValueError if the arrays in `out` do not have the dtypes and the shapes of the outputs."""
    if len(targets) != len(shapes):
        raise ValueError(f"out has {len(targets)} arrays for {len(shapes)} outputs: pass one array for each output")
    for target, dtype, shape in zip(targets, dtypes, shapes, strict=True):
        if target.shape != shape or target.dtype != dtype:
            raise ValueError(f"out is {target.dtype} {target.shape}, but the output is {dtype} {shape}")


def compute_backprop(op: OpLike, shapes: Sequence[InputShape], gradients: Sequence[Any], like: Like) -> list[Any]:
    """Return the gradients of an op's inputs. This function implements axiscast.backprop."""
    input_shapes, converted, convert = read_backprop(op, shapes, gradients, like)
    request_size = _request_size(op, converted, input_shapes)
    arrays = list(map(to_little_endian, converted))
    plan = validate_gradients(request_size, arrays)
    if (nbytes := gradient_bytes(plan, arrays)) > (limit := _memory_bytes()):
        raise Limit(limit, _GRADIENTS_TEXT).problem({"nbytes": nbytes}, "output-too-large")
    results = [
        # A gradient that is not summed over any axis is still a view of the argument.
        result if any(replicated_axes(result)) or not may_overlap([result], arrays) else result.copy()
        for result in input_gradients(plan, arrays)
    ]
    return convert(results)


def _request_size(op: OpLike, arrays: Sequence[Array], shapes: Sequence[Sequence[int]]) -> RequestSize:
    """Return the validated op and shapes. Raises Problem, or TypeError if a dtype is not supported."""
    request = validate(_ShapesRequest, {"op": plain_op(op), "inputs": shapes}, PythonNotation())
    for array in arrays:
        try:
            dtype_from_name(dtype_name(array.dtype))
        except UnknownDtype as error:
            raise TypeError(str(error)) from None
    return validate_request(request.op, tuple(request.inputs))


def _memory_bytes() -> int:
    """Return the machine's memory in bytes, or MAX_SIZE if the system does not report the memory."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return MAX_SIZE
