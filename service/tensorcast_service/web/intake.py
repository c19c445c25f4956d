"""Long bodies: received where the application wants them, past uvicorn, which would copy every byte four times."""

from __future__ import annotations

import asyncio
import mmap
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from weakref import finalize

import numpy as np

from tensorcast.schema.problems import Problem

from .budget import Budget

LONG_BYTES = 2**18
"""A body of more bytes is long."""
WINDOW_BYTES = 2**21
"""What is reserved at once, and then received into: a huge page. The system makes one in a tenth of the time that it
takes for as many small ones, which is longer than all else that happens to a body."""
KEPT_SECONDS = 60
"""The room of a body that has gone is kept for so long, for another body: what makes a virtual machine's memory its own
costs up to ten times what it costs to fill it."""
EXTENSION = "tensorcast.receive_into"
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


class Intake(asyncio.BufferedProtocol):
    """In place of a connection's own protocol while a long body comes.

    `gate.body_received(n)` is told of n bytes that came; `gate.end_intake()` is to let the own protocol go on.
    """

    def __init__(self, gate: Any, room: memoryview, start: int, reserve: Reserve) -> None:
        self.gate, self.room, self.start, self.reserve = gate, room, start, reserve
        self.window = memoryview(b"")
        self.done: asyncio.Future[bool | Problem] = gate.loop.create_future()
        for name in ("pause_writing", "resume_writing", "eof_received", "connection_lost"):
            setattr(self, name, getattr(gate, name))

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.window

    def buffer_updated(self, nbytes: int) -> None:
        self.window = self.window[nbytes:]
        self.gate.body_received(nbytes)
        if not self.window:
            self.open()

    def open(self) -> None:
        """Go on to the next window, where there is one."""
        stop = min(self.start - self.start % WINDOW_BYTES + WINDOW_BYTES, len(self.room))
        if not self.done.done():  # else the request has been given up
            try:
                self.reserve(stop - self.start)
            except Problem as problem:
                self.done.set_result(problem)
        if not self.done.done():
            self.window, self.start = self.room[self.start : stop], stop
            if not self.window:
                self.done.set_result(True)
        if self.done.done():
            self.gate.end_intake()

    def end(self) -> None:
        """Let go of the memory: uvloop keeps a connection's last two protocols."""
        if not self.done.done():
            self.done.set_result(False)
        vars(self).clear()
