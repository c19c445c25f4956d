"""Problem responses that a connection sends without calling the application."""

from __future__ import annotations

from collections.abc import Iterable

from axiscast.wire.problems import Problem

from .grammar import ACCEPT_BYTES, header_fields
from .hooks import Hooks, Peer
from .request_cycle import response_head

MAX_REFUSED_HEADER_BYTES = 8 * 2**10
"""The maximum number of bytes of a refused header block that are searched for fields such as Accept."""


def refusal_response(
    problem: Problem,
    head: bytes,
    first: Iterable[tuple[bytes, bytes]],
    hooks: Hooks,
    peer: Peer,
    request_id: str | None,
) -> bytes:
    """Return the response to a refused request, in the encoding that the Accept field names if it is readable.

    The response begins with the header fields `first`. `request_id` is the id under which the application logs the
    request. If it is None, the application does not know the request, and this function logs the refusal.
    """
    fields = [
        (name, value) for name, value in header_fields(head[:MAX_REFUSED_HEADER_BYTES]) if len(value) <= ACCEPT_BYTES
    ]
    if request_id is not None:
        fields.insert(0, (b"x-request-id", request_id.encode()))
    status, headers, body = hooks.problem_response(problem, fields)
    if request_id is None:
        hooks.log_refusal(problem, peer, fields, headers)
    named = [(name, value) for name, value in headers if name.lower() != b"connection"]
    whole = response_head(status, [*first, *named, (b"connection", b"close")])
    return whole if head.startswith(b"HEAD ") else whole + body


def not_encrypted_problem() -> Problem:
    """Return the problem for an https URL on a connection without TLS. RFC 9110, 7.4 requires this refusal."""
    return Problem(
        "misdirected-request",
        "the target is an https URL, but this connection has no TLS: send only the path, or connect with TLS",
    )
