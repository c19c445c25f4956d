"""Attempt: one attempt to perform a call. It produces the request body and reads the response, but performs no IO."""

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
"""The maximum size of a request body chunk, in bytes. Linux sends chunks of 1 MiB or more at a lower speed."""


class Attempt(httpx.SyncByteStream, httpx.AsyncByteStream, Generic[T]):
    """One attempt to perform a call. The object serves as the request body, and also reads the response.

    Each iteration over the attempt yields the request body from its start. When the response starts, the transport
    passes its status and headers to `start_response`. The transport then passes each byte of the response body once:
    either to `feed`, or by writing the byte into `buffer()` and calling `received`.
    """

    buffer: Callable[[], memoryview]
    """The `buffer` method of the response reader. `start_response` sets this attribute."""
    _reader: ResponseReader[T]

    def __init__(self, call: Call[T], progress: ProgressCallback | None) -> None:
        self.call = call
        self._progress = progress
        self._received_bytes = 0
        self._total_bytes: int | None = None
        self.headers: Mapping[str, str] | None = None
        """The response headers, keyed by lower-case name. None until the response has started."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the request body in chunks of at most MAX_SENT_CHUNK_BYTES."""
        sent_bytes = 0
        for part in self.call.parts:
            for start in range(0, len(part), MAX_SENT_CHUNK_BYTES):
                chunk = part[start : start + MAX_SENT_CHUNK_BYTES]
                yield chunk  # type: ignore[misc]  # a memoryview can be sent without copying its data
                sent_bytes += len(chunk)
                if self._progress is not None:
                    self._progress(Transfer("upload", sent_bytes, self.call.length))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk

    def start_response(self, status: int, headers: Mapping[str, str]) -> None:
        """Choose the reader for this response. The header names must be in lower case.

        Raises InvalidAnswer if the client can't read a response with this status and these headers.
        """
        self.headers = headers
        length = headers.get("content-length", "")
        self._total_bytes = int(length) if length.isdecimal() and len(length) < 20 else None
        self._reader = self.call.response_reader(status, headers, self._total_bytes)
        self.buffer = self._reader.buffer

    def received(self, count: int) -> None:
        """Process `count` bytes of the response body that the transport has written into `buffer()`."""
        self._reader.received(count)
        self._report_download(count)

    def feed(self, chunk: Chunk) -> None:
        """Process the next bytes of the response body."""
        self._reader.feed(chunk)
        self._report_download(len(chunk))

    def _report_download(self, count: int) -> None:
        self._received_bytes += count
        if self._progress is not None:
            self._progress(Transfer("download", self._received_bytes, self._total_bytes))

    def finish(self) -> T:
        """Return the result of the call, once the whole response has arrived.

        Raises InvalidAnswer if the response is invalid, or the ServiceProblem that the service has sent.
        """
        return self._reader.finish()

    @property
    def retry_after(self) -> str | None:
        """The value of the response's Retry-After header, or None if the response does not have this header."""
        return None if self.headers is None else self.headers.get("retry-after")

    def add_context(self, error: AxiscastError) -> None:
        """Add the request id to an exception, and reword its message for a Python caller.

        If the service is older than this client, the message also states this.
        """
        if self.headers is None:
            return
        error.request_id = self.headers.get("x-request-id", "")[:128] or None
        if isinstance(error, InvalidRequest | UnknownOp):
            problem = self.call.find_problem()
            if problem is not None and problem.code == error.code:  # the service's message uses HTTP terms
                error.detail = problem.detail
                error.errors = problem.document().get("errors", [])
                error.args = (str(problem),)
        if isinstance(error, InvalidAnswer | InvalidRequest | UnknownOp) or getattr(error, "status", 0) in (404, 405):
            error.args = (f"{error}{_note_if_older(self.headers.get('axiscast-version', ''))}",)


def _note_if_older(service_version: str) -> str:
    """Return a note that the service is older than this client, or an empty string if the service is not older."""
    from importlib.metadata import distributions  # importing this module takes 10 ms

    client_version = next((found.version for found in distributions(name="axiscast")), "")
    versions = (service_version, client_version)
    service, client = (tuple(map(int, re.findall("[0-9]{1,9}", text)[:3])) for text in versions)
    return f" (the service is axiscast {service_version[:20]}, older than this client)" if () < service < client else ""
