"""SyncTransport: an httpx transport for threads. It runs the waiting steps that connection.py yields."""

from __future__ import annotations

import socket
import time
from contextlib import closing

import httpx

from .connection import ResolveHost
from .connection_pool import ConnectionPool


class SyncTransport(ConnectionPool, httpx.BaseTransport):
    """An httpx transport for threads that passes the response directly to the Attempt.

    The Attempt is the body of the httpx request, and also reads the response. After that, the transport returns.
    The read timeout of the request limits the whole exchange, except that resolving the host name may take longer.
    """

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        timeout = request.extensions["timeout"]["read"]
        end = None if timeout is None else time.monotonic() + timeout
        with closing(self.handle(request)) as steps:
            try:
                step = next(steps)
                while True:
                    remaining = None if end is None else end - time.monotonic()
                    if remaining is not None and remaining <= 0:
                        raise httpx.ReadTimeout("the response was not complete in time")
                    if isinstance(step, ResolveHost):
                        step = steps.send(_resolve(step))
                    elif not step.events:
                        step = steps.send(0)
                    elif event := step.connection.select(step.events, remaining):
                        step = steps.send(event)
            except StopIteration as end_of_steps:
                response: httpx.Response = end_of_steps.value
                return response


def _resolve(step: ResolveHost) -> object:
    try:
        return socket.getaddrinfo(step.host, step.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpx.ConnectError(str(error)) from error
