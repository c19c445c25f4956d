"""The lag of the event loop: how late its timers are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

PERIOD_SECONDS = 0.05
"""A timer is due this often. If something blocks the loop, up to this much of its time is not measured."""
WINDOW_SECONDS = 30
"""The longest lag of this window and the one before is reported, so that a reader each minute misses none."""


@contextmanager
def measure_loop_lag(report: Callable[[float], None]) -> Iterator[None]:
    """While the context is open, call `report` with the longest lag of the running loop, in seconds.

    No request measures it: if the loop is late, the clock of the request starts late too.
    """
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
        report(max(before, longest))
        due = now + PERIOD_SECONDS
        timer = loop.call_later(PERIOD_SECONDS, tick)

    timer = loop.call_later(PERIOD_SECONDS, tick)
    try:
        yield
    finally:
        timer.cancel()
