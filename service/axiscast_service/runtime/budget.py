"""The memory budget of a worker: what its requests hold, reserved before it is allocated."""

from __future__ import annotations

import asyncio
import ctypes
from threading import Lock
from types import TracebackType
from typing import Self

from axiscast.wire.problems import Problem

FREE_BYTES = 64 * 2**10
"""What each request may hold beside the budget: small ones pay nothing, and are served however large the others are.
As much may wait in a connection's buffers unseen."""
_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of malloc.h


def give_back_what_is_freed() -> None:
    """Let glibc return large blocks to the system when they are freed, as it does at first. By itself it keeps ever
    larger ones, up to 32 MiB for each thread."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, 128 * 2**10)


class FreePages:
    """Free pages of the allocator, given back to the system after connections have closed."""

    MANY, SECONDS = 50, 1.0
    """So many connections have to close, within any time, and pages are given back so much later: more may close."""

    def __init__(self) -> None:
        self._closed = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_closed(self, loop: asyncio.AbstractEventLoop, large: bool) -> None:
        """A connection has closed; `large` if it alone leaves much behind."""
        self._closed += self.MANY if large else 1
        if self._closed >= self.MANY and self._timer is None:
            self._timer = loop.call_later(self.SECONDS, self._give_back, loop)

    def _give_back(self, loop: asyncio.AbstractEventLoop) -> None:
        self._closed, self._timer = 0, None
        loop.run_in_executor(None, give_back_free_pages)  # they lie between what others have


def give_back_free_pages() -> None:
    """Let glibc return what lies free between blocks that are in use. From any thread: no other waits for it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class Budget:
    """Bytes that the requests in work may hold together, and how many they hold. Of what nobody holds, a part may be
    a room that a body has left, kept for the next body; a request never finds less for it."""

    def __init__(self, nbytes: int, encrypted: bool = False) -> None:
        self.limit = nbytes // 2 if encrypted else nbytes * 3 // 4
        """The rest is for what can't be reserved: free blocks that the allocators keep (40 MiB of 128 were seen), and
        where the service speaks TLS, what that keeps for each connection."""
        self.held = 0
        self.kept: memoryview | None = None
        self._claim: object = None
        self._lock = Lock()  # requests that are large are worked at on threads

    def draw(self, nbytes: int) -> bool:
        """Take so many bytes more, or give some back; False, and nothing is taken, where they are not to be had."""
        with self._lock:
            if nbytes > 0 and self.held + nbytes > self.limit:
                return False
            self.held += nbytes
            if self.kept is not None and self.held + self.kept.nbytes > self.limit:
                self._drop()
            return True

    def claim(self, nbytes: int) -> object:
        """A key by which a room of so many bytes is kept later on; None where it can't be. One room is kept at a time,
        of a quarter of the limit at the most: between the end of a body and that time nobody holds the memory. One that
        is kept makes room for a larger one, which costs more to be had anew."""
        with self._lock:
            if nbytes > self.limit // 4:
                return None
            if self.kept is not None and self.kept.nbytes < nbytes:
                self._drop()
            if self._claim is not None:
                return None
            self._claim = object()
            return self._claim

    def keep(self, room: memoryview, claim: object) -> None:
        """Keep a room, by its claim, until a request needs the memory or the claim ends."""
        with self._lock:
            self.kept = room
            if self._claim is not claim or self.held + room.nbytes > self.limit:
                self._drop()

    def end(self, claim: object) -> None:
        """Keep the room of this claim no longer."""
        with self._lock:
            if self._claim is claim:
                self._drop()

    def reuse(self, nbytes: int) -> memoryview | None:
        """The kept room for so many bytes, if it is not twice as large as it must be. Its user holds all of it."""
        with self._lock:
            room = self.kept
            if room is None or not nbytes <= room.nbytes <= 2 * nbytes:
                return None
            self._drop()
            return room

    def _drop(self) -> None:
        self.kept = self._claim = None


class Holding:
    """What one request holds of the budget, all of it given back on exit. What does not fit is refused, and never
    waited for: those who wait would hold what the others wait for."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.nbytes = 0

    @property
    def most(self) -> int:
        """Bytes that it can ever hold."""
        return self.budget.limit + FREE_BYTES

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.grow(-self.nbytes)

    def grow(self, nbytes: int, code: str = "body-too-large") -> None:
        """Hold so many bytes more (or fewer: a negative number is given back). Raises Problem where they are not to
        be had: overloaded for now, `code` for ever."""
        wanted = self.nbytes + nbytes
        if self.nbytes > FREE_BYTES or wanted > FREE_BYTES:
            change = max(wanted - FREE_BYTES, 0) - max(self.nbytes - FREE_BYTES, 0)
            if not self.budget.draw(change):
                raise self._refusal(wanted, code)
        self.nbytes = wanted

    def reserve_answer(self, nbytes: int) -> None:
        """Hold so many bytes more, for the answer."""
        self.grow(nbytes, "output-too-large")

    def _refusal(self, wanted: int, code: str) -> Problem:
        limit = self.budget.limit
        if wanted <= self.most:
            return Problem(
                "overloaded",
                f"this request needs {wanted} bytes of memory, and too few are left of the {limit} that are for all "
                "in work: try again shortly",
                limit=limit,
            )
        what, instead = _WAYS_OUT[code]
        return Problem(
            code,
            f"{what} {wanted} bytes of memory, and all requests in work may hold {limit}: {instead}, "
            "or raise AXISCAST_MEMORY_BUDGET_BYTES",
            nbytes=wanted,
            limit=limit,
        )


_WAYS_OUT = {
    "body-too-large": (
        "the body and its values take",
        "send less at once, tensors as MessagePack, replicated axes with stride 0",
    ),
    "output-too-large": (
        "this request and its answer take",
        "ask for less at once, tensors as MessagePack, replicated axes strided",
    ),
}
