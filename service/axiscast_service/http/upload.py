"""Long bodies, received without a copy into a buffer of the application."""

from __future__ import annotations

import asyncio
import mmap
from collections.abc import Awaitable, Callable
from contextlib import suppress
from weakref import finalize

import numpy as np

from axiscast.wire.prescan import ReserveMemory
from axiscast.wire.problems import Problem

from ..runtime.budget import BufferCache

LONG_BYTES = 2**18
"""Longer bodies are received without a copy."""
WINDOW_BYTES = 2**21
"""Bytes that are reserved and received in one step: a huge page. The system allocates it in a tenth of the time of
small pages, which would take longer than the rest of the work on a body."""
CACHED_SECONDS = 60
"""The buffer of a body that has ended stays in the cache this long. A virtual machine takes up to ten times as long to
make memory its own as to fill it."""
EXTENSION = "axiscast.receive_into"
"""The key of a ReceiveInto in the extensions of a scope."""

ReceiveInto = Callable[[memoryview, int, ReserveMemory], Awaitable[bool]]
"""Receives a body into a buffer from an offset, and returns whether the body is complete. The last argument is called
with the number of bytes before they are received, and may raise Problem."""


def new_buffer(nbytes: int, windows: bool) -> memoryview:
    """Return a buffer for a body. Pass `windows` if it is filled window by window, for which huge pages pay.

    The pages of a long buffer take memory when they are first written.
    """
    if nbytes <= LONG_BYTES:
        return memoryview(bytearray(nbytes))
    try:
        pages = mmap.mmap(-1, nbytes + WINDOW_BYTES, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise MemoryError(str(error)) from None
    start = -np.frombuffer(pages, np.uint8).ctypes.data % WINDOW_BYTES
    huge = nbytes - nbytes % WINDOW_BYTES
    if windows and huge and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a system without huge pages
            pages.madvise(mmap.MADV_HUGEPAGE, start, huge)
    return memoryview(pages)[start : start + nbytes]


def borrow(buffer: memoryview, nbytes: int, cache: BufferCache) -> memoryview:
    """Return the first bytes of a buffer. Once nothing refers to them, the buffer goes to the cache.

    They may hold bytes of another request: do not read them before the body is received.
    """
    loop = asyncio.get_running_loop()
    borrowed = np.frombuffer(buffer, np.uint8, nbytes)

    def put() -> None:
        if key := cache.put(buffer):
            loop.call_later(CACHED_SECONDS, cache.expire, key)

    def put_soon() -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(put)

    finalize(borrowed, put_soon).atexit = False
    return borrowed.data


class Upload:
    """The rest of a long body, received window by window into the application's buffer.

    Each window is reserved before it is written. `done` is the outcome: True once the body is complete, False if it was
    aborted, or a Problem.
    """

    __slots__ = ("_buffer", "_reserve", "_start", "done", "window")

    def __init__(
        self, buffer: memoryview, start: int, reserve: ReserveMemory, done: asyncio.Future[bool | Problem]
    ) -> None:
        self._buffer, self._start, self._reserve = buffer, start, reserve
        self.done = done
        self.window = memoryview(b"")
        self._next_window()

    def received(self, nbytes: int) -> None:
        """Count bytes that were written to the window."""
        self.window = self.window[nbytes:]
        if not self.window:
            self._next_window()

    def _next_window(self) -> None:
        """Reserve the next window, if there is one."""
        stop = min(self._start - self._start % WINDOW_BYTES + WINDOW_BYTES, len(self._buffer))
        if self.done.done():
            return
        try:
            self._reserve(stop - self._start)
        except Problem as problem:
            self.done.set_result(
                problem.with_traceback(None)
            )  # its traceback would refer to this upload and its buffer
            return
        self.window, self._start = self._buffer[self._start : stop], stop
        if not self.window:
            self.done.set_result(True)

    def end(self) -> None:
        """Release the buffer. If the body is incomplete, the outcome is False."""
        if not self.done.done():
            self.done.set_result(False)
        self.window = self._buffer = memoryview(b"")
