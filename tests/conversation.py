"""A transport without a socket, and random conversations over it."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any

import h11
from uvicorn.server import ServerState

from axiscast.wire.problems import PROBLEM_KINDS
from axiscast_service.http.grammar import read_short_request
from axiscast_service.http.hooks import HOOKS, Hooks
from axiscast_service.http.limits import Connections
from axiscast_service.http.protocol import HTTPProtocol
from axiscast_service.http.upload import EXTENSION
from axiscast_service.runtime.budget import MemoryBudget

PAGE = 40_000
"""The size of a part of a long response in bytes."""
STEPS = 4000
"""RequestScheduler of the loop after which a conversation that goes on is stuck."""
_NO_SOCKET, _OTHER_END = socket.socketpair()


class Pipe(asyncio.Transport):
    """A connection with a test as its client."""

    def __init__(self, loop: asyncio.AbstractEventLoop, encrypted: bool = False) -> None:
        super().__init__({"socket": _NO_SOCKET, "sslcontext": object() if encrypted else None})
        self.loop = loop
        self.protocol: Any = None
        self.paused = self.closing = self.lost = self.ended = False
        self.unsent, self.received = bytearray(), bytearray()
        self.high, self.full = 2**16, False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.high = high or 2**16

    def get_write_buffer_size(self) -> int:
        return len(self.unsent)

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def can_write_eof(self) -> bool:
        return self.get_extra_info("sslcontext") is None

    def write_eof(self) -> None:
        self.ended = True

    def write(self, data: Any) -> None:
        assert not self.ended, "written after the end"
        assert not self.closing, "written after the close"
        self.unsent += data
        if len(self.unsent) > self.high and not self.full:
            self.full = True
            self.protocol.pause_writing()

    def close(self) -> None:
        if not self.closing:
            self.closing = True
            if not self.unsent:
                self.loop.call_soon(self.lose)

    def abort(self) -> None:
        self.closing = True
        self.unsent.clear()
        self.loop.call_soon(self.lose)

    def lose(self, error: Exception | None = None) -> None:
        if not self.lost:
            self.closing = self.lost = True
            self.protocol.connection_lost(error)

    # --- what the client does

    def deliver(self, data: bytes) -> int:
        """Send as many bytes as one read takes, and return their number."""
        if self.paused or self.closing or not data:
            return 0
        buffer = self.protocol.get_buffer(-1)
        nbytes = min(len(buffer), len(data))
        assert nbytes
        buffer[:nbytes] = data[:nbytes]
        self.protocol.buffer_updated(nbytes)
        return nbytes

    def end(self) -> None:
        """Close the client's half of the connection after all bytes are read."""
        if not self.closing and not self.protocol.eof_received():
            self.close()

    def take(self, nbytes: int) -> None:
        """Read `nbytes` bytes."""
        self.received += self.unsent[:nbytes]
        del self.unsent[:nbytes]
        if self.full and len(self.unsent) <= self.high // 4:
            self.full = False
            self.protocol.resume_writing()
        if self.closing and not self.unsent and not self.lost:
            self.loop.call_soon(self.lose)


class Unhurried(asyncio.SelectorEventLoop):
    """A loop whose clock advances only when the loop would wait, so that no timer is late on a busy machine."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        selector: Any = self._selector  # type: ignore[attr-defined]
        select = selector.select

        def select_at_once(timeout: float | None) -> Any:
            self.now += timeout or 0
            return select(0)

        selector.select = select_at_once

    def time(self) -> float:
        return self.now


def echo(data: bytes, first: Iterable[tuple[bytes, bytes]], peer: object) -> tuple[bytes, int] | None:
    """A fast path that responds to GET /v1/check by the number in the query."""
    plain = read_short_request(data)
    if plain is None or plain.query is None or b"long" in plain.query:
        return None
    return b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx-number: %b\r\n\r\n" % plain.query, plain.size


async def application(scope: Any, receive: Any, send: Any) -> None:
    """An application whose behaviour depends on the path."""
    number, path = scope["query_string"], scope["path"]
    nbytes = 0
    headers = [(b"x-number", number)]
    if path == "/fails":
        raise ValueError
    if path == "/cancelled":
        raise asyncio.CancelledError
    if path == "/into" and EXTENSION in scope.get("extensions", {}):
        nbytes = int(dict(scope["headers"])[b"content-length"])
        if not await scope["extensions"][EXTENSION]["receive_into"](memoryview(bytearray(nbytes)), 0, lambda _: None):
            return
    elif path != "/early":
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            nbytes += len(message["body"])
            if not message["more_body"]:
                break
            await asyncio.sleep(0)
    headers.append((b"x-bytes", b"%d" % nbytes))
    if path == "/long":
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for _ in range(4):
            await send({"type": "http.response.body", "body": bytes(PAGE), "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    else:
        for _ in range(int(number) % 4):
            await asyncio.sleep(0)
        headers.append((b"content-length", b"0"))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def limited(limit: int) -> Connections:
    """Return a limit on open connections, whose clock shows that each connection has been idle for a second."""
    return Connections(limit, clock=count().__next__)


def hooks(**settings: Any) -> Hooks:
    """Return hooks for the application, with a large budget unless `settings` has one."""
    return Hooks(
        refusal=lambda problem, *_: (PROBLEM_KINDS[problem.code].status, [(b"content-length", b"0")], b""),
        fast_path=echo,
        **{"budget": MemoryBudget(2**30), **settings},
    )


def connection(shared: Hooks, encrypted: bool = False, app: Any = application) -> tuple[Pipe, HTTPProtocol]:
    """Return a new connection and its transport."""
    loop = asyncio.get_running_loop()
    config = SimpleNamespace(loaded_app=app, timeout_keep_alive=60)
    protocol = HTTPProtocol(config, ServerState(), {HOOKS: shared}, loop)
    pipe = Pipe(loop, encrypted)
    pipe.protocol = protocol
    protocol.connection_made(pipe)
    return pipe, protocol


@dataclass
class Request:
    """A request as bytes, with the expected lengths of the received and the sent body."""

    data: bytes
    nbytes: int = 0
    response_bytes: int = 0


def request(random: Random, number: int) -> Request:
    """Return a random request."""
    size = random.choice([1, 16, 70_000, 70_000, 300_000])
    path, body, fields = "/x", b"", b""
    match random.randrange(8):
        case 0 | 1 | 2:
            return Request(b"GET /v1/check?%d HTTP/1.1\r\nHost: x\r\n\r\n" % number)
        case 3:
            return Request(b"GET /long?%d HTTP/1.1\r\nHost: x\r\n\r\n" % number, 0, 4 * PAGE)
        case 4:
            path = "/into" if size > 2**18 else "/x"
            fields, body = b"Content-Length: %d\r\n" % size, bytes(size)
        case 5:
            fields = b"Content-Length: %d\r\nExpect: 100-continue\r\n" % size
            body = bytes(size)
        case 6:
            cut = random.randrange(size + 1)
            parts = filter(None, (bytes(cut), bytes(size - cut)))
            fields = b"Transfer-Encoding: chunked\r\n"
            body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
        case _:
            size = 0
    nbytes = size if body else 0
    return Request(b"POST %b?%d HTTP/1.1\r\nHost: x\r\n%b\r\n" % (path.encode(), number, fields) + body, nbytes)


def numbers(received: bytes) -> list[int]:
    """Return the numbers of the responses that have begun."""
    return [int(number) for number in re.findall(rb"x-number: (\d+)\r\n", received)]


def responses(received: bytes) -> list[tuple[int, int, int]]:
    """Return the number of each response, and the lengths of the received and the sent body, as h11 reads them."""
    client, found = h11.Connection(h11.CLIENT), []
    client.receive_data(received)
    while client.trailing_data[0]:
        client.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
        client.send(h11.EndOfMessage())
        while isinstance(event := client.next_event(), h11.InformationalResponse):
            pass
        assert isinstance(event, h11.Response)
        fields = dict(event.headers)
        nbytes = 0
        while isinstance(part := client.next_event(), h11.Data):
            nbytes += len(part.data)
        assert isinstance(part, h11.EndOfMessage)
        found.append((int(fields[b"x-number"]), int(fields.get(b"x-bytes", 0)), nbytes))
        if client.our_state is h11.DONE and client.their_state is h11.DONE:
            client.start_next_cycle()
    return found


CHECK = b"GET /v1/check?%d HTTP/1.1\r\nHost: x\r\n\r\n"


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def answered(pipe: Pipe, count: int) -> list[int]:
    """Read until a number of responses is complete, or the connection has ended."""
    for _ in range(STEPS):
        pipe.take(2**20)
        if pipe.lost or len(numbers(pipe.received)) == count:
            break
        await asyncio.sleep(0)
    return numbers(pipe.received)
