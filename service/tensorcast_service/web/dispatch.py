"""The short ways: past the router; past a check, where the same was just asked; past all else, where it was asked in
the same bytes.

Starlette's router and FastAPI's own layers cost more than a check does. Without this file every answer is the same,
to the byte, and later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from http import HTTPStatus
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .drain import Drain
from .envelope import new_request_id
from .logs import trace_id_of

if TYPE_CHECKING:
    from .metrics import Metrics

REMEMBERED = 1000
"""Answers that each memory keeps: with their questions some 5 MiB."""
QUESTION_BYTES = 2**10
ANSWER_BYTES = 2**12
"""Longer ones are not kept."""
QUESTION_FIELDS = 10
"""Nor are questions with more fields that an answer depends on."""
_ASKED = {b"accept", b"content-type", b"content-encoding", b"if-none-match"}
"""The fields of a head that an answer depends on."""
_UNKNOWN = {b"transfer-encoding", b"expect"}
"""Fields of a head after which it is not known how long a body is, or whether it is to come."""
_LINES = {status.value: b"HTTP/1.1 %d %b\r\n" % (status, status.phrase.encode()) for status in HTTPStatus}
_ITS_OWN = {b"x-request-id", b"expect"}
"""Fields of a head that are answered by more than what is kept."""


class Dispatch:
    """ASGI middleware, the innermost: `routes` whose endpoints take the request and nothing else, and `handlers` of
    what they raise. `remembered` are the paths whose answers are."""

    def __init__(
        self, app: ASGIApp, routes: Iterable[BaseRoute], remembered: Collection[str], handlers: Mapping[Any, Any]
    ) -> None:
        self.app = app
        self.remembered = remembered
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
        if route.path not in self.remembered:
            await (await self._answer(route, Request(scope, receive, send)))(scope, receive, send)
            return
        question, again = await _question(scope, receive)
        response = self.answers.get(question)
        if response is None:
            response = await self._answer(route, Request(scope, again, send))
            if question and response.status_code < 400 and len(response.body) <= ANSWER_BYTES:
                _keep(self.answers, question, response)
        elif trace_id_of(scope) is None:
            scope["state"]["asked_again"] = response
        await response(scope, receive, send)

    async def _answer(self, route: Route, request: Request) -> Response:
        try:
            response: Response = await route.endpoint(request)
        except tuple(self.handlers) as error:
            handler = next(handler for kind, handler in self.handlers.items() if isinstance(error, kind))
            response = await handler(request, error)
        return response


def _keep(answers: dict[Any, Any], question: Any, answer: Any) -> None:
    if len(answers) >= REMEMBERED:
        answers.clear()
    answers[question] = answer


async def _question(scope: Scope, receive: Receive) -> tuple[Any, Receive]:
    """All that an answer depends on (None where that is too much to be remembered), and `receive` from its start."""
    fields, length, asked = [], 0, len(scope["query_string"])
    for field in scope["headers"]:
        if field[0] in _ASKED:
            fields.append(field)
            asked += len(field[1])
        elif field[0] == b"content-length":
            length = int(field[1])
        elif field[0] in _UNKNOWN:
            return None, receive
    if length + asked >= QUESTION_BYTES or len(fields) > QUESTION_FIELDS:
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


class _Answer(NamedTuple):
    """An answer as it was sent, but for the fields that each has of its own."""

    method: str
    route: str
    status: int
    fields: bytes
    body: bytes


class Recall:
    """Answers by the bytes of whole requests, head and body, for protocol.py. They have been through all layers
    once, and nothing that these look at, a key for one, is elsewhere than in those bytes. What is given again is
    counted, and bears a request id of its own; it is never begun once a shutdown has, nor part of a trace."""

    def __init__(self, drain: Drain, metrics: Metrics | None) -> None:
        self.drain = drain
        self.metrics = metrics
        self.answers: dict[bytes, _Answer] = {}

    def keep(self, request: bytes, scope: Mapping[str, Any]) -> None:
        """Remember how this request was answered, if it was an answer that was remembered already."""
        response: Response | None = scope["state"].get("asked_again")
        if response is None or self.drain.begun or any(name in _ITS_OWN for name, _ in scope["headers"]):
            return
        fields = b"".join(b"%b: %b\r\n" % field for field in response.raw_headers)
        body = b"" if scope["method"] == "HEAD" else bytes(response.body)
        answer = _Answer(scope["method"], scope["route"].path, response.status_code, fields, body)
        _keep(self.answers, _digest(request), answer)

    def again(self, request: bytes, fields: Iterable[tuple[bytes, bytes]]) -> bytes | None:
        """The whole answer to a request in these bytes, with these fields first; None where there is none."""
        start = perf_counter()
        answer = self.answers.get(_digest(request))
        if answer is None or self.drain.begun:
            return None
        method, route, status, own, body = answer
        if self.metrics is not None:
            self.metrics.began(method)
            self.metrics.ended(method, route, status, perf_counter() - start)
        first = b"".join([b"%b: %b\r\n" % field for field in fields])
        return b"%b%b%bx-request-id: %b\r\n\r\n%b" % (_LINES[status], first, own, new_request_id().encode(), body)


def _digest(request: bytes) -> bytes:
    """Of the bytes of a request, which are not kept: they may hold a key."""
    return blake2b(request, digest_size=16).digest()
