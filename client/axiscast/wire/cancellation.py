"""Cooperative cancellation of long-running work on a worker thread.

Python cannot stop a thread from outside. Long-running work is therefore split into steps of at most about 50 ms, and
calls `checkpoint()` between two steps. `checkpoint()` raises an exception if the work was cancelled or has run for too
long. Outside a CancellableWork, for example on the event loop or in the user's own program, `checkpoint()` does
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from time import monotonic
from typing import Any

from .problems import Problem

MAX_SECONDS = 10
"""The time, in seconds, after which work is stopped. A request within the limits takes only a fraction of this time."""


class WorkCancelled(Exception):
    """The exception that a checkpoint raises if the work was cancelled because the client has disconnected."""


class CancellableWork:
    """A function call that another thread can cancel."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call: tuple[Callable[..., Any], tuple[Any, ...]] | None = (function, arguments)
        self._end = 0.0
        self._cancelled = False

    def cancel(self) -> None:
        """Make the work stop at its next checkpoint. Any thread may call this method."""
        self._cancelled = True

    def run(self) -> tuple[Any, Exception | None]:
        """Call the function and return (result, None), or (None, exception) if the function raises an exception.

        The exception is returned because an exception raised on this thread would form a reference cycle with the
        waiting caller. The memory that the exception's frames hold, such as a request body, would then stay allocated
        until the next full garbage collection.
        """
        assert self._call is not None
        (function, arguments), self._call = self._call, None
        self._end = monotonic() + MAX_SECONDS
        _thread.work = self
        try:
            self.checkpoint()
            return function(*arguments), None
        except Exception as error:
            return None, error
        finally:
            _thread.work = None

    def checkpoint(self) -> None:
        """Raise WorkCancelled if the work was cancelled, or Problem (work-too-large) if it ran for too long."""
        if self._cancelled:
            raise WorkCancelled
        if monotonic() > self._end:
            raise Problem("work-too-large", f"the request took more than {MAX_SECONDS} seconds: send a smaller request")


class _Thread(local):
    work: CancellableWork | None = None


_thread = _Thread()


def checkpoint() -> None:
    """Raise an exception if the work on this thread must stop. CancellableWork.checkpoint lists the exceptions."""
    if _thread.work is not None:
        _thread.work.checkpoint()
