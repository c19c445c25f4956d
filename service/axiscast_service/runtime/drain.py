"""The drain before a shutdown: first /readyz fails, then no connection is accepted, then the process ends."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LEAVE_SECONDS = 2
"""The system ends the process this long after the last response should have been complete."""


class Drain:
    """The state of a shutdown: once it has begun, /readyz fails and responses have `Connection: close`."""

    def __init__(self, seconds: float, finish_seconds: float) -> None:
        self.begun = False
        self.seconds = seconds
        self.finish_seconds = finish_seconds

    @contextmanager
    def on_sigterm(self) -> Iterator[None]:
        """While the context is open, let SIGTERM begin the drain. `seconds` later the server's own handler is called.

        A second SIGTERM calls it immediately. Outside the main thread, which alone gets signals, do nothing.
        """
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
                # A signal without a handler ends the process even if Python is busy.
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.setitimer(signal.ITIMER_REAL, self.seconds + self.finish_seconds + LEAVE_SECONDS)
            loop.call_soon_threadsafe(loop.call_later, self.seconds, previous, number, frame)

        signal.signal(signal.SIGTERM, begin)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, previous)
