"""The context of a request: the parsed message, and functions that compute and encode the response."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from axiscast.checks.estimates import body_time_estimate
from axiscast.messages.validation import validate
from axiscast.wire.codec import ENCODINGS, Encoding, decode, encode
from axiscast.wire.prescan import Buffer, ReserveMemory, check_json_bytes, no_limit

from ..middleware.negotiation import best_offer, encoding_of_type, request_encoding, response_type
from ..runtime.budget import MemoryReservation
from ..runtime.threads import LOOP_MILLISECONDS, threads_of
from .parameters import read_parameters
from .request_body import read_body

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

MAX_UNRESERVED_BYTES = 2**19
"""The maximum memory, in bytes, that the fast path uses for a response. This memory is not reserved, because the fast
path computes only one response at a time."""


@dataclass(frozen=True)
class RequestContext(Generic[M]):
    """A valid request, with functions that compute the response and reserve memory for it."""

    message: M
    media_type: str
    milliseconds: float
    """The estimated time for parsing and validating the body. Any other processing of all values takes about as
    long."""
    request: Request

    @property
    def media(self) -> Encoding:
        """The encoding of the response: JSON or MessagePack."""
        return ENCODINGS[self.media_type]

    def reserve(self, nbytes: int) -> None:
        """Reserve memory for the response before allocating it. Raises Problem if the memory is unavailable."""
        self.request.state.memory.reserve_response(nbytes)

    async def respond(self, milliseconds: float, work: Callable[..., T], *arguments: Any) -> T:
        """Return the result of `work(*arguments)`, whose estimated time is `milliseconds`.

        The work must not process all values of the body.
        """
        return await run_python(self.request, milliseconds, work, *arguments)

    async def run(self, milliseconds: float, work: Callable[..., T], *arguments: Any) -> T:
        """Like `respond`, for work that processes the values of the body."""
        return await self.respond(milliseconds + self.milliseconds, work, *arguments)

    async def compute(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run `work(*arguments)` on a thread and return its result. Most of its time must be spent in NumPy."""
        return await threads_of(self.request.app.state).run_numpy(self.request.receive, work, *arguments)


async def run_python(request: Request, milliseconds: float, work: Callable[..., T], *arguments: Any) -> T:
    """Return the result of `work(*arguments)` for a request. See WorkerThreads.run_python."""
    threads, caller = threads_of(request.app.state), request.state.caller
    return await threads.run_python(milliseconds, request.receive, work, *arguments, caller=caller)


def encoded(value: Any, media_type: str) -> Response:
    """Return a response whose body is this value, encoded as the response's media type."""
    return response_with(encode(value, ENCODINGS[media_type]), media_type)


def response_with(content: bytes | memoryview, media_type: str) -> Response:
    """Return a response with this content as its body."""
    return Response(content, media_type=media_type, headers={"Vary": "Accept"})


async def receive(
    request: Request, model: type[M], media_type: str | None = None, parameters: Sequence[str] = ()
) -> RequestContext[M]:
    """Receive the body as a message of this type and return the context. Raises Problem if the body is not valid.

    `media_type` is the media type of the response, if it is not one of ENCODINGS that the Accept header prefers.
    `parameters` are the query parameters that the resource accepts.
    """
    read_parameters(request.scope["query_string"], parameters, request.scope["path"])
    media = request_encoding(request)
    media_type = media_type or response_type(request, media)
    memory: MemoryReservation = request.state.memory
    announced = request.headers.get("content-length", "")
    if media is Encoding.JSON and announced.isdecimal():
        check_json_bytes(int(announced))  # these headers are checked before the body arrives
    body = await read_body(request, request.app.state.settings.max_body_bytes, memory)
    if not request.scope["state"].get("body_complete", True):
        request.state.slot.take()  # a request counts as in flight only after its whole body has arrived
    nbytes = len(body)
    milliseconds = body_time_estimate(body, media)
    message = await run_python(request, milliseconds, parse_message, body, media, model, memory.reserve)
    if media is Encoding.JSON:  # values decoded from MessagePack may refer to the body's memory
        del body
        memory.release(nbytes)
    return RequestContext(message, media_type, milliseconds, request)


def parse_message(body: Buffer, media: Encoding, model: type[M], reserve: ReserveMemory = no_limit) -> M:
    """Return the message that a body contains. Raises Problem if the body is not valid."""
    return validate(model, decode(body, media, reserve))


def receive_short(body: bytes, content_type: str, accept: str, model: type[M]) -> tuple[M, str, float] | None:
    """Return the message in a complete body, the media type of the response, and the estimated milliseconds of parsing.

    Return None if parsing would take longer than LOOP_MILLISECONDS. Raises Problem if the body is not valid.
    """
    media = encoding_of_type(content_type)
    media_type = best_offer(accept, media)
    milliseconds = body_time_estimate(body, media)
    if milliseconds > LOOP_MILLISECONDS:
        return None
    return parse_message(body, media, model), media_type, milliseconds
