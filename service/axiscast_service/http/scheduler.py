"""Whose request is next: one request of each connection in a turn of the event loop, and those that have just come
before those that were pipelined."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from time import perf_counter
from typing import Protocol

logger = logging.getLogger("axiscast")

MAX_FAST_RESPONSES = 64
"""Requests that are answered in one turn, before the first response is sent: 4 MiB at most."""
MAX_NORMAL_REQUESTS = 16
"""Requests of one turn that begin to take the ordinary way. Each costs some 0.2 ms in the next turn."""
MAX_TURN_SECONDS = 0.004
"""No further request is answered in a turn that has taken so long. Reads, new connections and timers have theirs."""
PIPELINED_INTERVAL = 4
"""One request in this many is a pipelined one, if there are any; the others have just arrived."""


class ScheduledConnection(Protocol):
    """A connection with a request that may be whole."""

    loop: asyncio.AbstractEventLoop

    def answer_fast(self) -> bytes | None:
        """The response to the next request, if it is a short one that is answered from its bytes; else None."""

    def send_fast(self, response: bytes) -> None:
        """Send what `answer_fast` has made."""

    def take_normal_path(self) -> None:
        """Let what has come take the ordinary way."""


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
        """Give this connection a turn; `pipelined` if its request came before its last response was sent."""
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
                logger.exception("the fast path failed")  # the others have their turn, and this one takes the other way
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
            loop.call_soon(connection.take_normal_path)  # by itself: if it fails, the others have their responses

    def _next(self) -> ScheduledConnection | None:
        self._count = (self._count + 1) % PIPELINED_INTERVAL
        if self._pipelined and (not self._arrived or not self._count):
            return self._pipelined.popleft()
        return self._arrived.popleft() if self._arrived else None
