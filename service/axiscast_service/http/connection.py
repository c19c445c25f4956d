"""The transport side of an HTTP connection: reading, writing, timeouts and closing."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from axiscast.wire.problems import Problem

from ..runtime.budget import FREE_BYTES
from ..runtime.work_queue import Usage
from .hooks import READ_BYTES, hooks_of
from .kernel_buffers import CAN_UNLOCK, limit_receive_buffer, limit_send_buffer, reset_on_close, unread_bytes
from .limits import MAX_DRAINING, Queue
from .lingering_close import LINGER_SECONDS, LingeringClose
from .rates import CHECKS_PER_WINDOW, Rates
from .scope import ConnectionAddresses

GROWN_TLS_BYTES = 64 * 2**10
"""The body size, in bytes, above which the TLS buffers of a connection are assumed to have grown."""

logger = logging.getLogger("axiscast")


class ClosedTransport(asyncio.Transport):
    """A placeholder that replaces the transport of a connection that has ended."""

    def is_closing(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return 0

    def abort(self) -> None:
        """Do nothing, because the connection has already ended."""

    close = abort


class ServerConnection(asyncio.BufferedProtocol):
    """The base class of HTTPProtocol, with the code that is independent of requests."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        self.loop: asyncio.AbstractEventLoop = _loop or asyncio.get_running_loop()
        self.server_state = server_state
        self.state = app_state
        self.hooks = hooks_of(app_state)
        self.connections = self.hooks.connections
        self.usage = Usage()
        self.queue: Queue | None = None
        """The queue of `connections` in which the connection waits for its client."""
        self.rates = Rates()
        self.closing: LingeringClose | None = None
        self.finished = False
        """Whether the connection has stopped reading requests."""
        self.paused = False
        """Whether reading from the transport is paused."""
        self.write_paused = False
        """Whether too much data is unsent, so that the connection starts no further response."""
        self.written = 0
        """The number of bytes that `write` has passed to the transport."""
        self.has_responded = False
        """Whether the connection has sent a response."""
        self.has_grown_tls = False
        """Whether the TLS buffers of the connection have grown."""
        self.handshaking: socket.socket | None = None
        """The socket of the connection between the calls of `accepted` and `connection_made`."""
        self.counted = False
        self.over_limit = False
        """Whether the limit on connections was reached and no other connection could be closed."""
        self.keep_alive_seconds: float = config.timeout_keep_alive
        self.idle_since = 0.0
        """The time of the last response, on the event loop's clock. One idle timer is used for all requests."""
        self.idle_timer: asyncio.TimerHandle | None = None
        self._taken: asyncio.Future[None] | None = None  # done when the client has read most unsent data

    # --- implemented by HTTPProtocol

    def awaits_request(self) -> bool:
        """Return whether the connection is waiting for the client to send a request or the rest of a request."""
        raise NotImplementedError

    def is_idle(self) -> bool:
        """Return whether no data of a new request has arrived since the last response."""
        raise NotImplementedError

    def bytes_per_second(self) -> float:
        """Return the mean rate, in bytes per second, at which the request body has arrived."""
        raise NotImplementedError

    def time_out_request(self) -> None:
        """Refuse the current request because the client sends too slowly."""
        raise NotImplementedError

    def on_writable(self) -> None:
        """Continue with the next request after the client has read most of the unsent data."""
        raise NotImplementedError

    def on_lost(self) -> None:
        """Release resources after the connection has ended."""
        raise NotImplementedError

    def refuse(self, problem: Problem) -> None:
        """Send a response with this problem, and close the connection."""
        raise NotImplementedError

    # --- start and end

    def accepted(self, connection: socket.socket, encrypted: bool) -> None:
        """Count an accepted connection. If the connection is encrypted, its TLS handshake follows."""
        self.handshaking = connection
        self._count()
        if encrypted:  # counted even above the limit, so that an endless handshake can be closed
            self.connections.enter(self, self.connections.unserved)

    def handshake_ended(self) -> None:
        """Release resources if the connection ended before `connection_made` was called."""
        if self.handshaking is None:
            return
        self.handshaking.close()
        self.handshaking = None
        self.connections.closed(self)
        if self.queue is not None:  # otherwise the service has aborted the connection
            self.connections.leave(self)
            self.hooks.refused("handshake")

    def abort_handshake(self) -> None:
        """Abort a connection during its TLS handshake."""
        if self.handshaking is not None:
            with suppress(OSError):  # the connection has already ended
                self.handshaking.shutdown(socket.SHUT_RDWR)

    def has_unread_data(self) -> bool:
        """Return whether the system has received data that the event loop has not read yet."""
        connection = self.handshaking or self.transport.get_extra_info("socket")
        return connection is not None and unread_bytes(connection) > 0

    def _count(self) -> None:
        self.counted = True
        self.over_limit = not self.connections.opened(self)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport: asyncio.Transport = transport
        self.handshaking = None
        self.peers = ConnectionAddresses(transport)
        # No new response starts while more data than this is unsent. The defaults are 512 KiB with TLS and 64 KiB
        # without TLS.
        transport.set_write_buffer_limits(FREE_BYTES if self.is_encrypted() else FREE_BYTES // 4)
        if self.is_encrypted() and hasattr(transport, "set_read_buffer_limits"):
            # By default, the TLS layer reads and stores another 256 KiB of encrypted data while reading is paused.
            transport.set_read_buffer_limits(READ_BYTES)
        connection = transport.get_extra_info("socket")
        if connection is not None:
            limit_send_buffer(connection)
            if CAN_UNLOCK:  # otherwise only after a long body
                limit_receive_buffer(connection)
        # Some transports copy data that can't be sent immediately. Other transports only keep references to such data.
        copies = self.is_encrypted() or not type(transport).__module__.startswith("uvloop")
        self.state = {**self.state, "copies": copies}
        self.server_state.connections.add(self)
        self.timer = self.loop.call_later(self.hooks.request_seconds / CHECKS_PER_WINDOW, self._check_progress)
        if not self.counted:
            self._count()  # uvicorn's own server, not our listener, has accepted the connection
        if self.over_limit:
            self.refuse(Problem("overloaded", "all connections of this worker are in use: try again shortly"))

    def is_encrypted(self) -> bool:
        """Return whether the connection is encrypted with TLS."""
        return self.peers.scheme == "https"

    def connection_lost(self, exc: Exception | None) -> None:
        self.connections.closed(self)
        self.connections.forget(self)
        self.connections.grown_tls.pop(self, None)
        self.server_state.connections.discard(self)
        self.finished = True
        self.timer.cancel()
        if self.idle_timer is not None:
            self.idle_timer.cancel()
        self.on_lost()
        self._wake_writer()
        self.transport = ClosedTransport()  # this breaks a reference cycle with uvloop's TLS code
        self.hooks.heap.connection_closed(self.loop, self.has_grown_tls)

    # --- reading and writing

    def pause_reading(self) -> None:
        """Stop reading from the transport, so that the client has to wait before it sends more data."""
        if not self.paused and not self.transport.is_closing():
            self.paused = True
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading from the transport."""
        if self.paused and not self.transport.is_closing():
            self.paused = False
            self.transport.resume_reading()

    def write(self, data: bytes | memoryview) -> None:
        """Send data to the client, unless the connection is closing."""
        if not self.transport.is_closing():
            self.written += len(data)
            self.transport.write(data)

    def taken(self) -> int:
        """Return the number of bytes that the client, or the system's send buffer, has taken from `write`."""
        return self.written - self.transport.get_write_buffer_size()

    def pause_writing(self) -> None:
        self.write_paused = True

    def resume_writing(self) -> None:
        self.write_paused = False
        self.rates.took_most()
        self._wake_writer()
        self.on_writable()

    async def writable(self) -> None:
        """Wait until the client has read most of the unsent data, or has disconnected."""
        while self.write_paused and not self.finished:
            if self._taken is None:
                self._taken = self.loop.create_future()
            await asyncio.shield(self._taken)

    def _wake_writer(self) -> None:
        if self._taken is not None and not self._taken.done():
            self._taken.set_result(None)
        self._taken = None

    # --- closing

    def close_gently(self, due: int | None, drains: bool) -> None:
        """Close the connection after the client has had time to read the response.

        `due` is the number of body bytes that have not arrived, or None if the number is unknown. If `drains` is true,
        all of these bytes are read.
        """
        self.finished = True
        self.connections.forget(self)
        self.connections.enter(self, self.connections.lingering)
        if self.transport.is_closing():
            return
        drains = drains and len(self.connections.draining) < MAX_DRAINING
        self.closing = LingeringClose(drains, due, self.hooks.max_body_bytes)
        self.rates.begin()
        if drains:
            self.connections.draining.add(self)
        else:
            self.loop.call_later(LINGER_SECONDS, self.transport.close)
        self.resume_reading()
        if self.transport.can_write_eof():
            with suppress(OSError):  # the client has reset the connection
                self.transport.write_eof()

    def close(self) -> None:
        """Close the connection after all data is sent."""
        self.finished = True
        self.connections.forget(self)
        if not self.transport.get_write_buffer_size():
            # With TLS, closing waits for the client's close_notify message.
            self.connections.enter(self, self.connections.lingering)
        self.transport.close()

    def discard(self, closing: LingeringClose, nbytes: int) -> None:
        """Count the bytes that a lingering close has discarded. At the end of the data, close the connection."""
        self.rates.received += nbytes
        closing.received(nbytes)
        if closing.is_over:
            self.transport.close()
        elif closing.is_too_much and not self.paused:
            self.pause_reading()
            self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def cut(self, reason: str) -> None:
        """Close the connection immediately, even if some data is unsent."""
        self.hooks.refused(reason)
        logger.debug("aborted a connection: %s", reason)
        self.connections.forget(self)
        if self.handshaking is not None:
            self.abort_handshake()
            return
        self.finished = True
        if self.transport.get_write_buffer_size():
            reset_on_close(self.transport.get_extra_info("socket"))
        self.transport.abort()

    # --- time

    def _check_progress(self) -> None:
        """Close the connection if the client sends or reads too slowly."""
        self.timer = self.loop.call_later(self.hooks.request_seconds / CHECKS_PER_WINDOW, self._check_progress)
        awaited = self.awaits_request() if self.closing is None else self.closing.drains
        self.rates.check(self.transport.get_write_buffer_size(), awaited and not self.paused)
        if self.rates.stalls > CHECKS_PER_WINDOW:
            self.cut("stalled-reader")
        elif self.rates.waits > CHECKS_PER_WINDOW:
            self.after_reading(self._end_slow)

    def _end_slow(self) -> None:
        if self.closing is not None:
            self.transport.close()
        elif self.rates.waits > CHECKS_PER_WINDOW and self.awaits_request():
            self.time_out_request()

    def after_reading(self, callback: Callable[[], None]) -> None:
        """Call `callback` after the loop has read all available data. A busy loop runs late timers before it reads."""
        self.loop.call_soon(self.loop.call_soon, callback)

    def start_idle_timer(self) -> None:
        """Start the timer that closes the connection after keep_alive_seconds without a request."""
        self.idle_since = self.loop.time()
        if self.idle_timer is None:  # a running timer computes the remaining idle time when it fires
            self.idle_timer = self.loop.call_later(self.keep_alive_seconds, self._idle)

    def _idle(self) -> None:
        self.idle_timer = None
        if self.finished or not self.is_idle():
            return
        left = self.idle_since + self.keep_alive_seconds - self.loop.time()
        if left > 0:
            self.idle_timer = self.loop.call_later(left, self._idle)
        else:
            self.after_reading(self._end_idle)

    def _end_idle(self) -> None:
        if (
            not self.finished and self.is_idle() and self.idle_timer is None
        ):  # otherwise another response has been sent in the meantime
            self.close()
