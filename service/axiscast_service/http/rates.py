"""The minimum rates at which a client must send requests and read responses.

The rate in each direction is checked in windows. If the mean rate since the start of the request were checked, a client
that starts fast could stop and hold memory for hours. The length of a window is a number of checks, because a busy
event loop checks late.
"""

from __future__ import annotations

import sys

FLOOR_BYTES = 256 * 2**10
"""The number of body bytes that must arrive in every period of `request_seconds`, unless the body ends. The default is
9 kB/s. A client must also read this number of bytes, or all bytes that were sent."""
CHECKS_PER_WINDOW = 4
"""The number of checks of a connection in `request_seconds`."""


class Rates:
    """The rates of one connection. The client is too slow if `waits` or `stalls` is above CHECKS_PER_WINDOW."""

    def __init__(self) -> None:
        self.received = 0
        """The total number of bytes received in bodies and in discarded data."""
        self.waits = 0
        """The number of checks in the current window at which the client had sent too few bytes."""
        self.stalls = 0
        """The number of checks in the current window at which the client had read too few bytes."""
        self._first = 0  # the value of `received` at the start of the request
        self._mark = 0  # the value of `received` at the start of the window
        self._unsent = sys.maxsize  # the number of unsent bytes at the start of the window

    @property
    def of_request(self) -> int:
        """The number of bytes of the current request's body that have arrived."""
        return self.received - self._first

    def begin_request(self) -> None:
        """Start counting the bytes of a new request."""
        self._first = self.received
        self.begin()

    def begin(self) -> None:
        """Start a new window for the received bytes."""
        self.waits, self._mark = 0, self.received

    def took_most(self) -> None:
        """Start a new window for the unsent bytes, because the client has read most of them."""
        self._unsent = sys.maxsize

    def check(self, unsent: int, awaited: bool) -> None:
        """Check the number of unsent bytes and, if data is awaited, the number of received bytes."""
        if unsent and unsent > self._unsent - FLOOR_BYTES:
            self.stalls += 1
        else:
            self.stalls, self._unsent = 0, unsent or sys.maxsize
        if awaited and self.received - self._mark < FLOOR_BYTES:
            self.waits += 1
        else:
            self.begin()
