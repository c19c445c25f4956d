"""The state of one connection, which its parts share. protocol.py handles its events."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any

from axiscast.wire.prescan import ReserveMemory
from axiscast.wire.problems import Problem

from ..runtime.work_queue import Usage
from .closing import Closing
from .flow_control import FlowControl
from .hooks import HOOKS, FastPath, Hooks, Peer
from .limits import Place
from .parser import Parser
from .rates import Rates


class Connection(asyncio.BufferedProtocol, ABC):
    """The state of an HTTP/1.1 connection, which uvicorn creates. The lifespan state contains the Hooks."""

    flow: FlowControl
    closing: Closing
    server: Peer
    """The address and port of this end of the connection."""
    client: Peer

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        self.loop: asyncio.AbstractEventLoop = _loop or asyncio.get_running_loop()
        self.app = config.loaded_app
        self.keep_alive_seconds: float = config.timeout_keep_alive
        self.server_state = server_state
        self.state = app_state
        self.hooks: Hooks = app_state[HOOKS]
        self.fast_path: FastPath | None = self.hooks.fast_path
        self.rates = Rates(self.loop.time)
        self.place = Place(self.hooks.connections, self.rates)
        self.usage = Usage()
        self.parser = Parser()
        self.cycle: Any = None
        """The RequestCycle of the request that the application is processing, or None."""
        self.has_responded = False
        """Whether the connection has sent a response."""
        self.scheduled = False
        """Whether the connection is in the queue of the scheduler."""
        self.client_half_closed = False
        """Whether the client has closed its sending side of the connection."""
        self.shutting_down = False
        """Whether the service is shutting down."""
        self.drops_rest = False
        """Whether further data is dropped, because the connection is closed after the current response."""

    @abstractmethod
    async def receive_into(self, room: memoryview, start: int, reserve: ReserveMemory) -> bool:
        """Receive the rest of a body into a buffer. See ReceiveInto in upload.py."""

    @abstractmethod
    def responded(self, cycle: Any) -> None:
        """Continue with the next request, or close, after the application has responded."""

    @abstractmethod
    def refuse(self, problem: Problem) -> None:
        """Send a problem response and close the connection. For the application, the client has disconnected."""

    def awaits_request(self) -> bool:
        """Return whether the connection is waiting for its first request, or for the rest of a request."""
        if self.closing.has_begun or self.scheduled:
            return False
        if self.cycle is not None:
            return not self.cycle.body_complete
        return not (self.has_responded and self.parser.is_between_requests)

    def is_idle(self) -> bool:
        """Return whether no data of a new request has arrived since the last response."""
        return self.awaits_turn() and self.parser.is_between_requests

    def awaits_turn(self) -> bool:
        """Return whether no request of the connection is in flight or in the queue of the scheduler."""
        return self.cycle is None and not self.scheduled and not self.closing.has_begun


def address(name: object) -> Peer:
    """Return the host and port of a socket name, or None if the socket has no such address."""
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) and len(name) >= 2 else None
