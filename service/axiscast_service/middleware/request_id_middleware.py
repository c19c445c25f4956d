"""Middleware that adds a request id to each response, and reports unhandled exceptions as problems."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from dataclasses import dataclass

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from axiscast.wire.problems import Problem

from ..logs import set_span_attributes, trace_ids_of
from ..runtime.drain import Drain
from .problems import response_of
from .request_ids import request_id_of

logger = logging.getLogger("axiscast")


@dataclass(eq=False)
class RequestIdMiddleware:
    """ASGI middleware that sets the X-Request-ID header, and `Connection: close` while the service shuts down.

    If the application raises an exception, the middleware sends a 500 response (internal) and logs the exception with
    the request id.
    """

    app: ASGIApp
    drain: Drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = request_id_of(scope["headers"])
        scope.setdefault("state", {})["request_id"] = request_id
        set_span_attributes({"http.response.header.x-request-id": [request_id]})
        started = False

        def send_marked(message: Message) -> Awaitable[None]:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
                if self.drain.begun:
                    MutableHeaders(scope=message)["Connection"] = "close"
            return send(message)

        try:
            await self.app(scope, receive, send_marked)
        except Exception:
            facts = {"request_id": request_id} | trace_ids_of(scope)
            logger.exception("request %s failed", request_id, extra={"facts": facts})
            if started:
                raise  # the server then closes the connection, so that clients report an incomplete body
            problem = Problem(
                "internal",
                f"the service failed: its log has the cause under the id {request_id}",
                request_id=request_id,
            )
            await response_of(problem, Request(scope))(scope, receive, send_marked)
