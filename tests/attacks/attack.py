"""The type of an attack, and functions that build its requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgpack

MSGPACK = "application/vnd.msgpack"
MIB = 2**20
REQUEST_SECONDS = 1
"""The settings of the attacked service."""
SENDS_ON = 120
"""Seconds for which a slow attack lasts, unless the service closes the connection."""


@dataclass(frozen=True)
class Attack:
    """One attack."""

    name: str
    kind: str
    invariant: str
    pieces: Sequence[bytes | float | Literal["end"]]
    """The pieces to send. A number is a pause in seconds, and "end" closes the sending side."""
    status: int | Sequence[int]
    code: str | None = None
    growth: float = 8.0
    """2 where nothing is kept: an arena of Python's allocator is 1 MiB."""
    seconds: float = 2.0
    closes: bool = False
    """Whether the connection must be closed after the answer."""

    @property
    def statuses(self) -> tuple[int, ...]:
        return (self.status,) if isinstance(self.status, int) else tuple(self.status)


def head(method: str = "POST", path: str = "/v1/check", *fields: str, host: str | None = "attacked") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *([f"Host: {host}"] if host is not None else []), *fields]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def post(body: bytes, path: str = "/v1/check", media: str | None = "application/json", *fields: str) -> list[bytes]:
    content_type = [f"Content-Type: {media}"] if media else []
    return [head("POST", path, *content_type, f"Content-Length: {len(body)}", *fields) + body]


def as_json(value: Any, path: str = "/v1/check") -> list[bytes]:
    return post(json.dumps(value).encode(), path)


def as_msgpack(value: Any, path: str = "/v1/check") -> list[bytes]:
    return post(msgpack.packb(value), path, MSGPACK)


def chunked(*chunks: bytes, fields: Sequence[str] = (), end: bytes = b"0\r\n\r\n", path: str = "/v1/check") -> bytes:
    framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return head("POST", path, "Content-Type: application/json", "Transfer-Encoding: chunked", *fields) + framed + end


GOOD = json.dumps({"inputs": [[8, 1, 6, 1], [7, 1, 5]]}).encode()
ROW = {"dtype": "int8", "shape": [3], "data": [1, 2, 3]}
