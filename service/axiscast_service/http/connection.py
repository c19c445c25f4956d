"""The interface of a connection to its parts that call it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Protocol

from axiscast.wire.prescan import ReserveMemory
from axiscast.wire.problems import Problem

from ..runtime.work_queue import Usage
from .closing import Closing
from .flow_control import FlowControl
from .hooks import Hooks
from .parser import Parser
from .rates import Rates


class ConnectionAddresses:
    """The addresses of both ends of a connection, in the format of ASGI."""

    def __init__(self, transport: asyncio.BaseTransport) -> None:
        self.server = _address(transport.get_extra_info("sockname"))
        self.client = _address(transport.get_extra_info("peername"))
        self.scheme = "http" if transport.get_extra_info("sslcontext") is None else "https"


def _address(name: object) -> tuple[str, int] | None:
    """Return the host and port of a socket name, or None if the socket has no such address."""
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) and len(name) >= 2 else None


class Connection(Protocol):
    """A connection, which protocol.py implements. Its parts must not import that file."""

    loop: asyncio.AbstractEventLoop
    hooks: Hooks
    server_state: Any
    state: dict[str, Any]
    keep_alive_seconds: float
    usage: Usage
    parser: Parser
    rates: Rates
    flow: FlowControl
    closing: Closing
    peers: ConnectionAddresses
    scheduled: bool
    shutting_down: bool

    @property
    def cycle(self) -> object:
        """The request that the application is processing, or None."""

    def awaits_request(self) -> bool:
        """Return whether the connection is waiting for its first request, or for the rest of a request."""

    def is_idle(self) -> bool:
        """Return whether no data of a new request has arrived since the last response."""

    def receive_into(self, room: memoryview, start: int, reserve: ReserveMemory) -> Awaitable[bool]:
        """Receive the rest of a body into a buffer. See ReceiveInto in upload.py."""

    def responded(self, cycle: Any) -> None:
        """Continue with the next request, or close, after the application has responded."""

    def refuse(self, problem: Problem) -> None:
        """Send a problem response and close the connection. For the application, the client has disconnected."""
