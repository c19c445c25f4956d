"""One request and its answer: body read under a limit, decoded, validated; the answer encoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from axiscast.answers.estimates import body_time_estimate
from axiscast.messages.validation import validate
from axiscast.wire.codec import ENCODINGS, Encoding, decode, encode
from axiscast.wire.prescan import Buffer, ReserveMemory, check_json_bytes, unlimited_memory
from axiscast.wire.problems import Problem

from ..http.hooks import BODY_READ_BYTES
from ..http.protocol import HELD_BYTES
from ..http.upload import EXTENSION, lend, room_for
from ..middleware.negotiation import answer_type, best_offer, media_named, request_media
from ..runtime.budget import FREE_BYTES, Holding
from ..runtime.threads import LOOP_MILLISECONDS, Threads

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

TRANSIT_BYTES = HELD_BYTES + BODY_READ_BYTES
"""What a connection has of a long body before it stops to read it, and one read on top."""

MAX_UNRESERVED_BYTES = 2**19
"""What is made for a short answer takes no more. It is not reserved: no two of them are made at a time."""


@dataclass(frozen=True)
class Exchange(Generic[M]):
    """A valid request, and how its answer is to be encoded."""

    message: M
    media_type: str
    milliseconds: float
    """What it took to read, about. Any work on what it holds takes as long."""
    request: Request

    @property
    def media(self) -> Encoding:
        return ENCODINGS[self.media_type]

    def reserve(self, nbytes: int) -> None:
        """Hold memory for the answer, before it is taken. Raises Problem where it is not to be had."""
        self.request.state.memory.reserve_answer(nbytes)

    async def run(self, milliseconds: float, work: Callable[..., T], *arguments: Any) -> T:
        """The result of `work(*arguments)`, Python of about so long; see Threads.python."""
        milliseconds += self.milliseconds
        return await threads_of(self.request).python(milliseconds, self.request.receive, work, *arguments)

    async def compute(self, work: Callable[..., T], *arguments: Any) -> T:
        """The result of `work(*arguments)`, which is spent in NumPy's kernels, on a thread."""
        return await threads_of(self.request).numpy(self.request.receive, work, *arguments)


def encoded(value: Any, media_type: str) -> Response:
    """A plain value as a response."""
    return response_with(encode(value, ENCODINGS[media_type]), media_type)


def response_with(content: bytes, media_type: str) -> Response:
    """A response of these bytes."""
    return Response(content, media_type=media_type, headers={"Vary": "Accept"})


async def receive(request: Request, model: type[M]) -> Exchange[M]:
    """The request's message, typed. Raises Problem for anything that is wrong with it."""
    media = request_media(request)
    media_type = answer_type(request, media)
    memory: Holding = request.state.memory
    announced = request.headers.get("content-length", "")
    if media is Encoding.JSON and announced.isdecimal():
        check_json_bytes(int(announced))  # before it comes
    body = await read_body(request, request.app.state.settings.max_body_bytes, memory)
    if not request.scope["state"].get("body_complete", True):
        request.state.place.take()  # until now it was a connection that waits for its client
    size = len(body)
    milliseconds = body_time_estimate(body, media)
    message = await threads_of(request).python(milliseconds, request.receive, parsed, body, media, model, memory.grow)
    if media is Encoding.JSON:  # what was read of MessagePack may be views of the body
        del body
        memory.grow(-size)
    return Exchange(message, media_type, milliseconds, request)


def threads_of(request: Request) -> Threads:
    """The application's threads, made in its event loop."""
    state = request.app.state
    if not hasattr(state, "threads"):
        state.threads = Threads()
    threads: Threads = state.threads
    return threads


def parsed(body: Buffer, media: Encoding, model: type[M], reserve: ReserveMemory = unlimited_memory) -> M:
    """A body as a message. Raises Problem for anything that is wrong with it."""
    return validate(model, decode(body, media, reserve))


def received(body: bytes, content_type: str, accept: str, model: type[M]) -> tuple[M, str, float] | None:
    """The message in a body that is there, the media type of its answer, and about how many milliseconds it took to
    read; None where that is longer than the event loop may be held. Raises Problem for anything that is wrong with
    it."""
    media = media_named(content_type)
    media_type = best_offer(accept, media)
    milliseconds = body_time_estimate(body, media)
    if milliseconds > LOOP_MILLISECONDS:
        return None
    return parsed(body, media, model), media_type, milliseconds


async def read_body(request: Request, limit: int, memory: Holding) -> Buffer:
    """The body's bytes, held as they arrive, whatever was announced.

    Raises Problem (body-too-large, overloaded) as soon as it is known that they do not fit.
    """
    announced = request.headers.get("content-length", "")
    length = int(announced) if announced.isdecimal() else None
    if length is not None and length > limit:
        raise _too_large(length, limit)
    room = min(limit, memory.most) if length is None else length
    receive_into = request.scope.get("extensions", {}).get(EXTENSION, {}).get("receive_into")
    kept = memory.budget.reuse(room) if receive_into else None
    reserve: ReserveMemory = memory.grow
    transit = 0
    if room > FREE_BYTES:
        transit = TRANSIT_BYTES
        memory.grow(transit + (kept.nbytes if kept else length or 0))  # refused now rather than later,
        if kept:
            reserve = unlimited_memory  # for all of a kept room is held already
        else:
            memory.grow(-(length or 0))  # but a slow sender holds only what it has sent
    body = kept or room_for(room, windows=receive_into is not None)
    if receive_into:
        body = lend(body, room, memory.budget)
    size, more = 0, True
    while more:
        if receive_into and size:
            memory.grow(-transit)
            if not await receive_into(body, size, reserve):
                raise ClientDisconnect
            return body
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk, more = message.get("body", b""), message.get("more_body", False)
        reserve(len(chunk))
        end = size + len(chunk)
        if end > room:
            raise _too_large(length, limit)
        if end == length == len(chunk):
            body = memoryview(chunk)
        elif chunk:  # some servers end a body with an empty piece
            body[size:end] = chunk
        size = end
        del message, chunk  # else they are kept while the next is waited for
    memory.grow(-transit)
    return body[:size]


def _too_large(size: int | None, limit: int) -> Problem:
    has = f"has {size} bytes" if size is not None else "is longer"
    return Problem(
        "body-too-large",
        f"the body {has}; this service takes up to {limit}: send less at once, send replicated axes with stride 0, "
        "or raise AXISCAST_MAX_BODY_BYTES",
        limit=limit,
    )
