"""The telemetry of requests, which consists of metrics and access log lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from axiscast.wire.problems import PROBLEM_KINDS

from ..logs import trace_ids_of
from .client_facts import ClientFacts

if TYPE_CHECKING:
    from ..metrics import Metrics

Log = Callable[[str, str, Mapping[str, Any]], None]
"""A function that writes a log line with a level, a message and fields. Empty fields are left out."""
KNOWN_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE")
OTHER_METHOD = "_OTHER"
"""OpenTelemetry's name for all unknown HTTP methods. A single name limits the number of label values."""
MONITORING_PATHS = ("/livez", "/readyz", "/metrics")
"""The paths that monitoring systems request every few seconds. These requests are not traced, and only failures are
logged.
"""


@dataclass(eq=False)
class Telemetry:
    """The metrics and the access log of one application. Either may be None."""

    metrics: Metrics | None
    log: Log | None
    client_facts: ClientFacts

    def record(
        self,
        method: str,
        route: str,
        status: int,
        nbytes: int,
        seconds: float,
        state: Mapping[str, Any],
        fields: Mapping[bytes, bytes],
        peer: tuple[str, int] | None,
        complete: bool = True,
    ) -> None:
        """Count and log a request whose response has ended.

        `state` contains what the handler and the connection have stored: `request_id`, `key_name`, `layout`, `problem`
        (the code of a problem response), and `refusal` (the code of a problem response that the connection itself has
        sent, and has already counted in the metrics).
        """
        code, refusal = state.get("problem"), state.get("refusal")
        if refusal is not None:
            status = PROBLEM_KINDS[refusal].status
        if (metrics := self.metrics) is not None:
            metrics.answered(method, route, status, seconds)
            if code is not None:
                metrics.problem(code)
            if (layout := state.get("layout")) is not None:
                metrics.output(layout, nbytes)
            if not (complete or refusal):
                metrics.unfinished()
        if self.log is not None and (status >= 400 or route not in MONITORING_PATHS):
            facts = {"method": method, "route": route, "status": status, "code": refusal or code}
            facts |= {"bytes": None if refusal else 0 if method == "HEAD" else nbytes, "seconds": round(seconds, 6)}
            facts |= {"request_id": state.get("request_id")} | trace_ids_of(fields)
            facts |= {"key": state.get("key_name")} | self.client_facts(peer, fields)
            level = "WARNING" if status >= 500 else "INFO"
            self.log(level, "answered" if complete or refusal else "incomplete response", facts)
