"""Admission control: a limit on the requests in flight, and a memory reservation for each request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from axiscast.wire.problems import Problem

from ..runtime.budget import FREE_BYTES, MemoryBudget, MemoryReservation
from .authentication import OPEN_PATHS
from .problems import response_of
from .telemetry import MONITORING_PATHS


@dataclass
class Slot:
    """The slot of one request in flight. The request takes the slot when the request's body is complete."""

    in_flight: Counter[bool]
    is_open: bool
    limit: int
    taken: bool = False

    def take(self) -> None:
        """Take the slot. Raises Problem (overloaded) if `limit` requests are already in flight."""
        if self.in_flight[self.is_open] >= self.limit:
            raise Problem(
                "overloaded",
                f"{self.limit} requests are in flight, the limit of this worker: try again shortly",
                limit=self.limit,
            )
        self.in_flight[self.is_open] += 1
        self.taken = True

    def release(self) -> None:
        """Release the slot if the request has taken it."""
        self.in_flight[self.is_open] -= self.taken
        self.taken = False


@dataclass(eq=False)
class AdmissionMiddleware:
    """ASGI middleware that limits the requests in flight. Requests above the limit get a 503 response (overloaded).

    The middleware stores the memory reservation of a request in `request.state.memory`. If the body has not arrived
    yet, the endpoint takes `request.state.slot` later. Therefore a client that sends slowly does not occupy a slot.
    Requests to monitoring paths are not counted. Requests to public paths are counted separately, so that slow readers
    of these paths do not block other requests.
    """

    app: ASGIApp
    limit: int
    budget: MemoryBudget
    in_flight: Counter[bool]
    """The number of requests in flight to public paths (key True) and to other paths (key False)."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in MONITORING_PATHS:
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        is_open = scope["path"] in OPEN_PATHS
        slot = state["slot"] = Slot(self.in_flight, is_open, self.limit)
        try:
            # Endpoints read a body only from POST requests, so requests with other methods do not wait for a body.
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
            slot.release()


def _in_parts(send: Send) -> Send:
    """Return a `send` function for transports that copy unsent data. It splits bodies into parts of FREE_BYTES."""

    async def send_parts(message: Message) -> None:
        body = memoryview(message.get("body", b""))
        while len(body) > FREE_BYTES:
            await send({"type": "http.response.body", "body": body[:FREE_BYTES], "more_body": True})
            body = body[FREE_BYTES:]
        await send({**message, "body": body} if body else message)

    return send_parts


def _until_read(send: Send, memory: MemoryReservation) -> Send:
    """Return a `send` function that waits at the end of a long response until the client has read most of the response.

    While it waits, only the memory of the response stays reserved.
    """

    def send_all(message: Message) -> Awaitable[None]:
        if len(message.get("body", b"")) > FREE_BYTES and not message.get("more_body"):
            return send_and_wait(message)
        return send(message)

    async def send_and_wait(message: Message) -> None:
        memory.release(max(memory.nbytes - len(message["body"]), 0))
        await send({**message, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return send_all
