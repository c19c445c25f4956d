"""HeapTrimmer: glibc returns the freed memory of its heap to the system after many connections have closed."""

from __future__ import annotations

import asyncio
import ctypes


def trim_heap() -> None:
    """Return free memory pages of the heap to the system. The call does not block any other thread."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class HeapTrimmer:
    """A timer that trims the heap after many connections have closed."""

    CLOSED_CONNECTIONS, DELAY_SECONDS = 50, 1.0
    """The timer trims the heap DELAY_SECONDS after CLOSED_CONNECTIONS connections have closed. One trim is enough for
    all connections that close during the delay."""

    def __init__(self) -> None:
        self._closed = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_closed(self, loop: asyncio.AbstractEventLoop, large: bool) -> None:
        """Count a closed connection. Pass `large` if the buffers of this connection alone justify a trim."""
        self._closed += self.CLOSED_CONNECTIONS if large else 1
        if self._closed >= self.CLOSED_CONNECTIONS and self._timer is None:
            self._timer = loop.call_later(self.DELAY_SECONDS, self._trim, loop)

    def _trim(self, loop: asyncio.AbstractEventLoop) -> None:
        self._closed, self._timer = 0, None
        loop.run_in_executor(None, trim_heap)
