"""How a connection is closed whose client may still be sending.

If it were closed immediately, the system would answer what still comes by a reset, and a reset makes the client's
system throw the response away. So the connection is half closed, and what comes is read and thrown away. Of a refused
upload that is all of it, since many clients read nothing before they have sent everything; else a little, for a moment.
"""

from __future__ import annotations

LINGER_SECONDS = 2
"""A connection that is not drained is closed after so long."""
LINGER_BYTES = 2**20
"""Bytes that are read meanwhile. More is left unread."""
DRAINED_BODIES = 2
"""How many times `max_body_bytes` of a refused upload are read, so that one a little too large is read to its end."""


class LingeringClose:
    """What is still read of one connection."""

    __slots__ = ("_due", "_left", "drains")

    def __init__(self, drains: bool, due: int | None, max_body_bytes: int) -> None:
        self.drains = drains
        """Whether an upload is read to its end, however long it takes."""
        self._due = due  # bytes of the body that have not come; None if that is not known
        self._left = DRAINED_BODIES * max_body_bytes if drains else LINGER_BYTES

    def received(self, nbytes: int) -> None:
        """Count bytes that were discarded."""
        self._left -= nbytes
        if self._due is not None:
            self._due -= nbytes

    @property
    def is_over(self) -> bool:
        """Whether all of the body has come."""
        return self.drains and self._due is not None and self._due <= 0

    @property
    def is_too_much(self) -> bool:
        """Whether no more is read."""
        return self._left <= 0
