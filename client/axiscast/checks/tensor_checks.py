"""Checks on requests that contain tensors. They run before memory is allocated and elements are summed."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.views import MAX_SUM_ITEMSIZE, Window
from ..plan.plan import Placement, Plan, Shape
from ..wire.dtypes import dtype_name
from ..wire.problems import Problem
from ..wire.shapes import format_shape
from ..wire.tensors import Array
from ..wire.wording import count_of
from .check import plan_or_problem
from .limits import OUTPUT_TEXT, RequestSize, validate_output_bytes, validate_span


def validate_outputs(
    request_size: RequestSize,
    arrays: Sequence[Array],
    window: Window | None,
    max_bytes: int | None = None,
    limit_text: str = OUTPUT_TEXT,
) -> tuple[Plan, list[Shape]]:
    """Return the plan of a broadcast and the shape of each result. With a window, each result has the window's shape.

    Pass `max_bytes` to limit the size of dense results. Raises Problem (incompatible-shapes, invalid-request,
    output-too-large).
    """
    plan = plan_or_problem(request_size)
    if not plan.outputs:
        detail = f"{request_size.op.name} broadcasts no input here: use check instead"
        raise Problem("invalid-request", detail, pointer="/op")
    if window is not None:
        _validate_window(window, plan)
    window_shape = None if window is None else tuple(stop - start for start, stop in window)
    shapes = [placement.shape if window_shape is None else window_shape for placement in plan.outputs]
    itemsizes = [arrays[placement.input].itemsize for placement in plan.outputs]
    if max_bytes is not None:
        validate_output_bytes(shapes, itemsizes, max_bytes, limit_text)
    for placement, itemsize in zip(plan.outputs, itemsizes, strict=True):
        validate_span(placement.output_shape if window_shape is None else window_shape, itemsize)
    return plan, shapes


def _validate_window(window: Window, plan: Plan) -> None:
    shape = plan.outputs[0].shape
    if any(placement.shape != shape for placement in plan.outputs):
        detail = "window: the outputs have different shapes, and a window needs outputs of the same shape"
        raise Problem("invalid-request", detail, pointer="/window")
    if len(window) != len(shape):
        raise Problem(
            "invalid-request",
            f"window: has {count_of(len(window), 'pair')}, but the output {list(shape)} has "
            f"{count_of(len(shape), 'axis', 'axes')}: write one pair for each axis, such as "
            f"{[[0, size] for size in shape]} for the whole output",
            pointer="/window",
        )
    for axis, ((start, stop), size) in enumerate(zip(window, shape, strict=True)):
        if not 0 <= start <= stop <= size:
            low, high, _ = slice(start, stop).indices(size)  # NumPy would count from the end
            raise Problem(
                "invalid-request",
                f"window/{axis}: [{start}, {stop}] must satisfy 0 <= start <= stop <= {size}, the size of output "
                f"axis {axis}: write {[low, max(low, high)]}",
                pointer=f"/window/{axis}",
            )


def validate_gradients(request_size: RequestSize, gradients: Sequence[Array]) -> Plan:
    """Return the plan of a backprop request, after checking the gradient of each output.

    Raises Problem (incompatible-shapes, invalid-request, invalid-tensor, output-too-large).
    """
    plan = plan_or_problem(request_size)
    if not plan.outputs:
        detail = f"{request_size.op.name} broadcasts no input here, so it has no gradients"
        raise Problem("invalid-request", detail, pointer="/op")
    if len(gradients) != len(plan.outputs):
        raise Problem(
            "invalid-request",
            f"gradients: has {count_of(len(gradients), 'gradient')} for "
            f"{count_of(len(plan.outputs), 'broadcast input')}: send one gradient for each",
            pointer="/gradients",
        )
    for number, (gradient, placement) in enumerate(zip(gradients, plan.outputs, strict=True)):
        pointer = f"/gradients/{number}"
        if gradient.shape != placement.shape:
            raise Problem(
                "invalid-tensor",
                f"gradients/{number}: has the shape {format_shape(gradient.shape)}, but output {number} has "
                f"{format_shape(placement.shape)}: a gradient must have the shape of its output",
                pointer=f"{pointer}/shape",
            )
        if gradient.dtype.kind in "bSUMm":
            raise Problem(
                "invalid-tensor",
                f"gradients/{number}: elements of dtype {dtype_name(gradient.dtype)} can't be added: send a numeric "
                f"dtype such as float32",
                pointer=f"{pointer}/dtype",
            )
        # The axes of output_shape are not merged. If a gradient has no elements, its sum has a wider dtype.
        validate_span(placement.output_shape, gradient.itemsize if gradient.size else MAX_SUM_ITEMSIZE)
    for shape in plan.input_shapes:
        validate_span(shape, gradients[0].itemsize)
    return plan


def not_strided_problem(placement: Placement) -> Problem:
    """Return the problem for an output with merged axes that no strides can describe."""
    return Problem(
        "not-strided",
        f"after {format_shape(placement.output_shape)} is merged to {format_shape(placement.shape)}, no strides can "
        'read the output from the input: request "layout": "dense"',
    )
