"""Attempt: what is sent for a call, and its answer while it arrives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Generic, TypeVar

import httpx

from .calls import SEND_BYTES, Call, Progress, Transfer
from .reading import Chunk, Reader

T = TypeVar("T")


class Attempt(httpx.SyncByteStream, httpx.AsyncByteStream, Generic[T]):
    """One attempt at a call. It is the body of its request, from the beginning as often as it is asked for, and takes
    the answer: the head by `begin`, then each byte once, by `feed` or into `buffer()`."""

    buffer: Callable[[], memoryview]
    """Where the next bytes belong (see Reader.buffer), once the head is there."""
    _reader: Reader[T]

    def __init__(self, call: Call[T], progress: Progress | None) -> None:
        self.call = call
        self._progress = progress
        self._done = 0
        self._total: int | None = None
        self.begun = False
        """Whether the head is there."""
        self.retry_after: str | None = None

    def __iter__(self) -> Iterator[bytes]:
        """The body in pieces of at most SEND_BYTES."""
        done = 0
        for part in self.call.parts:
            for start in range(0, len(part), SEND_BYTES):
                piece = part[start : start + SEND_BYTES]
                yield piece  # type: ignore[misc]  # buffers pass as they are
                done += len(piece)
                if self._progress is not None:
                    self._progress(Transfer("upload", done, self.call.length))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head; the headers' names are in lower case. Raises InvalidAnswer."""
        self.begun = True
        self.retry_after = headers.get("retry-after")
        length = headers.get("content-length", "")
        self._total = int(length) if length.isdecimal() and len(length) < 20 else None
        self._reader = self.call.read(status, headers, self._total)
        self.buffer = self._reader.buffer

    def received(self, count: int) -> None:
        """So many bytes have been put into `buffer()`."""
        self._reader.received(count)
        self._count(count)

    def feed(self, chunk: Chunk) -> None:
        """Take the next bytes."""
        self._reader.feed(chunk)
        self._count(len(chunk))

    def _count(self, count: int) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(Transfer("download", self._done, self._total))

    def finish(self) -> T:
        """The result, once all bytes are there. Raises InvalidAnswer, or the ServiceProblem that came."""
        return self._reader.finish()
