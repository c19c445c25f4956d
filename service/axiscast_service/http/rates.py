"""The minimum rates at which a client must send and read.

Each direction is checked in windows. With the mean since the beginning, a client that starts fast could stop and hold
its memory for hours. A window is a number of checks, not a time, because a busy event loop checks late.
"""

from __future__ import annotations

import sys

FLOOR_BYTES = 256 * 2**10
"""Bytes of a body that must arrive in each `request_seconds`, unless the body ends: 9 kB/s by default. A client must
read as many, or all that is sent."""
CHECKS_PER_WINDOW = 4
"""Checks of a connection in `request_seconds`."""


class Rates:
    """The rates of one connection. It is too slow if `waits` or `stalls` exceeds CHECKS_PER_WINDOW."""

    __slots__ = ("_first", "_mark", "_unsent", "received", "stalls", "waits")

    def __init__(self) -> None:
        self.received = 0
        """Bytes of bodies, and of discarded data."""
        self.waits = 0
        """Checks in this window at which the client should have been sending."""
        self.stalls = 0
        """Checks in this window at which the client should have read more."""
        self._first = 0  # `received` when the request began
        self._mark = 0  # `received` when its window began
        self._unsent = sys.maxsize  # unsent bytes when its window began

    @property
    def of_request(self) -> int:
        """Bytes of this request's body that have arrived."""
        return self.received - self._first

    def begin_request(self) -> None:
        """Start a request."""
        self._first = self.received
        self.begin()

    def begin(self) -> None:
        """Start a window of received bytes."""
        self.waits, self._mark = 0, self.received

    def took_most(self) -> None:
        """Start a window of unsent bytes, because the client has read most of them."""
        self._unsent = sys.maxsize

    def check(self, unsent: int, awaited: bool) -> None:
        """Check the unsent bytes and, if data is awaited, the received bytes."""
        if unsent and unsent > self._unsent - FLOOR_BYTES:
            self.stalls += 1
        else:
            self.stalls, self._unsent = 0, unsent or sys.maxsize
        if awaited and self.received - self._mark < FLOOR_BYTES:
            self.waits += 1
        else:
            self.begin()
