"""The drain before a shutdown: first /readyz fails, then new connections are refused, and then the process ends."""

from __future__ import annotations

import asyncio
import atexit
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LEAVE_SECONDS = 2
"""The number of seconds between the time limit for the last response and the end of the process."""

if hasattr(signal, "setitimer"):
    # Cancel the timer of `Drain` once all threads have ended. On a busy machine, the interpreter needs seconds to end.
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)


class Drain:
    """The state of a shutdown. After it has begun, /readyz fails and responses have the header `Connection: close`."""

    def __init__(self, seconds: float, finish_seconds: float) -> None:
        self.begun = False
        self.seconds = seconds
        self.finish_seconds = finish_seconds

    @contextmanager
    def on_sigterm(self) -> Iterator[None]:
        """While this context manager is active, SIGTERM makes the service finish its requests and stop.

        The server's own handler is called `seconds` after SIGTERM.
        A second SIGTERM calls the server's handler immediately. Outside the main thread, the context does nothing,
        because only the main thread receives signals.
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
                # If a signal has no handler, the system ends the process on this signal, even if Python is busy.
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.setitimer(signal.ITIMER_REAL, self.seconds + self.finish_seconds + LEAVE_SECONDS)
            loop.call_soon_threadsafe(loop.call_later, self.seconds, previous, number, frame)

        signal.signal(signal.SIGTERM, begin)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, previous)
