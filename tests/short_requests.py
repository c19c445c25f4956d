"""Requests to the fast path of the service in memory, without sockets."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from axiscast_service.app import create_app
from axiscast_service.dispatcher import Dispatcher
from axiscast_service.settings import Settings


class ShortAnswer(NamedTuple):
    status: int
    content: bytes


@cache
def _dispatcher() -> Dispatcher:
    found: Dispatcher = create_app(Settings(metrics=False, max_output_bytes=2**40)).state.dispatcher
    return found


def short_answer(
    target: str, body: bytes | None = None, content_type: str = "application/json", accept: str = ""
) -> ShortAnswer | None:
    """Return the response of the fast path to a GET request, or to a POST request with a body, or None."""
    head = f"{'GET' if body is None else 'POST'} {target} HTTP/1.1\r\nHost: x\r\n"
    if accept:
        head += f"Accept: {accept}\r\n"
    if body is not None:
        head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    found = _dispatcher().answer(f"{head}\r\n".encode() + (body or b""), (), None)
    if found is None:
        return None
    assert found[1] == len(head) + 2 + len(body or b"")
    first, _, content = found[0].partition(b"\r\n\r\n")
    return ShortAnswer(int(first[9:12]), content)
