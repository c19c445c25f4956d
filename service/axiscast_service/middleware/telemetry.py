"""The telemetry of requests, which consists of metrics and access log lines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from axiscast.wire.problems import PROBLEM_KINDS

from ..logs import trace_ids_of
from .client_facts import ClientFacts, joined_fields

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
class TelemetryMiddleware:
    """The outermost ASGI middleware, which measures each request until the last byte of the response is sent."""

    app: ASGIApp
    metrics: Metrics | None
    log: Log | None
    client_facts: ClientFacts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = sent = 0
        complete = False

        def send_counted(message: Message) -> Awaitable[None]:
            nonlocal status, sent, complete
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                sent += len(message.get("body", b""))
                complete = not message.get("more_body", False)
            return send(message)

        method = scope["method"] if scope["method"] in KNOWN_METHODS else OTHER_METHOD
        start = perf_counter()
        if self.metrics is not None:
            self.metrics.began(method)

        def record() -> None:
            self._record(scope, method, status, sent, complete, perf_counter() - start)

        try:
            await self.app(scope, receive, send_counted)
        finally:
            if complete:
                record()
            else:  # wait until the connection has refused the request, if the application was cancelled
                asyncio.get_running_loop().call_soon(record)

    def _record(self, scope: Scope, method: str, status: int, sent: int, complete: bool, seconds: float) -> None:
        """Count and log a request that has ended."""
        # The router and other middleware have stored the route, the problem and the layout in this ASGI scope.
        route, state = getattr(scope.get("route"), "path", ""), scope["state"]
        code, layout = state.get("problem"), state.get("layout")
        refusal = state.get("refusal")  # the code of a problem that the connection has sent and counted
        if refusal is not None:
            status = PROBLEM_KINDS[refusal].status
        if (metrics := self.metrics) is not None:
            metrics.ended(method, route, status, seconds)
            if code is not None:
                metrics.problem(code)
            if layout is not None:
                metrics.output(layout, sent)
            if not (complete or refusal):
                metrics.unfinished()
        if self.log is not None and (status >= 400 or route not in MONITORING_PATHS):
            facts = {"method": method, "route": route, "status": status, "code": refusal or code}
            facts |= {"bytes": None if refusal else 0 if method == "HEAD" else sent, "seconds": round(seconds, 6)}
            facts |= {"request_id": state.get("request_id")} | trace_ids_of(scope)
            facts["key"] = state.get("key_name")
            facts |= self.client_facts(scope["client"], joined_fields(scope["headers"]))
            level = "WARNING" if status >= 500 else "INFO"
            self.log(level, "answered" if complete or refusal else "incomplete response", facts)
