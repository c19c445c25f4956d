"""Answers that a caller may keep: each bears a tag, and need not be sent to one that has it."""

from __future__ import annotations

from hashlib import blake2b

from fastapi import Request, Response


def tagged(request: Request, content: bytes, media_type: str, headers: dict[str, str]) -> Response:
    """200 with the content and its ETag, or 304 where the request says that it is known."""
    tag = f'"{blake2b(content, digest_size=12).hexdigest()}"'
    headers = {**headers, "ETag": tag}
    known = ",".join(request.headers.getlist("if-none-match"))
    if tag in known or known.strip() == "*":
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)
