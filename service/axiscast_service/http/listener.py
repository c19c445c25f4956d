"""The event loop and its listener, which accepts new connections promptly while others are busy.

libuv accepts one connection in each turn of its loop, and a turn handles all requests that are ready. This listener
accepts up to MAX_ACCEPTS connections in a turn, and counts each (limits.py) before its handshake.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .limits import CONNECTIONS
from .lingering_close import LINGER_SECONDS
from .protocol import HTTPProtocol
from .uvicorn_interface import verify_connection

if TYPE_CHECKING:
    from asyncio import SelectorEventLoop as Base
else:
    try:
        from uvloop import Loop as Base
    except ImportError:
        from asyncio import SelectorEventLoop as Base

        from .library_patches import shrink_tls_buffers

        shrink_tls_buffers()

ACCEPTS = 64
"""Connections that are accepted in one turn of the loop. They take about 5 ms."""
SHARED_ACCEPTS = 1
"""The same if other processes listen on the same socket, so that idle processes get their share."""
PAUSE_SECONDS = 0.05
"""Time until the next try after the system has refused a file descriptor."""
MAX_QUEUED = 4096
"""Connections that are accepted on shutdown: the size of the queue. New ones could arrive forever."""
HANDSHAKE_SECONDS = 1
"""Time for pending TLS handshakes on shutdown."""
CLOSE_POLL_SECONDS = 0.05
"""Interval at which shutdown checks whether all connections have ended."""
WARNING_SECONDS = 60
"""Minimum interval between two log lines about refused file descriptors."""

STARTUP_FAILURE = 3
"""uvicorn's exit status for a worker that can't start."""

logger = logging.getLogger("axiscast")


class Loop(Base):
    """uvloop's event loop, or asyncio's if uvloop is not installed, with our own listener.

    uvicorn creates its event loops from this class. Its workers, log and shutdown work as usual.
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
        """Return a listener on an address, or on the address of `sock` if several workers share it."""
        if sock is None:
            return Listener(self, await self._bind(host, port, backlog), make, ssl, ACCEPTS)
        if sys.platform == "linux":
            return Listener(self, [_reuseport_socket(sock, backlog)], make, ssl, ACCEPTS)
        sock.listen(backlog)
        return Listener(self, [sock], make, ssl, SHARED_ACCEPTS)

    async def _bind(self, host: str | None, port: int | None, backlog: int) -> list[socket.socket]:
        found = await self.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        sockets: list[socket.socket] = []
        try:
            for family, _, _, _, address in dict.fromkeys(found):
                sockets.append(socket.create_server(address, family=family, backlog=backlog))
        except OSError:
            for bound in sockets:
                bound.close()
            raise
        return sockets


def _reuseport_socket(bound: socket.socket, backlog: int) -> socket.socket:
    """Return a socket that listens on the address of `bound`, which itself never listens.

    So each worker has its own queue. The system distributes connections by their ports, independently of the load, and
    after the workers have closed their sockets, no other process still listens.
    """
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    own = socket.socket(bound.family, bound.type)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    own.bind(bound.getsockname())
    own.listen(backlog)
    return own


class Listener:
    """The listening sockets of one process, until `close`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sockets: list[socket.socket],
        make: Callable[[], HTTPProtocol],
        context: ssl.SSLContext | None,
        accepts: int,
    ) -> None:
        self.loop = loop
        self.sockets = sockets
        self.protocol_factory = make
        self.context = context
        self.accepts = accepts
        self.opening: dict[asyncio.Task[None], HTTPProtocol] = {}
        """Accepted connections before `connection_made`: for one turn of the loop, or for their TLS handshake."""
        self.accepted_late: list[HTTPProtocol] = []
        """Connections that were made after `close`. uvicorn does not wait for them."""
        self.closing = False
        self.warned_at = -float(WARNING_SECONDS)
        try:
            verify_connection(make)
        except ValueError as error:
            logger.critical("%s", error)
            sys.exit(STARTUP_FAILURE)
        for sock in sockets:
            sock.setblocking(False)
            self._listen(sock)

    def close(self) -> None:
        """Accept the connections in the queue and stop listening.

        Requests on pending connections are still answered. TLS handshakes have HANDSHAKE_SECONDS to end.
        """
        self.closing = True
        for sock in self.sockets:
            for _ in range(MAX_QUEUED // self.accepts):
                if not self._accept(sock):
                    break
            self.loop.remove_reader(sock)
            sock.close()
        self.sockets = []
        if self.context is not None:
            self.loop.call_later(HANDSHAKE_SECONDS, self._abort_handshakes)

    def _abort_handshakes(self) -> None:
        for protocol in self.opening.values():
            protocol.abort_handshake()

    async def wait_closed(self) -> None:
        """Wait until all accepted connections have ended."""
        while self.opening or any(protocol in protocol.server_state.connections for protocol in self.accepted_late):
            await asyncio.sleep(CLOSE_POLL_SECONDS)

    def _listen(self, sock: socket.socket) -> None:
        if sock in self.sockets:
            self.loop.add_reader(sock, self._accept, sock)

    def _accept(self, sock: socket.socket) -> bool:
        """Accept waiting connections up to the limit. Return whether more may wait."""
        for taken in range(self.accepts):
            try:
                connection, _address = sock.accept()
            except BlockingIOError:
                return False
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if not taken:  # otherwise the queue may be empty: Linux reports the missing descriptor first
                    self._pause(sock, error)
                return False
            connection.setblocking(False)
            protocol = self.protocol_factory()
            protocol.accepted(connection, encrypted=self.context is not None)
            task = self.loop.create_task(self._open(connection, protocol))
            self.opening[task] = protocol
            task.add_done_callback(self.opening.pop)
        return True

    async def _open(self, connection: socket.socket, protocol: HTTPProtocol) -> None:
        tls: dict[str, Any] = {}
        certificate = protocol.hooks.certificate
        if certificate is not None:
            tls = {
                "ssl": certificate.context,  # the current one, see reload.py
                "ssl_handshake_timeout": protocol.hooks.request_seconds,
                "ssl_shutdown_timeout": LINGER_SECONDS,
            }
        try:
            await self.loop.connect_accepted_socket(lambda: protocol, connection, **tls)
        except OSError as error:  # also TLS errors and handshakes that time out
            logger.debug("a connection failed before its first request: %s", error)
        else:
            if self.closing:
                self.accepted_late.append(protocol)
                protocol.shutdown()
        finally:
            protocol.handshake_ended()

    def _pause(self, sock: socket.socket, error: OSError) -> None:
        """Stop accepting for a moment. If file descriptors are missing, close a connection."""
        self.loop.remove_reader(sock)
        self.loop.call_later(PAUSE_SECONDS, self._listen, sock)
        if error.errno in (errno.EMFILE, errno.ENFILE):
            CONNECTIONS.close_one_for_capacity()
        now = self.loop.time()
        if now - self.warned_at >= WARNING_SECONDS:
            self.warned_at = now
            logger.warning("can't accept a connection: %s; retrying every %s s", error, PAUSE_SECONDS)
