"""A scheduler that processes one request of each connection at a time. New requests precede pipelined requests."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from time import perf_counter
from typing import Protocol

logger = logging.getLogger("axiscast")

MAX_FAST_RESPONSES = 64
"""The maximum number of responses that the fast path computes before it sends the first of them."""
MAX_NORMAL_REQUESTS = 16
"""The maximum number of requests that one call of `_run` passes to the application.

Each of these requests takes about 0.2 ms in the next iteration of the event loop.
"""
MAX_TURN_SECONDS = 0.004
"""The time, in seconds, after which a call of `_run` ends, so that the event loop can handle reads, new connections and
timers."""
PIPELINED_INTERVAL = 4
"""The n such that every n-th request is a pipelined request, if there are any. All other requests have just arrived."""


class ScheduledConnection(Protocol):
    """A connection whose next request may be complete."""

    loop: asyncio.AbstractEventLoop

    def answer_fast(self) -> bytes | None:
        """Return the response of the fast path to the next request, or None if the request needs the normal path."""

    def send_fast(self, response: bytes) -> None:
        """Send the response that `answer_fast` returned."""

    def take_normal_path(self) -> None:
        """Parse the received data, and pass complete requests to the application."""


class RequestScheduler:
    """The queue of connections whose received requests have not been processed.

    Up to MAX_FAST_RESPONSES responses are computed before the first response is sent. A system call evicts our code
    from the processor's caches and branch predictors. Without system calls between the responses, the code stays there.
    With 16 clients, a response takes 50 microseconds of a core. If each response were sent immediately, it would take
    72 microseconds (benchmarks/checks.py).
    """

    def __init__(self) -> None:
        self.clock = perf_counter
        self._arrived: deque[ScheduledConnection] = deque()
        self._pipelined: deque[ScheduledConnection] = deque()
        self._scheduled = False
        self._count = 0

    def enter(self, connection: ScheduledConnection, pipelined: bool) -> None:
        """Schedule a connection. `pipelined` is true if the request arrived before the previous response was sent."""
        (self._pipelined if pipelined else self._arrived).append(connection)
        if not self._scheduled:
            self._scheduled = True
            connection.loop.call_soon(self._run, connection.loop)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        self._scheduled = False
        end = self.clock() + MAX_TURN_SECONDS
        responses: list[tuple[ScheduledConnection, bytes]] = []
        ordinary: list[ScheduledConnection] = []
        while (connection := self._next()) is not None:
            try:
                response = connection.answer_fast()
            except Exception:
                logger.exception(
                    "the fast path failed"
                )  # the application handles this request, and the other requests continue
                response = None
            if response is None:
                ordinary.append(connection)
            else:
                responses.append((connection, response))
            if len(responses) == MAX_FAST_RESPONSES or len(ordinary) == MAX_NORMAL_REQUESTS or self.clock() > end:
                break
        if not self._scheduled and (self._arrived or self._pipelined):
            self._scheduled = True
            loop.call_soon(self._run, loop)
        for connection, response in responses:
            connection.send_fast(response)
        for connection in ordinary:
            loop.call_soon(connection.take_normal_path)  # a failure of one call affects no other connection

    def _next(self) -> ScheduledConnection | None:
        self._count = (self._count + 1) % PIPELINED_INTERVAL
        if self._pipelined and (not self._arrived or not self._count):
            return self._pipelined.popleft()
        return self._arrived.popleft() if self._arrived else None
