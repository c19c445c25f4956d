"""The times after which a connection is closed: if its client is slow or idle, or if the service shuts down."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from axiscast.wire.problems import Problem

from .connection import Connection
from .rates import CHECKS_PER_WINDOW, FLOOR_BYTES

GRACE_SECONDS = 0.1
"""The time, in seconds, for which an idle connection stays open on shutdown, because a request may be in transit."""
PARTIAL_REQUEST_SECONDS = 2
"""The time, in seconds, that a client has on shutdown to send the rest of a partial request."""


class Timeouts:
    """The time limits of one connection, whose client is checked several times in `request_seconds`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._loop = connection.loop
        self._idle_since = inf  # the time of the last response
        self._check_later()

    def begin_idle(self) -> None:
        """Begin the time after which the connection is closed if no request arrives."""
        self._idle_since = self._loop.time()

    def close_after_grace(self) -> None:
        """Close the connection on shutdown, if no request arrives soon."""
        self._call_later(GRACE_SECONDS, self._close_if_idle)

    def end(self) -> None:
        """Stop the checks after the connection has ended."""
        self._timer.cancel()

    def _close_if_idle(self, is_last: bool = False) -> None:
        """Close the connection on shutdown. A partial request has more time, unless `is_last` is true."""
        connection = self._connection
        if connection.closing.has_begun or connection.cycle is not None:
            return  # the connection is closed after the response
        if connection.is_idle():
            connection.closing.close()
        elif connection.scheduled:  # the scheduler finds out if the request is complete
            self._call_later(GRACE_SECONDS, self._close_if_idle)
        elif is_last:
            detail = "the service shut down before the request was complete: send it again"
            connection.refuse(Problem("shutting-down", detail))
        else:
            self._call_later(PARTIAL_REQUEST_SECONDS, lambda: self._close_if_idle(is_last=True))

    def _check_later(self) -> None:
        seconds = self._connection.hooks.request_seconds / CHECKS_PER_WINDOW
        self._timer = self._loop.call_later(seconds, self._check)

    def _check(self) -> None:
        """Close the connection if the client sends or reads too slowly, or sends no further request."""
        self._check_later()
        connection, flow = self._connection, self._connection.flow
        awaited = connection.closing.drains or connection.awaits_request()
        connection.rates.check(flow.unsent(), awaited and not flow.is_reading_paused)
        if connection.rates.is_stalled:
            connection.closing.cut("stalled-reader")
        elif connection.rates.is_too_slow or self._is_idle_for_long():
            self._call_later(0, self._end_slow)

    def _call_later(self, seconds: float, callback: Callable[[], None]) -> None:
        """Call `callback` after this time and after all available data is read. A busy loop reads after late timers."""
        self._loop.call_later(seconds, self._loop.call_soon, self._loop.call_soon, callback)

    def _end_slow(self) -> None:
        connection = self._connection
        if connection.closing.lingers:
            connection.flow.transport.close()
        elif self._is_idle_for_long():
            connection.closing.close()
        elif connection.rates.is_too_slow and connection.awaits_request():
            self._time_out_request()

    def _is_idle_for_long(self) -> bool:
        connection = self._connection
        return connection.is_idle() and self._loop.time() - self._idle_since >= connection.keep_alive_seconds

    def _time_out_request(self) -> None:
        """Refuse the current request because the client sends too slowly."""
        connection, seconds = self._connection, self._connection.hooks.request_seconds
        if connection.parser.phase != "head":
            detail = (
                f"the body arrives too slowly: it must end, or {FLOOR_BYTES} bytes of it must arrive, in every "
                f"{seconds} seconds; send a smaller body, or raise AXISCAST_REQUEST_SECONDS"
            )
            connection.refuse(Problem("request-timeout", detail))
        elif connection.parser.rest:
            detail = f"the header block was not complete within {seconds} seconds"
            connection.refuse(Problem("request-timeout", detail))
        else:
            connection.closing.cut("silent")
