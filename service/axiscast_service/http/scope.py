"""Functions that build ASGI scopes from header blocks."""

from __future__ import annotations

import asyncio
import re
from typing import Any
from urllib.parse import unquote_to_bytes

from .parser import RequestHead


class ConnectionAddresses:
    """The addresses of both ends of a connection, in the format of ASGI."""

    def __init__(self, transport: asyncio.BaseTransport) -> None:
        self.server = _address(transport.get_extra_info("sockname"))
        self.client = _address(transport.get_extra_info("peername"))
        self.scheme = "http" if transport.get_extra_info("sslcontext") is None else "https"


def _address(name: object) -> tuple[str, int] | None:
    """Return the host and port of a socket name, or None if the socket has no such address."""
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) and len(name) >= 2 else None


def scope_of(head: RequestHead, peers: ConnectionAddresses, state: dict[str, Any]) -> dict[str, Any]:
    """Return the ASGI scope of a request."""
    method, target, version = head.line()
    path, _, query = target.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.0" if version == b"HTTP/1.0" else "1.1",
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
    """Return whether the client asks the service to close the connection after the response."""
    values = _CONNECTION.findall(head.data.lower())
    return any(token.strip() == b"close" for value in values for token in value.split(b","))


def expects_continue(head: RequestHead) -> bool:
    """Return whether the client waits for 100 Continue before it sends the body."""
    return _EXPECT.search(head.data.lower()) is not None
