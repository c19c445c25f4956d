"""The resource /v1/backprop, which computes the gradients of the inputs from the gradients of the outputs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from math import prod

from fastapi import APIRouter, Response

from axiscast.checks.estimates import SUMMED_ELEMENT_MS, memory_estimate, time_estimate
from axiscast.checks.limits import RequestSize, validate_json_size, validate_output_bytes, validate_request
from axiscast.checks.tensor_checks import validate_gradients
from axiscast.engine.views import gradient_bytes, gradient_elements, input_gradients
from axiscast.messages.tensors import BackpropAnswer, BackpropRequest
from axiscast.plan.plan import Plan
from axiscast.wire.codec import Encoding
from axiscast.wire.problems import Problem
from axiscast.wire.tensors import Array, has_overlaps, replicated_axes

from ..middleware.answer import Answer
from ..runtime.threads import LOOP_MILLISECONDS
from .api_route import ApiRoute
from .request_context import Context
from .tensor_response import OutgoingArray, lists_in, tensor_response

router = APIRouter(route_class=ApiRoute)


@router.post("/v1/backprop", summary="Gradients of the inputs", response_model=BackpropAnswer)
async def post_backprop(message: BackpropRequest, context: Context) -> Answer | Response:
    """Return the gradients of the inputs: the gradients of the outputs, summed over the broadcast axes."""
    request_size = validate_request(message.op, tuple(message.inputs))
    milliseconds = time_estimate(request_size)
    max_output_bytes = context.settings.max_output_bytes

    def prepare() -> tuple[Callable[[], list[OutgoingArray]], int]:
        context.reserve(memory_estimate(request_size, message.gradients))
        plan, gradients = _gradients(message, request_size)
        context.reserve(gradient_bytes(plan, gradients))
        dense = dense_gradients(message, plan, gradients, context.media, max_output_bytes)
        return lambda: _outgoing(input_gradients(plan, gradients), dense, message.layout), gradient_elements(gradients)

    sums, elements = await context.run(milliseconds, prepare)
    results = await (
        context.compute(sums) if SUMMED_ELEMENT_MS * elements > LOOP_MILLISECONDS else context.run(milliseconds, sums)
    )
    return await tensor_response(context, {"gradients": results}, message.json_data)


def _outgoing(results: list[Array], dense: list[bool], layout: str | None) -> list[OutgoingArray]:
    return [
        OutgoingArray(array, array.shape, strided=layout == "strided" or (not whole and any(replicated_axes(array))))
        for array, whole in zip(results, dense, strict=True)
    ]


def dense_gradients(
    message: BackpropRequest, plan: Plan, gradients: list[Array], media: Encoding, max_output_bytes: int
) -> list[bool]:
    """For each input, return whether its gradient is sent in dense form, even if the elements are replicated.

    If the request has no layout, gradients are dense in JSON, but not in MessagePack, which supports strides. In that
    case, if an input only provides a shape, its gradient is never dense, because this gradient may have any size.
    Raises Problem (output-too-large) if dense gradients would be too large. This check runs before any summation.
    """
    fed = {placement.input for placement in plan.outputs}
    by_itself = [media is Encoding.JSON and number in fed for number in range(len(plan.input_shapes))]
    dense = by_itself if message.layout is None else [message.layout == "dense"] * len(by_itself)
    widths = [gradients[0].itemsize] * len(dense)
    for placement, gradient in reversed(list(zip(plan.outputs, gradients, strict=True))):
        widths[placement.input] = gradient.itemsize
    shapes = list(compress(plan.input_shapes, dense))
    itemsizes = list(compress(widths, dense))
    if media is Encoding.JSON:
        lists = 0 if message.json_data == "base64" else sum(map(lists_in, shapes))
        nbytes = sum(prod(shape) * itemsize for shape, itemsize in zip(shapes, itemsizes, strict=True))
        validate_json_size(sum(map(prod, shapes)), lists, nbytes)
    elif shapes:
        validate_output_bytes(shapes, itemsizes, max_output_bytes)
    return dense


def _gradients(message: BackpropRequest, request_size: RequestSize) -> tuple[Plan, list[Array]]:
    """Return the plan and the gradients of its outputs. Problems are raised before any summation starts."""
    arrays = [tensor.to_array(f"/gradients/{number}") for number, tensor in enumerate(message.gradients)]
    plan = validate_gradients(request_size, arrays)
    for number, array in enumerate(arrays):
        if has_overlaps(array):  # a few bytes could have 2^28 elements, and reading such an element takes 50 ns
            place = f"gradients/{number}"
            detail = f"{place}: the strides let elements overlap: send each element separately, or use stride 0"
            raise Problem("invalid-tensor", detail, pointer=f"/{place}/strides")
    return plan, arrays
