"""The limit on open connections, and the choice of connections that are closed when new connections arrive."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from itertools import islice
from time import monotonic

from .kernel_buffers import unread_bytes
from .rates import Rates

MAX_CONNECTIONS = 1000
"""The maximum number of open connections per worker. Each connection takes about 15 kB. Requests have separate
limits."""
ALLOWANCE_BYTES = 4 * 2**10
"""The number of unread bytes per connection that need no reservation, because the memory budget already accounts for
these bytes. For more unread bytes, such as a long header block or pipelined requests, memory is reserved from the
budget."""
FILES_SHARE = 0.75
"""The maximum share of the process's file descriptors that connections may use. The other descriptors are for files and
for connections that are accepted before old connections are closed."""
RESERVE_SHARE = 1 / 8
"""The additional share of MAX_CONNECTIONS that may be open while all other connections have a request in flight.
Without this reserve, a health probe would be refused at such a moment."""
GROWN_TLS_BYTES = 64 * 2**10
"""The body size, in bytes, above which the TLS buffers of a connection are assumed to have grown."""
MAX_GROWN_TLS = 32
"""The maximum number of connections with grown TLS buffers. After a long body, these buffers keep about 600 kB. Above
this limit, the longest-waiting connection with grown buffers is closed."""
MAX_COMPARED = 64
"""The maximum number of connections, starting with the oldest, that are compared to find the one to close."""
IN_USE_SECONDS = 1
"""The time, in seconds, for which a connection still counts as in use after its last response. A busy event loop may
read the next request late."""


class Place:
    """The place of one connection among all open connections. At the limit, a new connection takes it."""

    def __init__(self, connections: Connections, rates: Rates) -> None:
        self.rates = rates
        self.is_refused = False
        """Whether the limit on connections was reached and no other connection could be closed."""
        self.queue: Queue | None = None
        """The queue in which the connection waits for its client."""
        self.cut: Callable[[str], None] | None = None
        """A function that closes the connection for a reason, while the connection is counted."""
        self._connections = connections
        self._socket: socket.socket | None = None

    def take(self, connection: socket.socket | None, cut: Callable[[str], None]) -> None:
        """Count the connection, unless it is already counted. From now on, `cut` closes it."""
        is_counted = self.cut is not None
        self._socket, self.cut = connection, cut
        if not is_counted:
            self.is_refused = not self._connections.opened(self)

    def wait(self, queue: Queue) -> None:
        """Move the connection to the end of a queue."""
        self.leave()
        self.queue = queue
        queue[self] = self._connections.clock()

    def stay(self, queue: Queue) -> None:
        """Move the connection to the end of a queue, unless it is already in this queue."""
        if self.queue is not queue:
            self.wait(queue)

    def leave(self) -> None:
        """Remove the connection from its queue, because its request is in flight."""
        if self.queue is not None:
            self.queue.pop(self, None)
            self.queue = None

    def has_unread_data(self) -> bool:
        """Return whether the system has received data that the event loop has not read yet."""
        return self._socket is not None and unread_bytes(self._socket) > 0

    @property
    def has_grown_tls(self) -> bool:
        """Whether the TLS buffers of the connection have grown."""
        return self in self._connections.grown_tls

    def grow_tls(self) -> None:
        """Record the end of a long body over TLS. Above MAX_GROWN_TLS, close another such connection that waits."""
        if self.rates.of_request <= GROWN_TLS_BYTES:
            return
        grown, every = self._connections.grown_tls, self._connections
        grown.pop(self, None)
        grown[self] = None
        if len(grown) > MAX_GROWN_TLS:
            longest = next((place for place in grown if place.queue in (every.idle, every.unread)), None)
            if longest is not None and longest.cut is not None:
                longest.cut("no-room")

    def forget(self) -> None:
        """Exclude the connection, which is being closed, from the connections that may be closed."""
        self.leave()
        self._connections.draining.discard(self)

    def give_back(self) -> None:
        """Stop counting the connection, which has ended."""
        self.forget()
        self._connections.total -= 1
        self._connections.ending.discard(self)
        self._connections.grown_tls.pop(self, None)
        self.cut = self._socket = None


Queue = dict[Place, float]
"""The places of connections in the order in which they entered the queue, with the time of that moment."""


class Connections:
    """All open connections of a process. At the limit, a connection is closed to make room for a new one.

    A connection is in one of the queues while the service waits for its client, and in none of them while a request is
    in flight.
    """

    def __init__(self, limit: int = MAX_CONNECTIONS, clock: Callable[[], float] = monotonic) -> None:
        self.limit = limit
        self.clock = clock
        self.total = 0
        self.unserved: Queue = {}
        """Connections on which no request has arrived yet."""
        self.lingering: Queue = {}
        """Connections that are in a lingering close."""
        self.idle: Queue = {}
        """Connections that wait for the next request."""
        self.unread: Queue = {}
        """Connections with further requests that wait until the client reads the last response."""
        self.arriving: Queue = {}
        """Connections with a body that is still arriving."""
        self.grown_tls: dict[Place, None] = {}
        """The encrypted connections whose TLS buffers have grown because of long bodies."""
        self.above_limit = False
        """Whether the number of open connections may be above the limit."""
        self.ending: set[Place] = set()
        """Connections that were closed to make room for new connections, but have not ended yet."""
        self.draining: set[Place] = set()
        """Connections with a refused upload that is being read to its end."""

    def opened(self, place: Place) -> bool:
        """Count a new connection. Return False if the limit is reached and no other connection could be closed."""
        self.total += 1
        excess = self.total - (most := self._most())
        if excess > 0 and not self.close_one_for_capacity():
            if excess > int(most * RESERVE_SHARE):
                return False
            self.above_limit = True
        place.wait(self.unserved)
        return True

    def close_excess(self) -> None:
        """Close one connection if the number of open connections is above the limit."""
        if self.above_limit:
            self.above_limit = self.total - len(self.ending) > self._most()
            if self.above_limit:
                self.close_one_for_capacity()

    def close_one_for_capacity(self) -> bool:
        """Close one connection to make room for a new connection. Return False if all connections are in use.

        The first choice is the oldest connection on which no request has arrived. The next choices are the
        longest-idle connection, the longest-lingering connection, the connection whose client has not read the last
        response for the longest time, and the connection with the slowest body.
        """
        chosen = (
            self._silent()
            or self._longest_idle()
            or next(iter(self.lingering), None)
            or next(iter(self.unread), None)
            or min(islice(self.arriving, MAX_COMPARED), key=lambda place: place.rates.per_second(), default=None)
        )
        if chosen is None or chosen.cut is None:
            return False
        self.ending.add(chosen)
        chosen.cut("no-room")
        return True

    def _silent(self) -> Place | None:
        """Return the oldest connection on which nothing has arrived. A busy event loop reads first requests late."""
        oldest = islice(self.unserved, MAX_COMPARED)
        return next((place for place in oldest if not place.has_unread_data()), None)

    def _longest_idle(self) -> Place | None:
        """Return the connection that has been idle for longest, or None if even this connection counts as in use."""
        for place, since in self.idle.items():
            return place if self.clock() - since >= IN_USE_SECONDS else None
        return None

    def _most(self) -> int:
        """Return the maximum number of open connections. A low limit on file descriptors reduces this number."""
        files = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else -1  # -1 means no limit, or Windows
        return self.limit if files < 0 else min(self.limit, int(files * FILES_SHARE))
