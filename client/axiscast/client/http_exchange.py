"""HttpExchange: one HTTP/1.1 request and its response, without a socket.

h11 parses header blocks, chunked bodies, and bodies without a Content-Length. A body of known length is not passed to
h11.
"""

from __future__ import annotations

from functools import lru_cache

import h11
import httpx

from .address import AttemptRequest

MAX_HEADER_BLOCK_BYTES = 64 * 2**10
"""The maximum size of a response's header block, in bytes."""
MAX_FRAMING_BYTES = 2 * MAX_HEADER_BLOCK_BYTES
"""The maximum number by which framing bytes (interim responses and chunk headers) may exceed the body bytes.

The limit protects the client from a service that sends endless framing bytes.
"""
MAX_JOINED_BYTES = 64 * 2**10
"""The maximum total size, in bytes, of a header block and first body chunk that are sent together."""


class HttpExchange:
    """One HTTP request and its response.

    The body of the request is an Attempt, which also reads the response. The request has a Content-Length or no body.
    `scratch` is a buffer that receives header blocks and all other bytes that are not received into an array.
    """

    def __init__(self, request: httpx.Request, scratch: memoryview) -> None:
        assert isinstance(request, AttemptRequest)
        self._attempt = self.body_chunks = request.attempt
        self._scratch = scratch
        self._unsent_headers = _request_header_block(request)
        self._method = request.method
        self._h11 = h11.Connection(h11.CLIENT, MAX_HEADER_BLOCK_BYTES)
        self._h11.send(_request_for_h11(self._method))
        self._body_bytes_left: int | None = None
        """The number of bytes still to receive for a body of known length. If None, h11 parses the response."""
        self._framing_bytes = 0
        """The number of bytes passed to h11, minus twice the number of body bytes that h11 has returned."""
        self._writes_into_array = False
        """Whether the last call of `buffer()` returned the memory of an array."""
        self._is_sent = False
        """Whether all bytes of the request have been returned to the caller for sending."""
        self._keeps_alive = False
        """Whether the service keeps the connection open, and has not sent any bytes after the response."""
        self.status: int | None = None
        """The HTTP status of the response. None until the header block has arrived completely."""
        self.response_has_started = False
        """Whether any byte of the response has been received."""
        self.is_complete = False
        """Whether the response has arrived completely."""

    def bytes_for(self, chunk: bytes) -> list[bytes]:
        """Return the bytes to send for a chunk of the request body. For the first chunk, add the header block."""
        header_block, self._unsent_headers = self._unsent_headers, b""
        if len(header_block) + len(chunk) <= MAX_JOINED_BYTES:
            return [header_block + chunk]
        return [header_block, chunk]

    def last_bytes(self) -> bytes:
        """Return the bytes to send after the last chunk.

        These are the header block if the request has no body, and otherwise no bytes.
        """
        self._is_sent = True
        header_block, self._unsent_headers = self._unsent_headers, b""
        return header_block

    def buffer(self) -> memoryview:
        """Return the memory into which to receive the next bytes. It is not empty until the response is complete."""
        if self._body_bytes_left is None:
            return self._scratch
        target = self._attempt.buffer()
        self._writes_into_array = bool(target)
        return (target or self._scratch)[: self._body_bytes_left]

    def received(self, count: int) -> None:
        """Process `count` bytes that were written into `buffer()`.

        If `count` is 0, the service has closed the connection.
        """
        self.response_has_started = self.response_has_started or count > 0
        if self.status is None and not count:
            raise httpx.ReadError("the service closed the connection without a response")
        if self._body_bytes_left is None:
            self._received_framed(self._scratch[:count])
            return
        if not count:
            raise httpx.ReadError(f"the connection ended {self._body_bytes_left} bytes before the end of the response")
        if self._writes_into_array:
            self._attempt.received(count)
        else:
            self._attempt.feed(self._scratch[:count])
        self._body_bytes_left -= count
        self.is_complete = not self._body_bytes_left

    def _received_framed(self, data: memoryview) -> None:
        """Parse received bytes that contain a header block, chunks, or part of a body of unknown length."""
        self._framing_bytes += len(data)
        self._h11.receive_data(bytes(data))
        try:
            self._parse_framed()
        except httpx.RemoteProtocolError as error:
            if data:
                raise
            raise httpx.ReadError(str(error)) from None  # the connection ended early: a network error, not invalid HTTP
        if self._framing_bytes > MAX_FRAMING_BYTES and self._body_bytes_left is None and not self.is_complete:
            facts = f"{self._framing_bytes} bytes of header blocks and chunk framing, which is more than allowed"
            raise httpx.RemoteProtocolError(f"the response has {facts}")

    def _parse_framed(self) -> None:
        """Handle the events that h11 produces from the bytes received so far."""
        while not self.is_complete and self._body_bytes_left is None:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError as error:
                raise httpx.RemoteProtocolError(str(error)) from None
            if event is h11.NEED_DATA:
                return
            if isinstance(event, h11.Response):
                self._start_response(event, self._h11.trailing_data[0])
            elif isinstance(event, h11.Data):
                self._attempt.feed(event.data)
                self._framing_bytes -= 2 * len(event.data)
            elif isinstance(event, h11.EndOfMessage):
                self.is_complete = True
                is_at_end = self._h11.their_state is h11.DONE and not self._h11.trailing_data[0]
                self._keeps_alive = self._keeps_alive and is_at_end

    def _start_response(self, start: h11.Response, body: bytes) -> None:
        """Pass the header block and the first bytes of the body to the Attempt."""
        headers = {name.decode("ascii"): value.decode("latin-1") for name, value in start.headers}
        length = headers.get("content-length")
        if length is not None and "transfer-encoding" in headers:
            raise httpx.RemoteProtocolError("the response has both a Content-Length and a Transfer-Encoding")
        closes = any(name == b"connection" and b"close" in value.lower() for name, value in start.headers)
        self.status, self._keeps_alive = start.status_code, start.http_version == b"1.1" and not closes
        self._attempt.start_response(self.status, headers)
        if length is None or self._method == "HEAD" or self.status in (204, 304):
            return
        self._body_bytes_left = int(length)
        self._keeps_alive = self._keeps_alive and len(body) <= self._body_bytes_left
        if body := body[: self._body_bytes_left]:
            self._attempt.feed(body)
            self._body_bytes_left -= len(body)
        self.is_complete = not self._body_bytes_left

    @property
    def is_reusable(self) -> bool:
        """Whether the connection can be reused for another exchange."""
        return self._is_sent and self.is_complete and self._keeps_alive


def _request_header_block(request: AttemptRequest) -> bytes:
    """Return the request line and the headers as bytes. ServiceAddress has already rejected line breaks in headers."""
    line = f"{request.method} ".encode() + request.url.raw_path + b" HTTP/1.1"
    return b"\r\n".join([line, *map(b": ".join, request.raw_headers), b"", b""])


@lru_cache
def _request_for_h11(method: str) -> h11.Request:
    """Return a request object with only the parts that h11 needs to parse the response."""
    return h11.Request(method=method, target=b"/", headers=[(b"Host", b"")])
