"""A scheduler of requests: one per connection in a turn of the event loop, new ones before pipelined ones."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from time import perf_counter
from typing import Protocol

logger = logging.getLogger("axiscast")

MAX_FAST_RESPONSES = 64
"""Requests that the fast path answers in one turn, before the first response is sent: at most 4 MiB."""
MAX_NORMAL_REQUESTS = 16
"""Requests of one turn that go to the application. Each takes about 0.2 ms in the next turn."""
MAX_TURN_SECONDS = 0.004
"""Duration after which a turn ends, so that reads, new connections and timers have their turn."""
PIPELINED_INTERVAL = 4
"""Every n-th request is a pipelined one, if there are any. The others have just arrived."""


class ScheduledConnection(Protocol):
    """A connection with a request that may be complete."""

    loop: asyncio.AbstractEventLoop

    def answer_fast(self) -> bytes | None:
        """Return the response of the fast path to the next request, or None if it does not answer it."""

    def send_fast(self, response: bytes) -> None:
        """Send the response of `answer_fast`."""

    def take_normal_path(self) -> None:
        """Parse the received data, and pass requests to the application."""


class RequestScheduler:
    """The connections that wait for their turn.

    Up to MAX_FAST_RESPONSES responses are computed before the first of them is sent. A system call evicts our code from
    the processor's caches and branch predictors; responses computed one after another find it there. With 16 clients a
    response takes 50 microseconds of a core, but 72 if each is sent as soon as it is computed (benchmarks/checks.py).
    """

    __slots__ = ("_arrived", "_count", "_pipelined", "_scheduled")

    def __init__(self) -> None:
        self._arrived: deque[ScheduledConnection] = deque()
        self._pipelined: deque[ScheduledConnection] = deque()
        self._scheduled = False
        self._count = 0

    def enter(self, connection: ScheduledConnection, pipelined: bool) -> None:
        """Schedule a connection. `pipelined`: its request arrived before its last response was sent."""
        (self._pipelined if pipelined else self._arrived).append(connection)
        if not self._scheduled:
            self._scheduled = True
            connection.loop.call_soon(self._run, connection.loop)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        self._scheduled = False
        end = perf_counter() + MAX_TURN_SECONDS
        responses: list[tuple[ScheduledConnection, bytes]] = []
        ordinary: list[ScheduledConnection] = []
        while (connection := self._next()) is not None:
            try:
                response = connection.answer_fast()
            except Exception:
                logger.exception(
                    "the fast path failed"
                )  # the other requests continue, and the application handles this one
                response = None
            if response is None:
                ordinary.append(connection)
            else:
                responses.append((connection, response))
            if len(responses) == MAX_FAST_RESPONSES or len(ordinary) == MAX_NORMAL_REQUESTS or perf_counter() > end:
                break
        if not self._scheduled and (self._arrived or self._pipelined):
            self._scheduled = True
            loop.call_soon(self._run, loop)
        for connection, response in responses:
            connection.send_fast(response)
        for connection in ordinary:
            loop.call_soon(connection.take_normal_path)  # separately, so that a failure does not affect the others

    def _next(self) -> ScheduledConnection | None:
        self._count = (self._count + 1) % PIPELINED_INTERVAL
        if self._pipelined and (not self._arrived or not self._count):
            return self._pipelined.popleft()
        return self._arrived.popleft() if self._arrived else None
