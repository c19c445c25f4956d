"""The open connections of a process: how many there are, and which of them make room for others."""

from __future__ import annotations

import os
from typing import Protocol

MAX_CONNECTIONS = 1000
"""Open connections, for each worker. They cost some 15 kB each; what they ask for has limits of its own."""
FILES_SHARE = 0.75
"""Nor may connections take more of the files that the process can have open: the rest is for all else, and for those
that are accepted at one go, before others have made room."""
MAX_SWOLLEN = 32
"""An encrypted connection on which long bodies came has buffers of TLS that stay as large as they grew: some 600 kB.
So many of them may wait for another request; the one that has waited for longest is closed."""


class Connection(Protocol):
    """What can be closed to make room."""

    def cut(self, reason: str) -> None: ...


class Connections:
    """All that are open; those that wait, and those that have swollen, in the order in which they began to."""

    def __init__(self) -> None:
        self.total = 0
        self.waiting: dict[Connection, None] = {}
        """Those in which nothing is in work, the longest-waiting first: they make room for new ones."""
        self.swollen: dict[Connection, None] = {}
        """Those that are encrypted and took long bodies."""

    def opened(self, connection: Connection) -> bool:
        """Count one more. False where there is no room for it, nor any to be made."""
        self.total += 1
        if self.total > _most() and not self.make_room():
            return False
        self.waiting[connection] = None
        return True

    def make_room(self) -> bool:
        """Close the connection that has waited for longest; False where none waits."""
        longest = next(iter(self.waiting), None)
        if longest is None:
            return False
        longest.cut("no-room")
        return True

    def swelled(self, connection: Connection) -> None:
        """Count this one as one whose buffers stay large, and close the one too many."""
        self.swollen.pop(connection, None)
        self.swollen[connection] = None
        if len(self.swollen) > MAX_SWOLLEN:
            longest = next((one for one in self.swollen if one in self.waiting), None)
            if longest is not None:
                self.swollen.pop(longest)
                longest.cut("no-room")


CONNECTIONS = Connections()
"""Those of this process."""


def _most() -> int:
    """How many connections may be open: the process may have files for fewer than MAX_CONNECTIONS."""
    files = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else -1  # -1: no limit, or Windows
    return MAX_CONNECTIONS if files < 0 else min(MAX_CONNECTIONS, int(files * FILES_SHARE))
