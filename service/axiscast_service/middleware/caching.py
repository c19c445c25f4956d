"""Cacheable responses: the ETag and Cache-Control headers, and responses with status 304."""

from __future__ import annotations

from collections.abc import Mapping
from gzip import compress
from hashlib import blake2b

from fastapi import Request, Response

from .answer import Answer
from .client_facts import joined_fields

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
        content, headers = (self._gzip, self._gzip_headers) if _accepts_gzip(request) else (self.content, self.headers)
        answer = Answer(content, self.media_type, headers)
        return _unless_cached(answer, joined_fields(request.headers.raw)).as_response()


def _accepts_gzip(request: Request) -> bool:
    """Return whether Accept-Encoding lists gzip with a quality above 0."""
    codings = ",".join(request.headers.getlist("accept-encoding")).lower().replace(" ", "").split(",")
    qualities = dict(coding.partition(";q=")[::2] for coding in codings)
    quality = qualities.get("gzip", "0")
    return quality == "" or quality.strip("0.") != ""  # not given, or not 0, 0.0 or 0.00


def cacheable(answer: Answer, fields: Mapping[bytes, bytes], keyed: bool) -> Answer:
    """Return a response with its ETag, or a 304 response if the client has cached the content.

    Caches may keep the response for an hour, because the response depends only on the request and the release. If
    `keyed` is true, the request had an API key, and only private caches may keep the response.
    """
    headers = _CACHE_HEADERS[keyed] | {"ETag": etag_of(answer.content)}
    return _unless_cached(Answer(answer.content, answer.media_type, {**answer.headers, **headers}), fields)


_CACHE_HEADERS = {
    True: {"Vary": "Accept, Authorization", "Cache-Control": "private, max-age=3600"},
    False: {"Vary": "Accept", "Cache-Control": "public, max-age=3600"},
}


def etag_of(content: bytes | memoryview) -> str:
    """Return the ETag for this content, which is a digest of its bytes."""
    return f'"{blake2b(content, digest_size=12).hexdigest()}"'


def _unless_cached(answer: Answer, fields: Mapping[bytes, bytes]) -> Answer:
    tags = fields.get(b"if-none-match", b"").decode("latin-1")
    is_cached = answer.headers["ETag"] in tags or tags.strip() == "*"
    return Answer(b"", None, answer.headers, 304) if is_cached else answer
