"""Attempt: one attempt at a call. It produces the request body and reads the response, without IO."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Generic, TypeVar

import httpx

from ..errors import AxiscastError, InvalidAnswer, InvalidRequest, UnknownOp
from .call import Call, ProgressCallback, Transfer
from .response_reading import Chunk, ResponseReader

T = TypeVar("T")

MAX_SENT_CHUNK_BYTES = 2**20 - 2**12
"""The largest chunk of a request body in bytes. Linux sends a chunk of exactly 1 MiB more slowly."""


class Attempt(httpx.SyncByteStream, httpx.AsyncByteStream, Generic[T]):
    """One attempt at a call.

    Iteration yields the request body, each time from its start. `start_response` takes the status and the headers of
    the response. The caller then passes each byte of the body once, by `feed` or by writing it into `buffer()`.
    """

    buffer: Callable[[], memoryview]
    """The method `buffer` of the response reader. It is set by `start_response`."""
    _reader: ResponseReader[T]

    def __init__(self, call: Call[T], progress: ProgressCallback | None) -> None:
        self.call = call
        self._progress = progress
        self._received_bytes = 0
        self._total_bytes: int | None = None
        self.headers: Mapping[str, str] | None = None
        """The headers of the response by lower-case name. None until the response has started."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the request body in chunks of at most MAX_SENT_CHUNK_BYTES."""
        sent_bytes = 0
        for part in self.call.parts:
            for start in range(0, len(part), MAX_SENT_CHUNK_BYTES):
                chunk = part[start : start + MAX_SENT_CHUNK_BYTES]
                yield chunk  # type: ignore[misc]  # a memoryview is sent without a copy
                sent_bytes += len(chunk)
                if self._progress is not None:
                    self._progress(Transfer("upload", sent_bytes, self.call.length))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk

    def start_response(self, status: int, headers: Mapping[str, str]) -> None:
        """Choose the reader of the response. The names of the headers are in lower case. Raises InvalidAnswer."""
        self.headers = headers
        length = headers.get("content-length", "")
        self._total_bytes = int(length) if length.isdecimal() and len(length) < 20 else None
        self._reader = self.call.response_reader(status, headers, self._total_bytes)
        self.buffer = self._reader.buffer

    def received(self, count: int) -> None:
        """Read `count` bytes that were written into `buffer()`."""
        self._reader.received(count)
        self._report_download(count)

    def feed(self, chunk: Chunk) -> None:
        """Read the next bytes of the response body."""
        self._reader.feed(chunk)
        self._report_download(len(chunk))

    def _report_download(self, count: int) -> None:
        self._received_bytes += count
        if self._progress is not None:
            self._progress(Transfer("download", self._received_bytes, self._total_bytes))

    def finish(self) -> T:
        """Return the result after the last byte. Raises InvalidAnswer, or the ServiceProblem that was received."""
        return self._reader.finish()

    @property
    def retry_after(self) -> str | None:
        """The Retry-After header of the response, if there is one."""
        return None if self.headers is None else self.headers.get("retry-after")

    def add_context(self, error: AxiscastError) -> None:
        """Add the request id, and a note if the service is older. Reword the message for a Python caller."""
        if self.headers is None:
            return
        error.request_id = self.headers.get("x-request-id", "")[:128] or None
        if isinstance(error, InvalidRequest | UnknownOp):
            problem = self.call.find_problem()
            if problem is not None and problem.code == error.code:  # the service uses the words of HTTP
                error.detail = problem.detail
                error.args = (problem.detail,)
        if isinstance(error, InvalidAnswer | InvalidRequest | UnknownOp) or getattr(error, "status", 0) in (404, 405):
            error.args = (f"{error}{_note_if_older(self.headers.get('axiscast-version', ''))}",)


def _note_if_older(service_version: str) -> str:
    """Return a note if the service has an older version than this client. Otherwise return an empty string."""
    from importlib.metadata import distributions  # importing it takes 10 ms

    client_version = next((found.version for found in distributions(name="axiscast")), "")
    service, client = (
        tuple(map(int, re.findall("[0-9]{1,9}", text)[:3])) for text in (service_version, client_version)
    )
    return f" (the service is axiscast {service_version[:20]}, older than this client)" if () < service < client else ""
