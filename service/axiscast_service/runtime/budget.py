"""The memory budget of a worker: requests reserve memory before they allocate it."""

from __future__ import annotations

from threading import Lock
from types import TracebackType
from typing import Self

from axiscast.wire.problems import Problem

FREE_BYTES = 64 * 2**10
"""Bytes of each request that the budget does not count: small requests are served however large the others are.
The buffers of a connection may hold as much without a reservation."""


class MemoryBudget:
    """The bytes that all requests in flight may hold together. Threads may share it."""

    def __init__(self, nbytes: int, encrypted: bool = False) -> None:
        self.limit = nbytes // 2 if encrypted else nbytes * 3 // 4
        """The rest is for memory that can't be reserved: free blocks of the allocators (40 MiB of 128 were measured),
        and with TLS its buffers for each connection."""
        self.held = 0
        self.lock = Lock()
        self.buffers = BufferCache(self)

    def try_acquire(self, nbytes: int) -> bool:
        """Acquire `nbytes` more, or none of them. Return whether they were available."""
        with self.lock:
            if self.held + nbytes > self.limit:
                return False
            self.held += nbytes
            self.buffers.shrink()
            return True

    def release(self, nbytes: int) -> None:
        """Give `nbytes` back."""
        with self.lock:
            self.held -= nbytes


class BufferCache:
    """The buffer of a long body that has ended, for the next long body: the system takes long to make a new one.

    It holds one buffer, of at most a quarter of the budget, in memory that no request holds.
    """

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self.max_bytes = budget.limit // 4
        self.buffer: memoryview | None = None
        self._key: object = None

    def put(self, buffer: memoryview) -> object:
        """Cache a buffer, unless it is too large or one of its size or more is cached. Return a key for `expire`."""
        with self._budget.lock:
            if buffer.nbytes > self.max_bytes or (self.buffer is not None and self.buffer.nbytes >= buffer.nbytes):
                return None
            self.buffer, self._key = buffer, object()
            self.shrink()
            return self._key

    def take(self, nbytes: int) -> memoryview | None:
        """Remove the cached buffer and return it. If it is too small, or more than twice too large, return None.

        The caller reserves the memory of all of it.
        """
        with self._budget.lock:
            buffer = self.buffer
            if buffer is None or not nbytes <= buffer.nbytes <= 2 * nbytes:
                return None
            self.buffer = None
            return buffer

    def expire(self, key: object) -> None:
        """Drop the buffer for which `put` returned this key, unless it has been taken since."""
        with self._budget.lock:
            if self._key is key:
                self.buffer = None

    def shrink(self) -> None:
        """Drop the buffer if requests need its memory. The caller holds the lock of the budget."""
        if self.buffer is not None and self._budget.held + self.buffer.nbytes > self._budget.limit:
            self.buffer = None


class MemoryReservation:
    """The memory of one request: a context manager that releases all of it on exit.

    A reservation that does not fit is refused immediately. Requests that waited would hold what others wait for.
    """

    def __init__(self, budget: MemoryBudget) -> None:
        self.budget = budget
        self.nbytes = 0

    @property
    def max_bytes(self) -> int:
        """The most bytes that the request can ever hold."""
        return self.budget.limit + FREE_BYTES

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release(self.nbytes)

    def reserve(self, nbytes: int, code: str = "body-too-large") -> None:
        """Reserve `nbytes` more.

        Raises Problem: overloaded if other requests hold the memory, `code` if the budget is too small for the request.
        """
        wanted = self.nbytes + nbytes
        counted = _counted(wanted) - _counted(self.nbytes)
        if counted and not self.budget.try_acquire(counted):
            raise self._refusal(wanted, code)
        self.nbytes = wanted

    def reserve_response(self, nbytes: int) -> None:
        """Reserve `nbytes` more, for the response."""
        self.reserve(nbytes, "output-too-large")

    def release(self, nbytes: int) -> None:
        """Give `nbytes` back."""
        left = self.nbytes - nbytes
        if counted := _counted(self.nbytes) - _counted(left):
            self.budget.release(counted)
        self.nbytes = left

    def _refusal(self, wanted: int, code: str) -> Problem:
        limit = self.budget.limit
        if wanted <= self.max_bytes:
            return Problem(
                "overloaded",
                f"this request needs {wanted} bytes of memory, and too few are free of the {limit} that all requests "
                "in flight share: try again shortly",
                limit=limit,
            )
        what, instead = _TOO_LARGE[code]
        return Problem(
            code,
            f"{what} {wanted} bytes of memory, and all requests in flight share {limit}: {instead}, "
            "or raise AXISCAST_MEMORY_BUDGET_BYTES",
            nbytes=wanted,
            limit=limit,
        )


def _counted(nbytes: int) -> int:
    """Return how many bytes of a request the budget counts."""
    return max(nbytes - FREE_BYTES, 0)


_TOO_LARGE = {
    "body-too-large": (
        "the body and its values take",
        "send less at once, tensors as MessagePack, replicated axes with stride 0",
    ),
    "output-too-large": (
        "this request and its answer take",
        "ask for less at once, tensors as MessagePack, replicated axes strided",
    ),
}
