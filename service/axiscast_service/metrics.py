"""Prometheus metrics, which use OpenTelemetry's names if such names exist.

This module is imported only if metrics are enabled. Several workers store their counts in files in one directory
(PROMETHEUS_MULTIPROC_DIR, created by `serve`), so that each worker can report the metrics of all workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib.metadata import version as distribution_version
from pathlib import Path
from platform import python_version
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

from axiscast import __version__
from axiscast.wire.problems import PROBLEM_KINDS

REASONS = (
    "malformed-request",
    "head-too-large",
    "misdirected-request",
    "request-timeout",
    "overloaded",
    "shutting-down",
    "internal",
    "silent",
    "stalled-reader",
    "no-room",
    "handshake",
)
"""The reasons why a connection may be refused or aborted. The last four are not codes of problems."""
VERSIONS = {"version": __version__, "python": python_version(), "numpy": distribution_version("numpy")}
"""The labels of the metric that shows which version runs."""
BUCKETS = (0.00005, 0.0001, 0.00025, 0.001, 0.005, 0.025, 0.1, 0.25, 1.0, 10.0, 60.0)
"""The upper bounds of the duration buckets. A check takes about 40 us, and a stream may take a minute. Each bucket is a
time series for each combination of labels, so there are few of them."""


class Metrics:
    """The metrics of one application. Labels have few possible values, such as route templates, methods and codes."""

    def __init__(self, held: Callable[[], float], budget: float) -> None:
        """`held` returns the bytes that requests in flight have reserved, of the `budget` bytes of the worker."""
        disable_created_metrics()
        self._directory = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        self._registry = CollectorRegistry()
        if self._directory is None:
            ProcessCollector(registry=self._registry)
            PlatformCollector(registry=self._registry)
            GCCollector(registry=self._registry)
        build = self._gauge("axiscast_build_info", "Always 1. The labels are the versions.", *VERSIONS, mode="livemax")
        build.labels(**VERSIONS).set(1)
        # In prometheus-client, looking up labels takes longer than counting. Therefore the metrics with labels are
        # cached.
        active = self._gauge("http_server_active_requests", "HTTP requests in flight.", "http_request_method")
        self._active = cache(active.labels)
        duration = Histogram(
            "http_server_request_duration_seconds",
            "Seconds from the end of a request's header block to the last byte of the response.",
            ("http_request_method", "http_route", "http_response_status_code"),
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._duration = cache(duration.labels)
        problems = self._counter("axiscast_problems", "Problem documents sent.", "code")
        self._problems = {code: problems.labels(code) for code in PROBLEM_KINDS}
        output = self._counter("axiscast_output_bytes", "Bytes sent in responses to /v1/broadcast.", "layout")
        self._output = {layout: output.labels(layout) for layout in ("dense", "strided")}
        refused = self._counter(
            "axiscast_connections_refused", "Connections refused or aborted before a request was complete.", "reason"
        )
        self._refused = {reason: refused.labels(reason) for reason in REASONS}
        unfinished = self._counter("axiscast_unfinished_answers", "Responses that ended before they were complete.")
        self.unfinished = unfinished.inc
        """A function that counts a response that ended before it was complete."""
        dropped = self._counter(
            "axiscast_log_lines_dropped", "Log lines that were dropped because the reader of stderr is too slow."
        )
        self.log_lines_dropped = dropped.inc
        """A function that counts a number of dropped log lines."""
        self._lag = self._gauge(
            "axiscast_event_loop_lag_seconds",
            "The longest delay of a timer in the last minute, in seconds. All requests and new connections waited "
            "this long.",
            mode="livemax",
        )
        self._gauge(
            "axiscast_memory_budget_bytes",
            "The bytes that requests may reserve: three quarters of the memory budget, or half with TLS, summed over "
            "all workers.",
        ).set(budget)
        self._memory = self._gauge("axiscast_memory_bytes", "Bytes that requests in flight have reserved.")
        self._ratio = self._gauge(
            "axiscast_memory_held_ratio",
            "The reserved fraction of the memory budget (0 to 1), in the worker with the highest fraction.",
            mode="livemax",
        )
        self._held, self._budget = held, budget

    def _counter(self, name: str, doc: str, *labels: str) -> Counter:
        return Counter(name, doc, labels, registry=self._registry)

    def _gauge(self, name: str, doc: str, *labels: str, mode: Literal["livesum", "livemax"] = "livesum") -> Gauge:
        return Gauge(name, doc, labels, registry=self._registry, multiprocess_mode=mode)

    def lag(self, seconds: float) -> None:
        """Set the longest delay of the event loop in the last minute. This method is called twenty times per second."""
        self._lag.set(seconds)
        if self._directory is not None:
            self._refresh()  # another worker may serve the next GET /metrics

    def began(self, method: str) -> None:
        """Count a request that has begun as in flight."""
        self._active(method).inc()

    def ended(self, method: str) -> None:
        """Count a request that has ended as no longer in flight."""
        self._active(method).dec()

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a response, and record the duration of its request in seconds. The status is 0 without a response."""
        self._duration(method, route, status or "").observe(seconds)

    def problem(self, code: str) -> None:
        """Count a problem response with this code."""
        self._problems[code].inc()

    def refused(self, reason: str) -> None:
        """Count a connection that was refused or aborted for this reason."""
        self._refused[reason].inc()

    def output(self, layout: str, nbytes: int) -> None:
        """Count the bytes of a response to a /v1/broadcast request."""
        self._output[layout].inc(nbytes)

    def _refresh(self) -> None:
        held = self._held()
        self._memory.set(held)
        self._ratio.set(held / self._budget)

    def exposition(self) -> bytes:
        """Return the metrics of all workers in the Prometheus text format."""
        self._refresh()
        if self._directory is None:
            return generate_latest(self._registry)
        for path in Path(self._directory).glob("gauge_live*.db"):
            pid = int(path.stem.rpartition("_")[2])
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                mark_process_dead(pid)  # otherwise the requests of a killed worker would count as in flight forever
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
        return generate_latest(registry)
