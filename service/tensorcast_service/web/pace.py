"""Pace: whether a caller brings and takes bytes as fast as it must.

What it brings, and what it takes, is each judged in a window of so many checks, and each window by itself: if the mean
since the beginning counted, a caller that starts fast could stop, and hold its memory for hours. Checks are counted,
not seconds: one after a time in which the event loop was busy says little.
"""

from __future__ import annotations

import sys

FLOOR_BYTES = 256 * 2**10
"""Bytes that a body must bring in each `request_seconds`, unless it ends in them: 9 kB/s by default. A reader must take
as many, unless it takes all that waits for it."""
CHECKS = 4
"""How often the pace of a connection is looked at in `request_seconds`."""


class Pace:
    """That of one connection; its caller is too slow once `waits` or `stalls` exceed CHECKS."""

    def __init__(self) -> None:
        self.received = 0
        """Bytes of bodies; at the end, of what is thrown away."""
        self.waits = 0
        """Checks in this window of what is brought in which the caller should have been sending."""
        self.stalls = 0
        """Checks in this window of what is taken in which it should have taken more."""
        self._mark = 0  # `received` when its window began
        self._unsent = sys.maxsize  # bytes that the caller had not taken when its window began

    def begin(self) -> None:
        """A request begins to come: so does a window of what is brought."""
        self.waits, self._mark = 0, self.received

    def took_most(self) -> None:
        """The caller has taken most of what waited, whatever is written next."""
        self._unsent = sys.maxsize

    def check(self, unsent: int, awaited: bool) -> None:
        """Look at the bytes that wait to be taken, and at those that came, where some are awaited."""
        if unsent and unsent > self._unsent - FLOOR_BYTES:
            self.stalls += 1
        else:
            self.stalls, self._unsent = 0, unsent or sys.maxsize
        if awaited and self.received - self._mark < FLOOR_BYTES:
            self.waits += 1
        else:
            self.begin()
