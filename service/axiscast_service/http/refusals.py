"""Responses that a connection gives in the application's place."""

from __future__ import annotations

from collections.abc import Iterable

from axiscast.wire.problems import Problem

from .grammar import ACCEPT_BYTES, header_fields
from .hooks import Hooks
from .request_cycle import response_head

MAX_REFUSED_HEADER_BYTES = 8 * 2**10
"""Bytes of a head that was refused in which fields are looked for."""


def refusal_response(problem: Problem, head: bytes, first: Iterable[tuple[bytes, bytes]], hooks: Hooks) -> bytes:
    """A whole response, in the encoding that the head asks for, as far as it can be read; `first` are its first
    fields."""
    fields = [
        (name, value) for name, value in header_fields(head[:MAX_REFUSED_HEADER_BYTES]) if len(value) <= ACCEPT_BYTES
    ]
    status, headers, body = hooks.problem_response(problem, fields)
    named = [(name, value) for name, value in headers if name.lower() != b"connection"]
    whole = response_head(status, [*first, *named, (b"connection", b"close")])
    return whole if head.startswith(b"HEAD ") else whole + body
