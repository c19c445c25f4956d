"""ConnectionPool: the reusable connections to one service.

Like connection.py, this file never waits: its generators yield waiting steps, and a transport runs these steps.
"""

from __future__ import annotations

import os
import ssl
import time

import httpx

from .connection import HttpConnection, IoSteps, ResolveHost
from .http_exchange import HttpExchange

MAX_IDLE_CONNECTIONS = 20
"""The maximum number of idle connections to one service that a client keeps open."""
MAX_IDLE_SECONDS = 30.0
"""The time, in seconds, after which an idle connection is not reused, because networks drop silent connections."""
RESPONSE_TAKEN = httpx.Response(200, stream=httpx.ByteStream(b""))
"""The placeholder response that a transport returns to httpx. The Attempt has already read the real response."""
DEFAULT_PORTS = {"http": 80, "https": 443}


class ConnectionPool:
    """A thread-safe pool of reusable HTTP/1.1 connections to one service."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        """Create an empty pool. `context` contains the TLS settings, or is None if the URL begins with `http:`."""
        self._context = context
        self._idle: dict[int, list[tuple[float, HttpConnection]]] = {}
        """The idle connections, keyed by process id, because two processes must not share a connection after a fork.

        No lock protects them, because a forked process could inherit a locked lock. Each call that changes them is
        atomic.
        """
        self._closed = False

    def handle(self, request: httpx.Request) -> IoSteps[httpx.Response]:
        """Send a request whose body is an Attempt, and pass the response to this Attempt. Raises httpx exceptions."""
        connection = self._take_idle()
        if connection is not None:
            exchange = HttpExchange(request, connection.scratch)
            try:
                return (yield from self._run(connection, exchange))
            except (httpx.NetworkError, httpx.RemoteProtocolError):
                if exchange.response_has_started:
                    raise
                # The service has closed the idle connection, so the request is sent again on a new connection.
        connection = yield from self._connect(request.url)
        return (yield from self._run(connection, HttpExchange(request, connection.scratch)))

    def close(self) -> None:
        """Close the idle connections now, and each active connection when its exchange is complete."""
        self._closed = True
        for idle in [*self._idle.values()]:
            _close_all(idle)

    def _run(self, connection: HttpConnection, exchange: HttpExchange) -> IoSteps[httpx.Response]:
        try:
            yield from connection.run(exchange)
        except BaseException:
            connection.close()
            raise
        self._release(connection, exchange.is_reusable)
        return RESPONSE_TAKEN

    def _take_idle(self) -> HttpConnection | None:
        """Return the most recently used idle connection that is still usable, or None if no connection is usable."""
        if self._closed:
            raise RuntimeError("the client is closed")
        idle = self._idle.get(os.getpid(), [])
        while (taken := _pop(idle)) is not None:
            idle_since, connection = taken
            if time.monotonic() - idle_since < MAX_IDLE_SECONDS and connection.is_open_and_silent():
                return connection
            connection.close()
        return None

    def _release(self, connection: HttpConnection, is_reusable: bool) -> None:
        idle = self._idle.setdefault(os.getpid(), [])
        if not is_reusable or len(idle) >= MAX_IDLE_CONNECTIONS:
            connection.close()
            return
        idle.append((time.monotonic(), connection))
        if self._closed:
            _close_all(idle)

    def _connect(self, url: httpx.URL) -> IoSteps[HttpConnection]:
        """Return a connection to the first address of the host that accepts connections."""
        host = url.raw_host.decode()
        failure: OSError | None = None
        for family, _, _, _, address in (yield ResolveHost(host, url.port or DEFAULT_PORTS[url.scheme])):
            try:
                connection = HttpConnection(family)  # fails if the system has no IPv6 or no free file descriptor
                try:
                    yield from connection.connect(address, host, self._context)
                    return connection
                except BaseException:
                    connection.close()
                    raise
            except OSError as error:
                failure = error
        raise httpx.ConnectError(str(failure)) from failure


def _pop(idle: list[tuple[float, HttpConnection]]) -> tuple[float, HttpConnection] | None:
    """Remove and return the last entry, or return None if the list is empty. Other threads may remove entries too."""
    try:
        return idle.pop()
    except IndexError:
        return None


def _close_all(idle: list[tuple[float, HttpConnection]]) -> None:
    """Remove and close all connections."""
    while (taken := _pop(idle)) is not None:
        taken[1].close()
