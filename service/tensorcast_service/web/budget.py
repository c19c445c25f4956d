"""The memory budget of a worker: what its requests hold, reserved before it is allocated."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from threading import Lock
from types import TracebackType
from typing import Self

from tensorcast.schema.problems import Problem

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


def give_back_free_pages() -> None:
    """Let glibc return what lies free between blocks that are in use. From any thread: no other waits for it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class Budget:
    """Bytes that the requests in work may hold together, and how many they hold. What nobody holds may be rooms that
    bodies have left, kept for the next bodies; a request never finds less for it."""

    def __init__(self, nbytes: int, encrypted: bool = False) -> None:
        self.limit = nbytes // 2 if encrypted else nbytes * 3 // 4
        """The rest is for what can't be reserved: free blocks that the allocators keep (40 MiB of 128 were seen), and
        where the service speaks TLS, what that keeps for each connection."""
        self.held = 0
        self.kept: dict[object, memoryview] = {}
        """Rooms, the oldest first, by a key for each time that one is kept."""
        self._lock = Lock()  # requests that are large are worked at on threads

    def draw(self, nbytes: int) -> bool:
        """Take so many bytes more, or give some back; False, and nothing is taken, where they are not to be had."""
        with self._lock:
            if nbytes > 0 and self.held + nbytes > self.limit:
                return False
            self.held += nbytes
            self._drop_rooms()
            return True

    def keep(self, room: memoryview) -> Callable[[], None]:
        """Keep a room while nobody needs its memory; what is returned gives it back, if it is then kept still."""
        key = object()
        with self._lock:
            self.kept[key] = room
            self._drop_rooms()

        def give_back() -> None:
            with self._lock:
                self.kept.pop(key, None)

        return give_back

    def reuse(self, nbytes: int) -> memoryview | None:
        """A kept room for so many bytes, not twice as large as it must be. Its user holds all of it."""
        with self._lock:
            fitting = [key for key, room in self.kept.items() if nbytes <= room.nbytes <= 2 * nbytes]
            return self.kept.pop(fitting[-1]) if fitting else None

    def _drop_rooms(self) -> None:
        while self.kept and self.held + sum(room.nbytes for room in self.kept.values()) > self.limit:
            del self.kept[next(iter(self.kept))]


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
            "or raise TENSORCAST_MEMORY_BUDGET_BYTES",
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
