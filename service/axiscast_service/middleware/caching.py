"""Answers that a caller may keep: each bears a tag, and need not be sent to one that has it."""

from __future__ import annotations

from hashlib import blake2b

from fastapi import Request, Response

_NO_CACHE = {"Cache-Control": "no-cache"}
"""Callers ask each time whether it is still the same: the parts of a page must go together."""


class StaticContent:
    """Bytes that are the same for whoever asks, held once: a page, or what it loads."""

    def __init__(self, content: bytes, media_type: str, headers: dict[str, str] | None = None) -> None:
        self.content = content
        self.media_type = media_type
        self.headers = _NO_CACHE | {"ETag": etag_of(content)} | (headers or {})

    def respond(self, request: Request) -> Response:
        """200 with the bytes, or 304 where the request says that they are known."""
        return _unless_cached(request, self.content, self.media_type, self.headers)


def cacheable_response(request: Request, content: bytes, media_type: str) -> Response:
    """200 with the content and its ETag, or 304 where the request says that it is known. It may be kept for an hour:
    an answer depends on the question and the release alone. Where it took a key, by that key's holder only."""
    headers = cache_headers(hasattr(request.state, "key_name")) | {"ETag": etag_of(content)}
    return _unless_cached(request, content, media_type, headers)


def cache_headers(keyed: bool) -> dict[str, str]:
    """The header fields of an answer that may be kept, but for its tag; `keyed` where the request bore a key."""
    return {
        "Vary": "Accept, Authorization" if keyed else "Accept",
        "Cache-Control": f"{'private' if keyed else 'public'}, max-age=3600",
    }


def etag_of(content: bytes) -> str:
    """An ETag: equal for equal bytes alone."""
    return f'"{blake2b(content, digest_size=12).hexdigest()}"'


def _unless_cached(request: Request, content: bytes, media_type: str, headers: dict[str, str]) -> Response:
    tags = ",".join(request.headers.getlist("if-none-match"))
    if headers["ETag"] in tags or tags.strip() == "*":
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)
