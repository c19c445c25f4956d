"""The wire under both clients: connections, kept to be used again, and exchanges over them from first byte to last.

Nothing here waits. What must be waited for is yielded, and the two transports wait, each in its own way.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
import ssl
import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import httpx

from .exchange import Exchange

SCRATCH_BYTES = 64 * 2**10
"""What a connection receives heads into, and bytes that belong in no array."""
MAX_IDLE = 20
"""Connections to one service that are kept while nobody uses them."""
MAX_IDLE_SECONDS = 30.0
"""How long: networks forget silent connections after some minutes, and tell neither end."""
NOTHING = httpx.ByteStream(b"")
PORTS = {"http": 80, "https": 443}

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
    """A socket that never blocks."""

    def __init__(self, family: int) -> None:
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self.fileno = self._socket.fileno()
        self._selector = _Selector()
        self._selector.register(self.fileno, EVENT_READ)
        self.scratch = memoryview(bytearray(SCRATCH_BYTES))

    def select(self, events: int, seconds: float | None) -> int:
        """Those of the events that came, within so many seconds (None: in all time)."""
        self._selector.modify(self.fileno, events)
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


class Wire:
    """HTTP/1.1 to one service, over connections that are used again. Thread-safe."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        """`context` is for https."""
        self._context = context
        self._idle: dict[int, list[tuple[float, Connection]]] = defaultdict(list)
        """Those of each process: after a fork parent and child would read each other's answers."""
        self._lock = Lock()
        self._closed = False

    def handle(self, request: httpx.Request) -> Steps[httpx.Response]:
        """Ask, and give the answer to the attempt that is the request's stream. What comes back is its status alone.
        Raises httpx's errors."""
        connection = self._take()
        if connection is not None:
            exchange = Exchange(request, connection.scratch)
            try:
                return (yield from self._run(connection, exchange))
            except (httpx.NetworkError, httpx.RemoteProtocolError):
                if exchange.started:
                    raise
                # The service closed it at this very moment, so it is asked anew.
        connection = yield from self._connect(request.url)
        return (yield from self._run(connection, Exchange(request, connection.scratch)))

    def close(self) -> None:
        """Close what is idle; what is in use is closed when it is done."""
        with self._lock:
            self._closed = True
            for idle in self._idle.values():
                while idle:
                    idle.pop()[1].close()

    def _run(self, connection: Connection, exchange: Exchange) -> Steps[httpx.Response]:
        try:
            yield from connection.exchange(exchange)
        except BaseException:
            connection.close()
            raise
        self._keep(connection, exchange.reusable)
        assert exchange.status is not None
        return httpx.Response(exchange.status, stream=NOTHING)

    def _take(self) -> Connection | None:
        """The connection that was used last, if there is a good one."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the client is closed")
            idle = self._idle[os.getpid()]
            while idle:
                since, connection = idle.pop()
                if time.monotonic() - since < MAX_IDLE_SECONDS and connection.is_silent():
                    return connection
                connection.close()
        return None

    def _keep(self, connection: Connection, reusable: bool) -> None:
        with self._lock:
            idle = self._idle[os.getpid()]
            if reusable and not self._closed and len(idle) < MAX_IDLE:
                idle.append((time.monotonic(), connection))
                return
        connection.close()

    def _connect(self, url: httpx.URL) -> Steps[Connection]:
        """A connection to the first of the host's addresses that takes it."""
        host = url.raw_host.decode()
        failure: OSError | None = None
        for family, _, _, _, address in (yield Resolve(host, url.port or PORTS[url.scheme])):
            try:
                connection = Connection(family)  # may fail too: not every system has IPv6, or files left
                try:
                    yield from connection.connect(address, host, self._context)
                    return connection
                except BaseException:
                    connection.close()
                    raise
            except OSError as error:
                failure = error
        raise httpx.ConnectError(str(failure)) from failure
