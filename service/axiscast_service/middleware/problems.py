"""Problem responses (RFC 9457), in an encoding that the client accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from axiscast.wire.codec import ENCODINGS, Encoding, encode
from axiscast.wire.problems import Fault, Problem

from .negotiation import SVG, TEXT, best_offer
from .request_ids import request_id_of

ALLOWED_METHODS = "GET, HEAD, POST"
"""The HTTP methods that the service supports. The router replaces this list by the methods that a path allows."""
RETRY_SECONDS = 1
"""The value of the Retry-After header, in seconds, for a temporary problem."""


class ProblemParts(NamedTuple):
    """The parts of a problem response."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    media_type: str


def problem_parts(problem: Problem, content_type: str, accept: str, in_query: bool = False) -> ProblemParts:
    """Return the parts of a problem response to a request with these Content-Type and Accept headers.

    If `in_query` is true, the request is in the query of a URL, so the problem names parameters instead of pointers.

    The document is encoded as MessagePack only if the Accept header requests MessagePack, or if the request body is
    MessagePack.
    """
    body = ENCODINGS.get(content_type.split(";")[0].strip().lower(), Encoding.JSON)
    media = Encoding.JSON
    if problem.code != "not-acceptable":
        try:
            media = ENCODINGS.get(best_offer(accept, body, (TEXT, SVG)), Encoding.JSON)
        except Problem:
            media = Encoding.JSON  # no supported type is acceptable, so the response is JSON, like a 406 response
    if in_query:
        problem.errors = [
            Fault(detail, None, _parameter(pointer) if name is None else name)
            for detail, pointer, name in problem.errors
        ]
    document = problem.document()
    headers = {"Vary": "Accept", "Cache-Control": "no-store"}
    if problem.code == "method-not-allowed":
        headers["Allow"] = ALLOWED_METHODS
    if problem.code == "unsupported-media-type":
        headers["Accept-Encoding"] = "identity"
    if problem.code in ("overloaded", "shutting-down"):
        headers["Retry-After"] = str(RETRY_SECONDS)
    if problem.code == "unauthenticated":
        headers["WWW-Authenticate"] = "Bearer"
    if problem.code in ("body-too-large", "unauthenticated", "misdirected-request"):
        headers["Connection"] = "close"  # the connection is closed, because the service does not read the request body
    media_type = "application/problem+json" if media is Encoding.JSON else media.value
    return ProblemParts(document["status"], headers, encode(document, media), media_type)


def _parameter(pointer: str | None) -> str | None:
    """Return the query parameter that contains a field of a check request, or None for the request as a whole."""
    _, field, *steps = (pointer or "/").split("/")
    if field == "op" and steps:
        field = steps[0]
    return "input" if field == "inputs" else field or None


def response_of(problem: Problem, request: Request) -> Response:
    """Return the response that reports a problem."""
    request.state.problem = problem.code
    fields = request.headers
    in_query = request.scope.get("method") in ("GET", "HEAD")
    refusal = problem_parts(problem, fields.get("content-type", ""), ",".join(fields.getlist("accept")), in_query)
    return Response(refusal.content, refusal.status, refusal.headers, refusal.media_type)


def problem_response(
    problem: Problem, fields: Sequence[tuple[bytes, bytes]]
) -> tuple[int, Sequence[tuple[bytes, bytes]], bytes]:
    """Return the status, headers and body of a problem response to a request with these headers."""
    response = response_of(problem, Request({"type": "http", "headers": [*fields]}))
    named = [*response.raw_headers, (b"x-request-id", request_id_of(fields).encode())]
    return response.status_code, named, bytes(response.body)


@dataclass(eq=False)
class GuardMiddleware:
    """ASGI middleware that calls guard functions before the application.

    A guard takes the ASGI scope, and raises Problem to refuse the request. The body of a refused request is not read.
    """

    app: ASGIApp
    guards: Sequence[Callable[[Scope], None]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app
        if scope["type"] == "http":
            try:
                for guard in self.guards:
                    guard(scope)
            except Problem as problem:
                app = response_of(problem, Request(scope))
        await app(scope, receive, send)
