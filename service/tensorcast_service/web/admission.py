"""Admission: how many requests are in work at once."""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from tensorcast.schema.problems import Problem

from .problems import response_of


class Admission:
    """ASGI middleware that answers 503 (overloaded) above `limit` requests in work; only /v1 counts."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self.limit = limit
        self.in_work = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/v1/"):
            await self.app(scope, receive, send)
            return
        if self.in_work >= self.limit:
            problem = Problem(
                "overloaded",
                f"{self.in_work} requests are in work, as many as this worker takes at once: try again shortly",
                limit=self.limit,
            )
            await response_of(problem, Request(scope))(scope, receive, send)
            return
        self.in_work += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.in_work -= 1
