"""What each request was and how it ended, seen from outside: for the metrics."""

from __future__ import annotations

from collections.abc import Awaitable
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .metrics import Metrics

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE")
OTHER = "_OTHER"
"""What OpenTelemetry calls a method that is none of these: a label has few values."""


class Watch:
    """ASGI middleware, outside of all others. A request lasts until the last byte of its answer is handed on."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = sent = 0
        whole = False

        def send_counted(message: Message) -> Awaitable[None]:
            nonlocal status, sent, whole
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                sent += len(message.get("body", b""))
                whole = not message.get("more_body", False)
            return send(message)

        method = scope["method"] if scope["method"] in METHODS else OTHER
        metrics, start = self.metrics, perf_counter()
        metrics.began(method)
        try:
            await self.app(scope, receive, send_counted)
        finally:
            # The router names the route, and others what they know, in the same scope.
            route = getattr(scope.get("route"), "path", "")
            metrics.ended(method, route, status, perf_counter() - start)
            state = scope["state"]
            if "problem" in state:
                metrics.problem(state["problem"])
            if "layout" in state:
                metrics.output(state["layout"], sent)
            if not whole:
                metrics.unfinished()
