"""One request and its response, between a connection and an ASGI application."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any, Protocol

logger = logging.getLogger("axiscast")

JOINED_BYTES = 16 * 2**10
"""The largest body that is copied and sent together with its headers."""
STATUS_LINES = {int(status): b"HTTP/1.1 %d %b\r\n" % (status, status.phrase.encode()) for status in HTTPStatus}
_BODILESS = (204, 304)
_FAILURE = b"Internal Server Error"
_FAILURE_FIELDS = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(_FAILURE))]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


class CycleConnection(Protocol):
    """What carries a request and its response: a connection."""

    write_paused: bool

    def default_fields(self) -> Iterable[tuple[bytes, bytes]]:
        """Header fields of every response."""

    def write(self, data: bytes | memoryview) -> None:
        """Send this."""

    async def writable(self) -> None:
        """Wait until the client has taken most of what is unsent, or has gone."""

    def resume_reading(self) -> None:
        """Read more of the body."""

    def responded(self, cycle: RequestCycle) -> None:
        """The application has responded."""

    def cancelled(self) -> None:
        """The application was stopped before it had responded."""

    def abandon_response(self) -> None:
        """End a response that is not complete."""


def response_head(status: int, fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The bytes of a status line and header fields. Raises RuntimeError if a field would break a line."""
    lines = [b"%b: %b\r\n" % field for field in fields]
    head = b"".join([STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status, *lines, b"\r\n"])
    if not head.count(b"\r") == head.count(b"\n") == len(lines) + 2:
        raise RuntimeError("a header field of the response has a line break")
    return head


class RequestCycle:
    """The request of a connection that the application has."""

    __slots__ = (
        *("_body", "_body_taken", "_chunked", "_connection", "_continue", "_due", "_event", "_head", "_is_bodiless"),
        *("body_complete", "complete", "disconnected", "keep_alive", "scope", "started"),
    )

    def __init__(
        self,
        connection: CycleConnection,
        scope: Message,
        body: bytes,
        body_complete: bool,
        keep_alive: bool,
        expects: bool,
    ) -> None:
        self._connection = connection
        self.scope = scope
        self._body: bytes | bytearray = body  # what has come of it and the application has not taken
        self._body_taken = False  # whether it has taken all
        self.body_complete = body_complete
        """Whether all of the body has come."""
        self._continue = expects  # whether the client waits for 100 Continue
        self.keep_alive = keep_alive
        """Whether the connection may be used again."""
        self.started = False
        """Whether the application has begun to respond."""
        self.complete = False
        """Whether it has responded."""
        self.disconnected = False
        """Whether the client has gone, or was answered in the application's place."""
        self._event: asyncio.Event | None = None
        self._is_bodiless = scope["method"] == "HEAD"  # whether the response has no body, whatever its fields say
        self._head = b""  # that of the response, until the first part of its body
        self._due: int | None = None  # bytes of the response that are announced and not sent
        self._chunked = False

    async def run(self, app: Application) -> None:
        """Call the application."""
        try:
            await app(self.scope, self.receive, self.send)
        except asyncio.CancelledError:
            if not (self.complete or self.disconnected):
                self._connection.cancelled()
            raise
        except Exception:
            logger.exception("the application failed")
        if self.complete or self.disconnected:
            return
        if self.started:
            self._connection.abandon_response()  # clients report a body that is too short
            return
        self.keep_alive = False
        await self.send({"type": "http.response.start", "status": 500, "headers": _FAILURE_FIELDS})
        await self.send({"type": "http.response.body", "body": _FAILURE})

    # --- the request

    def feed(self, data: bytes) -> int:
        """More of the body has come. Returns how many bytes the application has not taken."""
        if not isinstance(self._body, bytearray):
            self._body = bytearray(self._body)
        self._body += data
        self.wake()
        return len(self._body)

    def end_body(self) -> None:
        """All of the body has come."""
        self.body_complete = True
        self.wake()

    def take_held(self) -> bytes | bytearray:
        """What has come of the body and was not received."""
        held, self._body = self._body, b""
        return held

    @property
    def is_awaiting_continue(self) -> bool:
        """Whether the client waits for 100 Continue and has sent no body."""
        return self._continue

    @property
    def has_sent(self) -> bool:
        """Whether the client has been sent a part of the response. Its head waits for the first part of its body."""
        return self.started and not self._head

    def disconnect(self) -> None:
        """Nothing more can be sent or received."""
        self.disconnected = True
        self.wake()

    async def receive(self) -> Message:
        """ASGI's: the next part of the body; at the end of the response, or of the connection, a disconnect."""
        if self._continue and not self.disconnected and not self.started:
            self._continue = False
            self._connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while not (self.disconnected or self.complete):
            if self._body or (self.body_complete and not self._body_taken):
                body, self._body = bytes(self._body), b""
                self._body_taken = self.body_complete
                return {"type": "http.request", "body": body, "more_body": not self.body_complete}
            self._connection.resume_reading()
            if self._event is None:
                self._event = asyncio.Event()
            self._event.clear()
            await self._event.wait()
        return {"type": "http.disconnect"}

    def wake(self) -> None:
        """Let `receive` look again at what has come."""
        if self._event is not None:
            self._event.set()

    # --- the response

    async def send(self, message: Message) -> None:
        """ASGI's: the head of the response, or the next part of its body. Waits while the client takes none."""
        if self._connection.write_paused and not self.disconnected:
            await self._connection.writable()
        if self.disconnected:
            return
        kind = message["type"]
        if kind != ("http.response.body" if self.started else "http.response.start") or self.complete:
            raise RuntimeError(f"the application sent {kind} out of its order")
        if self.started:
            self._send_body(message.get("body", b""), message.get("more_body", False))
        else:
            self._start(message["status"], message.get("headers", ()))

    def _start(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.started = True
        fields = [*self._connection.default_fields(), *headers]
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
                self.keep_alive = False  # the end of the connection is that of the body
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
                raise RuntimeError(f"the body of the response has not the length that is announced: {self._due} bytes")
        head, self._head = self._head, b""
        if head and len(body) <= JOINED_BYTES:
            self._connection.write(head + body)
        else:
            if head:
                self._connection.write(head)
            if body:
                self._connection.write(body)
        if not more:
            self.complete = True
            self.wake()
            self._connection.responded(self)
