"""Long request bodies, which are received directly into a buffer of the application, without a copy."""

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

MAX_BUFFERED_BODY_BYTES = 64 * 2**10
"""The maximum size, in bytes, of a body that is received completely before the application receives the request."""
LONG_BYTES = 2**18
"""The size, in bytes, above which a body is received without copying."""
WINDOW_BYTES = 2**21
"""The number of bytes that are reserved and received in one step, which is the size of a huge page. Memory in huge
pages is allocated ten times as fast as memory in small pages. Allocating small pages would take longer than all other
work on a body."""
CACHED_SECONDS = 60
"""The time, in seconds, for which the buffer of a finished body stays in the cache. In a virtual machine, allocating
memory can take ten times as long as filling the memory."""
EXTENSION = "axiscast.receive_into"
"""The key under which the extensions of an ASGI scope contain a ReceiveInto function."""

ReceiveInto = Callable[[memoryview, int, ReserveMemory], Awaitable[bool]]
"""A function that receives a body into a buffer, starting at an offset, and returns whether the body is complete. Its
last argument is called with a number of bytes before these bytes are received, and may raise Problem."""


def new_buffer(nbytes: int, windows: bool) -> memoryview:
    """Return a new buffer for a body. If `windows` is true, the buffer is filled window by window and uses huge pages.

    A page of a long buffer takes memory only after the first write to the page.
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
        with suppress(OSError):  # the system has no huge pages
            pages.madvise(mmap.MADV_HUGEPAGE, start, huge)
    return memoryview(pages)[start : start + nbytes]


def borrow(buffer: memoryview, nbytes: int, cache: BufferCache) -> memoryview:
    """Return the first `nbytes` bytes of a buffer. When nothing refers to the result, the buffer goes to the cache.

    The buffer may contain data of another request: do not read it before the body is received.
    """
    loop = asyncio.get_running_loop()
    borrowed = np.frombuffer(buffer, np.uint8, nbytes)

    def put() -> None:  # immediately, because an uncached buffer uses memory that is no longer reserved
        if key := cache.put(buffer):
            with suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(loop.call_later, CACHED_SECONDS, cache.expire, key)

    finalize(borrowed, put).atexit = False
    return borrowed.data


class Upload:
    """The rest of a long body, which is received window by window into the application's buffer.

    The memory of each window is reserved before data is written to the window. The result of the future `done` is True
    if the body is complete, and False if the upload was aborted. It raises Problem if no memory is available.
    """

    def __init__(self, buffer: memoryview, start: int, reserve: ReserveMemory, done: asyncio.Future[bool]) -> None:
        self._buffer, self._start, self._reserve = buffer, start, reserve
        self.done = done
        self.window = memoryview(b"")
        self._next_window()

    def received(self, nbytes: int) -> None:
        """Count `nbytes` bytes that were written to the current window."""
        self.window = self.window[nbytes:]
        if not self.window:
            self._next_window()

    def _next_window(self) -> None:
        """Reserve memory for the next window, if the body has another window."""
        stop = min(self._start - self._start % WINDOW_BYTES + WINDOW_BYTES, len(self._buffer))
        if self.done.done():
            return
        try:
            self._reserve(stop - self._start)
        except Problem as problem:
            # The traceback would keep this upload and its buffer in memory.
            self.done.set_exception(problem.with_traceback(None))
            return
        self.window, self._start = self._buffer[self._start : stop], stop
        if not self.window:
            self.done.set_result(True)

    def end(self) -> None:
        """Abort the upload if the body is incomplete. The result of `done` is then False."""
        if not self.done.done():
            self.done.set_result(False)
