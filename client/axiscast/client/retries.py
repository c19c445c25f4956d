"""RetryPolicy: the deadline of a call, and whether and when it is tried again."""

from __future__ import annotations

import random
import time
from email.utils import parsedate_to_datetime

from ..errors import AxiscastError, ConnectionFailed, ServiceProblem, UnexpectedStatus

LONGEST_RETRY_AFTER = 3600.0
RETRIED_STATUSES = frozenset({408, 429, 502, 503, 504})
"""Statuses that say that the same request may succeed later."""


class RetryPolicy:
    """The deadline of one call, and whether and when it is tried again. No request has side effects, so any may be.

    The delay between two attempts doubles up to LONGEST_DELAY, and is never shorter than what Retry-After asks for.
    """

    FIRST_DELAY = 0.1
    LONGEST_DELAY = 5.0

    def __init__(self, timeout: float | None, retries: int) -> None:
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self.timeout = timeout
        self._left = retries
        self._delay = self.FIRST_DELAY

    def remaining(self) -> float | None:
        """Seconds to the deadline, not below 0; None where there is none."""
        return None if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self._deadline is not None and time.monotonic() >= self._deadline

    def delay_after(self, error: AxiscastError, retry_after: str | None = None) -> float:
        """Return the seconds to wait before the next attempt. Raises `error` if there is no further attempt."""
        if self._left <= 0 or not _may_pass(error):
            raise error
        self._left -= 1
        # Half of the delay is jitter, so that clients that failed together do not come back together.
        delay = max(self._delay * random.uniform(0.5, 1.0), _seconds(retry_after))
        self._delay = min(self._delay * 2, self.LONGEST_DELAY)
        remaining = self.remaining()
        if remaining is not None and delay >= remaining:
            raise error
        return delay


def _may_pass(error: AxiscastError) -> bool:
    """Return whether the same request may succeed later."""
    if isinstance(error, ServiceProblem | UnexpectedStatus):
        return error.status in RETRIED_STATUSES
    return isinstance(error, ConnectionFailed) and not error.is_permanent


def _seconds(retry_after: str | None) -> float:
    """What Retry-After asks for, in seconds from now; 0 where it says nothing that can be read."""
    if not retry_after:
        return 0.0
    try:
        if retry_after.strip().isdecimal():
            return min(float(retry_after), LONGEST_RETRY_AFTER)
        return min(max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0), LONGEST_RETRY_AFTER)
    except (ValueError, OverflowError):
        return 0.0
