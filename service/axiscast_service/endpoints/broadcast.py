"""The resource /v1/broadcast, which returns broadcast tensors, or windows of these tensors."""

from __future__ import annotations

from fastapi import APIRouter, Response

from axiscast.checks.estimates import memory_estimate, time_estimate
from axiscast.checks.limits import MAX_LOOKUPS, RequestSize, validate_request
from axiscast.checks.tensor_checks import not_strided_problem, validate_outputs
from axiscast.engine.gather import Gathered
from axiscast.engine.views import Window, merged_output_view, output_view
from axiscast.messages.tensors import BroadcastAnswer, BroadcastRequest
from axiscast.plan.plan import Placement, Shape
from axiscast.wire.tensors import Array

from ..middleware.answer import Answer
from .api_route import ApiRoute
from .request_context import Context
from .tensor_response import Outgoing, OutgoingArray, OutgoingBox, tensor_response

router = APIRouter(route_class=ApiRoute)


@router.post("/v1/broadcast", summary="Broadcast tensors", response_model=BroadcastAnswer)
async def post_broadcast(message: BroadcastRequest, context: Context) -> Answer | Response:
    """Return the broadcast tensors, or a window of each tensor.

    A dense response contains every element. A strided response is only as large as the inputs. Dense responses in
    MessagePack are streamed in constant memory, with a known Content-Length.
    """
    request_size = request_size_of(message)

    def work() -> list[Outgoing]:
        context.reserve(memory_estimate(request_size, message.inputs))
        return outputs(message, request_size, context.settings.max_output_bytes)

    tensors = await context.run(time_estimate(request_size), work)
    context.state["layout"] = message.layout
    return await tensor_response(context, {"broadcast_inputs": tensors}, message.json_data)


def request_size_of(message: BroadcastRequest) -> RequestSize:
    """Return the size of a broadcast request. Raises Problem if the request exceeds a limit."""
    return validate_request(message.op, tuple([tensor.shape for tensor in message.inputs]))


def outputs(message: BroadcastRequest, request_size: RequestSize, max_output_bytes: int) -> list[Outgoing]:
    """Return the outputs, or the window of each output, as views of the inputs. Raises Problem before any allocation.

    The data of each tensor is checked first. If the data does not match the tensor's own shape, an error about
    broadcasting would not help the client.
    """
    arrays = [tensor.to_array(f"/inputs/{number}") for number, tensor in enumerate(message.inputs)]
    max_bytes = max_output_bytes if message.layout == "dense" else None
    plan, shapes = validate_outputs(request_size, arrays, message.window, max_bytes)
    strided = message.layout == "strided"
    return [
        _outgoing(placement, arrays[placement.input], message.window, shape, strided)
        for placement, shape in zip(plan.outputs, shapes, strict=True)
    ]


def _outgoing(placement: Placement, array: Array, window: Window | None, shape: Shape, strided: bool) -> Outgoing:
    """Return an output, or its window, in a form that can be sent in the requested layout."""
    if placement.merges is None or (window is None and not strided):
        return OutgoingArray(output_view(placement, array, window), shape, strided)
    merged = merged_output_view(placement, array, window)
    if merged is not None:
        return OutgoingArray(merged, shape, strided)
    if strided or window is None:
        raise not_strided_problem(placement)
    gathered = Gathered(placement, array, window)
    MAX_LOOKUPS.check(gathered.lookups)
    return OutgoingBox(gathered)
