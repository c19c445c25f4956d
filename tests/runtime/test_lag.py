"""The lag of the event loop: measured in one worker and in several."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from contextlib import suppress

import httpx
import pytest
from cases import cases
from conftest import PATIENCE, served, wait_for
from test_metrics import workers_of

from axiscast_service.runtime.lag import measure_loop_lag


def test_the_lag_of_a_blocked_loop_is_reported_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("axiscast_service.runtime.lag.WINDOW_SECONDS", 0.2)
    reported: list[float] = []

    async def hold() -> None:
        with measure_loop_lag(reported.append):
            await asyncio.sleep(0.2)
            time.sleep(2)
            while not reported or reported[-1] < 1.9:
                await asyncio.sleep(0.01)
            while reported[-1] >= 1.9:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(hold(), PATIENCE))
    assert max(reported) >= 1.9


@cases("workers", [1, 2])
def test_the_longest_lag_of_any_worker_is_a_metric(workers: int) -> None:
    with served(workers=workers) as running:

        def lag() -> float:
            text = httpx.get(f"{running.url}/metrics").text
            return float(re.findall(r"^axiscast_event_loop_lag_seconds (.*)", text, re.MULTILINE)[0])

        def stopped_long_enough() -> bool:
            # The first time this worker may not have begun. On a busy machine a worker that stands still may be taken
            # for dead, and replaced.
            for pid in workers_of(running)[:1] if workers > 1 else [running.process.pid]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
                    time.sleep(1)
                    os.kill(pid, signal.SIGCONT)
            return lag() >= 0.8

        assert wait_for(stopped_long_enough)
