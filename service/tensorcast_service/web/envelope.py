"""What every answer has, whatever made it: a request id, an end to the connection while the service
shuts down, a problem document where the service failed."""

from __future__ import annotations

import logging
import re
import uuid

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tensorcast.schema.problems import Problem

from .drain import Drain
from .logs import trace_id_of
from .problems import response_of

logger = logging.getLogger("tensorcast")

_SANE_ID = re.compile(r"[A-Za-z0-9._~+/=:-]{1,128}")


def request_id_of(request: Request) -> str:
    """The caller's own request id, if it sent a sane one; else a new one."""
    given = request.headers.get("x-request-id", "")
    return given if _SANE_ID.fullmatch(given) else uuid.uuid4().hex


class Envelope:
    """ASGI middleware, the outermost of the application's own."""

    def __init__(self, app: ASGIApp, drain: Drain) -> None:
        self.app = app
        self.drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        request_id = request_id_of(request)
        request.state.request_id = request_id
        started = False

        async def send_marked(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                if self.drain.begun:
                    headers["Connection"] = "close"
            await send(message)

        try:
            await self.app(scope, receive, send_marked)
        except Exception:
            facts = {"request_id": request_id, "trace_id": trace_id_of(scope)}
            logger.exception("request %s failed", request_id, extra={"facts": facts})
            if started:
                raise  # the server closes the connection: a short body is a failure that clients report
            problem = Problem(
                "internal",
                f"the service failed; its log has the cause under {request_id}",
                request_id=request_id,
            )
            await response_of(problem, request)(scope, receive, send_marked)
