"""ASGI scopes: a request's head as the application sees it."""

from __future__ import annotations

import asyncio
import re
from typing import Any
from urllib.parse import unquote_to_bytes

from .parser import RequestHead

ScopeHeaders = list[tuple[bytes, bytes]]


class ConnectionAddresses:
    """The two ends of a connection, as ASGI says them."""

    __slots__ = ("client", "scheme", "server")

    def __init__(self, transport: asyncio.BaseTransport) -> None:
        self.server = _address(transport.get_extra_info("sockname"))
        self.client = _address(transport.get_extra_info("peername"))
        self.scheme = "http" if transport.get_extra_info("sslcontext") is None else "https"


def _address(name: object) -> tuple[str, int] | None:
    """Host and port; None for a socket that has none."""
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) and len(name) >= 2 else None


def scope_of(head: RequestHead, peers: ConnectionAddresses, state: dict[str, Any]) -> dict[str, Any]:
    """The scope of a request with this head."""
    method, target, version = head.line()
    path, _, query = target.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": version[5:].decode(),
        "server": peers.server,
        "client": peers.client,
        "scheme": peers.scheme,
        "root_path": "",
        "method": method.decode(),
        "path": (unquote_to_bytes(path) if b"%" in path else path).decode(errors="replace"),
        "raw_path": path,
        "query_string": query,
        "headers": head.fields(),
        "state": state,
    }


_CONNECTION = re.compile(rb"\nconnection:([^\r]*)")
_EXPECT = re.compile(rb"\nexpect:[\t ]*100-continue[\t ]*\r")


def closes(head: RequestHead) -> bool:
    """Whether a request's Connection field ends the connection after the response."""
    values = _CONNECTION.findall(head.data.lower())
    return any(token.strip() == b"close" for value in values for token in value.split(b","))


def expects_continue(head: RequestHead) -> bool:
    """Whether the client sends the body only after 100 Continue."""
    return _EXPECT.search(head.data.lower()) is not None
