"""The memory and the processor time of a call."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from axiscast.wire.problems import Problem


def collect_new() -> None:
    """Collect garbage, and exempt what is left. The next collection then looks only at newer objects."""
    gc.collect()
    gc.freeze()


def taken(work: Callable[[], Any]) -> int:
    """Return the peak of the memory in bytes that Python and NumPy allocate during a call."""
    collect_new()
    tracemalloc.start()
    try:
        work()
    except Problem:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def kept(work: Callable[[], Any]) -> int:
    """Return the memory in bytes that Python and NumPy still hold after a call."""
    collect_new()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def least_seconds(work: Callable[[], object], enough: float, tries: int = 20) -> float:
    """Return the least processor time in seconds of several calls. If a call takes less than `enough`, it is the last.

    A garbage collection or a busy machine can make any single call slow, but a real error makes all calls slow.
    """
    least = float("inf")
    for _ in range(tries):
        start = time.thread_time()
        work()
        least = min(least, time.thread_time() - start)
        if least < enough:
            break
    return least
