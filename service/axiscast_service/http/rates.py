"""Whether a client sends and takes bytes as fast as it must.

Each direction has windows of so many looks, each judged by itself. If the mean since the beginning counted, a client
that starts fast could stop and hold its memory for hours. Looks are counted, not seconds: a look after a time in which
the event loop was busy says little.
"""

from __future__ import annotations

import sys

FLOOR_BYTES = 256 * 2**10
"""Bytes that a body must bring in each `request_seconds`, unless it ends in them: 9 kB/s by default. A reader must take
as many, unless it takes all that waits for it."""
CHECKS_PER_WINDOW = 4
"""How often a connection is looked at in `request_seconds`."""


class Rates:
    """Those of one connection; its client is too slow once `waits` or `stalls` exceed CHECKS_PER_WINDOW."""

    __slots__ = ("_first", "_mark", "_unsent", "received", "stalls", "waits")

    def __init__(self) -> None:
        self.received = 0
        """Bytes of bodies, and at the end those that are thrown away."""
        self.waits = 0
        """Looks in this window at which the client should have been sending."""
        self.stalls = 0
        """Looks in this window at which it should have taken more."""
        self._first = 0  # `received` when the request began
        self._mark = 0  # `received` when its window began
        self._unsent = sys.maxsize  # bytes that the client had not taken when its window began

    @property
    def of_request(self) -> int:
        """Bytes that this request's body has brought."""
        return self.received - self._first

    def begin_request(self) -> None:
        """A request begins to come."""
        self._first = self.received
        self.begin()

    def begin(self) -> None:
        """Begin a window of received bytes."""
        self.waits, self._mark = 0, self.received

    def took_most(self) -> None:
        """The client has taken most of what waited, whatever is written next."""
        self._unsent = sys.maxsize

    def check(self, unsent: int, awaited: bool) -> None:
        """Look at the bytes that wait to be taken, and at those that came, if some are awaited."""
        if unsent and unsent > self._unsent - FLOOR_BYTES:
            self.stalls += 1
        else:
            self.stalls, self._unsent = 0, unsent or sys.maxsize
        if awaited and self.received - self._mark < FLOOR_BYTES:
            self.waits += 1
        else:
            self.begin()
