"""RetryPolicy decides whether and when a failed call is retried, and Deadline limits the time of the whole call."""

from __future__ import annotations

import random
import time
from email.utils import parsedate_to_datetime

from ..errors import AxiscastError, ConnectionFailed, DeadlineExceeded, ServiceProblem, UnexpectedStatus

LONGEST_RETRY_AFTER_SECONDS = 3600.0
"""The maximum delay in seconds that a Retry-After header can request. Longer delays are shortened to this value."""
RETRIED_STATUSES = frozenset({408, 429, 502, 503, 504})
"""The HTTP statuses after which a request is retried, because the same request may succeed later."""


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


class RetryPolicy:
    """The rules for retrying one call. Every request may be repeated, because no request has side effects.

    The delay doubles with each retry, up to LONGEST_DELAY. The delay is never shorter than the delay that the
    Retry-After header requests.
    """

    FIRST_DELAY = 0.1
    """The delay before the first retry, in seconds."""
    LONGEST_DELAY = 5.0
    """The maximum delay before a retry, in seconds, unless the Retry-After header requests a longer delay."""

    def __init__(self, timeout: float | None, retries: int) -> None:
        self.deadline = Deadline(timeout)
        self._retries_left = retries
        self._delay = self.FIRST_DELAY

    def delay_after(self, error: AxiscastError, retry_after: str | None = None) -> float:
        """Return the number of seconds to wait before the next attempt.

        Raises `error` if the call must not be retried.
        """
        if self._retries_left <= 0 or not _may_succeed_later(error):
            raise error
        self._retries_left -= 1
        # Up to half of the delay is random, so that clients that failed at the same time do not retry at the same time.
        delay = max(self._delay * random.uniform(0.5, 1.0), _retry_after_seconds(retry_after))
        self._delay = min(self._delay * 2, self.LONGEST_DELAY)
        remaining = self.deadline.remaining()
        if remaining is not None and delay >= remaining:
            raise error
        return delay


def _may_succeed_later(error: AxiscastError) -> bool:
    """Return whether the same request may succeed later, after this error."""
    if isinstance(error, ServiceProblem | UnexpectedStatus):
        return error.status in RETRIED_STATUSES
    return isinstance(error, ConnectionFailed) and not error.is_permanent


def _retry_after_seconds(retry_after: str | None) -> float:
    """Return the delay that a Retry-After header requests, in seconds, or 0 if the header is missing or invalid."""
    if not retry_after:
        return 0.0
    try:
        if retry_after.strip().isdecimal():
            return min(float(retry_after), LONGEST_RETRY_AFTER_SECONDS)
        return min(max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0), LONGEST_RETRY_AFTER_SECONDS)
    except (ValueError, OverflowError):
        return 0.0
