"""Metrics for Prometheus, under OpenTelemetry's names where it has one. Imported only where they are wanted.

Several workers count into files of one directory (PROMETHEUS_MULTIPROC_DIR, which `serve` makes), so that whichever
is asked answers for all.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Literal

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from axiscast.wire.problems import PROBLEM_KINDS

REASONS = (*PROBLEM_KINDS, "silent", "stalled-reader", "no-room", "handshake")
"""Why a connection is refused or cut."""
BUCKETS = (0.001, 0.0025, *Histogram.DEFAULT_BUCKETS[:-1], 30.0, 60.0)
"""OpenTelemetry's, and more at both ends: a check takes less than a millisecond, a stream may take a minute."""


class Metrics:
    """What one application has done. Labels have few values: templates of routes, known methods, known codes."""

    def __init__(self) -> None:
        disable_created_metrics()
        self._directory = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        self._registry = CollectorRegistry()
        if self._directory is None:
            ProcessCollector(registry=self._registry)
            PlatformCollector(registry=self._registry)
            GCCollector(registry=self._registry)
        # Finding the labels' own counter takes prometheus-client longer than counting does: it is looked for once.
        active = self._gauge("http_server_active_requests", "HTTP requests in work.", "http_request_method")
        self._active = cache(active.labels)
        duration = Histogram(
            "http_server_request_duration_seconds",
            "Seconds from the head of a request to the last byte of its answer.",
            ("http_request_method", "http_route", "http_response_status_code"),
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._duration = cache(duration.labels)
        problems = self._counter("axiscast_problems", "Problem documents sent.", "code")
        self._problems = {code: problems.labels(code) for code in PROBLEM_KINDS}
        output = self._counter("axiscast_output_bytes", "Bytes sent as answers to broadcast.", "layout")
        self._output = {layout: output.labels(layout) for layout in ("dense", "strided")}
        refused = self._counter(
            "axiscast_connections_refused", "Connections refused or cut, before a request.", "reason"
        )
        self._refused = {reason: refused.labels(reason) for reason in REASONS}
        self._unfinished = self._counter("axiscast_unfinished_answers", "Answers that broke off before their end.")
        self._lag = self._gauge(
            "axiscast_event_loop_lag_seconds",
            "Longest that a timer was late in the last minute: so long did all callers wait, and new connections.",
            mode="livemax",
        )
        self._held: Callable[[], float] | None = None

    def _counter(self, name: str, doc: str, *labels: str) -> Counter:
        return Counter(name, doc, labels, registry=self._registry)

    def _gauge(self, name: str, doc: str, *labels: str, mode: Literal["livesum", "livemax"] = "livesum") -> Gauge:
        return Gauge(name, doc, labels, registry=self._registry, multiprocess_mode=mode)

    def watch_memory(self, held: Callable[[], float], budget: float) -> None:
        """Report the bytes that requests in work hold, of those that they may hold together."""
        self._gauge("axiscast_memory_budget_bytes", "Bytes that requests in work may hold.").set(budget)
        self._memory = self._gauge("axiscast_memory_bytes", "Bytes that requests in work hold.")
        self._ratio = self._gauge(
            "axiscast_memory_held_ratio",
            "Part of its budget that the requests of the fullest worker hold, 0 to 1.",
            mode="livemax",
        )
        self._held, self._budget = held, budget

    def lag(self, seconds: float) -> None:
        """So late was the event loop at the most in the last minute. It is told twenty times a second."""
        self._lag.set(seconds)
        if self._directory is not None:
            self._refresh()  # another worker may be the one that is asked

    def began(self, method: str) -> None:
        """A request has come in."""
        self._active(method).inc()

    def ended(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request that had begun has been answered; status 0 where no answer was begun."""
        self._active(method).dec()
        self.answered(method, route, status, seconds)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request has been answered."""
        self._duration(method, route, status or "").observe(seconds)

    def problem(self, code: str) -> None:
        """A problem document has been sent."""
        self._problems[code].inc()

    def refused(self, reason: str) -> None:
        """A connection has been refused or cut."""
        self._refused[reason].inc()

    def output(self, layout: str, nbytes: int) -> None:
        """So many bytes of a broadcast answer have been sent."""
        self._output[layout].inc(nbytes)

    def unfinished(self) -> None:
        """An answer has broken off."""
        self._unfinished.inc()

    def _refresh(self) -> None:
        if self._held is not None:
            held = self._held()
            self._memory.set(held)
            self._ratio.set(held / self._budget)

    def exposition(self) -> bytes:
        """All metrics, of all workers, as Prometheus reads them."""
        self._refresh()
        if self._directory is None:
            return generate_latest(self._registry)
        for path in Path(self._directory).glob("gauge_live*.db"):
            pid = int(path.stem.rpartition("_")[2])
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                mark_process_dead(pid)  # else what a killed worker had in work would count for ever
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
        return generate_latest(registry)
