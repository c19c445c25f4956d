"""Cacheable responses: the ETag and Cache-Control headers, and responses with status 304."""

from __future__ import annotations

from gzip import compress
from hashlib import blake2b

from fastapi import Request, Response

_NO_CACHE = {"Cache-Control": "no-cache"}
"""The Cache-Control header of pages. Browsers must revalidate each file before use, because all files of a page must
have the same version."""


class StaticContent:
    """A page, or a file for a page, in plain and in compressed form. It is the same for every client."""

    def __init__(self, content: bytes, media_type: str, headers: dict[str, str] | None = None) -> None:
        self.content = content
        self.media_type = media_type
        self.headers = _NO_CACHE | {"Vary": "Accept-Encoding", "ETag": etag_of(content)} | (headers or {})
        self._gzip = compress(content, mtime=0)
        self._gzip_headers = self.headers | {"Content-Encoding": "gzip", "ETag": etag_of(self._gzip)}

    def respond(self, request: Request) -> Response:
        """Return the content, compressed if the client accepts gzip, or a 304 response if the client has cached it."""
        if _accepts_gzip(request):
            return _unless_cached(request, self._gzip, self.media_type, self._gzip_headers)
        return _unless_cached(request, self.content, self.media_type, self.headers)


def _accepts_gzip(request: Request) -> bool:
    """Return whether Accept-Encoding lists gzip with a quality above 0."""
    codings = ",".join(request.headers.getlist("accept-encoding")).lower().replace(" ", "").split(",")
    qualities = dict(coding.partition(";q=")[::2] for coding in codings)
    return bool(qualities.get("gzip", "0").strip("0.")) or qualities.get("gzip") == ""


def cacheable_response(
    request: Request, content: bytes, media_type: str, headers: dict[str, str] | None = None
) -> Response:
    """Return a 200 response with the content and its ETag, or a 304 response if the client has cached the content.

    Caches may keep the response for an hour, because the response depends only on the request and the release. If the
    request had an API key, only private caches may keep the response.
    """
    headers = cache_headers(hasattr(request.state, "key_name")) | {"ETag": etag_of(content)} | (headers or {})
    return _unless_cached(request, content, media_type, headers)


def cache_headers(keyed: bool) -> dict[str, str]:
    """Return the headers of a cacheable response, except ETag. `keyed` is true if the request had an API key."""
    return {
        "Vary": "Accept, Authorization" if keyed else "Accept",
        "Cache-Control": f"{'private' if keyed else 'public'}, max-age=3600",
    }


def etag_of(content: bytes) -> str:
    """Return the ETag for this content, which is a digest of its bytes."""
    return f'"{blake2b(content, digest_size=12).hexdigest()}"'


def _unless_cached(request: Request, content: bytes, media_type: str, headers: dict[str, str]) -> Response:
    tags = ",".join(request.headers.getlist("if-none-match"))
    if headers["ETag"] in tags or tags.strip() == "*":
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)
