"""One request and its answer: body read under a limit, decoded, validated; the answer encoded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import anyio
import anyio.to_thread
from anyio import CapacityLimiter
from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive

from tensorcast.schema.codec import MEDIA_NAMES, Media, decode, encode
from tensorcast.schema.memory import Reserve
from tensorcast.schema.problems import Problem
from tensorcast.schema.survey import Buffer
from tensorcast.schema.validation import validated

from .budget import FREE_BYTES, Holding
from .intake import EXTENSION, room_for
from .negotiation import answer_type, request_media

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

OFFLOAD_BYTES = 4 * 2**10
"""A body above this is handled on a thread: it may take longer than other requests should wait."""
TRANSIT_BYTES = (64 + 256) * 2**10
"""What uvicorn has of a long body before it stops to read it, and one read of uvloop's on top."""
THREADS = 2
"""Large requests in work at once, for each worker: more would share the same cores, and add up in memory."""


@dataclass(frozen=True)
class Exchange(Generic[M]):
    """A valid request, and how its answer is to be encoded."""

    message: M
    media_type: str
    large: bool
    """Whether the body was."""
    reserve: Reserve
    """Asked for the memory of the answer before it is taken."""
    request: Request

    @property
    def media(self) -> Media:
        return MEDIA_NAMES[self.media_type]

    async def run(self, work: Callable[..., T], *arguments: Any, large: bool = False) -> T:
        """The result of `work(*arguments)`; on a thread where the body or the work is large, so that others
        need not wait for it."""
        return await offload(self.large or large, self.request, work, *arguments)

    async def answer(self, work: Callable[[M, Reserve], BaseModel]) -> Response:
        """The response of an answer that is worked out, and encoded, in one go."""
        return await self.run(
            lambda: encoded(work(self.message, self.reserve).model_dump(exclude_unset=True), self.media_type)
        )


def encoded(value: Any, media_type: str) -> Response:
    """A plain value as a response."""
    return Response(encode(value, MEDIA_NAMES[media_type]), media_type=media_type, headers={"Vary": "Accept"})


async def receive(request: Request, model: type[M]) -> Exchange[M]:
    """The request's message, typed. Raises Problem for anything that is wrong with it."""
    media = request_media(request)
    media_type = answer_type(request, media)
    memory: Holding = request.state.memory
    body = await read_body(request, request.app.state.settings.max_body_bytes, memory)
    size = len(body)
    message = await offload(size > OFFLOAD_BYTES, request, _parse, body, media, model, memory.grow)
    if media is Media.JSON:  # what was read of MessagePack may be views of the body
        del body
        memory.grow(-size)
    return Exchange(message, media_type, size > OFFLOAD_BYTES, memory.reserve_answer, request)


async def offload(large: bool, request: Request, work: Callable[..., T], *arguments: Any) -> T:
    """The result of `work(*arguments)`; where it is large on a thread, of which there are few, and only if the caller
    is still there when one is free."""
    if not large:
        return work(*arguments)
    outcome: tuple[Any, Exception | None] | None = None
    with while_connected(request.receive):
        outcome = await anyio.to_thread.run_sync(_tried, work, arguments, limiter=_threads(request))
    if outcome is None:
        raise ClientDisconnect
    result: T = outcome[0]
    error = outcome[1]
    del outcome
    if error is not None:
        try:
            raise error
        finally:
            del error  # and with it all that its frames hold, at once
    return result


def _tried(work: Callable[..., T], arguments: tuple[Any, ...]) -> tuple[T | None, Exception | None]:
    """The result, or the exception. Raised on a thread, it would be part of a cycle with what waits for the thread,
    and all that its frames hold, a body for one, would wait for the next full collection."""
    try:
        return work(*arguments), None
    except Exception as error:
        return None, error


@contextmanager
def while_connected(receive: Receive) -> Iterator[None]:
    """What is awaited inside is given up when the caller has gone; work that a thread has begun is finished first."""
    with anyio.CancelScope() as scope:
        watch = asyncio.create_task(_cancel_when_gone(scope, receive))
        try:
            yield
        finally:
            watch.cancel()


async def _cancel_when_gone(scope: anyio.CancelScope, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _threads(request: Request) -> CapacityLimiter:
    """The application's limiter, made in its event loop."""
    state = request.app.state
    if not hasattr(state, "threads"):
        state.threads = CapacityLimiter(THREADS)
    limiter: CapacityLimiter = state.threads
    return limiter


def _parse(body: Buffer, media: Media, model: type[M], reserve: Reserve) -> M:
    return validated(model, decode(body, media, reserve))


async def read_body(request: Request, limit: int, memory: Holding) -> Buffer:
    """The body's bytes, held as they arrive, whatever was announced.

    Raises Problem (body-too-large, overloaded) as soon as it is known that they do not fit.
    """
    announced = request.headers.get("content-length", "")
    length = int(announced) if announced.isdecimal() else None
    if length is not None and length > limit:
        raise _too_large(length, limit)
    room = min(limit, memory.most) if length is None else length
    transit = 0
    if room > FREE_BYTES:
        transit = TRANSIT_BYTES
        memory.grow(transit + (length or 0))  # refused now rather than later,
        memory.grow(-(length or 0))  # but a slow sender holds only what it has sent
    receive_into = request.scope.get("extensions", {}).get(EXTENSION, {}).get("receive_into")
    body = room_for(room, windows=receive_into is not None)
    size, more = 0, True
    while more:
        if receive_into and size:
            memory.grow(-transit)
            if not await receive_into(body, size, memory.grow):
                raise ClientDisconnect
            return body
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk, more = message.get("body", b""), message.get("more_body", False)
        memory.grow(len(chunk))
        end = size + len(chunk)
        if end > room:
            raise _too_large(length, limit)
        if end == length == len(chunk):
            body = memoryview(chunk)
        else:
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
        "or raise TENSORCAST_MAX_BODY_BYTES",
        limit=limit,
    )
