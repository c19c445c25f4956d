"""Cooperative cancellation of long work on a thread.

A thread can't be stopped from outside. Long work therefore runs in steps of at most about 50 ms and calls
`checkpoint()` between them, which raises if the work was cancelled or has taken too long. Outside a CancellableWork,
on the event loop or in the user's own program, `checkpoint()` does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from time import monotonic
from typing import Any

from .problems import Problem

MAX_SECONDS = 10
"""The time after which work is stopped: several times what the limits of a request admit."""

_thread = local()


class WorkCancelled(Exception):
    """The work was cancelled, because its client has disconnected."""


class CancellableWork:
    """A call of a function that another thread can cancel."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call: tuple[Callable[..., Any], tuple[Any, ...]] | None = (function, arguments)
        self._end = 0.0
        self._cancelled = False

    def cancel(self) -> None:
        """Stop the work at its next checkpoint. Any thread may call this."""
        self._cancelled = True

    def run(self) -> tuple[Any, Exception | None]:
        """Return the result, or None and the exception.

        An exception that is raised on the thread would form a reference cycle with the caller that waits for it. The
        memory that its frames hold, such as a body, would then stay until the next full garbage collection.
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
        """Raise WorkCancelled if the work was cancelled, and Problem (work-too-large) if it has taken too long."""
        if self._cancelled:
            raise WorkCancelled
        if monotonic() > self._end:
            raise Problem("work-too-large", f"the request took more than {MAX_SECONDS} seconds: send a smaller request")


def checkpoint() -> None:
    """Raise an exception if the work of this thread must stop. See CancellableWork.checkpoint."""
    work: CancellableWork | None = getattr(_thread, "work", None)
    if work is not None:
        work.checkpoint()
