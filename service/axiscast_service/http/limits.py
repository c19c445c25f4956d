"""The open connections of a process: how many there are, and which of them make room for others."""

from __future__ import annotations

import os
from itertools import islice
from typing import Protocol

MAX_CONNECTIONS = 1000
"""Open connections, for each worker. They cost some 15 kB each; what they ask for has limits of its own."""
ALLOWANCE_BYTES = 4 * 2**10
"""Unread bytes that a connection may hold beside the memory budget, which leaves that much aside for each. More than
that, as of a long head or of pipelined requests, draws on the budget."""
FILES_SHARE = 0.75
"""Nor may connections take more of the files that the process can have open: the rest is for all else, and for those
that are accepted at one go, before others have made room."""
RESERVE_SHARE = 1 / 8
"""Part of MAX_CONNECTIONS that may be open beyond it while every other one has a request in flight, until one of them
waits for its client again: else a probe would be refused in that moment."""
MAX_GROWN_TLS = 32
"""An encrypted connection on which long bodies came has buffers of TLS that stay as large as they grew: some 600 kB.
So many of them may wait for another request; the one that has waited for longest is closed."""
MAX_DRAINING = 16
"""Connections whose refused uploads are read to their end at once."""
MAX_COMPARED_BODIES = 64
"""How many arriving bodies, oldest first, are compared to find the slowest, which makes room."""


class Closable(Protocol):
    """What can be closed to make room."""

    def cut(self, reason: str) -> None: ...

    def bytes_per_second(self) -> float: ...

    def is_new(self) -> bool: ...


class Connections:
    """All that are open. Those in which nothing is in flight wait for their clients, and make room for new ones."""

    def __init__(self) -> None:
        self.total = 0
        self.waiting: dict[Closable, None] = {}
        """Those between two requests, with a head that has not come, or with a response that is not read; the
        longest-waiting first."""
        self.arriving: dict[Closable, None] = {}
        """Those whose body has not come, in the order in which they began."""
        self.grown_tls: dict[Closable, None] = {}
        """Those that are encrypted and took long bodies."""
        self.above_limit = False
        """Whether there may be more than there should be."""
        self.ending: set[Closable] = set()
        """Those that were closed to make room, until they are lost."""
        self.lingering: dict[Closable, None] = {}
        """Those whose last response is sent and whose clients may still be sending, so that a close would lose it."""
        self.draining: set[Closable] = set()
        """Those whose refused uploads are read to their end."""

    def opened(self, connection: Closable) -> bool:
        """Count one more. False if there is no room for it, nor any to be made."""
        self.total += 1
        excess = self.total - (most := _max_connections())
        if excess > 0 and not self.close_one_for_capacity():
            if excess > int(most * RESERVE_SHARE):
                return False
            self.above_limit = True
        self.waiting[connection] = None
        return True

    def close_excess(self) -> None:
        """Close one that waits, if there are too many since none waited."""
        self.above_limit = self.total - len(self.ending) > _max_connections()
        if self.above_limit:
            self.close_one_for_capacity()

    def close_one_for_capacity(self) -> bool:
        """Close the connection that has waited for longest, but not a new one; else the one that has lingered for
        longest, else a new one, else the one whose body comes the slowest. False if none exists."""
        # A busy loop reads a new connection late. Those that pipeline wait again after each response, behind it.
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
        """Count one less."""
        self.total -= 1
        self.ending.discard(connection)

    def tls_buffers_grew(self, connection: Closable) -> None:
        """Count this one as one whose buffers stay large, and close the one too many."""
        self.grown_tls.pop(connection, None)
        self.grown_tls[connection] = None
        if len(self.grown_tls) > MAX_GROWN_TLS:
            longest = next((one for one in self.grown_tls if one in self.waiting), None)
            if longest is not None:
                self.grown_tls.pop(longest)
                longest.cut("no-room")

    def forget(self, connection: Closable) -> None:
        """The connection is not one of those that make room any more."""
        self.waiting.pop(connection, None)
        self.arriving.pop(connection, None)
        self.lingering.pop(connection, None)
        self.draining.discard(connection)


CONNECTIONS = Connections()
"""Those of this process."""


def _max_connections() -> int:
    """How many connections may be open: the process may have files for fewer than MAX_CONNECTIONS."""
    files = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else -1  # -1: no limit, or Windows
    return MAX_CONNECTIONS if files < 0 else min(MAX_CONNECTIONS, int(files * FILES_SHARE))
