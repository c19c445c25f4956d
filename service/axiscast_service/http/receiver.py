"""The received data of a connection, and the memory for this data."""

from __future__ import annotations

from axiscast.wire.prescan import ReserveMemory

from ..runtime.budget import MemoryBudget, MemoryReservation
from .flow_control import FlowControl
from .kernel_buffers import RECEIVE_BYTES, grow_receive_buffer, limit_receive_buffer, unread_bytes
from .limits import ALLOWANCE_BYTES
from .parser import Parser
from .rates import Rates
from .request_cycle import RequestCycle
from .upload import Upload

TLS_BYTES = 640 * 2**10
"""The memory, in bytes, that TLS needs for a connection while a long body arrives."""


class Receiver:
    """The data of one connection that the application has not received yet."""

    def __init__(self, parser: Parser, flow: FlowControl, rates: Rates, budget: MemoryBudget) -> None:
        self.body = bytearray()
        """The received part of the body, before the request is passed to the application."""
        self.upload: Upload | None = None
        """The upload that receives the rest of a long body, or None."""
        self._parser, self._flow, self._rates = parser, flow, rates
        self._memory = MemoryReservation(budget, ALLOWANCE_BYTES)
        self._has_grown = False  # whether the system may have grown the receive buffer

    def reserve(self, in_flight: bool) -> None:
        """Reserve memory for the data. `in_flight` is true if the body of a request in flight arrives.

        Raises Problem (overloaded) if no memory is available.
        """
        wanted = len(self._parser.rest) + len(self.body)
        if in_flight and self._flow.is_encrypted:
            wanted += TLS_BYTES
        self._memory.reserve(wanted - self._memory.nbytes)

    def release(self) -> None:
        """Drop the stored part of the body, and release the memory."""
        self.body.clear()
        self._memory.release(self._memory.nbytes)

    def begin_long_body(self) -> None:
        """Let the system grow the receive buffer until `end_body` is called."""
        self._has_grown = True
        grow_receive_buffer(self._flow.socket)

    def end_body(self) -> bool:
        """Release the memory after the end of a body, and limit the receive buffer again.

        Return False if the receive buffer already holds too much. The connection must then be closed.
        """
        self.release()
        if not self._has_grown:
            return True
        self._has_grown = False
        limit_receive_buffer(self._flow.socket)
        return unread_bytes(self._flow.socket) <= RECEIVE_BYTES

    async def receive_into(self, cycle: RequestCycle, room: memoryview, start: int, reserve: ReserveMemory) -> bool:
        """Receive the rest of the body of `cycle` into a buffer. See ReceiveInto in upload.py."""
        held = cycle.take_held()
        reserve(len(held))
        room[start : start + len(held)] = held
        if self._parser.phase != "body":
            return cycle.body_complete
        self.upload = Upload(room, start + len(held), reserve, self._flow.loop.create_future())
        self._flow.resume_reading()
        try:
            return await self.upload.done
        finally:
            self.end_upload()

    def uploaded(self, upload: Upload, nbytes: int) -> bool:
        """Count `nbytes` bytes of an upload. Return whether the body is complete."""
        self._rates.received += nbytes
        self._parser.skip(nbytes)
        upload.received(nbytes)
        if upload.done.done():
            self.end_upload()
        return self._parser.phase == "complete"

    def end_upload(self) -> None:
        """End the current upload, if there is one."""
        upload, self.upload = self.upload, None
        if upload is not None:
            upload.end()
