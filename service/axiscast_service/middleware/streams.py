"""The responses that are being sent, and the choice of responses that are cut if too many clients read slowly."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from time import monotonic

from axiscast.wire.problems import Problem

MAX_STREAMS = 128
"""The maximum number of long responses that are sent at the same time. Their memory is also limited."""
MEMORY_SHARE = 3 / 4
"""The share of the memory budget that slowly read responses may hold. The rest is for the work of other requests."""
SCARCE_BYTES_PER_SECOND = 64 * 2**10
"""The minimum rate at which a client must read while streams are scarce."""
SCARCE_SHARE = 3 / 4
"""The share of the limit on streams, or on their memory, from which streams are scarce."""
MIN_SECONDS = 0.5
"""The time after which the rate of a response is known, and the interval of the checks while streams are scarce."""


@dataclass(eq=False)
class Stream:
    """A long response that is being sent to a client."""

    peer: str
    """The address of the client."""
    nbytes: int
    """The memory that the response holds, in bytes."""
    taken: Callable[[], int]
    """A function that returns the number of bytes that the client has taken so far."""
    cut: Callable[[str], None]
    """A function that closes the connection for a reason."""

    _since: float = field(default=inf, init=False)  # the start of the window in which the rate is measured
    _before: int = field(default=0, init=False)  # the value of `taken` at this time
    _rate: float = field(default=inf, init=False)

    def rate(self, now: float) -> float:
        """Return the latest rate in bytes per second at which the client reads, or infinity if it is not known yet.

        The first call starts the measurement.
        """
        if self._since == inf:
            self._since, self._before = now, self.taken()
        seconds, taken = now - self._since, self.taken()
        if seconds >= MIN_SECONDS:
            self._rate = (taken - self._before) / seconds
        if seconds > 2 * MIN_SECONDS:
            self._since, self._before = now, taken
        return self._rate


class Streams:
    """All long responses of one application that are being sent. `clock` returns the time in seconds."""

    def __init__(self, budget_bytes: int, limit: int = MAX_STREAMS, clock: Callable[[], float] = monotonic) -> None:
        self.limit = limit
        self._clock = clock
        self._is_checking = False
        self.max_bytes = int(budget_bytes * MEMORY_SHARE)
        self._streams: dict[Stream, None] = {}
        self._nbytes = 0
        self._of_peer: Counter[str] = Counter()

    def begin(self, stream: Stream) -> None:
        """Add a stream. If streams are scarce, first cut the stream that is read the slowest.

        Raises Problem (overloaded) if the limit is reached and all other clients read fast.
        """
        while self._streams and (len(self._streams) >= self.limit or self._nbytes + stream.nbytes > self.max_bytes):
            if not self._cut_one(stream.peer):
                if len(self._streams) < self.limit:
                    break
                detail = f"{self.limit} responses are being sent, the limit of this worker: try again shortly"
                raise Problem("overloaded", detail, limit=self.limit)
        self._streams[stream] = None
        self._nbytes += stream.nbytes
        self._of_peer[stream.peer] += 1
        stream.rate(self._clock())
        if self._are_scarce() and not self._is_checking:
            self._is_checking = True
            asyncio.get_running_loop().call_later(MIN_SECONDS, self._check)

    def end(self, stream: Stream) -> None:
        """Remove a stream that has ended. A stream that was cut is already removed."""
        if stream in self._streams:
            del self._streams[stream]
            self._nbytes -= stream.nbytes
            self._of_peer[stream.peer] -= 1
            if not self._of_peer[stream.peer]:
                del self._of_peer[stream.peer]

    def _are_scarce(self) -> bool:
        return len(self._streams) >= SCARCE_SHARE * self.limit or self._nbytes > SCARCE_SHARE * self.max_bytes

    def _check(self) -> None:
        """Cut streams that are read too slowly until streams are not scarce, and check again while they are."""
        while self._are_scarce() and self._cut_one():
            pass
        self._is_checking = self._are_scarce()
        if self._is_checking:
            asyncio.get_running_loop().call_later(MIN_SECONDS, self._check)

    def _cut_one(self, newcomer: str | None = None) -> bool:
        """Cut one stream, beginning with the slowest of the peer that has the most. Return False if there is no reason.

        The reason is that the client reads too slowly, or that its peer has more streams than the newcomer would have.
        """
        now = self._clock()
        rates = {stream: stream.rate(now) for stream in self._streams}
        most = inf if newcomer is None else self._of_peer[newcomer] + 1
        for stream in sorted(rates, key=lambda stream: (-self._of_peer[stream.peer], rates[stream])):
            if rates[stream] < SCARCE_BYTES_PER_SECOND or self._of_peer[stream.peer] > most:
                self.end(stream)
                stream.cut("stalled-reader")
                return True
        return False
