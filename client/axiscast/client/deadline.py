"""Deadline: the time by which a call must end, including retries."""

from __future__ import annotations

import time

from ..errors import DeadlineExceeded


class Deadline:
    """The time by which one call must end. The timeout starts when the Deadline is created."""

    def __init__(self, timeout: float | None) -> None:
        """Start the timeout, which is the total time for the call in seconds. None means that there is no deadline."""
        self.timeout = timeout
        self._end = None if timeout is None else time.monotonic() + timeout

    def remaining(self) -> float | None:
        """Return the number of seconds until the deadline, which is at least 0, or None if there is no deadline."""
        return None if self._end is None else max(self._end - time.monotonic(), 0.0)

    @property
    def has_passed(self) -> bool:
        """Whether the call's deadline has passed."""
        return self.remaining() == 0.0

    def exceeded(self) -> DeadlineExceeded:
        """Return the exception to raise if the response is not complete at the deadline."""
        return DeadlineExceeded(f"no complete response within {self.timeout} s")
