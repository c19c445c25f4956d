"""Problems on their way out: the document in the caller's encoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tensorcast.schema.codec import MEDIA_NAMES, Media, encode
from tensorcast.schema.problems import Problem

from .negotiation import answer_type
from .request_ids import request_id_of

RETRY_SECONDS = 1
"""Retry-After of a refusal that is about this moment only."""


def response_of(problem: Problem, request: Request) -> Response:
    """The problem document, in MessagePack only where Accept or the request's body is."""
    body = MEDIA_NAMES.get(request.headers.get("content-type", "").split(";")[0].strip().lower(), Media.JSON)
    media = Media.JSON
    if problem.code != "not-acceptable":
        try:
            media = MEDIA_NAMES.get(answer_type(request, body, offers_text=True), Media.JSON)
        except Problem:
            media = Media.JSON  # what is acceptable can't be said: JSON, as for a 406
    request.state.problem = problem.code
    document = problem.document()
    headers = {"Vary": "Accept", "Cache-Control": "no-store"}
    if problem.code == "unsupported-media-type":
        headers["Accept-Encoding"] = "identity"
    if problem.code in ("overloaded", "shutting-down"):
        headers["Retry-After"] = str(RETRY_SECONDS)
    if problem.code == "unauthenticated":
        headers["WWW-Authenticate"] = "Bearer"
    if problem.code in ("body-too-large", "unauthenticated", "misdirected-request"):
        headers["Connection"] = "close"  # the body, if there is one, is not read
    return Response(
        encode(document, media),
        status_code=document["status"],
        headers=headers,
        media_type="application/problem+json" if media is Media.JSON else media.value,
    )


def problem_response(
    problem: Problem, fields: Sequence[tuple[bytes, bytes]]
) -> tuple[int, Sequence[tuple[bytes, bytes]], bytes]:
    """The status, header fields and body that a connection sends of a problem, to a request with these fields."""
    response = response_of(problem, Request({"type": "http", "headers": [*fields]}))
    named = [*response.raw_headers, (b"x-request-id", request_id_of(fields).encode())]
    return response.status_code, named, bytes(response.body)


class Guard:
    """ASGI middleware that lets a request in which no judge objects to: each takes its scope, and raises Problem. A
    request that is refused has its body unread."""

    def __init__(self, app: ASGIApp, judges: Sequence[Callable[[Scope], None]]) -> None:
        self.app = app
        self.judges = judges

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app
        if scope["type"] == "http":
            try:
                for judge in self.judges:
                    judge(scope)
            except Problem as problem:
                app = response_of(problem, Request(scope))
        await app(scope, receive, send)
