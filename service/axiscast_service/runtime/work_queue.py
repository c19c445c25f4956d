"""The queue for the Python thread, which is shared out by client and connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from starlette.requests import ClientDisconnect

from axiscast.wire.problems import Problem

QUEUE_MILLISECONDS = 5000.0
"""The maximum estimated time, in milliseconds, of all work in the queue. A request waits at most this long."""
HALF_LIFE_SECONDS = 5.0
"""The time after which half of a client's use of the thread is forgotten."""
MAX_CLIENTS = 1000
"""The maximum number of clients whose use of the thread is remembered."""


class Usage:
    """The time for which a client or a connection has recently used the Python thread."""

    def __init__(self) -> None:
        self._milliseconds, self._since = 0.0, monotonic()

    def recent(self, now: float) -> float:
        """Return the used time in milliseconds. Earlier use counts less."""
        return float(self._milliseconds * 0.5 ** ((now - self._since) / HALF_LIFE_SECONDS))

    def add(self, milliseconds: float) -> None:
        """Count further use."""
        now = monotonic()
        self._milliseconds, self._since = self.recent(now) + milliseconds, now


@dataclass(eq=False)
class Requester:
    """The client and the connection that have sent a request."""

    client: Usage = field(default_factory=Usage)
    connection: Usage = field(default_factory=Usage)
    is_gone: Callable[[], bool] = lambda: False
    """A function that returns whether the client has closed the connection."""
    is_pipelining: Callable[[], bool] = lambda: False
    """A function that returns whether the client has already sent a further request on the connection."""

    def share(self, now: float) -> tuple[float, float, bool]:
        """Return how much the client and the connection have used the thread, and whether more follows immediately.

        The caller with the smallest share is served first.
        """
        return self.client.recent(now), self.connection.recent(now), self.is_pipelining()


@dataclass(eq=False)
class Turn:
    """The place of one request in the queue."""

    caller: Requester
    milliseconds: float
    begun: asyncio.Future[None]
    started_at: float = 0.0


class WorkQueue:
    """The requests that wait for the Python thread. The client that has used the thread the least is served first."""

    def __init__(self) -> None:
        self.milliseconds = 0.0
        """The estimated time of the running and the waiting work."""
        self._running: Turn | None = None
        self._waiting: list[Turn] = []
        self._clients: dict[str, Usage] = {}

    def usage_of(self, address: str) -> Usage:
        """Return the usage of the client with this address."""
        if address not in self._clients and len(self._clients) >= MAX_CLIENTS:
            now = monotonic()
            self._clients = {name: usage for name, usage in self._clients.items() if usage.recent(now) >= 1}
            if len(self._clients) >= MAX_CLIENTS:
                self._clients.clear()
        return self._clients.setdefault(address, Usage())

    def enter(self, caller: Requester, milliseconds: float) -> Turn:
        """Enter the queue. Raises Problem (overloaded) if the queue is full of work of clients with a smaller share."""
        while self.milliseconds and self.milliseconds + milliseconds > QUEUE_MILLISECONDS:
            if not self.displace(caller):
                raise self._overloaded(milliseconds)
        turn = Turn(caller, milliseconds, asyncio.get_running_loop().create_future())
        self.milliseconds += milliseconds
        self._waiting.append(turn)
        if self._running is None:
            self._start_next()
        return turn

    def displace(self, caller: Requester) -> bool:
        """Refuse the waiting request with the largest share, if it is larger than the caller's share.

        A pipelined request displaces no request of the same client.
        """
        now = monotonic()
        heaviest = max(self._waiting, key=lambda turn: turn.caller.share(now), default=None)
        if heaviest is None or heaviest.caller.share(now) <= caller.share(now):
            return False
        if caller.is_pipelining() and heaviest.caller.client is caller.client:
            return False  # otherwise pipelines would displace each other, and refusals would use all time
        self._remove(heaviest)
        if not heaviest.begun.done():
            heaviest.begun.set_exception(self._overloaded(heaviest.milliseconds))
        return True

    def leave(self, turn: Turn) -> None:
        """Leave the queue after the work has ended, or before it has started."""
        if turn is self._running:
            milliseconds = 1000 * (monotonic() - turn.started_at)
            turn.caller.client.add(milliseconds)
            turn.caller.connection.add(milliseconds)
            self.milliseconds -= turn.milliseconds
            self._start_next()
        elif turn in self._waiting:
            self._remove(turn)

    def _remove(self, turn: Turn) -> None:
        self._waiting.remove(turn)
        self.milliseconds -= turn.milliseconds

    def _start_next(self) -> None:
        self._running, now = None, monotonic()
        while self._waiting and self._running is None:
            turn = min(self._waiting, key=lambda turn: turn.caller.share(now))
            if turn.begun.done():  # the request was cancelled
                self._remove(turn)
            elif turn.caller.is_gone():
                self._remove(turn)
                turn.begun.set_exception(ClientDisconnect())
            else:
                self._waiting.remove(turn)
                self._running, turn.started_at = turn, now
                turn.begun.set_result(None)

    def _overloaded(self, milliseconds: float) -> Problem:
        return Problem(
            "overloaded",
            f"{self.milliseconds / 1000:.1f} seconds of work are queued, and this request would take about "
            f"{milliseconds / 1000:.1f} seconds: try again shortly",
        )
