"""Problem responses (RFC 9457), in an encoding that the client accepts."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from axiscast.wire.codec import ENCODINGS, Encoding, encode
from axiscast.wire.problems import Fault, Problem

from .answer import Answer
from .client_facts import joined_fields
from .negotiation import SVG, TEXT, best_offer

RETRY_SECONDS = 1
"""The value of the Retry-After header, in seconds, for a temporary problem."""


def problem_answer(problem: Problem, fields: Mapping[bytes, bytes], in_query: bool = False) -> Answer:
    """Return the response that reports a problem of a request with these headers.

    If `in_query` is true, the request is in the query of a URL, so the problem also names the parameters.

    The document is encoded as MessagePack only if the Accept header requests MessagePack, or if the request body is
    MessagePack.
    """
    content_type = fields.get(b"content-type", b"").decode("latin-1")
    body = ENCODINGS.get(content_type.split(";")[0].strip().lower(), Encoding.JSON)
    media = Encoding.JSON
    if problem.code != "not-acceptable":
        try:
            accept = fields.get(b"accept", b"").decode("latin-1")
            media = ENCODINGS.get(best_offer(accept, body, (TEXT, SVG)), Encoding.JSON)
        except Problem:
            media = Encoding.JSON  # no supported type is acceptable, so the response is JSON, like a 406 response
    if in_query:
        problem.errors = [
            Fault(detail, pointer, _parameter(pointer) if name is None else name)
            for detail, pointer, name in problem.errors
        ]
    document = problem.document()
    headers = {"Vary": "Accept", "Cache-Control": "no-store"}
    if problem.code == "unsupported-media-type":
        headers["Accept-Encoding"] = "identity"
    if problem.code in ("overloaded", "shutting-down"):
        headers["Retry-After"] = str(RETRY_SECONDS)
    if problem.code == "unauthenticated":
        headers["WWW-Authenticate"] = "Bearer"
    if problem.code in ("body-too-large", "unauthenticated", "misdirected-request"):
        headers["Connection"] = "close"  # the connection is closed, because the service does not read the request body
    media_type = "application/problem+json" if media is Encoding.JSON else media.value
    return Answer(encode(document, media), media_type, headers, document["status"])


def _parameter(pointer: str | None) -> str | None:
    """Return the query parameter that contains a field of a check request, or None for the request as a whole."""
    _, field, *steps = (pointer or "/").split("/")
    if field == "op" and steps:
        field = steps[0]
    return "input" if field == "inputs" else field or None


def response_of(problem: Problem, request: Request) -> Response:
    """Return the response that reports a problem."""
    request.state.problem = problem.code
    in_query = request.scope.get("method") in ("GET", "HEAD")
    return problem_answer(problem, joined_fields(request.headers.raw), in_query).as_response()
