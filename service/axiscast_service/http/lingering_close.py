"""The lingering close of a connection whose client may still be sending.

After an immediate close, the system answers further data with a reset, and a reset makes the client's system discard
the response. So the connection is half closed, and further data is discarded: all of a refused upload, because many
clients read nothing before they have sent everything, otherwise LINGER_BYTES for LINGER_SECONDS.
"""

from __future__ import annotations

LINGER_SECONDS = 2
"""A connection that is not drained is closed after this time."""
LINGER_BYTES = 2**20
"""Bytes that are read meanwhile. More bytes are left unread."""
DRAINED_BODIES = 2
"""A refused upload is read up to this multiple of `max_body_bytes`, so that a slightly too large one is drained."""


class LingeringClose:
    """How much is still read from one connection."""

    __slots__ = ("_due", "_left", "drains")

    def __init__(self, drains: bool, due: int | None, max_body_bytes: int) -> None:
        self.drains = drains
        """Whether a refused upload is read to its end."""
        self._due = due  # bytes of the body that have not arrived; None if unknown
        self._left = DRAINED_BODIES * max_body_bytes if drains else LINGER_BYTES

    def received(self, nbytes: int) -> None:
        """Count bytes that were discarded."""
        self._left -= nbytes
        if self._due is not None:
            self._due -= nbytes

    @property
    def is_over(self) -> bool:
        """Whether all of the body has arrived."""
        return self.drains and self._due is not None and self._due <= 0

    @property
    def is_too_much(self) -> bool:
        """Whether the limit of discarded bytes is reached."""
        return self._left <= 0
