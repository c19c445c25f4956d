"""The measurement of the event loop's lag, which is the delay of its timers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

PERIOD_SECONDS = 0.05
"""The interval, in seconds, of the timer that measures the lag. The measured lag can be too short by up to this
time."""
WINDOW_SECONDS = 30
"""The length of a window in seconds. The longest lag in the last two windows is reported, so that reading the metric
once a minute is enough."""


@contextmanager
def measure_loop_lag(report: Callable[[float], None]) -> Iterator[None]:
    """While the context is open, call `report` with the longest lag of the running event loop, in seconds.

    The measured duration of a request does not include this lag, because a late event loop also starts measuring late.
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
