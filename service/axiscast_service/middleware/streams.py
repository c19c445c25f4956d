"""The responses that are being sent, and the choice of responses that are cut if too many clients read slowly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from axiscast.wire.problems import Problem

MAX_STREAMS = 128
"""The maximum number of long responses that are sent at the same time. Their memory is also limited."""
MEMORY_SHARE = 3 / 4
"""The share of the memory budget that slowly read responses may hold. The rest is for the work of other requests."""
SCARCE_BYTES_PER_SECOND = 64 * 2**10
"""The minimum rate at which a client must read while streams are scarce."""
MIN_SECONDS = 0.5
"""The time after which the rate of a response is known."""


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

    def __post_init__(self) -> None:
        self._since, self._before = monotonic(), self.taken()  # the start of the window in which the rate is measured
        self._rate = float("inf")

    def rate(self, now: float) -> float:
        """Return the latest rate in bytes per second at which the client reads, or infinity if it is not known yet."""
        seconds, taken = now - self._since, self.taken()
        if seconds >= MIN_SECONDS:
            self._rate = (taken - self._before) / seconds
        if seconds > 2 * MIN_SECONDS:
            self._since, self._before = now, taken
        return self._rate


class Streams:
    """All long responses of one application that are being sent."""

    def __init__(self, budget_bytes: int, limit: int = MAX_STREAMS) -> None:
        self.limit = limit
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

    def end(self, stream: Stream) -> None:
        """Remove a stream that has ended. A stream that was cut is already removed."""
        if stream in self._streams:
            del self._streams[stream]
            self._nbytes -= stream.nbytes
            self._of_peer[stream.peer] -= 1
            if not self._of_peer[stream.peer]:
                del self._of_peer[stream.peer]

    def _cut_one(self, newcomer: str) -> bool:
        """Cut the slowest stream of the peer that has the most streams. Return False if there is no reason to cut it.

        The reason is that the client reads too slowly, or that its peer has more streams than the newcomer would have.
        """
        peer, count = self._of_peer.most_common(1)[0]
        now = monotonic()
        rates = {stream: stream.rate(now) for stream in self._streams if stream.peer == peer}
        slowest = min(rates, key=rates.__getitem__)
        if rates[slowest] >= SCARCE_BYTES_PER_SECOND and count <= self._of_peer[newcomer] + 1:
            return False
        self.end(slowest)
        slowest.cut("stalled-reader")
        return True
