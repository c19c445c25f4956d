"""The event loop and its listener, which accepts new connections quickly even if many connections are busy.

libuv accepts only one connection per loop iteration, and an iteration handles all requests that are ready. This
listener accepts up to ACCEPTS connections per iteration. It counts a connection (limits.py) before the TLS handshake.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import ssl
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from uvloop import Loop as Base

from ..logs import RateLimitedLog
from .closing import LINGER_SECONDS
from .protocol import HTTPProtocol

ACCEPTS = 64
"""The maximum number of connections that are accepted per loop iteration. Accepting them takes about 5 ms."""
PAUSE_SECONDS = 0.05
"""The time before the next attempt to accept, after the system has refused a file descriptor."""
MAX_QUEUED = 4096
"""The maximum number of connections that are accepted on shutdown, which is the size of the system's queue. Without a
limit, new connections could arrive forever."""
HANDSHAKE_SECONDS = 1
"""The time that pending TLS handshakes have on shutdown."""
CLOSE_POLL_SECONDS = 0.05
"""The interval at which a shutdown checks whether all connections have ended."""

logger = logging.getLogger("axiscast")


class Loop(Base):
    """An event loop with our own listener, based on uvloop.

    uvicorn creates its event loops from this class. The workers, the log and the shutdown of uvicorn work as usual.
    """

    async def create_server(  # type: ignore[override]
        self,
        make: Callable[[], HTTPProtocol],
        host: str | None = None,
        port: int | None = None,
        *,
        sock: socket.socket | None = None,
        ssl: ssl.SSLContext | None = None,
        backlog: int = 100,
    ) -> Listener:
        """Return a listener on this host and port, or on the address of `sock` if several workers share an address."""
        if sock is None:
            return Listener(self, await self._bind(host, port, backlog), make, ssl)
        linux = sys.platform == "linux"
        if not linux:
            sock.listen(backlog)
        shared = _reuseport_socket(sock, backlog) if linux else sock
        listener = Listener(self, [shared], make, ssl)
        name, number = sock.getsockname()[:2]
        scheme, shown = "https" if ssl else "http", f"[{name}]" if ":" in name else name
        logger.info("running on %s://%s:%d (worker %d)", scheme, shown, number, os.getpid())
        return listener

    async def _bind(self, host: str | None, port: int | None, backlog: int) -> list[socket.socket]:
        found = await self.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return [
            socket.create_server(address, family=family, backlog=backlog)
            for family, _, _, _, address in dict.fromkeys(found)
        ]


def _reuseport_socket(bound: socket.socket, backlog: int) -> socket.socket:
    """Return a new socket that listens on the address of `bound`. The socket `bound` itself never listens.

    With its own socket, each worker has its own queue. The system distributes connections by their ports, independently
    of the load. After the workers have closed their sockets, no other process listens on the address.
    """
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    own = socket.socket(bound.family, bound.type)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    own.bind(bound.getsockname())
    own.listen(backlog)
    return own


class Handshake:
    """An accepted connection before the call of `connection_made`, for example during its TLS handshake."""

    def __init__(self, connection: socket.socket, protocol: HTTPProtocol, encrypted: bool) -> None:
        self.socket, self.protocol = connection, protocol
        protocol.place.take(connection, self.cut)
        if encrypted:  # counted even above the limit, so that an endless handshake can be closed
            protocol.place.wait(protocol.hooks.connections.unserved)

    def cut(self, reason: str) -> None:
        """Abort the connection to make room for another."""
        self.protocol.hooks.refused(reason)
        self.protocol.place.forget()
        self.abort()

    def abort(self) -> None:
        """Abort the connection."""
        with suppress(OSError):  # the connection has already ended
            self.socket.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Release resources if the connection ended before `connection_made` was called."""
        place = self.protocol.place
        if place.cut == self.cut:
            self.socket.close()
            if place.queue is not None:  # otherwise the service has aborted the connection
                self.protocol.hooks.refused("handshake")
            place.give_back()


class Listener:
    """The listening sockets of one process, which accept connections until `close` is called."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sockets: list[socket.socket],
        make: Callable[[], HTTPProtocol],
        context: ssl.SSLContext | None,
    ) -> None:
        self.loop = loop
        self.sockets = sockets
        self.protocol_factory = make
        self.context = context
        self.opening: dict[asyncio.Task[None], Handshake] = {}
        """Accepted connections before the call of `connection_made`."""
        self.accepted_late: list[HTTPProtocol] = []
        """Connections that became ready after the call of `close`. uvicorn does not wait until these connections
        end."""
        self.closing = False
        self.log = RateLimitedLog()
        self.connections = make().hooks.connections
        for sock in sockets:
            sock.setblocking(False)
            self._listen(sock)

    def close(self) -> None:
        """Accept the connections in the system's queue, and then stop listening.

        Requests on these connections still get responses. Pending TLS handshakes are aborted after HANDSHAKE_SECONDS.
        """
        self.closing = True
        for sock in self.sockets:
            for _ in range(MAX_QUEUED // ACCEPTS):
                if not self._accept(sock):
                    break
            self.loop.remove_reader(sock)
            sock.close()
        self.sockets = []
        if self.context is not None:
            self.loop.call_later(HANDSHAKE_SECONDS, self._abort_handshakes)

    def _abort_handshakes(self) -> None:
        for handshake in self.opening.values():
            handshake.abort()

    async def wait_closed(self) -> None:
        """Wait until all accepted connections have ended."""
        while self.opening or any(protocol in protocol.server_state.connections for protocol in self.accepted_late):
            await asyncio.sleep(CLOSE_POLL_SECONDS)

    def _listen(self, sock: socket.socket) -> None:
        if sock in self.sockets:
            self.loop.add_reader(sock, self._accept, sock)

    def _accept(self, sock: socket.socket) -> bool:
        """Accept waiting connections up to the limit per iteration. Return whether more connections may be waiting."""
        for taken in range(ACCEPTS):
            try:
                connection, _address = sock.accept()
            except BlockingIOError:
                return False
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if not taken:  # Linux reports a lack of descriptors even if the queue is empty
                    self._pause(sock, error)
                return False
            connection.setblocking(False)
            protocol = self.protocol_factory()
            handshake = Handshake(connection, protocol, encrypted=self.context is not None)
            task = self.loop.create_task(self._open(handshake))
            self.opening[task] = handshake
            task.add_done_callback(self.opening.pop)
        return True

    async def _open(self, handshake: Handshake) -> None:
        protocol = handshake.protocol
        tls: dict[str, Any] = {}
        certificate = protocol.hooks.certificate
        if certificate is not None:
            tls = {
                "ssl": certificate.content,  # reload.py may replace the context
                "ssl_handshake_timeout": protocol.hooks.request_seconds,
                "ssl_shutdown_timeout": LINGER_SECONDS,
            }
        try:
            await self.loop.connect_accepted_socket(lambda: protocol, handshake.socket, **tls)
        except OSError as error:  # OSError includes TLS errors and handshake timeouts
            logger.debug("a connection failed before its first request: %s", error)
        else:
            if self.closing:
                self.accepted_late.append(protocol)
                protocol.shutdown()
        finally:
            handshake.end()

    def _pause(self, sock: socket.socket, error: OSError) -> None:
        """Stop accepting for PAUSE_SECONDS. If no file descriptors are left, close a connection."""
        self.loop.remove_reader(sock)
        self.loop.call_later(PAUSE_SECONDS, self._listen, sock)
        if error.errno in (errno.EMFILE, errno.ENFILE):
            self.connections.close_one_for_capacity()
        self.log.log(f"can't accept a connection: {error}; retrying every {PAUSE_SECONDS} s", {})
