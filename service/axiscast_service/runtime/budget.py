"""The memory budget of a worker process. Each request reserves memory from this budget before it allocates memory.

http/receiver.py reserves the buffers of a connection, endpoints/request_body.py the body, and a handler the response. A
handler on the fast path reserves nothing for a response of at most MAX_UNRESERVED_BYTES.
"""

from __future__ import annotations

from threading import RLock
from types import TracebackType
from typing import Self

from axiscast.wire.problems import Problem

FREE_BYTES = 64 * 2**10
"""The number of bytes per request that the budget does not count, so that small requests are served even if large
requests use the whole budget. The buffers of a connection may also hold this many bytes without a reservation."""


class MemoryBudget:
    """The memory, in bytes, that all requests in flight may reserve together. This class is thread-safe."""

    def __init__(self, nbytes: int, encrypted: bool = False) -> None:
        self.limit = nbytes // 2 if encrypted else nbytes * 3 // 4
        """The part of the worker's memory that requests may reserve. The remaining part is for memory that can't be
        reserved: free blocks of the allocators (measured: 40 MiB of 128 MiB), and the TLS buffers of connections."""
        self.held = 0
        self.lock = RLock()  # reentrant: a garbage collection can free a buffer while its thread holds this lock
        self.buffers = BufferCache(self)

    def try_acquire(self, nbytes: int) -> bool:
        """Acquire `nbytes` more bytes if all of these bytes are available. Return whether they were available."""
        with self.lock:
            if self.held + nbytes > self.limit:
                return False
            self.held += nbytes
            self.buffers.shrink()
            return True

    def release(self, nbytes: int) -> None:
        """Release `nbytes` bytes of the budget."""
        with self.lock:
            self.held -= nbytes


class BufferCache:
    """A cache for the buffer of a long body. The next long body uses the buffer again, because allocating one is slow.

    The cache holds one buffer, whose size is at most a quarter of the budget. The cache drops the buffer if requests
    need the memory.
    """

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self.max_bytes = budget.limit // 4
        self.buffer: memoryview | None = None
        self._key: object = None

    def put(self, buffer: memoryview) -> object:
        """Cache a buffer and return a key for `expire`.

        Return None if the buffer is too large, or if the cached buffer is at least as large.
        """
        with self._budget.lock:
            if buffer.nbytes > self.max_bytes or (self.buffer is not None and self.buffer.nbytes >= buffer.nbytes):
                return None
            self.buffer, self._key = buffer, object()
            self.shrink()
            return self._key

    def take(self, nbytes: int) -> memoryview | None:
        """Remove the cached buffer and return it, or return None if its size is not between `nbytes` and 2 * `nbytes`.

        The caller must reserve memory for the whole buffer.
        """
        with self._budget.lock:
            buffer = self.buffer
            if buffer is None or not nbytes <= buffer.nbytes <= 2 * nbytes:
                return None
            self.buffer = None
            return buffer

    def expire(self, key: object) -> None:
        """Drop the buffer for which `put` returned this key, unless the buffer was taken in the meantime."""
        with self._budget.lock:
            if self._key is key:
                self.buffer = None

    def shrink(self) -> None:
        """Drop the cached buffer if requests need its memory. The caller must hold the lock of the budget."""
        if self.buffer is not None and self._budget.held + self.buffer.nbytes > self._budget.limit:
            self.buffer = None


class MemoryReservation:
    """The memory that one request has reserved. It is a context manager that releases all of the memory on exit.

    A reservation that exceeds the budget fails immediately. A request that waits would hold memory that other requests
    need.
    """

    def __init__(self, budget: MemoryBudget, free_bytes: int = FREE_BYTES) -> None:
        self.budget = budget
        self.nbytes = 0
        self._free_bytes = free_bytes  # the bytes that the budget does not count

    @property
    def max_bytes(self) -> int:
        """The maximum number of bytes that a single request can reserve."""
        return self.budget.limit + self._free_bytes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release(self.nbytes)

    def reserve(self, nbytes: int, code: str = "body-too-large") -> None:
        """Reserve `nbytes` more bytes for the request.

        Raises Problem (overloaded) if other requests hold the memory. Raises Problem with `code` if the whole budget is
        too small for the request.
        """
        wanted = self.nbytes + nbytes
        counted = self._counted(wanted) - self._counted(self.nbytes)
        if counted and not self.budget.try_acquire(counted):
            raise self._refusal(wanted, code)
        self.nbytes = wanted

    def reserve_response(self, nbytes: int) -> None:
        """Reserve `nbytes` more bytes for the response to the request."""
        self.reserve(nbytes, "output-too-large")

    def release(self, nbytes: int) -> None:
        """Release `nbytes` bytes of the reservation."""
        left = self.nbytes - nbytes
        if counted := self._counted(self.nbytes) - self._counted(left):
            self.budget.release(counted)
        self.nbytes = left

    def _counted(self, nbytes: int) -> int:
        """Return the number of bytes that the budget counts if the request has reserved this many bytes."""
        return max(nbytes - self._free_bytes, 0)

    def _refusal(self, wanted: int, code: str) -> Problem:
        limit = self.budget.limit
        if wanted <= self.max_bytes:
            return Problem(
                "overloaded",
                f"this request needs {wanted} bytes of memory, but too few of the {limit} bytes that all requests in "
                f"flight share are free: try again shortly",
                limit=limit,
            )
        what, instead = _TOO_LARGE[code]
        return Problem(
            code,
            f"{what} {wanted} bytes of memory, but all requests in flight share {limit} bytes: {instead}, or raise "
            f"AXISCAST_MEMORY_BUDGET_BYTES",
            nbytes=wanted,
            limit=limit,
        )


_TOO_LARGE = {
    "body-too-large": (
        "the body and its values need",
        "send a smaller request, tensors as MessagePack, or replicated axes with stride 0",
    ),
    "output-too-large": (
        "this request and its response need",
        "request a smaller output, tensors as MessagePack, or the layout strided",
    ),
}
