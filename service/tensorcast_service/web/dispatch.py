"""The short way to a check: past the router, and past the check where the same was just asked.

Starlette's router and FastAPI's own layers cost more than a check does. Without this file every answer is the same,
to the byte, and later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

REMEMBERED = 1000
"""Answers that are kept: with their questions some 5 MiB."""
QUESTION_BYTES = 2**10
ANSWER_BYTES = 2**12
"""Longer ones are not kept."""
_ASKED = {b"accept", b"content-type", b"content-encoding", b"if-none-match"}
"""The fields of a head that an answer depends on."""


class Dispatch:
    """ASGI middleware, the innermost: `routes` that take no parameters in their path, `handlers` of what they raise."""

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute], handlers: Mapping[Any, Any]) -> None:
        self.app = app
        self.routes = {
            (method, route.path): route
            for route in routes
            if isinstance(route, Route)
            for method in route.methods or ()
        }
        self.handlers = handlers
        self.answers: dict[Any, Response] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self.routes.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if route is None:
            await self.app(scope, receive, send)
            return
        scope["route"] = route  # as the router does, for who counts requests
        question, again = await _question(scope, receive)
        response = self.answers.get(question)
        if response is None:
            response = await self._answer(route, Request(scope, again, send))
            if question and response.status_code < 400 and len(response.body) <= ANSWER_BYTES:
                if len(self.answers) >= REMEMBERED:
                    self.answers.clear()
                self.answers[question] = response
        await response(scope, receive, send)

    async def _answer(self, route: Route, request: Request) -> Response:
        try:
            response: Response = await route.endpoint(request)
        except tuple(self.handlers) as error:
            handler = next(handler for kind, handler in self.handlers.items() if isinstance(error, kind))
            response = await handler(request, error)
        return response


async def _question(scope: Scope, receive: Receive) -> tuple[Any, Receive]:
    """All that an answer depends on (None where that is too much to be remembered), and `receive` from its start."""
    fields, length = [], 0
    for field in scope["headers"]:
        if field[0] in _ASKED:
            fields.append(field)
        elif field[0] == b"content-length":
            length = int(field[1])
        elif field[0] == b"transfer-encoding":
            length = QUESTION_BYTES
    if length + len(scope["query_string"]) >= QUESTION_BYTES:
        return None, receive
    first = await receive() if length else {"type": "http.request"}
    if first["type"] != "http.request" or first.get("more_body"):
        return None, _replayed(first, receive)
    question = (scope["method"], scope["path"], scope["query_string"], first.get("body", b""), *fields)
    return question, _replayed(first, receive)


def _replayed(first: Message, receive: Receive) -> Receive:
    """`receive`, with the first message given back."""
    waiting = [first]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed
