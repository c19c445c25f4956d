"""Work that somebody waits for: done in steps on a thread, and left off where nobody waits any more.

A thread can't be ended from outside. So whatever takes long goes in steps of at most some 50 ms and calls
`checkpoint()` between them, which ends it by an exception once its caller has gone or its seconds are over. What runs
outside of a Work, on the event loop or in a program of one's own, is never ended.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from time import monotonic
from typing import Any

from .problems import Problem

MAX_SECONDS = 10
"""What one piece of work may take: several times what limits.py lets through."""

_thread = local()


class WorkCancelled(Exception):
    """Nobody waits for this any more."""


class CancellableWork:
    """One piece of work: a function and its arguments."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call: tuple[Callable[..., Any], tuple[Any, ...]] | None = (function, arguments)
        self._end = 0.0
        self._cancelled = False

    def cancel(self) -> None:
        """Let the work end at its next checkpoint. From any thread."""
        self._cancelled = True

    def run(self) -> tuple[Any, Exception | None]:
        """The result, or the exception. Raised on a thread, it would be part of a cycle with what waits for the thread,
        and all that its frames hold, a body for one, would wait for the next full collection."""
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
        """Raises Abandoned, or Problem (work-too-large) where it has taken too long."""
        if self._cancelled:
            raise WorkCancelled
        if monotonic() > self._end:
            raise Problem("work-too-large", f"this took more than {MAX_SECONDS} seconds: ask for less at once")


def checkpoint() -> None:
    """Go on with the work of this thread. Raises what ends it: see Work.checkpoint."""
    work: CancellableWork | None = getattr(_thread, "work", None)
    if work is not None:
        work.checkpoint()
