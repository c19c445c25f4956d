"""/v1/broadcast"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from axiscast.answers.check import plan_or_problem
from axiscast.answers.estimates import memory_estimate, time_estimate
from axiscast.answers.limits import MAX_LOOKUPS, RequestSize, validate_output_bytes, validate_request, validate_span
from axiscast.engine.gather import Gathered
from axiscast.engine.views import Window, merged_output_view, output_view
from axiscast.messages.tensors import BroadcastAnswer, BroadcastRequest
from axiscast.plan.plan import Placement, Plan, Shape
from axiscast.wire.codec import ENCODINGS
from axiscast.wire.problems import Problem
from axiscast.wire.shapes import format_shape
from axiscast.wire.tensors import Array
from axiscast.wire.wording import count_of

from ..openapi import request_and_response
from ..runtime.threads import LOOP_MILLISECONDS
from .request_context import MAX_UNRESERVED_BYTES, receive, receive_short
from .stream import Outgoing, OutgoingArray, OutgoingBox, answer, short_answer

router = APIRouter()


@router.post("/v1/broadcast", summary="Broadcast tensors", **request_and_response(BroadcastRequest, BroadcastAnswer))
async def post_broadcast(request: Request) -> Response:
    """Tensors in, broadcast tensors out: dense, or strided at the cost of the inputs; whole, or a window.

    Dense MessagePack answers stream in constant memory, with a known Content-Length.
    """
    context = await receive(request, BroadcastRequest)
    message = context.message
    request_size = request_size_of(message)

    def work() -> list[Outgoing]:
        context.reserve(memory_estimate(request_size, message.inputs))
        return outputs(message, request_size, request.app.state.settings.max_output_bytes)

    tensors = await context.run(time_estimate(request_size), work)
    request.state.layout = message.layout
    return await answer(context, {"outputs": tensors}, message.json_data)


def answer_to_body(max_output_bytes: int, body: bytes, content_type: str, accept: str) -> tuple[bytes, str, str] | None:
    """The answer to a short request, its media type, and its layout; None where it is long, or takes longer than the
    event loop may be held. Raises Problem."""
    found = receive_short(body, content_type, accept, BroadcastRequest)
    if found is None:
        return None
    message, media_type, milliseconds = found
    request_size = request_size_of(message)
    milliseconds += time_estimate(request_size)
    if milliseconds > LOOP_MILLISECONDS or memory_estimate(request_size, message.inputs) > MAX_UNRESERVED_BYTES:
        return None
    fields = {"outputs": outputs(message, request_size, max_output_bytes)}
    content = short_answer(fields, ENCODINGS[media_type], message.json_data, milliseconds)
    return None if content is None else (content, media_type, message.layout)


def request_size_of(message: BroadcastRequest) -> RequestSize:
    return validate_request(message.op, tuple([tensor.shape for tensor in message.inputs]))


def outputs(message: BroadcastRequest, request_size: RequestSize, max_output_bytes: int) -> list[Outgoing]:
    """The outputs, or the window of each, as views of the inputs. Raises Problem before anything is allocated.

    Tensors come first: if their data do not have the shape that they say, whether that shape fits is no help.
    """
    arrays = [tensor.to_array(f"/inputs/{number}") for number, tensor in enumerate(message.inputs)]
    plan = plan_or_problem(request_size)
    if not plan.outputs:
        raise Problem("invalid-request", f"{message.op.name} has no outputs: ask POST /v1/check", pointer="/op")
    window = _window(message.window, plan) if message.window is not None else None
    box = None if window is None else tuple(stop - start for start, stop in window)
    shapes = [box if box is not None else placement.shape for placement in plan.outputs]
    itemsizes = [arrays[placement.input].itemsize for placement in plan.outputs]
    if message.layout == "dense":
        validate_output_bytes(shapes, itemsizes, max_output_bytes)
    for placement, itemsize in zip(plan.outputs, itemsizes, strict=True):
        validate_span(placement.output_shape if box is None else box, itemsize)
    strided = message.layout == "strided"
    return [
        _outgoing(placement, arrays[placement.input], window, shape, strided)
        for placement, shape in zip(plan.outputs, shapes, strict=True)
    ]


def _outgoing(placement: Placement, array: Array, window: Window | None, shape: Shape, strided: bool) -> Outgoing:
    """The output, or the window of it, as it can go out in this layout."""
    if placement.merges is None or (window is None and not strided):
        return OutgoingArray(output_view(placement, array, window), shape, strided)
    merged = merged_output_view(placement, array, window)
    if merged is not None:
        return OutgoingArray(merged, shape, strided)
    if strided or window is None:
        raise Problem(
            "not-strided",
            f"merging {format_shape(placement.output_shape)} to {format_shape(placement.shape)} leaves no strides that "
            'read it from the input: ask for "layout": "dense"',
        )
    gathered = Gathered(placement, array, window)
    MAX_LOOKUPS.check(gathered.lookups)
    return OutgoingBox(gathered)


def _window(window: list[tuple[int, int]], plan: Plan) -> Window:
    shape = plan.outputs[0].shape
    if any(placement.shape != shape for placement in plan.outputs):
        raise Problem(
            "invalid-request",
            "window: the outputs have several shapes, so no one window suits all",
            pointer="/window",
        )
    if len(window) != len(shape):
        raise Problem(
            "invalid-request",
            f"window: has {count_of(len(window), 'pair')}, and the output {list(shape)} has "
            f"{count_of(len(shape), 'axis', 'axes')}: "
            f"write one for each, such as {[[0, size] for size in shape]} for all of it",
            pointer="/window",
        )
    for axis, ((start, stop), size) in enumerate(zip(window, shape, strict=True)):
        if not 0 <= start <= stop <= size:
            raise Problem(
                "invalid-request",
                f"window/{axis}: [{start}, {stop}] must hold 0 <= start <= stop <= {size}, "
                f"the size of output axis {axis}: write {_counted_from_0(start, stop, size)}",
                pointer=f"/window/{axis}",
            )
    return window


def _counted_from_0(start: int, stop: int, size: int) -> list[int]:
    """The bounds that were probably meant: negative ones count from the end, as in Python."""
    low, high, _ = slice(start, stop).indices(size)
    return [low, max(low, high)]
