"""HttpConnection: a non-blocking socket to a service. It sends requests and receives responses.

Nothing in this file waits. A generator yields each thing to wait for, and a transport waits for it: sync_transport.py
for threads, async_transport.py for asyncio and trio. http_exchange.py decides which bytes are sent, and where received
bytes are written. A body of known length is received directly into the memory of its array.
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
"""The size in bytes of the buffer of a connection. It receives header blocks and bytes that belong to no array."""

T = TypeVar("T")
_Selector: type[selectors.BaseSelector] = getattr(selectors, "PollSelector", selectors.SelectSelector)


class WaitForSocket(NamedTuple):
    """A step that waits until the socket is readable or writable. The event is sent back to the generator.

    If `events` is 0, the step does not wait, but other tasks of the event loop may run.
    """

    connection: HttpConnection
    events: int


class ResolveHost(NamedTuple):
    """A step that resolves a host name. The result of getaddrinfo is sent back to the generator."""

    host: str
    port: int


IoSteps = Generator[WaitForSocket | ResolveHost, Any, T]


class HttpConnection:
    """A non-blocking socket, over which exchanges run one after another."""

    def __init__(self, family: int) -> None:
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self.fileno = self._socket.fileno()
        self._selector = _Selector()
        self._selector.register(self.fileno, EVENT_READ)
        self._selected_events = EVENT_READ
        self.scratch = memoryview(bytearray(SCRATCH_BUFFER_BYTES))

    def select(self, events: int, timeout: float | None) -> int:
        """Wait for one of the events, at most `timeout` seconds. Return the event, or 0 after the timeout."""
        if events != self._selected_events:
            self._selector.modify(self.fileno, events)
            self._selected_events = events
        ready = self._selector.select(timeout)
        return ready[0][1] if ready else 0

    def is_open_and_silent(self) -> bool:
        """Return whether an idle connection is usable: the service has neither closed it nor sent anything.

        Unexpected bytes would be read as the response to the next request.
        """
        try:
            self._socket.recv_into(self.scratch, 1)
        except (BlockingIOError, ssl.SSLWantReadError):
            # Reading is more reliable than polling the socket: TLS may hold decrypted bytes that polling misses.
            return True
        except OSError:
            pass
        return False

    def close(self) -> None:
        self._selector.close()
        self._socket.close()

    def connect(self, address: Any, host: str, context: ssl.SSLContext | None) -> IoSteps[None]:
        """Connect to an address of the host. If there is a context, also run the TLS handshake."""
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
        """Send the request of an exchange and receive its response. Raises the errors of httpx."""
        # If sending fails, a response may still have arrived. Without one, receiving fails too.
        with suppress(httpx.WriteError):
            yield from self._send_request(exchange)
        if not (exchange.is_complete or isinstance(self._socket, ssl.SSLSocket)):
            yield WaitForSocket(self, EVENT_READ)  # not for TLS, which may already hold decrypted bytes
        while not exchange.is_complete:
            events = self._receive(exchange)
            if not exchange.is_complete:
                yield WaitForSocket(self, events)

    def _send_request(self, exchange: HttpExchange) -> IoSteps[None]:
        for chunk in exchange.body_chunks:
            for part in exchange.bytes_for(chunk):
                yield from self._send(part, exchange)
            if exchange.status is not None:
                return  # the service has responded early and does not want the rest
        yield from self._send(exchange.last_bytes(), exchange)

    def _send(self, part: bytes, exchange: HttpExchange) -> IoSteps[None]:
        """Send these bytes. Stop early if a response begins."""
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
        """Receive the bytes that have arrived. Return the event to wait for if there are none, otherwise 0."""
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
