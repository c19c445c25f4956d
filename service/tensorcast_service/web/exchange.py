"""One request and its answer: body read under a limit, decoded, validated; the answer encoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from tensorcast.schema.codec import MEDIA_NAMES, Media, decode, encode
from tensorcast.schema.problems import Problem
from tensorcast.schema.validation import validated

from .negotiation import answer_type, request_media

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

OFFLOAD_BYTES = 4 * 2**10
"""A body above this is handled on a thread: it may take longer than other requests should wait."""
THREADS = 2
"""Large requests in work at once, for each worker: more would share the same cores, and add up in memory."""


@dataclass(frozen=True)
class Exchange(Generic[M]):
    """A valid request, and how its answer is to be encoded."""

    message: M
    media_type: str
    large: bool
    """Whether the body was."""
    threads: CapacityLimiter

    @property
    def media(self) -> Media:
        return MEDIA_NAMES[self.media_type]

    async def run(self, work: Callable[..., T], *arguments: Any, large: bool = False) -> T:
        """The result of `work(*arguments)`; on a thread where the body or the work is large, so that others
        need not wait for it."""
        return await _run(self.large or large, self.threads, work, *arguments)

    async def answer(self, work: Callable[[M], BaseModel]) -> Response:
        """The response of an answer that is worked out, and encoded, in one go."""
        return await self.run(lambda: encoded(work(self.message).model_dump(exclude_unset=True), self.media_type))


def encoded(value: Any, media_type: str) -> Response:
    """A plain value as a response."""
    return Response(encode(value, MEDIA_NAMES[media_type]), media_type=media_type, headers={"Vary": "Accept"})


async def receive(request: Request, model: type[M]) -> Exchange[M]:
    """The request's message, typed. Raises Problem for anything that is wrong with it."""
    media = request_media(request)
    media_type = answer_type(request, media)
    body = await read_body(request, request.app.state.settings.max_body_bytes)
    large, threads = len(body) > OFFLOAD_BYTES, _threads(request)
    message = await _run(large, threads, _parse, body, media, model)
    return Exchange(message, media_type, large, threads)


async def _run(large: bool, threads: CapacityLimiter, work: Callable[..., T], *arguments: Any) -> T:
    if large:
        return await anyio.to_thread.run_sync(partial(work, *arguments), limiter=threads)
    return work(*arguments)


def _threads(request: Request) -> CapacityLimiter:
    """The application's limiter, made in its event loop."""
    state = request.app.state
    if not hasattr(state, "threads"):
        state.threads = CapacityLimiter(THREADS)
    limiter: CapacityLimiter = state.threads
    return limiter


def _parse(body: bytearray, media: Media, model: type[M]) -> M:
    return validated(model, decode(body, media))


async def read_body(request: Request, limit: int) -> bytearray:
    """The body's bytes. Raises Problem (body-too-large) as soon as the limit is known to be passed."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit:
        raise _too_large(int(announced), limit)
    body = bytearray()
    async for chunk in request.stream():
        if len(body) + len(chunk) > limit:
            raise _too_large(None, limit)
        body += chunk
    return body


def _too_large(size: int | None, limit: int) -> Problem:
    has = f"has {size} bytes" if size is not None else "is longer"
    return Problem(
        "body-too-large",
        f"the body {has}; this service takes up to {limit}: send less at once, send replicated axes with stride 0, "
        "or raise TENSORCAST_MAX_BODY_BYTES",
        limit=limit,
    )
