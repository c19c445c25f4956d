"""The heap of glibc: freed memory goes back to the system."""

from __future__ import annotations

import asyncio
import ctypes

_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of malloc.h


def unmap_freed_blocks() -> None:
    """Make glibc unmap each block of more than 128 KiB when it is freed.

    That is also its default, until it raises the threshold, up to 32 MiB for each thread.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, 128 * 2**10)


def trim_heap() -> None:
    """Give free pages between blocks in use back to the system. Any thread may call it: no other thread waits."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class HeapTrimmer:
    """Trims the heap after connections have closed."""

    CLOSED_CONNECTIONS, DELAY_SECONDS = 50, 1.0
    """The heap is trimmed this long after so many have closed: more may close meanwhile."""

    def __init__(self) -> None:
        self._closed = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_closed(self, loop: asyncio.AbstractEventLoop, large: bool) -> None:
        """Count a closed connection. Pass `large` if its buffers alone are worth a trim."""
        self._closed += self.CLOSED_CONNECTIONS if large else 1
        if self._closed >= self.CLOSED_CONNECTIONS and self._timer is None:
            self._timer = loop.call_later(self.DELAY_SECONDS, self._trim, loop)

    def _trim(self, loop: asyncio.AbstractEventLoop) -> None:
        self._closed, self._timer = 0, None
        loop.run_in_executor(None, trim_heap)
