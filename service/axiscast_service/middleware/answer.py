"""The response of an API resource, before it is sent by the fast path or by ASGI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from starlette.responses import Response

_VARY = {"Vary": "Accept"}


class Answer(NamedTuple):
    """The content of a complete response, and the header fields that not every response has.

    The type is a tuple, because creating Starlette's Response takes as long as a check.
    """

    content: bytes | memoryview
    media_type: str | None
    headers: Mapping[str, str] = _VARY
    status: int = 200

    def as_response(self) -> Response:
        """Return the same response for ASGI."""
        return Response(self.content, self.status, self.headers, self.media_type)

    def fields(self) -> bytes:
        """Return the lines of the header fields, in the order in which ASGI sends them."""
        charset = "; charset=utf-8" if self.media_type and self.media_type.startswith("text/") else ""
        content_type = f"{self.media_type}{charset}".encode()
        lines = [f"{name.lower()}: {value}\r\n".encode() for name, value in self.headers.items()]
        lines.append(b"content-length: %d\r\ncontent-type: %b\r\n" % (len(self.content), content_type))
        return b"".join(lines)
