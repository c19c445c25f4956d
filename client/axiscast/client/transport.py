"""Transport: the wire as an httpx transport, for threads."""

from __future__ import annotations

import socket
import time
from contextlib import closing

import httpx

from .connection import Resolve
from .pool import Wire


class Transport(Wire, httpx.BaseTransport):
    """Returns when the attempt that is the request's stream has its whole answer.

    The request's read timeout is that of the whole exchange. Only the search for a host's name may pass it.
    """

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        seconds = request.extensions["timeout"]["read"]
        deadline = None if seconds is None else time.monotonic() + seconds
        with closing(self.handle(request)) as steps:
            try:
                step = next(steps)
                while True:
                    left = None if deadline is None else deadline - time.monotonic()
                    if left is not None and left <= 0:
                        raise httpx.ReadTimeout("the whole answer was not there in time")
                    if isinstance(step, Resolve):
                        step = steps.send(_addresses(step))
                    elif not step.events:
                        step = steps.send(0)
                    elif came := step.connection.select(step.events, left):
                        step = steps.send(came)
            except StopIteration as end:
                response: httpx.Response = end.value
                return response


def _addresses(step: Resolve) -> object:
    try:
        return socket.getaddrinfo(step.host, step.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpx.ConnectError(str(error)) from error
