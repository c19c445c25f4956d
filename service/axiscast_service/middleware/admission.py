"""Admission control: a limit on the requests in flight, and a memory reservation for each request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from axiscast.wire.problems import Problem

from ..runtime.budget import FREE_BYTES, MemoryBudget, MemoryReservation
from ..runtime.work_queue import Requester, WorkQueue
from .problems import RETRY_SECONDS, response_of
from .streams import Stream, Streams
from .telemetry import MONITORING_PATHS


class StreamRefused(Exception):
    """The exception that stops an endpoint after its response was replaced by a refusal."""


@dataclass(eq=False)
class AdmissionMiddleware:
    """ASGI middleware that limits the requests in flight. Requests above the limit get a 503 response (overloaded).

    The middleware stores the memory reservation of a request in `request.state.memory`. If the body has not arrived
    yet, the endpoint takes `request.state.slot` later. Therefore a client that sends slowly does not occupy a slot. A
    client that reads slowly does not occupy a slot either, because long responses are limited separately.
    Requests to monitoring paths are not counted.
    """

    app: ASGIApp
    limit: int
    budget: MemoryBudget
    queue: WorkQueue
    address_of: Callable[[Scope], str]
    """A function that returns the address of a client."""
    in_flight: int = field(default=0, init=False)
    """The number of requests that have arrived, and whose responses are not being sent yet."""

    def __post_init__(self) -> None:
        self.streams = Streams(self.budget.limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in MONITORING_PATHS:
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        memory = state["memory"] = MemoryReservation(self.budget)
        address = self.address_of(scope)
        caller = state["caller"] = Requester(self.queue.usage_of(address), **state.get("caller", {}))
        slot = state["slot"] = Slot(self, caller, address, memory)
        try:
            # Endpoints read a body only from POST requests, so requests with other methods do not wait for a body.
            if scope["method"] != "POST" or state.get("body_complete", True):
                slot.take()
        except Problem as problem:
            if caller.is_pipelining():
                await asyncio.sleep(RETRY_SECONDS)  # otherwise the refusals of a pipeline would use all time
            await response_of(problem, Request(scope))(scope, receive, send)
            return
        try:
            with memory:
                send = _in_parts(send) if state.get("copies") else send
                await self.app(scope, receive, slot.sender(scope, receive, send))
        except StreamRefused:
            pass  # the client has received the refusal
        finally:
            slot.release()


class Slot:
    """The slot of one request in flight, which becomes a stream when the response is being sent.

    The request takes the slot when the request's body is complete.
    """

    def __init__(
        self, admission: AdmissionMiddleware, caller: Requester, address: str, memory: MemoryReservation
    ) -> None:
        self._admission, self._caller, self._address, self._memory = admission, caller, address, memory
        self._taken = False
        self._stream: Stream | None = None

    def take(self) -> None:
        """Take the slot, if necessary of a request that waits for the Python thread and whose client has used it more.

        Raises Problem (overloaded) if `limit` requests are in flight, and none of them is such a request.
        """
        admission = self._admission
        if admission.in_flight >= admission.limit and not admission.queue.displace(self._caller):
            raise Problem(
                "overloaded",
                f"{admission.limit} requests are in flight, the limit of this worker: try again shortly",
                limit=admission.limit,
            )
        admission.in_flight += 1
        self._taken = True

    def release(self) -> None:
        """Release the slot if the request has taken it, and end the stream."""
        self._admission.in_flight -= self._taken
        self._taken = False
        if self._stream is not None:
            self._admission.streams.end(self._stream)

    def sender(self, scope: Scope, receive: Receive, send: Send) -> Send:
        """Return the `send` function of the request. A response above FREE_BYTES becomes a stream.

        At the end of a long response, the function waits until the client has read most of the response. While it
        waits, only the memory of the response stays reserved.
        """
        start: Message | None = None

        async def send_response(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            nbytes, more = len(message.get("body", b"")), message.get("more_body", False)
            if nbytes > FREE_BYTES and not more:
                self._memory.release(max(self._memory.nbytes - nbytes, 0))
            if start is not None:
                try:
                    if more or nbytes > FREE_BYTES:
                        self._begin_stream(scope["state"])
                except Problem as problem:
                    await response_of(problem, Request(scope))(scope, receive, send)
                    raise StreamRefused from None
                await send(start)
                start = None
            if nbytes > FREE_BYTES and not more:
                await send({**message, "more_body": True})
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        return send_response

    def _begin_stream(self, state: dict[str, Any]) -> None:
        """Release the slot, because only the bytes of the response remain to be produced and read.

        Raises Problem (overloaded) if too many responses are being sent.
        """
        self.release()
        if "taken" in state:  # otherwise another server sends the response
            stream = Stream(self._address, self._memory.nbytes, state["taken"], state["cut"])
            self._admission.streams.begin(stream)
            self._stream = stream


def _in_parts(send: Send) -> Send:
    """Return a `send` function for transports that copy unsent data. It splits bodies into parts of FREE_BYTES."""

    async def send_parts(message: Message) -> None:
        body = memoryview(message.get("body", b""))
        while len(body) > FREE_BYTES:
            await send({"type": "http.response.body", "body": body[:FREE_BYTES], "more_body": True})
            body = body[FREE_BYTES:]
        await send({**message, "body": body} if body else message)

    return send_parts
