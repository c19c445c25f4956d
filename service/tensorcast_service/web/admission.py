"""Admission: how many requests are in work at once, and what memory they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tensorcast.schema.problems import Problem

from .auth import OPEN
from .budget import FREE_BYTES, Budget, Holding
from .problems import response_of
from .watch import QUIET


class Admission:
    """ASGI middleware that answers 503 (overloaded) above `limit` requests in work, probes not counted, and gives each
    what it holds of the memory budget as `request.state.memory`. What is open to all is counted by itself, so that its
    readers, however slow, keep nobody from asking."""

    def __init__(self, app: ASGIApp, limit: int, budget: Budget, in_work: Counter[bool]) -> None:
        self.app = app
        self.limit = limit
        self.budget = budget
        self.in_work = in_work
        """How many of what is open to all, and how many others."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in QUIET:
            await self.app(scope, receive, send)
            return
        is_open = scope["path"] in OPEN
        if self.in_work[is_open] >= self.limit:
            problem = Problem(
                "overloaded",
                f"{self.limit} requests are in work, as many as this worker takes at once: try again shortly",
                limit=self.limit,
            )
            await response_of(problem, Request(scope))(scope, receive, send)
            return
        self.in_work[is_open] += 1
        try:
            with Holding(self.budget) as memory:
                scope.setdefault("state", {})["memory"] = memory
                send = _in_parts(send) if scope["state"].get("copies") else send
                await self.app(scope, receive, send if is_open else _until_read(send, memory))
        finally:
            self.in_work[is_open] -= 1


def _in_parts(send: Send) -> Send:
    """`send` for a transport that copies what it can't send at once: it is given no more than it may hold."""

    async def send_parts(message: Message) -> None:
        body = memoryview(message.get("body", b""))
        while len(body) > FREE_BYTES:
            await send({"type": "http.response.body", "body": body[:FREE_BYTES], "more_body": True})
            body = body[FREE_BYTES:]
        await send({**message, "body": body} if body else message)

    return send_parts


def _until_read(send: Send, memory: Holding) -> Send:
    """`send`, but at the end of an answer it waits until the reader has taken nearly all of it. Meanwhile the request
    holds the memory of its answer and no other."""

    def send_all(message: Message) -> Awaitable[None]:
        if len(message.get("body", b"")) > FREE_BYTES and not message.get("more_body"):
            return send_and_wait(message)
        return send(message)

    async def send_and_wait(message: Message) -> None:
        memory.grow(min(len(message["body"]) - memory.nbytes, 0))
        await send({**message, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return send_all
