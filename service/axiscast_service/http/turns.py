"""Whose request is next: one request of each connection in a turn of the event loop, and those that have just come
before those that were pipelined."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from time import perf_counter
from typing import Protocol

logger = logging.getLogger("axiscast")

AT_ONCE = 64
"""Requests that are answered in one turn, before the first response is sent: 4 MiB at most."""
ORDINARY_AT_ONCE = 16
"""Requests of one turn that begin to take the ordinary way. Each costs some 0.2 ms in the next turn."""
TURN_SECONDS = 0.004
"""No further request is answered in a turn that has taken so long. Reads, new connections and timers have theirs."""
ARRIVED_SHARE = 4
"""One request in this many is a pipelined one, if there are any; the others have just arrived."""


class Waiting(Protocol):
    """A connection with a request that may be whole."""

    loop: asyncio.AbstractEventLoop

    def answer_short(self) -> bytes | None:
        """The response to the next request, if it is a short one that is answered from its bytes; else None."""

    def send_short(self, response: bytes) -> None:
        """Send what `answer_short` has made."""

    def take_rest(self) -> None:
        """Let what has come take the ordinary way."""


class Turns:
    """The connections that wait for their turn.

    Up to AT_ONCE responses are made before the first of them is sent. A system call drives what the processor has
    learned of our code out of its caches and its branch predictors; responses made one after another find it there.
    With sixteen clients a response takes 50 microseconds of a core, and 72 if each is made and sent as soon as its
    request is read (benchmarks/checks.py).
    """

    __slots__ = ("_arrived", "_count", "_pipelined", "_scheduled")

    def __init__(self) -> None:
        self._arrived: deque[Waiting] = deque()
        self._pipelined: deque[Waiting] = deque()
        self._scheduled = False
        self._count = 0

    def enter(self, connection: Waiting, pipelined: bool) -> None:
        """Give this connection a turn; `pipelined` if its request came before its last response was sent."""
        (self._pipelined if pipelined else self._arrived).append(connection)
        if not self._scheduled:
            self._scheduled = True
            connection.loop.call_soon(self._run, connection.loop)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        self._scheduled = False
        end = perf_counter() + TURN_SECONDS
        responses: list[tuple[Waiting, bytes]] = []
        ordinary: list[Waiting] = []
        while (connection := self._next()) is not None:
            try:
                response = connection.answer_short()
            except Exception:
                logger.exception("the fast path failed")  # the others have their turn, and this one takes the other way
                response = None
            if response is None:
                ordinary.append(connection)
            else:
                responses.append((connection, response))
            if len(responses) == AT_ONCE or len(ordinary) == ORDINARY_AT_ONCE or perf_counter() > end:
                break
        if not self._scheduled and (self._arrived or self._pipelined):
            self._scheduled = True
            loop.call_soon(self._run, loop)
        for connection, response in responses:
            connection.send_short(response)
        for connection in ordinary:
            loop.call_soon(connection.take_rest)  # by itself: if it fails, the others have their responses

    def _next(self) -> Waiting | None:
        self._count = (self._count + 1) % ARRIVED_SHARE
        if self._pipelined and (not self._arrived or not self._count):
            return self._pipelined.popleft()
        return self._arrived.popleft() if self._arrived else None
