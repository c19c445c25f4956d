"""The limit on open connections, and the choice of connections that are closed when new connections arrive."""

from __future__ import annotations

import os
from itertools import islice
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
MAX_COMPARED_BODIES = 64
"""The maximum number of arriving bodies, starting with the oldest, that are compared to find the slowest body."""


class Closable(Protocol):
    """The type of a connection that can be closed to make room for a new connection."""

    def cut(self, reason: str) -> None: ...

    def bytes_per_second(self) -> float: ...

    def is_new(self) -> bool: ...


class Connections:
    """All open connections of a process. At the limit, a waiting connection is closed to make room for a new one."""

    def __init__(self) -> None:
        self.total = 0
        self.waiting: dict[Closable, None] = {}
        """Connections that wait until the client sends a request or reads a response. The longest-waiting one is
        first."""
        self.arriving: dict[Closable, None] = {}
        """Connections with a body that is still arriving, in the order in which the bodies began."""
        self.grown_tls: dict[Closable, None] = {}
        """The encrypted connections whose TLS buffers have grown because of long bodies."""
        self.above_limit = False
        """Whether the number of open connections may be above the limit."""
        self.ending: set[Closable] = set()
        """Connections that were closed to make room for new connections, but have not ended yet."""
        self.lingering: dict[Closable, None] = {}
        """Connections that are in a lingering close."""
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
        self.waiting[connection] = None
        return True

    def close_excess(self) -> None:
        """Close one connection if the number of open connections is above the limit."""
        self.above_limit = self.total - len(self.ending) > _max_connections()
        if self.above_limit:
            self.close_one_for_capacity()

    def close_one_for_capacity(self) -> bool:
        """Close one connection to make room for a new connection. Return False if no connection can be closed.

        The first choice is the longest-waiting connection that is not new. The next choices are the longest-lingering
        connection, a new connection, and the connection with the slowest body.
        """
        # New connections are spared, because a busy loop reads their first request late. A pipelining connection
        # moves to the end of the waiting connections after each response.
        chosen = next((connection for connection in self.waiting if not connection.is_new()), None)
        chosen = chosen or next(iter(self.lingering), None) or next(iter(self.waiting), None)
        if chosen is None and self.arriving:
            chosen = min(
                islice(self.arriving, MAX_COMPARED_BODIES), key=lambda connection: connection.bytes_per_second()
            )
        if chosen is None:
            return False
        self.ending.add(chosen)
        chosen.cut("no-room")
        return True

    def closed(self, connection: Closable) -> None:
        """Stop counting a connection that has ended."""
        self.total -= 1
        self.ending.discard(connection)

    def tls_buffers_grew(self, connection: Closable) -> None:
        """Record that a connection's TLS buffers have grown. Above MAX_GROWN_TLS, close another such connection."""
        self.grown_tls.pop(connection, None)
        self.grown_tls[connection] = None
        if len(self.grown_tls) > MAX_GROWN_TLS:
            longest = next((one for one in self.grown_tls if one in self.waiting), None)
            if longest is not None:
                self.grown_tls.pop(longest)
                longest.cut("no-room")

    def forget(self, connection: Closable) -> None:
        """Exclude a connection from the connections that may be closed to make room."""
        self.waiting.pop(connection, None)
        self.arriving.pop(connection, None)
        self.lingering.pop(connection, None)
        self.draining.discard(connection)


CONNECTIONS = Connections()
"""All open connections of this process."""


def _max_connections() -> int:
    """Return the maximum number of open connections. A low limit on file descriptors reduces this number."""
    files = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else -1  # -1 means no limit, or Windows
    return MAX_CONNECTIONS if files < 0 else min(MAX_CONNECTIONS, int(files * FILES_SHARE))
