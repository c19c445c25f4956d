"""Writing to the transport of a connection, and pausing the reading and the writing."""

from __future__ import annotations

import asyncio

from ..runtime.budget import FREE_BYTES
from .hooks import READ_BYTES
from .kernel_buffers import CAN_UNLOCK, limit_receive_buffer, limit_send_buffer, reset_on_close
from .parser import Parser


class ClosedTransport(asyncio.Transport):
    """A placeholder that replaces the transport of a connection that has ended."""

    def is_closing(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return 0

    def abort(self) -> None:
        """Do nothing, because the connection has already ended."""

    close = abort


class FlowControl:
    """The transport of one connection, with limited buffers in both directions."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, parser: Parser) -> None:
        self.transport = transport
        self.is_encrypted = transport.get_extra_info("sslcontext") is not None
        self.is_reading_paused = False
        self.is_writing_paused = False
        """Whether too much data is unsent, so that the connection starts no further response."""
        self.socket = transport.get_extra_info("socket")
        self.copies_unsent = self.is_encrypted or not type(transport).__module__.startswith("uvloop")
        """Whether the transport copies data that can't be sent immediately, instead of keeping references."""
        self.loop = loop
        self._parser = parser
        self._written = 0
        self._resumed: asyncio.Future[None] | None = None  # done when the client has read most unsent data
        # No new response starts while more data than this is unsent. Without this call, the limit of asyncio is 64 KiB,
        # or 512 KiB with TLS.
        transport.set_write_buffer_limits(FREE_BYTES if self.is_encrypted else FREE_BYTES // 4)
        if self.is_encrypted and hasattr(transport, "set_read_buffer_limits"):
            # By default, the TLS layer reads and stores another 256 KiB of encrypted data while reading is paused.
            transport.set_read_buffer_limits(READ_BYTES)
        if self.socket is not None:
            limit_send_buffer(self.socket)
            if CAN_UNLOCK:  # otherwise the buffer could not grow again for a long body, and is limited after it
                limit_receive_buffer(self.socket)

    def pause_reading(self) -> None:
        """Stop reading, so that the client has to wait before it sends more data."""
        if not self.is_reading_paused and not self.transport.is_closing():
            self.is_reading_paused = True
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading, unless data that has already arrived must be parsed first."""
        if self.is_reading_paused and not self._parser.is_behind and not self.transport.is_closing():
            self.is_reading_paused = False
            self.transport.resume_reading()

    def write(self, data: bytes | memoryview) -> None:
        """Send data to the client, unless the connection is closing."""
        if not self.transport.is_closing():
            self._written += len(data)
            self.transport.write(data)

    def unsent(self) -> int:
        """Return the number of bytes that neither the client nor the system's send buffer has taken yet."""
        return self.transport.get_write_buffer_size()

    def taken(self) -> int:
        """Return the number of bytes that the client, or the system's send buffer, has taken from `write`."""
        return self._written - self.unsent()

    def resume_writing(self) -> None:
        """Let all callers of `writable` continue."""
        self.is_writing_paused = False
        if self._resumed is not None and not self._resumed.done():
            self._resumed.set_result(None)
        self._resumed = None

    async def writable(self) -> None:
        """Wait until the client has read most of the unsent data, or has disconnected."""
        while self.is_writing_paused:
            if self._resumed is None:
                self._resumed = self.loop.create_future()
            await asyncio.shield(self._resumed)

    def abort(self) -> None:
        """Close the connection immediately, even if some data is unsent."""
        if self.unsent():
            reset_on_close(self.socket)
        self.transport.abort()

    def end(self) -> None:
        """Release the transport after the connection has ended, and let all writers continue."""
        self.transport = ClosedTransport()  # this breaks a reference cycle with uvloop's TLS code
        self.resume_writing()
