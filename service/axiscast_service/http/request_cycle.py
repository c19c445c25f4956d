"""The exchange of one request and its response between a connection and an ASGI application."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_to_bytes

from axiscast.wire.problems import Problem

from .connection import Connection
from .kernel_buffers import is_closed
from .parser import RequestHead
from .upload import EXTENSION, LONG_BYTES

logger = logging.getLogger("axiscast")

JOINED_BYTES = 16 * 2**10
"""The maximum size, in bytes, of a body that is copied and sent together with the headers."""
STATUS_LINES = {int(status): b"HTTP/1.1 %d %b\r\n" % (status, status.phrase.encode()) for status in HTTPStatus}
_BODILESS = (204, 304)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


def _scope_of(connection: Connection, head: RequestHead, body_complete: bool) -> dict[str, Any]:
    """Return the ASGI scope of a request. The admission control and the endpoints use its state and its extension."""
    method, target, version = head.line()
    path, _, query = target.partition(b"?")
    caller = {
        "connection": connection.usage,
        "is_gone": partial(is_closed, connection.flow.socket),
        "is_pipelining": lambda: bool(connection.parser.rest),
    }
    state = {
        "caller": caller,
        "body_complete": body_complete,
        "copies": connection.flow.copies_unsent,
        "taken": connection.flow.taken,
        "cut": connection.closing.cut,
    }
    is_long = not body_complete and (head.length or 0) > LONG_BYTES
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.0" if version == b"HTTP/1.0" else "1.1",
        "server": connection.server,
        "client": connection.client,
        "scheme": "https" if connection.flow.is_encrypted else "http",
        "root_path": "",
        "method": method.decode(),
        "path": (unquote_to_bytes(path) if b"%" in path else path).decode(errors="replace"),
        "raw_path": path,
        "query_string": query,
        "headers": head.fields(),
        "state": {**connection.state, **state},
        "extensions": {EXTENSION: {"receive_into": connection.receive_into}} if is_long else {},
    }


_CONNECTION = re.compile(rb"\nconnection:([^\r]*)")
_EXPECT = re.compile(rb"\nexpect:[\t ]*100-continue[\t ]*\r")


def _closes(head: RequestHead) -> bool:
    """Return whether the client asks the service to close the connection after the response."""
    values = _CONNECTION.findall(head.data.lower())
    return any(token.strip() == b"close" for value in values for token in value.split(b","))


def expects_continue(head: RequestHead) -> bool:
    """Return whether the client waits for 100 Continue before it sends the body."""
    return _EXPECT.search(head.data.lower()) is not None


def response_head(status: int, fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the bytes of a status line and header fields. Raises RuntimeError if a field contains a line break."""
    lines = [b"%b: %b\r\n" % field for field in fields]
    head = b"".join([STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status, *lines, b"\r\n"])
    if not head.count(b"\r") == head.count(b"\n") == len(lines) + 2:
        raise RuntimeError("a header of the response has a line break")
    return head


class RequestCycle:
    """A request that the application is processing, with the `receive` and `send` functions of ASGI."""

    def __init__(self, connection: Connection, head: RequestHead, body: bytes, body_complete: bool) -> None:
        self._connection = connection
        self.scope = _scope_of(connection, head, body_complete)
        self._body: bytes | bytearray = body  # the body bytes that the application has not taken yet
        self._body_taken = False  # whether the application has taken the whole body
        self.body_complete = body_complete
        """Whether the whole request body has arrived."""
        is_1_1 = self.scope["http_version"] == "1.1"
        self.is_awaiting_continue = is_1_1 and not body_complete and expects_continue(head)
        """Whether the client is waiting for 100 Continue before it sends the body."""
        self.keep_alive = is_1_1 and not connection.shutting_down and not _closes(head)
        """Whether the connection stays open after this response."""
        self.started = False
        """Whether the application has started its response."""
        self.complete = False
        """Whether the application has completed its response."""
        self.disconnected = False
        """Whether the client has disconnected, or the connection has sent a response without the application."""
        self._event: asyncio.Event | None = None
        self._is_bodiless = self.scope["method"] == "HEAD"  # whether the response must have no body
        self._head = b""  # the response headers, sent with the first part of the body
        self._due: int | None = None  # the bytes still to be sent, if the response has a Content-Length
        self._chunked = False

    async def run(self, app: Application) -> None:
        """Call the application, and send an error response if the application fails."""
        try:
            await app(self.scope, self.receive, self.send)
        except asyncio.CancelledError:
            if not (self.complete or self.disconnected):
                code = "shutting-down" if self._connection.shutting_down else "internal"
                self._connection.refuse(Problem(code, "the request was cancelled before its response: send it again"))
            raise
        except Exception:
            logger.exception("the application failed")
        if self.complete or self.disconnected:
            return
        if self.started:
            self._connection.closing.close()  # clients then report an incomplete body
        else:
            self._connection.refuse(Problem("internal", "the application sent no response"))

    # --- the request

    def feed(self, data: bytes) -> int:
        """Add a part of the request body. Return the number of bytes that the application has not taken."""
        if not isinstance(self._body, bytearray):
            self._body = bytearray(self._body)
        self._body += data
        self.wake()
        return len(self._body)

    def take_held(self) -> bytes | bytearray:
        """Take the received part of the body that the application has not taken yet."""
        held, self._body = self._body, b""
        return held

    @property
    def has_sent(self) -> bool:
        """Whether any bytes of the response have been sent. The headers are sent with the first part of the body."""
        return self.started and not self._head

    def disconnect(self) -> None:
        """Mark the client as disconnected. Afterwards, the application can't send or receive any more data."""
        self.disconnected = True
        self.wake()

    def refuse(self, problem: Problem) -> None:
        """End the request with a problem response of the connection, which the access log reads from the scope."""
        if not self.has_sent:
            self.scope["state"]["refusal"] = problem.code
        self.disconnect()

    async def receive(self) -> Message:
        """Return the next ASGI message: a part of the body, or `http.disconnect` after the response or a disconnect."""
        if self.is_awaiting_continue and not self.disconnected and not self.started:
            self.is_awaiting_continue = False
            self._connection.flow.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while not (self.disconnected or self.complete):
            if self._body or (self.body_complete and not self._body_taken):
                body, self._body = bytes(self._body), b""
                self._body_taken = self.body_complete
                return {"type": "http.request", "body": body, "more_body": not self.body_complete}
            self._connection.flow.resume_reading()
            if self._event is None:
                self._event = asyncio.Event()
            self._event.clear()
            await self._event.wait()
        return {"type": "http.disconnect"}

    def wake(self) -> None:
        """Wake the call of `receive` that is waiting for data."""
        if self._event is not None:
            self._event.set()

    # --- the response

    async def send(self, message: Message) -> None:
        """Send an ASGI message: the start of the response or a part of its body. Wait if the client reads slowly."""
        if self._connection.flow.is_writing_paused and not self.disconnected:
            await self._connection.flow.writable()
        if self.disconnected:
            return
        kind = message["type"]
        if kind != ("http.response.body" if self.started else "http.response.start") or self.complete:
            raise RuntimeError(f"the application sent {kind} out of order")
        if self.started:
            self._send_body(message.get("body", b""), message.get("more_body", False))
        else:
            self._start(message["status"], message.get("headers", ()))

    def _start(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.started = True
        fields = [*self._connection.server_state.default_headers, *headers]
        closes = False
        for name, value in fields:
            name = name.lower()
            if name == b"content-length":
                self._due = int(value)
            elif name == b"connection":
                closes = value.lower() == b"close"
        self.keep_alive = self.keep_alive and self.body_complete and not closes
        self._is_bodiless = self._is_bodiless or status in _BODILESS
        if self._due is None and not self._is_bodiless:
            if self.scope["http_version"] == "1.1":
                self._chunked = True
                fields.append((b"transfer-encoding", b"chunked"))
            else:
                self.keep_alive = False  # closing the connection marks the end of the body
        if not self.keep_alive and not closes:
            fields.append((b"connection", b"close"))
        self._head = response_head(status, fields)

    def _send_body(self, body: bytes | memoryview, more: bool) -> None:
        if self._is_bodiless:
            body = b""
        elif self._chunked:
            size = b"%x\r\n" % len(body) if body else b""
            body = b"".join([size, body, b"\r\n" if body else b"", b"" if more else b"0\r\n\r\n"])
        elif self._due is not None:
            self._due -= len(body)
            if self._due < 0 or (self._due and not more):
                raise RuntimeError(
                    f"the body of the response differs from its Content-Length by {abs(self._due)} bytes"
                )
        head, self._head = self._head, b""
        if head and len(body) <= JOINED_BYTES:
            self._connection.flow.write(head + body)
        else:
            if head:
                self._connection.flow.write(head)
            if body:
                self._connection.flow.write(body)
        if not more:
            self.complete = True
            self.wake()
            self._connection.responded(self)
