"""The minimum rates at which a client must send requests and read responses.

The rate in each direction is checked in windows. If the mean rate since the start of the request were checked, a client
that starts fast could stop and hold memory for hours. The length of a window is a number of checks, because a busy
event loop checks late.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

FLOOR_BYTES = 256 * 2**10
"""The number of body bytes that must arrive in every period of `request_seconds`, unless the body ends. The default is
9 kB/s. A client must also read this number of bytes, or all bytes that were sent."""
CHECKS_PER_WINDOW = 4
"""The number of checks of a connection in `request_seconds`."""


class Rates:
    """The rates of one connection. `clock` returns the time in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.received = 0
        """The total number of bytes received in bodies and in discarded data."""
        self._clock = clock
        self._waits = 0  # the checks in the current window at which the client had sent too few bytes
        self._stalls = 0  # the checks in the current window at which the client had read too few bytes
        self._first = 0  # the value of `received` at the start of the request
        self._start = 0.0  # the time at the start of the request
        self._mark = 0  # the value of `received` at the start of the window
        self._unsent = sys.maxsize  # the number of unsent bytes at the start of the window

    @property
    def is_too_slow(self) -> bool:
        """Whether the client sends too slowly."""
        return self._waits > CHECKS_PER_WINDOW

    @property
    def is_stalled(self) -> bool:
        """Whether the client reads too slowly."""
        return self._stalls > CHECKS_PER_WINDOW

    @property
    def of_request(self) -> int:
        """The number of bytes of the current request's body that have arrived."""
        return self.received - self._first

    def per_second(self) -> float:
        """Return the mean rate, in bytes per second, at which the body of the current request has arrived."""
        return self.of_request / max(self._clock() - self._start, 1e-3)

    def begin_request(self) -> None:
        """Start counting the bytes of a new request."""
        self._first, self._start = self.received, self._clock()
        self.begin()

    def begin(self) -> None:
        """Start a new window for the received bytes."""
        self._waits, self._mark = 0, self.received

    def took_most(self) -> None:
        """Start a new window for the unsent bytes, because the client has read most of them."""
        self._unsent = sys.maxsize

    def check(self, unsent: int, awaited: bool) -> None:
        """Check the number of unsent bytes and, if data is awaited, the number of received bytes."""
        if unsent and unsent > self._unsent - FLOOR_BYTES:
            self._stalls += 1
        else:
            self._stalls, self._unsent = 0, unsent or sys.maxsize
        if awaited and self.received - self._mark < FLOOR_BYTES:
            self._waits += 1
        else:
            self.begin()
