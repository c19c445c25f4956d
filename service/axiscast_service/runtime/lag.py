"""How late the event loop is: what no clock sees that starts with a request, since a late loop starts it late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

PERIOD_SECONDS = 0.05
"""A timer is due so often. A loop that is held for a moment is seen as late by so much less, at the most."""
WINDOW_SECONDS = 30
"""The longest is told of this window and the one before, so that whoever asks each minute misses none."""


@contextmanager
def lag_told(tell: Callable[[float], None]) -> Iterator[None]:
    """While inside, `tell` hears how many seconds the running loop was late at the most, of late."""
    loop = asyncio.get_running_loop()
    before = longest = 0.0
    due = perf_counter() + PERIOD_SECONDS
    end = due + WINDOW_SECONDS
    timer: asyncio.TimerHandle

    def tick() -> None:
        nonlocal before, longest, due, end, timer
        now = perf_counter()
        if now >= end:
            before, longest, end = longest, 0.0, now + WINDOW_SECONDS
        longest = max(longest, now - due)
        tell(max(before, longest))
        due = now + PERIOD_SECONDS
        timer = loop.call_later(PERIOD_SECONDS, tick)

    timer = loop.call_later(PERIOD_SECONDS, tick)
    try:
        yield
    finally:
        timer.cancel()
