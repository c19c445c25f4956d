"""One connection: a socket, and a request and its answer over it, from first byte to last.

Nothing here waits: what must be waited for is yielded, and the two transports wait, each in its own way. An Exchange
knows no socket either: it says what is sent, and where each byte that comes is to be received. A plain head that comes
whole is read by one expression; h11, which takes five times as long, reads all other heads, chunked bodies and bodies
that end with the connection. A body of known length goes past it, from the socket to where the answer wants it.
"""

from __future__ import annotations

import errno
import os
import re
import selectors
import socket
import ssl
from collections.abc import Generator, Mapping
from contextlib import suppress
from functools import lru_cache
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, NamedTuple, TypeVar

import h11
import httpx

from .address import Request

SCRATCH_BYTES = 64 * 2**10
"""What a connection receives heads into, and bytes that belong in no array."""
MAX_HEAD_BYTES = 64 * 2**10
"""The longest head of an answer that is read."""
MAX_FRAMING_BYTES = 2 * MAX_HEAD_BYTES
"""Bytes of an answer that are none of its body's, beyond as many as those: heads before its own (1xx), and what stands
around chunks. Without end each would keep a client busy, or an endless one alive."""
JOIN_BYTES = 64 * 2**10
"""A head and the body behind it are sent in one go where they have no more bytes."""

_PLAIN_HEAD = re.compile(
    rb"HTTP/1\.1 (?!204|304)([2-5][0-9][0-9])(?: [ -~]*)?\r\n((?:[A-Za-z0-9-]+: [!-~](?:[ -~]*[!-~])?\r\n)*)\r\n"
)
_FIELD = re.compile("(.*?): (.*)\r\n")

T = TypeVar("T")
_Selector: type[selectors.BaseSelector] = getattr(selectors, "PollSelector", selectors.SelectSelector)


class Wait(NamedTuple):
    """Until one of these events comes, which is sent back; 0: for none, but other tasks may go first."""

    connection: Connection
    events: int


class Resolve(NamedTuple):
    """Until a host's addresses are known: what getaddrinfo returns is sent back."""

    host: str
    port: int


Steps = Generator[Wait | Resolve, Any, T]


class Connection:
    """A socket that never blocks, and one exchange after another over it."""

    def __init__(self, family: int) -> None:
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self.fileno = self._socket.fileno()
        self._selector = _Selector()
        self._selector.register(self.fileno, EVENT_READ)
        self._events = EVENT_READ
        self.scratch = memoryview(bytearray(SCRATCH_BYTES))

    def select(self, events: int, seconds: float | None) -> int:
        """Which of the events came within so many seconds (None: waits without end)."""
        if events != self._events:
            self._selector.modify(self.fileno, events)
            self._events = events
        ready = self._selector.select(seconds)
        return ready[0][1] if ready else 0

    def is_silent(self) -> bool:
        """Whether the service keeps it open, and has said nothing: what came unasked would answer the next request."""
        try:
            self._socket.recv_into(self.scratch, 1)
        except (BlockingIOError, ssl.SSLWantReadError):
            # Asked of the socket alone, TLS would hide the bytes that it has taken from there and holds decrypted.
            return True
        except OSError:
            pass
        return False

    def close(self) -> None:
        self._selector.close()
        self._socket.close()

    def connect(self, address: Any, host: str, context: ssl.SSLContext | None) -> Steps[None]:
        """Connect to an address of the host, with TLS where there is a context."""
        code = self._socket.connect_ex(address)
        if code in (errno.EINPROGRESS, errno.EWOULDBLOCK):
            yield Wait(self, EVENT_WRITE)
            code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:
            secure = context.wrap_socket(self._socket, server_hostname=host, do_handshake_on_connect=False)
            self._socket = secure
            while True:
                try:
                    secure.do_handshake()
                    return
                except ssl.SSLWantReadError:
                    yield Wait(self, EVENT_READ)
                except ssl.SSLWantWriteError:
                    yield Wait(self, EVENT_WRITE)

    def exchange(self, exchange: Exchange) -> Steps[None]:
        """Send a request, its body in pieces, and receive the answer. Raises httpx's errors."""
        with suppress(httpx.WriteError):  # what it said before it closed may still be there; else receiving fails too
            yield from self._send_all(exchange)
        if not (exchange.complete or isinstance(self._socket, ssl.SSLSocket)):
            yield Wait(self, EVENT_READ)  # TLS may hold decrypted bytes, of which the socket says nothing
        while not exchange.complete:
            events = self._receive(exchange)
            if not exchange.complete:
                yield Wait(self, events)

    def _send_all(self, exchange: Exchange) -> Steps[None]:
        for piece in exchange.pieces:
            for part in exchange.outgoing(piece):
                yield from self._send(part, exchange)
            if exchange.status is not None:
                return  # it has answered already, and does not want the rest
        yield from self._send(exchange.ending(), exchange)

    def _send(self, part: bytes, exchange: Exchange) -> Steps[None]:
        """Send it all, or as much as there is until an answer begins."""
        rest = memoryview(part)
        while rest and exchange.status is None:
            try:
                rest = rest[self._socket.send(rest) :]
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                if (yield Wait(self, EVENT_READ | EVENT_WRITE)) & EVENT_READ:
                    self._receive(exchange)
            except OSError as error:
                raise httpx.WriteError(str(error)) from error

    def _receive(self, exchange: Exchange) -> int:
        """Receive what there is. Where that is nothing, the event to wait for."""
        buffer = exchange.buffer()
        try:
            count = self._socket.recv_into(buffer)
        except (BlockingIOError, ssl.SSLWantReadError):
            return EVENT_READ
        except ssl.SSLWantWriteError:
            return EVENT_WRITE
        except OSError as error:
            raise httpx.ReadError(str(error)) from error
        exchange.received(count)
        return 0


class Exchange:
    """One request, whose stream is an Attempt, and its answer, which the attempt takes.

    The request has a Content-Length, or no body. `scratch` is room for heads and other bytes that belong nowhere.
    """

    def __init__(self, request: httpx.Request, scratch: memoryview) -> None:
        assert isinstance(request, Request)
        self._attempt = self.pieces = request.attempt
        self._scratch = scratch
        self._unsent = _head(request)
        self._method = request.method
        self._h11: h11.Connection | None = None
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
            raise httpx.ReadError("the service closed the connection without an answer")
        if self._left is None:
            self._framing += count
            came = self._scratch[:count]
            if self._h11 is None:
                if self._method != "HEAD" and (head := _plain_head(came)) is not None:
                    self._begin(*head)
                    return
                self._h11 = h11.Connection(h11.CLIENT, MAX_HEAD_BYTES)
                self._h11.send(_for_h11(self._method))
            self._h11.receive_data(bytes(came))
            try:
                self._read(self._h11)
            except httpx.RemoteProtocolError as error:
                if count:
                    raise
                raise httpx.ReadError(str(error)) from None  # the connection ended too early, which is not invalid HTTP
            if self._framing > MAX_FRAMING_BYTES and self._left is None and not self.complete:
                raise httpx.RemoteProtocolError(f"heads and chunks have {self._framing} bytes more than their data")
            return
        if not count:
            raise httpx.ReadError(f"the connection ended {self._left} bytes before the answer's end")
        if self._direct:
            self._attempt.received(count)
        else:
            self._attempt.feed(self._scratch[:count])
        self._left -= count
        self.complete = not self._left

    def _read(self, reader: h11.Connection) -> None:
        """Read on with h11, as far as there are bytes for it."""
        while not self.complete and self._left is None:
            try:
                event = reader.next_event()
            except h11.RemoteProtocolError as error:
                raise httpx.RemoteProtocolError(str(error)) from None
            if event is h11.NEED_DATA:
                return
            if isinstance(event, h11.Response):
                headers = {name.decode("ascii"): value.decode("latin-1") for name, value in event.headers}
                closes = any(name == b"connection" and b"close" in value.lower() for name, value in event.headers)
                lasts = event.http_version == b"1.1" and not closes
                self._begin(event.status_code, headers, lasts, reader.trailing_data[0])
            elif isinstance(event, h11.Data):
                self._attempt.feed(event.data)
                self._framing -= 2 * len(event.data)
            elif isinstance(event, h11.EndOfMessage):
                self.complete = True
                self._lasts = self._lasts and reader.their_state is h11.DONE and not reader.trailing_data[0]

    def _begin(self, status: int, headers: Mapping[str, str], lasts: bool, body: bytes | memoryview) -> None:
        length = headers.get("content-length")
        if length is not None and "transfer-encoding" in headers:
            raise httpx.RemoteProtocolError("the answer has both a Content-Length and a Transfer-Encoding")
        self.status, self._lasts = status, lasts
        self._attempt.begin(status, headers)
        if length is not None and self._method != "HEAD" and status not in (204, 304):
            self._left = int(length)
            self._lasts = lasts and len(body) <= self._left
            if body := body[: self._left]:
                self._attempt.feed(body)
                self._left -= len(body)
            self.complete = not self._left

    @property
    def reusable(self) -> bool:
        """Whether the connection may serve another exchange."""
        return self._sent and self.complete and self._lasts


def _plain_head(came: memoryview) -> tuple[int, dict[str, str], bool, memoryview] | None:
    """The status, the headers, whether the connection lasts, and what follows; None where the head is not whole, or
    says more than a length and what an answer is: h11 then reads it from its first byte."""
    found = _PLAIN_HEAD.match(came)
    if found is None:
        return None
    fields = _FIELD.findall(str(found[2], "ascii"))
    headers = {name.lower(): value for name, value in fields}
    length = headers.get("content-length", "")
    if len(headers) != len(fields) or not headers.keys().isdisjoint(("connection", "transfer-encoding", "upgrade")):
        return None
    return (int(found[1]), headers, True, came[found.end() :]) if length.isdecimal() and len(length) < 20 else None


def _head(request: Request) -> bytes:
    """The request's head as it is sent. Its headers have no line breaks: see Address."""
    line = f"{request.method} ".encode() + request.url.raw_path + b" HTTP/1.1"
    return b"\r\n".join([line, *map(b": ".join, request.fields), b"", b""])


@lru_cache
def _for_h11(method: str) -> h11.Request:
    """As much of a request as h11 needs to read the answer."""
    return h11.Request(method=method, target=b"/", headers=[(b"Host", b"")])
