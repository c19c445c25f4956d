"""An exchange without IO: what is sent for a request, and where each byte of its answer is to be received.

h11 reads heads, chunked bodies and bodies that end with the connection. A body of known length goes past it, from the
socket to where the answer wants it.
"""

from __future__ import annotations

from functools import lru_cache

import h11
import httpx

from .attempt import Attempt

MAX_HEAD_BYTES = 64 * 2**10
"""The longest head of an answer that is read."""
MAX_FRAMING_BYTES = 2 * MAX_HEAD_BYTES
"""Bytes of an answer that are none of its body's, beyond as many as those: heads before its own (1xx), and what stands
around chunks. Without end each would keep a client busy, or an endless one alive."""
JOIN_BYTES = 64 * 2**10
"""A head and the body behind it are sent in one go where they have no more bytes."""


class Exchange:
    """One request, whose stream is an Attempt, and its answer, which the attempt takes.

    The request has a Content-Length, or no body. `scratch` is room for heads and other bytes that belong nowhere.
    """

    def __init__(self, request: httpx.Request, scratch: memoryview) -> None:
        assert isinstance(request.stream, Attempt)
        self._attempt = self.pieces = request.stream
        self._has_body = request.method != "HEAD"
        self._scratch = scratch
        self._unsent = _head(request)
        self._h11 = h11.Connection(h11.CLIENT, MAX_HEAD_BYTES)
        self._h11.send(_for_h11(request.method))
        self._left: int | None = None
        """Bytes that are yet to come of a body of known length; None: h11 reads."""
        self._framing = 0
        """Bytes that h11 has read, less twice those of the body."""
        self._direct = False
        """Whether `buffer()` was the attempt's."""
        self._sent = False
        """Whether all of the request has been handed out."""
        self._lasts = False
        """Whether the connection stays, and no byte has come that belongs to no answer."""
        self.status: int | None = None
        """The answer's, once its head is there."""
        self.started = False
        """Whether any byte has come."""
        self.complete = False

    def outgoing(self, piece: bytes) -> list[bytes]:
        """What to send for a piece of the body, the head before it."""
        head, self._unsent = self._unsent, b""
        if len(head) + len(piece) <= JOIN_BYTES:
            return [head + piece]
        return [head, piece]

    def ending(self) -> bytes:
        """What to send after the last piece."""
        self._sent = True
        head, self._unsent = self._unsent, b""
        return head

    def buffer(self) -> memoryview:
        """Where the next bytes are to be received; never empty before the answer is complete."""
        if self._left is None:
            return self._scratch
        target = self._attempt.buffer()
        self._direct = bool(target)
        return (target or self._scratch)[: self._left]

    def received(self, count: int) -> None:
        """So many bytes have been put into `buffer()`; none: there are no more, the connection has ended."""
        self.started = self.started or count > 0
        if self.status is None and not count:
            raise httpx.RemoteProtocolError("the service closed the connection without an answer")
        if self._left is None:
            self._framing += count
            self._h11.receive_data(bytes(self._scratch[:count]))
            self._read()
            if self._framing > MAX_FRAMING_BYTES and self._left is None and not self.complete:
                raise httpx.RemoteProtocolError(f"heads and chunks have {self._framing} bytes more than their data")
            return
        if not count:
            raise httpx.RemoteProtocolError(f"the connection ended {self._left} bytes before the answer's end")
        if self._direct:
            self._attempt.received(count)
        else:
            self._attempt.feed(self._scratch[:count])
        self._left -= count
        self.complete = not self._left

    def _read(self) -> None:
        """Read on with h11, as far as there are bytes for it."""
        while not self.complete and self._left is None:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError as error:
                raise httpx.RemoteProtocolError(str(error)) from None
            if event is h11.NEED_DATA:
                return
            if isinstance(event, h11.Response):
                self._begin(event)
            elif isinstance(event, h11.Data):
                self._attempt.feed(event.data)
                self._framing -= 2 * len(event.data)
            elif isinstance(event, h11.EndOfMessage):
                self.complete = True
                self._lasts = self._lasts and self._h11.their_state is h11.DONE and not self._h11.trailing_data[0]

    def _begin(self, head: h11.Response) -> None:
        headers = {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers}
        length = headers.get("content-length")
        if length is not None and "transfer-encoding" in headers:
            raise httpx.RemoteProtocolError("the answer has both a Content-Length and a Transfer-Encoding")
        self.status = head.status_code
        closes = any(name == b"connection" and b"close" in value.lower() for name, value in head.headers)
        self._lasts = head.http_version == b"1.1" and not closes
        self._attempt.begin(head.status_code, headers)
        if length is not None and self._has_body and head.status_code not in (204, 304):
            self._left = int(length)
            body, _ = self._h11.trailing_data
            self._lasts = self._lasts and len(body) <= self._left
            if body := body[: self._left]:
                self._attempt.feed(body)
                self._left -= len(body)
            self.complete = not self._left

    @property
    def reusable(self) -> bool:
        """Whether the connection may serve another exchange."""
        return self._sent and self.complete and self._lasts


def _head(request: httpx.Request) -> bytes:
    """The request's head as it is sent. Its headers have no line breaks: see Address."""
    line = f"{request.method} ".encode() + request.url.raw_path + b" HTTP/1.1"
    return b"\r\n".join([line, *map(b": ".join, request.headers.raw), b"", b""])


@lru_cache
def _for_h11(method: str) -> h11.Request:
    """As much of a request as h11 needs to read the answer."""
    return h11.Request(method=method, target=b"/", headers=[(b"Host", b"")])
