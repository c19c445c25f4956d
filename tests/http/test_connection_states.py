"""States of a connection between events, and the counts of scheduler, budget and heap."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from cases import cases
from conversation import CHECK, answered, connection, hooks, turns

from axiscast.wire.problems import Problem
from axiscast_service.http.grammar import header_fields
from axiscast_service.http.hooks import READ_BYTES
from axiscast_service.http.listener import Handshake
from axiscast_service.http.scheduler import RequestScheduler
from axiscast_service.runtime.budget import MemoryBudget
from axiscast_service.runtime.heap import HeapTrimmer

POST = b"POST /x?0 HTTP/1.1\r\nHost: x\r\n"
LONG = POST + b"Content-Length: 100000\r\n\r\n"
START = {"type": "http.response.start", "status": 200, "headers": []}
END = {"type": "http.response.body"}
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


# --- turns


class Entrant:
    """Return a connection that takes the normal path."""

    def __init__(self, loop: asyncio.AbstractEventLoop, name: int, asked: list[int], taken: list[int]) -> None:
        self.loop, self.name, self.asked, self.taken = loop, name, asked, taken

    def answer_fast(self) -> bytes | None:
        self.asked.append(self.name)
        return None

    def send_fast(self, response: bytes) -> None:
        raise AssertionError

    def take_normal_path(self) -> None:
        self.taken.append(self.name)


def test_sixteen_requests_per_turn_go_to_the_application() -> None:
    async def run() -> list[tuple[int, int]]:
        loop, shared, counts = asyncio.get_running_loop(), RequestScheduler(), []
        asked: list[int] = []
        taken: list[int] = []
        for name in range(40):
            entrant: Any = Entrant(loop, name, asked, taken)
            shared.enter(entrant, pipelined=False)
        for _ in range(5):
            counts.append((len(asked), len(taken)))
            await asyncio.sleep(0)
        assert taken == list(range(40))
        return counts

    assert asyncio.run(run()) == [(0, 0), (16, 0), (32, 16), (40, 32), (40, 40)]


def test_one_request_in_four_is_pipelined_while_others_arrive() -> None:
    async def run() -> list[int]:
        loop, shared = asyncio.get_running_loop(), RequestScheduler()
        asked: list[int] = []
        for name in range(12):
            entrant: Any = Entrant(loop, name, asked, [])
            shared.enter(entrant, pipelined=name >= 8)
        await turns()
        return asked

    assert asyncio.run(run()) == [0, 1, 2, 8, 3, 4, 5, 9, 6, 7, 10, 11]


# --- one connection


def test_a_scheduled_connection_reads_one_buffer_and_is_scheduled_once() -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        request = CHECK % 1
        first = request * (READ_BYTES // len(request))
        pipe.deliver(first[: READ_BYTES // 2])
        pipe.deliver(first[READ_BYTES // 2 :])
        assert not pipe.paused
        pipe.deliver(request)
        assert pipe.paused
        assert len(protocol.hooks.turns._arrived) == 1
        assert await answered(pipe, len(first) // len(request) + 1) == [1] * (len(first) // len(request) + 1)

    asyncio.run(run())


def test_a_request_is_awaited_until_its_body_has_arrived() -> None:
    async def app(scope: Any, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def run() -> None:
        pipe, protocol = connection(hooks(), app=app)
        assert protocol.awaits_request()
        for sent, awaited in ((LONG, True), (bytes(65_000), True), (bytes(34_999), True), (b"1", False)):
            pipe.deliver(sent)
            await turns()
            assert protocol.awaits_request() == awaited
        pipe.lose()
        assert not protocol.awaits_request()
        await turns()

    asyncio.run(run())


def test_a_request_during_the_shutdown_is_the_last_of_its_connection() -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        protocol.shutdown()
        pipe.deliver(b"GET /x?4 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await answered(pipe, 1) == [4]
        assert b"connection: close\r\n" in pipe.received
        await turns()
        assert pipe.lost

    asyncio.run(run())


def test_a_pipelined_request_is_answered_on_shutdown() -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        pipe.deliver(b"GET /long?0 HTTP/1.1\r\nHost: x\r\n\r\n")
        await turns()
        assert protocol.flow.is_writing_paused
        pipe.deliver(b"GET /x?1 HTTP/1.1\r\nHost: x\r\n\r\n")
        protocol.shutdown()
        assert await answered(pipe, 2) == [0, 1]
        assert pipe.received.count(b"connection: close\r\n") == 1

    asyncio.run(run())


def test_the_application_gets_a_disconnect_when_the_client_disconnects() -> None:
    async def app(scope: Any, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] != "http.disconnect":
            received.append(len(message["body"]))
        received.append("gone")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        received.append("not sent")

    async def run() -> None:
        pipe, _ = connection(hooks(), app=app)
        pipe.deliver(LONG)
        await turns()
        pipe.lose()
        await turns()

    received: list[int | str] = []
    asyncio.run(run())
    assert received == ["gone", "not sent"]


@cases("method", [b"HEAD", b"POST"])
def test_the_refusal_of_a_malformed_body_follows_the_headers_of_its_request(method: bytes) -> None:
    def refusal(problem: Problem, head: bytes, *_: Any) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        return 400, [(b"content-length", b"4"), (b"x-host", dict(header_fields(head))[b"host"])], b"body"

    async def run() -> None:
        shared = hooks()
        shared.refusal = refusal
        pipe, _ = connection(shared)
        pipe.deliver(method + b" /x HTTP/1.1\r\nHost: there\r\nTransfer-Encoding: chunked\r\n\r\n")
        await turns()
        pipe.deliver(b"no size\r\n")
        await turns()
        head, _, body = bytes(pipe.unsent).partition(b"\r\n\r\n")
        assert b"\r\nx-host: there\r\n" in head
        assert body == (b"" if method == b"HEAD" else b"body")

    asyncio.run(run())


@cases("followed", [False, True])
def test_a_connection_with_data_after_the_last_request_has_a_lingering_close(followed: bool) -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        pipe.deliver(b"GET /x?3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert protocol.cycle is not None
        if followed:
            pipe.deliver(CHECK % 5)
        assert await answered(pipe, 1) == [3]
        await turns()
        assert (pipe.ended, pipe.lost) == (followed, not followed)

    asyncio.run(run())


def test_a_connection_that_ends_during_its_handshake_counts_until_then() -> None:
    async def run() -> None:
        _, protocol = connection(hooks())
        connections = protocol.hooks.connections
        assert connections.total == 1
        another = type(protocol)(
            SimpleNamespace(loaded_app=None, timeout_keep_alive=1), protocol.server_state, protocol.state
        )
        ours, theirs = socket.socketpair()
        with theirs:
            handshake = Handshake(ours, another, encrypted=True)
            assert connections.total == 2
            for _ in range(2):
                handshake.end()
                assert connections.total == 1
        assert list(connections.unserved) == [protocol.place]

    asyncio.run(run())


@cases(
    ("pieces", "nbytes"),
    [
        ([POST + b"Content-Length: 1000\r\n\r\n", bytes(10), bytes(989), b"x"], 1000),
        ([POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", b"0\r\n", b"\r\n"], 1),
    ],
)
def test_a_short_request_is_in_flight_once_it_is_complete(pieces: list[bytes], nbytes: int) -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        for piece in pieces[:-1]:
            pipe.deliver(piece)
            await turns()
            assert protocol.cycle is None
            assert list(protocol.hooks.connections.arriving) == [protocol.place]
        pipe.deliver(pieces[-1])
        assert protocol.cycle is not None
        assert await answered(pipe, 1) == [0]
        assert b"x-bytes: %d\r\n" % nbytes in pipe.received

    asyncio.run(run())


@cases("encrypted", [False, True])
def test_an_https_url_is_answered_only_with_tls(encrypted: bool) -> None:
    async def run() -> None:
        pipe, _ = connection(hooks(), encrypted)
        pipe.deliver(b"GET https://x/x?0 HTTP/1.1\r\nHost: x\r\n\r\n")
        await turns()
        assert pipe.unsent.startswith(b"HTTP/1.1 200 " if encrypted else b"HTTP/1.1 421 ")

    asyncio.run(run())


def test_a_shutdown_closes_no_connection_whose_refusal_may_be_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        monkeypatch.setattr("axiscast_service.http.timeouts.GRACE_SECONDS", 0)
        pipe, protocol = connection(hooks())
        pipe.deliver(b"no HTTP\r\n")
        await turns()
        assert pipe.unsent.startswith(b"HTTP/1.1 400 ")
        protocol.shutdown()
        await turns()
        await asyncio.sleep(0.01)
        assert not pipe.closing

    asyncio.run(run())


def test_a_second_response_is_an_error_of_the_application(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Any, receive: Receive, send: Send) -> None:
        for message in (START, END, END):
            await send(message)

    async def run() -> None:
        pipe, _ = connection(hooks(), app=app)
        pipe.deliver(b"GET /x?0 HTTP/1.1\r\nHost: x\r\n\r\n")
        await turns()
        assert pipe.unsent.endswith(b"\r\n\r\n0\r\n\r\n")
        assert pipe.unsent.count(b"0\r\n\r\n") == 1

    asyncio.run(run())
    assert "sent http.response.body out of order" in caplog.text


def test_a_cancellation_after_the_response_keeps_the_response() -> None:
    async def app(scope: Any, receive: Receive, send: Send) -> None:
        await send(START)
        await send(END)
        raise asyncio.CancelledError

    async def run() -> None:
        pipe, _ = connection(hooks(), app=app)
        pipe.deliver(b"GET /x?0 HTTP/1.1\r\nHost: x\r\n\r\n")
        await turns()
        assert pipe.unsent.count(b"HTTP/1.1 ") == 1
        assert not pipe.ended
        pipe.deliver(CHECK % 1)
        await turns()
        assert pipe.unsent.count(b"HTTP/1.1 200 ") == 2

    asyncio.run(run())


def test_nothing_is_written_to_a_half_closed_client_after_the_close(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Any, receive: Receive, send: Send) -> None:
        await send(START)
        await send(END | {"body": b"first", "more_body": True})
        await turns()
        await send(END | {"body": b"second"})

    async def run() -> None:
        pipe, protocol = connection(hooks(), app=app)
        pipe.deliver(b"GET /x?0 HTTP/1.1\r\nHost: x\r\n\r\n")
        await turns(5)
        assert pipe.unsent.endswith(b"first\r\n")
        pipe.end()
        await turns()
        await turns()
        assert pipe.closing
        assert pipe.unsent.endswith(b"first\r\n")
        pipe.take(2**20)
        await turns()
        assert pipe.lost
        assert protocol.cycle is None

    asyncio.run(run())
    assert caplog.text == ""


# --- memory


def test_free_memory_is_returned_after_fifty_closed_connections_or_one_with_grown_buffers() -> None:
    class Loop:
        def __init__(self) -> None:
            self.later = self.given = 0

        def call_later(self, seconds: float, callback: Callable[..., None], loop: Any) -> None:
            self.later += 1

        def run_in_executor(self, executor: None, function: Callable[[], None]) -> None:
            self.given += 1

    for large, before in ((False, 49), (True, 0)):
        loop: Any = Loop()
        heap = HeapTrimmer()
        for _ in range(before):
            heap.connection_closed(loop, False)
        assert loop.later == 0
        heap.connection_closed(loop, large)
        assert loop.later == 1
        heap._trim(loop)
        heap.connection_closed(loop, False)
        assert (loop.later, loop.given) == (1, 1)


def test_a_cached_buffer_is_for_a_body_of_at_least_half_its_size() -> None:
    cache = MemoryBudget(4096).buffers
    assert cache.take(100) is None
    for wanted, fits in ((200, True), (100, True), (99, False), (201, False)):
        buffer = memoryview(bytearray(200))
        key = cache.put(buffer)
        assert cache.put(memoryview(bytearray(200))) is None  # one buffer is cached at a time
        assert (cache.take(wanted) is buffer) == fits
        assert (cache.buffer is None) == fits
        cache.expire(key)
        assert cache.buffer is None
