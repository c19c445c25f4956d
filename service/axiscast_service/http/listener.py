"""Listening: new connections are taken as they come, however busy those are that are there.

libuv takes one new connection in each turn of its loop, and a turn is as long as all requests that are ready. Here a
turn takes all that wait, up to a number, and a connection counts (limits.py) from then on, not only when its
handshake is over.
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
"""Connections that are taken in one turn of the loop: so many cost some 5 ms."""
SHARED_ACCEPTS = 1
"""The same where other processes listen on the same socket: who takes more takes them from others that are as free."""
PAUSE_SECONDS = 0.05
"""Until it is tried again, where the system gives no file for a connection. It would say at once that one waits."""
MAX_QUEUED = 4096
"""The most connections that are accepted on shutdown: the queue holds no more, and others could arrive forever."""
HANDSHAKE_SECONDS = 1
"""On shutdown a TLS handshake has so long to end."""
CLOSE_POLL_SECONDS = 0.05
"""Between two looks whether the last connections have ended."""
WARNING_SECONDS = 60
"""At least so long between two lines in the log about that."""

STARTUP_FAILURE = 3
"""uvicorn's own status for a worker that can't begin."""

logger = logging.getLogger("axiscast")


class Loop(Base):
    """uvloop's event loop, or asyncio's where that is not installed, with a listener of our own.

    uvicorn is told to make its loops of this class, and does all else as it is used to: one process or several, the
    lines in its log, the shutdown.
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
        """A listener on the sockets of an address, or beside the other workers of the process that has bound `sock`."""
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
    """A socket that listens where `bound` is bound, which itself listens never. So each worker has a queue of its own:
    the system shares connections out by their ports, whoever is quick or busy, and when the workers close theirs no
    other process still listens."""
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    own = socket.socket(bound.family, bound.type)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    own.bind(bound.getsockname())
    own.listen(backlog)
    return own


class Listener:
    """The sockets on which one process listens, until `close`."""

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
        """Connections that are accepted and not yet made: for one turn of the loop, or for as long as a handshake."""
        self.accepted_late: list[HTTPProtocol] = []
        """Connections that were made after `close`, for which uvicorn does not wait."""
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
        """Take the connections that wait in the queue, and listen no more. Those that are not made yet are served if a
        request comes; a TLS handshake has a moment to end."""
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
        """Wait until every connection that was accepted has ended."""
        while self.opening or any(protocol in protocol.server_state.connections for protocol in self.accepted_late):
            await asyncio.sleep(CLOSE_POLL_SECONDS)

    def _listen(self, sock: socket.socket) -> None:
        if sock in self.sockets:
            self.loop.add_reader(sock, self._accept, sock)

    def _accept(self, sock: socket.socket) -> bool:
        """Take what waits, up to a number; whether more may wait."""
        for taken in range(self.accepts):
            try:
                connection, _address = sock.accept()
            except BlockingIOError:
                return False
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if not taken:  # else there may be none left: without a file for it Linux does not look
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
                "ssl": certificate.context,  # the one that is in force now (reload.py)
                "ssl_handshake_timeout": protocol.hooks.request_seconds,
                "ssl_shutdown_timeout": LINGER_SECONDS,
            }
        try:
            await self.loop.connect_accepted_socket(lambda: protocol, connection, **tls)
        except OSError as error:  # also what TLS has against it, and a handshake that takes too long
            logger.debug("a connection was not made: %s", error)
        else:
            if self.closing:
                self.accepted_late.append(protocol)
                protocol.shutdown()
        finally:
            protocol.handshake_ended()

    def _pause(self, sock: socket.socket, error: OSError) -> None:
        """Leave new connections where they are for a moment, and make room meanwhile, if files are what lacks."""
        self.loop.remove_reader(sock)
        self.loop.call_later(PAUSE_SECONDS, self._listen, sock)
        if error.errno in (errno.EMFILE, errno.ENFILE):
            CONNECTIONS.close_one_for_capacity()
        now = self.loop.time()
        if now - self.warned_at >= WARNING_SECONDS:
            self.warned_at = now
            logger.warning("a connection can't be accepted (%s): trying again and again", error)
