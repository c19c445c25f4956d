"""Long bodies: received where the application wants them, without a copy."""

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
"""A body of more bytes is long."""
WINDOW_BYTES = 2**21
"""What is reserved at once, and then received into: a huge page. The system makes one in a tenth of the time that it
takes for as many small ones, which is longer than all else that happens to a body."""
CACHED_SECONDS = 60
"""The buffer of a body that has ended stays in the cache this long. A virtual machine takes up to ten times as long to
make memory its own as to fill it."""
EXTENSION = "axiscast.receive_into"
"""The name in a scope's extensions of a ReceiveInto."""

ReceiveInto = Callable[[memoryview, int, ReserveMemory], Awaitable[bool]]
"""Fills a buffer with a body, from this byte on, and returns whether all of the body came. The last argument is called
with the number of bytes that come next, and may raise Problem."""


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
    """Where the rest of a long body is received: window after window of the application's memory, each reserved before
    it is written. `done` is its outcome: True once all of it came, False if it is given up, or a Problem."""

    __slots__ = ("_reserve", "_room", "_start", "done", "window")

    def __init__(
        self, room: memoryview, start: int, reserve: ReserveMemory, done: asyncio.Future[bool | Problem]
    ) -> None:
        self._room, self._start, self._reserve = room, start, reserve
        self.done = done
        self.window = memoryview(b"")
        self._open()

    def received(self, nbytes: int) -> None:
        """The next bytes of the window have been written."""
        self.window = self.window[nbytes:]
        if not self.window:
            self._open()

    def _open(self) -> None:
        """Go on to the next window, if there is one."""
        stop = min(self._start - self._start % WINDOW_BYTES + WINDOW_BYTES, len(self._room))
        if self.done.done():
            return
        try:
            self._reserve(stop - self._start)
        except Problem as problem:
            self.done.set_result(problem.with_traceback(None))  # which refers to this upload, and so to the memory
            return
        self.window, self._start = self._room[self._start : stop], stop
        if not self.window:
            self.done.set_result(True)

    def end(self) -> None:
        """Let go of the memory."""
        if not self.done.done():
            self.done.set_result(False)
        self.window = self._room = memoryview(b"")
