"""Long bodies: received where the application wants them, without a copy."""

from __future__ import annotations

import asyncio
import mmap
from collections.abc import Awaitable, Callable
from contextlib import suppress
from weakref import finalize

import numpy as np

from axiscast.wire.problems import Problem

from ..runtime.budget import Budget

LONG_BYTES = 2**18
"""A body of more bytes is long."""
WINDOW_BYTES = 2**21
"""What is reserved at once, and then received into: a huge page. The system makes one in a tenth of the time that it
takes for as many small ones, which is longer than all else that happens to a body."""
KEPT_SECONDS = 60
"""The room of a body that has gone is kept for so long, for another body: what makes a virtual machine's memory its own
costs up to ten times what it costs to fill it."""
EXTENSION = "axiscast.receive_into"
"""The name in a scope's extensions of a ReceiveInto."""

Reserve = Callable[[int], None]
ReceiveInto = Callable[[memoryview, int, Reserve], Awaitable[bool]]
"""Fills the room for a body, from its byte so-and-so; whether all of it came. The last argument is told how many bytes
come next, and may raise Problem."""


def room_for(nbytes: int, windows: bool) -> memoryview:
    """Room for a body, to be reserved and filled in `windows` or not. A long one's pages take memory when they are
    first written, and give it back when it goes."""
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


def lend(room: memoryview, nbytes: int, budget: Budget) -> memoryview:
    """The first bytes of a room for a body. Where the budget lets the room be kept, it is, for a while, once nothing
    refers to them. They may bear what another caller sent, so nobody may read them before they are received."""
    claim = budget.claim(room.nbytes)
    if claim is None:
        return room[:nbytes]
    loop = asyncio.get_running_loop()
    lent = np.frombuffer(room, np.uint8, nbytes)

    def keep() -> None:
        budget.keep(room, claim)
        loop.call_later(KEPT_SECONDS, budget.end, claim)

    def come_back() -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(keep)

    finalize(lent, come_back).atexit = False
    return lent.data


class Upload:
    """Where the rest of a long body is received: window after window of the application's memory, each reserved before
    it is written. `done` is its outcome: True once all of it came, False if it is given up, or a Problem."""

    __slots__ = ("_reserve", "_room", "_start", "done", "window")

    def __init__(self, room: memoryview, start: int, reserve: Reserve, done: asyncio.Future[bool | Problem]) -> None:
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
