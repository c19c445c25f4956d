"""HttpConnection: a non-blocking socket to a service. It sends requests and receives responses.

The code in this file never waits. Its generators yield waiting steps, and a transport runs these steps. There is
one transport for threads (sync_transport.py), and one for asyncio and trio (async_transport.py). http_exchange.py
decides which bytes are sent, and where received bytes are written. A body of known length is received directly into the
memory of the output array.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
import ssl
from collections.abc import Generator
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, NamedTuple, TypeVar

import httpx

from .http_exchange import HttpExchange

SCRATCH_BUFFER_BYTES = 64 * 2**10
"""The size, in bytes, of a connection's scratch buffer, which receives all bytes that are not received into arrays."""

T = TypeVar("T")
_Selector: type[selectors.BaseSelector] = getattr(selectors, "PollSelector", selectors.SelectSelector)


class WaitForSocket(NamedTuple):
    """A step that waits until the socket is readable or writable.

    The event that occurred is sent back to the generator. If `events` is 0, the step does not wait, but lets other
    tasks on the event loop run.
    """

    connection: HttpConnection
    events: int


class ResolveHost(NamedTuple):
    """A step that resolves a host name with getaddrinfo. The result is sent back to the generator."""

    host: str
    port: int


IoSteps = Generator[WaitForSocket | ResolveHost, Any, T]


class HttpConnection:
    """A non-blocking socket that performs HTTP exchanges one after another."""

    def __init__(self, family: int) -> None:
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self.fileno = self._socket.fileno()
        self._selector = _Selector()
        self._selector.register(self.fileno, EVENT_READ)
        self._selected_events = EVENT_READ
        self.scratch = memoryview(bytearray(SCRATCH_BUFFER_BYTES))

    def select(self, events: int, timeout: float | None) -> int:
        """Wait at most `timeout` seconds for one of the socket events. Return the event, or 0 after the timeout."""
        if events != self._selected_events:
            self._selector.modify(self.fileno, events)
            self._selected_events = events
        ready = self._selector.select(timeout)
        return ready[0][1] if ready else 0

    def is_open_and_silent(self) -> bool:
        """Return whether an idle connection can be reused.

        The service must not have closed the connection, and must not have sent any bytes since the last response. The
        client would otherwise treat such bytes as the response to its next request.
        """
        try:
            self._socket.recv_into(self.scratch, 1)
        except (BlockingIOError, ssl.SSLWantReadError):
            # The socket is read instead of polled, because polling does not detect bytes that TLS has already
            # decrypted.
            return True
        except OSError:
            pass
        return False

    def close(self) -> None:
        self._selector.close()
        self._socket.close()

    def connect(self, address: Any, host: str, context: ssl.SSLContext | None) -> IoSteps[None]:
        """Connect to one address of the host. If `context` is not None, also perform the TLS handshake."""
        code = self._socket.connect_ex(address)
        if code in (errno.EINPROGRESS, errno.EWOULDBLOCK):
            yield WaitForSocket(self, EVENT_WRITE)
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
                    yield WaitForSocket(self, EVENT_READ)
                except ssl.SSLWantWriteError:
                    yield WaitForSocket(self, EVENT_WRITE)

    def run(self, exchange: HttpExchange) -> IoSteps[None]:
        """Send the request of an exchange and receive its response. Raises httpx exceptions."""
        # If sending fails, the service may still have sent a response. If there is no response, receiving fails too.
        with suppress(httpx.WriteError):
            yield from self._send_request(exchange)
        if not (exchange.is_complete or isinstance(self._socket, ssl.SSLSocket)):
            yield WaitForSocket(self, EVENT_READ)  # a TLS socket may already hold decrypted bytes
        while not exchange.is_complete:
            events = self._receive(exchange)
            if not exchange.is_complete:
                yield WaitForSocket(self, events)

    def _send_request(self, exchange: HttpExchange) -> IoSteps[None]:
        for chunk in exchange.body_chunks:
            for part in exchange.bytes_for(chunk):
                yield from self._send(part, exchange)
            if exchange.status is not None:
                return  # the service has responded early and will not read more of the body
        yield from self._send(exchange.last_bytes(), exchange)

    def _send(self, part: bytes, exchange: HttpExchange) -> IoSteps[None]:
        """Send these bytes. Stop sending if the response arrives."""
        rest = memoryview(part)
        while rest and exchange.status is None:
            try:
                rest = rest[self._socket.send(rest) :]
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                if (yield WaitForSocket(self, EVENT_READ | EVENT_WRITE)) & EVENT_READ:
                    self._receive(exchange)
            except OSError as error:
                raise httpx.WriteError(str(error)) from error

    def _receive(self, exchange: HttpExchange) -> int:
        """Receive the bytes that have arrived, and return 0.

        If no bytes have arrived, return the socket event to wait for.
        """
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
