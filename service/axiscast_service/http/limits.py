"""The limit on open connections, and which of them are closed for new ones."""

from __future__ import annotations

import os
from itertools import islice
from typing import Protocol

MAX_CONNECTIONS = 1000
"""Open connections per worker. Each takes about 15 kB; requests have other limits."""
ALLOWANCE_BYTES = 4 * 2**10
"""Unread bytes per connection that need no reservation: the memory budget accounts for them. More bytes, such as a long
header block or pipelined requests, are reserved from the budget."""
FILES_SHARE = 0.75
"""Largest part of the process's file descriptors for connections. The rest is for other files, and for connections that
are accepted before others are closed."""
RESERVE_SHARE = 1 / 8
"""Part of MAX_CONNECTIONS that may be open in addition while all others have a request in flight. Otherwise a probe
would be refused at that moment."""
MAX_GROWN_TLS = 32
"""Waiting connections with grown TLS buffers. After a long body, these buffers keep about 600 kB. Above this limit, the
connection that has waited longest is closed."""
MAX_DRAINING = 16
"""Connections whose refused uploads are read to their end at once."""
MAX_COMPARED_BODIES = 64
"""Arriving bodies, oldest first, that are compared to find the slowest one."""


class Closable(Protocol):
    """A connection that can be closed for a new one."""

    def cut(self, reason: str) -> None: ...

    def bytes_per_second(self) -> float: ...

    def is_new(self) -> bool: ...


class Connections:
    """All open connections of a process. Connections that wait for their clients are closed for new ones."""

    def __init__(self) -> None:
        self.total = 0
        self.waiting: dict[Closable, None] = {}
        """Connections that wait for a request, or for the client to read a response. The longest-waiting come first."""
        self.arriving: dict[Closable, None] = {}
        """Connections whose body is arriving, in the order in which they began."""
        self.grown_tls: dict[Closable, None] = {}
        """Encrypted connections that have received long bodies."""
        self.above_limit = False
        """Whether more connections than the limit may be open."""
        self.ending: set[Closable] = set()
        """Connections that were closed for new ones, until they have ended."""
        self.lingering: dict[Closable, None] = {}
        """Connections in a lingering close."""
        self.draining: set[Closable] = set()
        """Connections whose refused uploads are read to their end."""

    def opened(self, connection: Closable) -> bool:
        """Count a new connection. Return False if the limit is reached and no other connection can be closed."""
        self.total += 1
        excess = self.total - (most := _max_connections())
        if excess > 0 and not self.close_one_for_capacity():
            if excess > int(most * RESERVE_SHARE):
                return False
            self.above_limit = True
        self.waiting[connection] = None
        return True

    def close_excess(self) -> None:
        """Close a waiting connection if more are open than the limit."""
        self.above_limit = self.total - len(self.ending) > _max_connections()
        if self.above_limit:
            self.close_one_for_capacity()

    def close_one_for_capacity(self) -> bool:
        """Close one connection for a new one. Return False if none can be closed.

        The choice is the longest-waiting one that is not new, then the longest-lingering one, then a new one, then the
        one with the slowest body.
        """
        # A busy loop reads new connections late. Pipelining connections wait again after each response, behind them.
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
        """Count the end of a connection."""
        self.total -= 1
        self.ending.discard(connection)

    def tls_buffers_grew(self, connection: Closable) -> None:
        """Record that the TLS buffers of a connection have grown. Above MAX_GROWN_TLS, close another such one."""
        self.grown_tls.pop(connection, None)
        self.grown_tls[connection] = None
        if len(self.grown_tls) > MAX_GROWN_TLS:
            longest = next((one for one in self.grown_tls if one in self.waiting), None)
            if longest is not None:
                self.grown_tls.pop(longest)
                longest.cut("no-room")

    def forget(self, connection: Closable) -> None:
        """Exclude a connection from those that may be closed for new ones."""
        self.waiting.pop(connection, None)
        self.arriving.pop(connection, None)
        self.lingering.pop(connection, None)
        self.draining.discard(connection)


CONNECTIONS = Connections()
"""The connections of this process."""


def _max_connections() -> int:
    """Return the limit on open connections, which the limit on file descriptors may reduce."""
    files = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else -1  # -1: no limit, or Windows
    return MAX_CONNECTIONS if files < 0 else min(MAX_CONNECTIONS, int(files * FILES_SHARE))
