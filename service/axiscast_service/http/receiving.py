"""The receiving side of a connection: unanswered input, and the memory reserved for it."""

from __future__ import annotations

import asyncio
from typing import Any

from axiscast.wire.prescan import ReserveMemory
from axiscast.wire.problems import Problem

from .connection import ServerConnection
from .limits import ALLOWANCE_BYTES, CONNECTIONS
from .parser import Parser
from .request_cycle import RequestCycle
from .upload import Upload

TLS_BYTES = 640 * 2**10
"""Memory of TLS for a connection on which a long body arrives."""


class ReceivingConnection(ServerConnection):
    """The part of HTTPProtocol that holds received data."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.parser = Parser()
        self.cycle: RequestCycle | None = None
        """The request that the application is processing."""
        self.upload: Upload | None = None
        """The upload that receives the rest of the body."""
        self.held: list[bytes] = []
        """Body of a request that has not been passed to the application."""
        self.held_bytes = 0
        self.reserved = 0
        """Bytes of the memory budget that are reserved for unread input."""
        self.request_start = 0.0
        """Start of the request, by the event loop's clock."""

    def finish_body(self, cycle: RequestCycle) -> None:
        """Mark the body of this request as complete."""
        CONNECTIONS.arriving.pop(self, None)
        cycle.end_body()
        self.release_body()

    def wait_for_client(self) -> None:
        """Wait for the client. Meanwhile this connection may be closed to make room for a new one."""
        if self.parser.phase == "head":
            CONNECTIONS.waiting.pop(self, None)
            CONNECTIONS.waiting[self] = None
        else:
            CONNECTIONS.waiting.pop(self, None)
            CONNECTIONS.arriving.setdefault(self, None)
        self.update_reservation()
        if CONNECTIONS.above_limit:
            CONNECTIONS.close_excess()

    def update_reservation(self) -> None:
        """Reserve memory for what is held of requests beyond the allowance, and for what TLS adds to a long body that
        arrives."""
        wanted = max(len(self.parser.rest) + self.held_bytes - ALLOWANCE_BYTES, 0)
        if self.cycle is not None and not self.cycle.body_complete and self.is_encrypted():
            wanted += TLS_BYTES
        if wanted == self.reserved:
            return
        if self.hooks.budget.try_acquire(wanted - self.reserved):
            self.reserved = wanted
        else:
            self.refuse(Problem("overloaded", "no memory is left for a request that arrives: try again shortly"))

    def release_body(self) -> None:
        """Let go of the body that is held, and of what it draws."""
        self.held.clear()
        self.held_bytes = 0
        if self.reserved:
            self.hooks.budget.release(self.reserved)
            self.reserved = 0

    def bytes_per_second(self) -> float:
        """Return the mean rate at which the body has arrived."""
        return self.rates.of_request / max(self.loop.time() - self.request_start, 1e-3)

    async def receive_into(self, room: memoryview, start: int, reserve: ReserveMemory) -> bool:
        """See ReceiveInto."""
        cycle = self.cycle
        if cycle is None:
            return False
        held = cycle.take_held()
        reserve(len(held))
        room[start : start + len(held)] = held
        if self.parser.phase != "body":
            return cycle.body_complete
        done: asyncio.Future[bool | Problem] = self.loop.create_future()
        self.upload = Upload(room, start + len(held), reserve, done)
        self.resume_reading()
        try:
            outcome = await done
        finally:
            self.end_upload()
        if isinstance(outcome, bool):
            return outcome
        try:
            raise outcome
        finally:
            del outcome, done, cycle  # else the problem is part of a cycle, and with it the room

    def uploaded(self, upload: Upload, nbytes: int) -> None:
        self.rates.received += nbytes
        self.parser.skip(nbytes)
        upload.received(nbytes)
        if upload.done.done():
            self.end_upload()
        if self.parser.phase == "complete" and self.cycle is not None:
            self.finish_body(self.cycle)

    def end_upload(self) -> None:
        upload, self.upload = self.upload, None
        if upload is not None:
            upload.end()
