"""The lingering close, for connections whose clients may still be sending data.

After an immediate close, the system would respond to further data with a reset. A reset makes the client's system
discard the response. Therefore the connection is half closed, and further data is read and discarded. An upload that is
refused as overloaded is read to its end, because many clients read the response only after they have sent everything.
In all other cases, up to LINGER_BYTES bytes are read for LINGER_SECONDS seconds, so that a slow client can't delay a
shutdown.
"""

from __future__ import annotations

LINGER_SECONDS = 2
"""The time, in seconds, after which a lingering connection is closed, unless a refused upload is read to its end."""
LINGER_BYTES = 2**20
"""The maximum number of bytes that are read and discarded during this time. Further bytes are left unread."""
DRAINED_BODIES = 2
"""The multiple of `max_body_bytes` up to which a refused upload is read, so that slightly too large uploads are read to
their end."""


class LingeringClose:
    """The count of bytes that a connection reads and discards before it is closed."""

    def __init__(self, drains: bool, due: int | None, max_body_bytes: int) -> None:
        self.drains = drains
        """Whether the connection reads a refused upload to its end."""
        self._due = due  # the body bytes that have not arrived, or None if unknown
        self._left = DRAINED_BODIES * max_body_bytes if drains else LINGER_BYTES

    def received(self, nbytes: int) -> None:
        """Count `nbytes` bytes that were read and discarded."""
        self._left -= nbytes
        if self._due is not None:
            self._due -= nbytes

    @property
    def is_over(self) -> bool:
        """Whether the whole refused upload has arrived."""
        return self.drains and self._due is not None and self._due <= 0

    @property
    def is_too_much(self) -> bool:
        """Whether the maximum number of discarded bytes is reached."""
        return self._left <= 0
