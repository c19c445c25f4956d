"""ConnectionPool: the open connections to one service, which are reused. It never waits (see connection.py)."""

from __future__ import annotations

import os
import ssl
import time
from collections import defaultdict
from threading import Lock

import httpx

from .connection import HttpConnection, IoSteps, ResolveHost
from .http_exchange import HttpExchange

MAX_IDLE_CONNECTIONS = 20
"""The largest number of idle connections to one service that are kept open."""
MAX_IDLE_SECONDS = 30.0
"""The longest time that an idle connection is kept open. Networks drop silent connections after some minutes."""
RESPONSE_TAKEN = httpx.Response(200, stream=httpx.ByteStream(b""))
"""The placeholder that a transport returns after the attempt has read the response."""
DEFAULT_PORTS = {"http": 80, "https": 443}


class ConnectionPool:
    """Reusable HTTP/1.1 connections to one service. It is thread-safe."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        """`context` has the TLS settings for https. It is None for http."""
        self._context = context
        self._idle: dict[int, list[tuple[float, HttpConnection]]] = defaultdict(list)
        """The idle connections by process id. After a fork, two processes must not share a connection."""
        self._lock = Lock()
        self._closed = False

    def handle(self, request: httpx.Request) -> IoSteps[httpx.Response]:
        """Send a request and pass the response to the attempt, its body. Raises the errors of httpx."""
        connection = self._take_idle()
        if connection is not None:
            exchange = HttpExchange(request, connection.scratch)
            try:
                return (yield from self._run(connection, exchange))
            except (httpx.NetworkError, httpx.RemoteProtocolError):
                if exchange.has_started:
                    raise
                # The service closed the idle connection at this moment, so the request is sent again on a new one.
        connection = yield from self._connect(request.url)
        return (yield from self._run(connection, HttpExchange(request, connection.scratch)))

    def close(self) -> None:
        """Close the idle connections now, and each active connection after its exchange."""
        with self._lock:
            self._closed = True
            for idle in self._idle.values():
                while idle:
                    idle.pop()[1].close()

    def _run(self, connection: HttpConnection, exchange: HttpExchange) -> IoSteps[httpx.Response]:
        try:
            yield from connection.run(exchange)
        except BaseException:
            connection.close()
            raise
        self._release(connection, exchange.is_reusable)
        return RESPONSE_TAKEN

    def _take_idle(self) -> HttpConnection | None:
        """Return the idle connection that was used last. If no idle connection is usable, return None."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the client is closed")
            idle = self._idle[os.getpid()]
            while idle:
                idle_since, connection = idle.pop()
                if time.monotonic() - idle_since < MAX_IDLE_SECONDS and connection.is_open_and_silent():
                    return connection
                connection.close()
        return None

    def _release(self, connection: HttpConnection, is_reusable: bool) -> None:
        with self._lock:
            idle = self._idle[os.getpid()]
            if is_reusable and not self._closed and len(idle) < MAX_IDLE_CONNECTIONS:
                idle.append((time.monotonic(), connection))
                return
        connection.close()

    def _connect(self, url: httpx.URL) -> IoSteps[HttpConnection]:
        """Return a connection to the first address of the host that accepts one."""
        host = url.raw_host.decode()
        failure: OSError | None = None
        for family, _, _, _, address in (yield ResolveHost(host, url.port or DEFAULT_PORTS[url.scheme])):
            try:
                connection = HttpConnection(family)  # fails on a system without IPv6, or without free file descriptors
                try:
                    yield from connection.connect(address, host, self._context)
                    return connection
                except BaseException:
                    connection.close()
                    raise
            except OSError as error:
                failure = error
        raise httpx.ConnectError(str(failure)) from failure
