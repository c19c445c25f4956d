"""The limit on open connections, and the choice of connections that are closed when new connections arrive."""

from __future__ import annotations

import os
from itertools import islice
from time import monotonic
from typing import Protocol

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
MAX_GROWN_TLS = 32
"""The maximum number of connections with grown TLS buffers. After a long body, these buffers keep about 600 kB. Above
this limit, the longest-waiting connection with grown buffers is closed."""
MAX_DRAINING = 16
"""The maximum number of connections whose refused uploads are read to their end at the same time."""
MAX_COMPARED = 64
"""The maximum number of connections, starting with the oldest, that are compared to find the one to close."""
IN_USE_SECONDS = 1
"""The time, in seconds, for which a connection still counts as in use after its last response. A busy event loop may
read the next request late."""


class Closable(Protocol):
    """The type of a connection that can be closed to make room for a new connection."""

    queue: Queue | None

    def cut(self, reason: str) -> None: ...

    def bytes_per_second(self) -> float: ...

    def has_unread_data(self) -> bool: ...


Queue = dict[Closable, float]
"""Connections in the order in which they entered the queue, with the time of that moment."""


class Connections:
    """All open connections of a process. At the limit, a connection is closed to make room for a new one.

    A connection is in one of the queues while the service waits for its client, and in none of them while a request is
    in flight.
    """

    def __init__(self) -> None:
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
        self.grown_tls: dict[Closable, None] = {}
        """The encrypted connections whose TLS buffers have grown because of long bodies."""
        self.above_limit = False
        """Whether the number of open connections may be above the limit."""
        self.ending: set[Closable] = set()
        """Connections that were closed to make room for new connections, but have not ended yet."""
        self.draining: set[Closable] = set()
        """Connections with a refused upload that is being read to its end."""

    def opened(self, connection: Closable) -> bool:
        """Count a new connection. Return False if the limit is reached and no other connection could be closed."""
        self.total += 1
        excess = self.total - (most := _max_connections())
        if excess > 0 and not self.close_one_for_capacity():
            if excess > int(most * RESERVE_SHARE):
                return False
            self.above_limit = True
        self.enter(connection, self.unserved)
        return True

    def enter(self, connection: Closable, queue: Queue) -> None:
        """Move a connection to the end of a queue."""
        self.leave(connection)
        connection.queue = queue
        queue[connection] = monotonic()

    def leave(self, connection: Closable) -> None:
        """Remove a connection from its queue."""
        if connection.queue is not None:
            connection.queue.pop(connection, None)
            connection.queue = None

    def close_excess(self) -> None:
        """Close one connection if the number of open connections is above the limit."""
        self.above_limit = self.total - len(self.ending) > _max_connections()
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
            or _oldest(self.idle)
            or next(iter(self.lingering), None)
            or next(iter(self.unread), None)
            or self._slowest_body()
        )
        if chosen is None:
            return False
        self.ending.add(chosen)
        chosen.cut("no-room")
        return True

    def _silent(self) -> Closable | None:
        """Return the oldest connection on which nothing has arrived. A busy event loop reads first requests late."""
        for connection in islice(self.unserved, MAX_COMPARED):
            if not connection.has_unread_data():
                return connection
        return None

    def _slowest_body(self) -> Closable | None:
        arriving = islice(self.arriving, MAX_COMPARED)
        return min(arriving, key=lambda connection: connection.bytes_per_second(), default=None)

    def closed(self, connection: Closable) -> None:
        """Stop counting a connection that has ended."""
        self.total -= 1
        self.ending.discard(connection)

    def tls_buffers_grew(self, connection: Closable) -> None:
        """Record that a connection's TLS buffers have grown. Above MAX_GROWN_TLS, close another such connection."""
        self.grown_tls.pop(connection, None)
        self.grown_tls[connection] = None
        if len(self.grown_tls) > MAX_GROWN_TLS:
            longest = next((one for one in self.grown_tls if one.queue is self.idle or one.queue is self.unread), None)
            if longest is not None:
                self.grown_tls.pop(longest)
                longest.cut("no-room")

    def forget(self, connection: Closable) -> None:
        """Exclude a connection from the connections that may be closed to make room."""
        self.leave(connection)
        self.draining.discard(connection)


def _oldest(queue: Queue) -> Closable | None:
    """Return the first connection in a queue, or None if even this connection counts as in use."""
    for connection, since in queue.items():
        return connection if monotonic() - since >= IN_USE_SECONDS else None
    return None


def _max_connections() -> int:
    """Return the maximum number of open connections. A low limit on file descriptors reduces this number."""
    files = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else -1  # -1 means no limit, or Windows
    return MAX_CONNECTIONS if files < 0 else min(MAX_CONNECTIONS, int(files * FILES_SHARE))
