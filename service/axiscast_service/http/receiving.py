"""The receiving side of a connection: data that waits for processing, and the memory that is reserved for this data."""

from __future__ import annotations

import asyncio
from typing import Any

from axiscast.wire.prescan import ReserveMemory
from axiscast.wire.problems import Problem

from .connection import ServerConnection
from .kernel_buffers import RECEIVE_BYTES, limit_receive_buffer, unread_bytes
from .limits import ALLOWANCE_BYTES
from .parser import Parser
from .request_cycle import RequestCycle
from .upload import Upload

TLS_BYTES = 640 * 2**10
"""The memory, in bytes, that TLS needs for a connection while a long body arrives."""


class ReceivingConnection(ServerConnection):
    """The base class of HTTPProtocol that stores received data."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.parser = Parser()
        self.cycle: RequestCycle | None = None
        """The request that the application is processing."""
        self.upload: Upload | None = None
        """The upload that receives the rest of a long body, or None."""
        self.held: list[bytes] = []
        """The received parts of the body, before the request is passed to the application."""
        self.held_bytes = 0
        self.reserved = 0
        """The bytes of the memory budget that are reserved for received data of this connection."""
        self.has_grown_window = False
        """Whether the system may have grown the receive buffer because of a long body."""
        self.drops_rest = False
        """Whether further data is dropped, because the connection is closed after the current response."""
        self.request_start = 0.0
        """The start time of the current request, on the event loop's clock."""

    def finish_body(self, cycle: RequestCycle) -> None:
        """Mark the body of the request as complete."""
        self.connections.leave(self)
        if self.has_grown_window:
            self._shrink_window(cycle)
        cycle.body_complete = True
        cycle.wake()
        self.release_body()

    def _shrink_window(self, cycle: RequestCycle) -> None:
        """Limit the receive buffer again. If it already holds too much, close the connection after the response."""
        connection = self.transport.get_extra_info("socket")
        self.has_grown_window = False
        limit_receive_buffer(connection)
        if unread_bytes(connection) > RECEIVE_BYTES:
            cycle.keep_alive = False
            self.drops_rest = True

    def wait_for_client(self) -> None:
        """Wait until the client sends data. A waiting connection may be closed to make room for a new connection."""
        connections = self.connections
        if self.parser.phase != "head":
            if self.queue is not connections.arriving:
                connections.enter(self, connections.arriving)
        elif not self.has_responded:
            if self.queue is not connections.unserved:
                connections.enter(self, connections.unserved)
        else:
            connections.enter(self, connections.unread if self.write_paused else connections.idle)
        self.update_reservation()
        if connections.above_limit:
            connections.close_excess()

    def update_reservation(self) -> None:
        """Reserve memory for received data above ALLOWANCE_BYTES, and for TLS while a long body arrives."""
        wanted = max(len(self.parser.rest) + self.held_bytes - ALLOWANCE_BYTES, 0)
        if self.cycle is not None and not self.cycle.body_complete and self.is_encrypted():
            wanted += TLS_BYTES
        if wanted == self.reserved:
            return
        if self.hooks.budget.try_acquire(wanted - self.reserved):
            self.reserved = wanted
        else:
            self.refuse(Problem("overloaded", "no memory is available for another request: try again shortly"))

    def release_body(self) -> None:
        """Drop the stored parts of the body, and release the memory reservation."""
        self.held.clear()
        self.held_bytes = 0
        if self.reserved:
            self.hooks.budget.release(self.reserved)
            self.reserved = 0

    def bytes_per_second(self) -> float:
        """Return the mean rate, in bytes per second, at which the body has arrived."""
        return self.rates.of_request / max(self.loop.time() - self.request_start, 1e-3)

    async def receive_into(self, room: memoryview, start: int, reserve: ReserveMemory) -> bool:
        """Receive the rest of a body into a buffer. See ReceiveInto in upload.py."""
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
            del outcome, done, cycle  # otherwise a reference cycle would keep the buffer in memory

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
