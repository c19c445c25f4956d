"""Wire: the connections to one service, kept to be used again. It does not wait either: see connection.py."""

from __future__ import annotations

import os
import ssl
import time
from collections import defaultdict
from threading import Lock

import httpx

from .connection import Connection, Exchange, Resolve, Steps

MAX_IDLE = 20
"""Connections to one service that are kept while nobody uses them."""
MAX_IDLE_SECONDS = 30.0
"""How long: networks forget silent connections after some minutes, and tell neither end."""
TAKEN = httpx.Response(200, stream=httpx.ByteStream(b""))
"""What a transport gives for an answer that its attempt has taken."""
PORTS = {"http": 80, "https": 443}


class Wire:
    """HTTP/1.1 to one service, over connections that are used again. Thread-safe."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        """`context` is for https."""
        self._context = context
        self._idle: dict[int, list[tuple[float, Connection]]] = defaultdict(list)
        """The idle connections by process: after a fork parent and child would read each other's answers."""
        self._lock = Lock()
        self._closed = False

    def handle(self, request: httpx.Request) -> Steps[httpx.Response]:
        """Ask, and give the answer to the attempt that is the request's stream. Raises httpx's errors."""
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
        return TAKEN

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
