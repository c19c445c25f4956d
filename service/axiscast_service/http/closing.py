"""The end of a connection. In most cases, the connection is closed when all data is sent.

If the client may still be sending, the close is a lingering close. After an ordinary close, the system would respond to
further data with a reset. A reset makes the client's system discard the response. Therefore the connection is half
closed, and further data is read and discarded. An upload that is refused as overloaded is drained, which means that it
is read to its end, because many clients read the response only after they have sent everything. In all other cases, up
to LINGER_BYTES bytes are read for LINGER_SECONDS seconds, so that a slow client can't delay a shutdown.
"""

from __future__ import annotations

import logging
from contextlib import suppress

from .flow_control import FlowControl
from .hooks import Hooks
from .limits import Place
from .rates import Rates

LINGER_SECONDS = 2
"""The time, in seconds, after which a lingering connection is closed, unless it drains a refused upload."""
LINGER_BYTES = 2**20
"""The maximum number of bytes that are read and discarded during this time. Further bytes are left unread."""
MAX_DRAINING = 16
"""The maximum number of connections that drain a refused upload at the same time."""
DRAINED_BODIES = 2
"""The multiple of `max_body_bytes` up to which a refused upload is drained, so that slightly too large uploads are read
to their end."""

logger = logging.getLogger("axiscast")


class Closing:
    """The end of one connection."""

    def __init__(self, flow: FlowControl, place: Place, rates: Rates, hooks: Hooks) -> None:
        self.has_begun = False
        """Whether the connection has stopped reading requests."""
        self.lingers = False
        """Whether the connection reads and discards data."""
        self.drains = False
        """Whether the connection drains a refused upload."""
        self._flow, self._place, self._rates, self._hooks = flow, place, rates, hooks

    def close(self) -> None:
        """Close the connection after all data is sent."""
        self.has_begun = True
        self._place.forget()
        if not self._flow.unsent():
            # With TLS, closing waits for the client's close_notify message. Until then, the connection is lingering.
            self._place.wait(self._hooks.connections.lingering)
        self._flow.transport.close()

    def cut(self, reason: str) -> None:
        """Close the connection immediately, even if some data is unsent."""
        self.has_begun = True
        self._place.forget()
        self._hooks.refused(reason)
        logger.debug("aborted a connection: %s", reason)
        self._flow.abort()

    def linger(self, due: int | None, drains: bool) -> None:
        """Close the sending side, and discard further data.

        `due` is the number of body bytes that have not arrived, or None if the number is unknown. If `drains` is true,
        all of these bytes are read, unless too many connections drain an upload.
        """
        self.has_begun = True
        connections = self._hooks.connections
        self._place.wait(connections.lingering)
        if self._flow.transport.is_closing():
            return
        self._due, self._left = due, LINGER_BYTES
        self.lingers = True
        self.drains = drains and len(connections.draining) < MAX_DRAINING
        self._rates.begin()
        if self.drains:
            connections.draining.add(self._place)
            self._left = DRAINED_BODIES * self._hooks.max_body_bytes
        else:
            self._close_later()
        self._flow.resume_reading()
        if self._flow.transport.can_write_eof():
            with suppress(OSError):  # the client has reset the connection
                self._flow.transport.write_eof()

    def discard(self, nbytes: int) -> None:
        """Count `nbytes` discarded bytes. Close at the end of a drained upload, and soon after too many bytes."""
        self._rates.received += nbytes
        self._left -= nbytes
        if self._due is not None:
            self._due -= nbytes
        if self.drains and self._due is not None and self._due <= 0:
            self._flow.transport.close()
        elif self._left <= 0 and not self._flow.is_reading_paused:
            self._flow.pause_reading()
            self._close_later()

    def _close_later(self) -> None:
        self._flow.loop.call_later(LINGER_SECONDS, self._flow.transport.close)
