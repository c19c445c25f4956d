"""AdmissionMiddleware: how many requests are in work at once, and what memory they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from axiscast.wire.problems import Problem

from ..runtime.budget import FREE_BYTES, MemoryBudget, MemoryReservation
from .authentication import OPEN_PATHS
from .problems import response_of
from .telemetry import MONITORING_PATHS


class Slot:
    """One of the places of requests in flight, taken when all of the request has come."""

    def __init__(self, in_flight: Counter[bool], is_open: bool, limit: int) -> None:
        self._in_flight = in_flight
        self._is_open = is_open
        self._limit = limit
        self._taken = False

    def take(self) -> None:
        """Take it. Raises Problem (overloaded) if all are taken."""
        if self._in_flight[self._is_open] >= self._limit:
            raise Problem(
                "overloaded",
                f"{self._limit} requests are in flight, as many as this worker takes at once: try again shortly",
                limit=self._limit,
            )
        self._in_flight[self._is_open] += 1
        self._taken = True

    def leave(self) -> None:
        """Give it back, if it is taken."""
        self._in_flight[self._is_open] -= self._taken
        self._taken = False


class AdmissionMiddleware:
    """ASGI middleware that answers 503 (overloaded) above `limit` requests in flight, probes not counted, and gives
    each what it holds of the memory budget as `request.state.memory`. A request whose body is still to come takes its
    place later, as `request.state.slot`: a client that sends slowly takes none. What is open to all is counted by
    itself, so that its readers, however slow, keep nobody from asking."""

    def __init__(self, app: ASGIApp, limit: int, budget: MemoryBudget, in_flight: Counter[bool]) -> None:
        self.app = app
        self.limit = limit
        self.budget = budget
        self.in_flight = in_flight
        """How many of what is open to all, and how many others."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in MONITORING_PATHS:
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        is_open = scope["path"] in OPEN_PATHS
        slot = state["slot"] = Slot(self.in_flight, is_open, self.limit)
        try:
            # Only a POST's body is read. Whatever else announces one is answered without it, and in flight meanwhile.
            if scope["method"] != "POST" or state.get("body_complete", True):
                slot.take()
        except Problem as problem:
            await response_of(problem, Request(scope))(scope, receive, send)
            return
        try:
            with MemoryReservation(self.budget) as memory:
                state["memory"] = memory
                send = _in_parts(send) if state.get("copies") else send
                await self.app(scope, receive, send if is_open else _until_read(send, memory))
        finally:
            slot.leave()


def _in_parts(send: Send) -> Send:
    """`send` for a transport that copies what it can't send at once: it is given no more than it may hold."""

    async def send_parts(message: Message) -> None:
        body = memoryview(message.get("body", b""))
        while len(body) > FREE_BYTES:
            await send({"type": "http.response.body", "body": body[:FREE_BYTES], "more_body": True})
            body = body[FREE_BYTES:]
        await send({**message, "body": body} if body else message)

    return send_parts


def _until_read(send: Send, memory: MemoryReservation) -> Send:
    """`send`, but at the end of an answer it waits until the reader has taken nearly all of it. Meanwhile the request
    holds the memory of its answer and no other."""

    def send_all(message: Message) -> Awaitable[None]:
        if len(message.get("body", b"")) > FREE_BYTES and not message.get("more_body"):
            return send_and_wait(message)
        return send(message)

    async def send_and_wait(message: Message) -> None:
        memory.release(max(memory.nbytes - len(message["body"]), 0))
        await send({**message, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return send_all
