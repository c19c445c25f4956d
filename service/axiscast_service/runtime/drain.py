"""Shutting down without a failed request: not ready at once, then no new connections, then the end, in any case."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LEAVE_SECONDS = 2
"""So long after running answers were to finish, the system ends the process, whatever it is still at."""


class Drain:
    """Whether a shutdown has begun. Readiness and `Connection: close` follow it."""

    def __init__(self, seconds: float, finish_seconds: float) -> None:
        self.begun = False
        self.seconds = seconds
        self.finish_seconds = finish_seconds

    @contextmanager
    def on_sigterm(self) -> Iterator[None]:
        """While inside, SIGTERM begins the drain, and reaches the server's own handler `seconds` later;
        a second one reaches it at once. Does nothing where signals can't be had (not the main thread)."""
        previous = signal.getsignal(signal.SIGTERM)
        if threading.current_thread() is not threading.main_thread() or not callable(previous):
            yield
            return
        loop = asyncio.get_running_loop()

        def begin(number: int, frame: FrameType | None) -> None:
            if self.begun:
                previous(number, frame)
                return
            self.begun = True
            if hasattr(signal, "SIGALRM"):
                # Not by Python, which may be busy: a signal without a handler ends the process from outside.
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.setitimer(signal.ITIMER_REAL, self.seconds + self.finish_seconds + LEAVE_SECONDS)
            loop.call_soon_threadsafe(loop.call_later, self.seconds, previous, number, frame)

        signal.signal(signal.SIGTERM, begin)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, previous)
