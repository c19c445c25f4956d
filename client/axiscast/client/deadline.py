"""Deadline: the time by which a call must end, retries included."""

from __future__ import annotations

import time

from ..errors import DeadlineExceeded


class Deadline:
    """The time by which one call must end. It starts to count when it is created."""

    def __init__(self, timeout: float | None) -> None:
        """`timeout` is the total time of the call in seconds. With None, the call has no deadline."""
        self.timeout = timeout
        self._end = None if timeout is None else time.monotonic() + timeout

    def remaining(self) -> float | None:
        """Return the seconds that are left, at least 0. If there is no deadline, return None."""
        return None if self._end is None else max(self._end - time.monotonic(), 0.0)

    @property
    def has_passed(self) -> bool:
        """Whether the time is over."""
        return self.remaining() == 0.0

    def exceeded(self) -> DeadlineExceeded:
        """Return the exception of a call whose response is not complete in time."""
        return DeadlineExceeded(f"no complete response within {self.timeout} s")
