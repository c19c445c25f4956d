"""Single connections over a transport without a socket."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from cases import cases
from conversation import CHECK, Unhurried, answered, application, connection, echo, hooks, limited, turns
from uvicorn.server import ServerState

from axiscast_service.http.hooks import HOOKS
from axiscast_service.http.limits import Connections
from axiscast_service.http.listener import Loop
from axiscast_service.http.protocol import HTTPProtocol
from axiscast_service.http.rates import CHECKS_PER_WINDOW
from axiscast_service.http.timeouts import PARTIAL_REQUEST_SECONDS
from axiscast_service.runtime.budget import MemoryBudget


def test_requests_before_a_half_close_are_answered_if_the_client_reads_late() -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        left = b"".join(CHECK % number for number in range(3000))
        pipe.high = 100  # the client reads nothing for now
        left = left[: len(left) - len(left) % len(CHECK)]
        sent = pipe.deliver(left)
        await turns()
        assert protocol.flow.is_writing_paused
        whole = left[:sent].count(b"\r\n\r\n")
        pipe.end()
        assert await answered(pipe, whole) == list(range(whole))
        await turns()
        assert pipe.lost

    asyncio.run(run())


@cases("path", [b"cancelled", b"fails"])
def test_an_application_that_ends_without_a_response_leaves_no_client_waiting(path: bytes) -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        pipe.deliver(b"GET /%b?1 HTTP/1.1\r\nHost: x\r\n\r\n" % path)
        await turns()
        assert pipe.unsent.startswith(b"HTTP/1.1 50")
        assert protocol.cycle is None
        pipe.take(2**20)
        pipe.end()
        await turns()
        assert pipe.lost

    asyncio.run(run())


def test_no_connection_is_closed_that_was_served_or_has_sent_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        shared = hooks(connections=Connections(8))
        served = [connection(shared)[0] for _ in range(4)]
        silent = [connection(shared)[0] for _ in range(3)]
        unread, protocol = connection(shared)
        monkeypatch.setattr(protocol.place, "has_unread_data", lambda: True)
        for pipe in served:
            pipe.deliver(CHECK % 1)
            assert await answered(pipe, 1) == [1]
        newest = [connection(shared)[0] for _ in range(5)]
        await turns()
        assert [pipe.lost for pipe in (*served, unread, *silent, *newest)] == [False] * 5 + [True] * 5 + [False] * 3
        for pipe in (unread, *newest[2:]):
            pipe.deliver(CHECK % 1)
            assert await answered(pipe, 1) == [1]

    asyncio.run(run())


def test_silent_connections_are_closed_for_new_ones() -> None:
    async def run() -> None:
        shared = hooks(connections=Connections(8))
        silent = [connection(shared)[0] for _ in range(12)]
        await turns()
        assert [pipe.lost for pipe in silent] == [True] * 4 + [False] * 8

    asyncio.run(run())


def test_pipelined_data_takes_no_memory_from_the_request_before_it() -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks(budget=MemoryBudget(0)))
        pipe.deliver(b"GET /x?3 HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert protocol.cycle is not None
        pipe.deliver(b"".join(CHECK % number for number in range(4, 404)))
        assert (await answered(pipe, 2))[:2] == [3, 4]

    asyncio.run(run())


def test_a_fast_path_that_fails_harms_no_other_connection() -> None:
    def failing(data: bytes, first: Iterable[tuple[bytes, bytes]], peer: object) -> tuple[bytes, int] | None:
        if b"?13 " in data:
            raise ValueError
        return echo(data, first, peer)

    async def run() -> None:
        shared = hooks()
        shared.fast_path = failing
        pipes = [connection(shared)[0] for _ in range(3)]
        for pipe, number in zip(pipes, (12, 13, 14), strict=True):
            pipe.deliver(CHECK % number)
        assert [await answered(pipe, 1) for pipe in pipes] == [[12], [13], [14]]

    asyncio.run(run())


def test_a_partial_header_block_is_not_forgotten_on_shutdown() -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        pipe.deliver(CHECK[:9])
        assert protocol.scheduled
        protocol.shutdown()
        await asyncio.sleep(PARTIAL_REQUEST_SECONDS)
        assert pipe.unsent == b""
        await asyncio.sleep(1)
        assert pipe.unsent.startswith(b"HTTP/1.1 503")

    with asyncio.Runner(loop_factory=Unhurried) as runner:
        runner.run(run())


def test_a_connection_is_closed_if_no_further_request_begins_in_time() -> None:
    async def run() -> None:
        shared = hooks(request_seconds=4)
        pipes = [connection(shared)[0] for _ in range(2)]
        for pipe in pipes:
            pipe.deliver(CHECK % 1)
            assert await answered(pipe, 1) == [1]
        await asyncio.sleep(59)  # keep_alive_seconds is 60
        pipes[0].deliver(CHECK % 2)
        assert await answered(pipes[0], 2) == [1, 2]
        await asyncio.sleep(2)
        assert [pipe.lost for pipe in pipes] == [False, True]
        await asyncio.sleep(57)
        assert not pipes[0].lost
        pipes[0].deliver((CHECK % 3)[:9])
        await asyncio.sleep(3)
        pipes[0].deliver((CHECK % 3)[9:])
        assert await answered(pipes[0], 3) == [1, 2, 3]
        await asyncio.sleep(62)
        assert pipes[0].lost

    with asyncio.Runner(loop_factory=Unhurried) as runner:
        runner.run(run())


@cases("status", [204, 304])
def test_a_status_without_a_body_is_sent_without_one(status: int) -> None:
    async def app(scope: object, receive: object, send: Callable[[object], Awaitable[None]]) -> None:
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"3")]})
        await send({"type": "http.response.body", "body": b"abc"})

    async def run() -> None:
        pipe, _ = connection(hooks(), app=app)
        pipe.deliver(b"GET /x?1 HTTP/1.1\r\nHost: x\r\n\r\n" + CHECK % 2)
        await answered(pipe, 1)
        head, _, rest = bytes(pipe.received).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert rest.startswith(b"HTTP/1.1 200 OK\r\n")

    asyncio.run(run())


def test_nothing_is_awaited_after_a_complete_body() -> None:
    async def run() -> None:
        pipe, _ = connection(hooks())
        pipe.deliver(b"GET /x?1 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n")
        assert await answered(pipe, 1) == [1]
        assert pipe.received.startswith(b"HTTP/1.1 200")

    asyncio.run(run())


@pytest.mark.parametrize("missing", [True, False])
def test_a_system_without_a_limit_on_unsent_bytes_answers(missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        family = socket.AF_INET

        def setsockopt(self, *option: object) -> None:
            raise OSError(errno.ENOPROTOOPT, "Protocol not available")

    async def run() -> None:
        if missing:
            monkeypatch.delattr(socket, "TCP_NOTSENT_LOWAT")
        monkeypatch.setattr("conversation._NO_SOCKET", Refusing())
        pipe, _ = connection(hooks())
        pipe.deliver(CHECK % 1)
        assert await answered(pipe, 1) == [1]

    asyncio.run(run())


LOOPS = [asyncio.SelectorEventLoop, pytest.param(Loop, id="uvloop")]
MALFORMED = b"GET /v1/check?1 HTTP/1.1\r\n\r\n"


@cases("make_loop", LOOPS)
@cases(
    ("first", "last", "expected"),
    [
        (b"", CHECK % 1, b"200"),
        (b"", MALFORMED, b"400"),
        (CHECK[:9], (CHECK % 1)[9:], b"200"),
        (MALFORMED[:9], MALFORMED[9:], b"400"),
        (CHECK % 0, CHECK % 1, b"200"),
    ],
    ids=["a first request", "a malformed one", "the rest of one", "the rest of a malformed one", "a second request"],
)
def test_data_that_arrived_in_time_is_read_before_the_close(
    first: bytes, last: bytes, expected: bytes, make_loop: type[asyncio.AbstractEventLoop]
) -> None:
    """The data arrives while the loop is busy, and the connection's time limit ends before the loop reads."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        config = SimpleNamespace(loaded_app=application, timeout_keep_alive=60)
        protocol = HTTPProtocol(config, ServerState(), {HOOKS: hooks()}, loop)
        with theirs:
            theirs.settimeout(1)
            await loop.connect_accepted_socket(lambda: protocol, ours)
            theirs.sendall(first)
            await turns()
            if protocol.has_responded:
                theirs.recv(2**16)
                protocol.keep_alive_seconds = 0
            else:
                for _ in range(CHECKS_PER_WINDOW):
                    protocol.rates.check(0, awaited=True)
            theirs.sendall(last)
            protocol.timeouts._check()
            await turns()
            assert theirs.recv(2**16)[9:12] == expected
        await turns()

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(run())


@cases("limit", [4, 1])
def test_a_refusal_is_not_lost_to_a_new_connection_while_others_wait(limit: int) -> None:
    async def run() -> None:
        shared = hooks(connections=limited(limit))
        refused, _ = connection(shared)
        refused.deliver(b"no HTTP\r\n")
        await turns()
        assert refused.ended
        assert refused.unsent.startswith(b"HTTP/1.1 400 ")
        waiting = []
        for _ in range(3):
            pipe, _ = connection(shared)
            pipe.deliver(CHECK % 1)
            await turns()
            waiting.append(pipe)
        connection(shared)
        await turns()
        assert refused.lost == (limit == 1)
        if limit == 4:
            assert [pipe.lost for pipe in waiting] == [True, False, False]

    asyncio.run(run())


def test_a_refused_half_closed_client_is_not_awaited() -> None:
    async def run() -> None:
        pipe, _ = connection(hooks())
        pipe.deliver(MALFORMED)
        await turns()
        assert pipe.ended
        assert not pipe.closing
        pipe, _ = connection(hooks())
        pipe.deliver(MALFORMED)
        pipe.end()
        await turns()
        pipe.take(2**20)
        await turns()
        assert pipe.received.startswith(b"HTTP/1.1 400 ")
        assert pipe.lost

    asyncio.run(run())


def test_a_request_that_becomes_malformed_before_its_response_is_sent_is_refused() -> None:
    async def app(scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while (await receive())["type"] != "http.disconnect":
            pass

    async def run() -> None:
        pipe, _ = connection(hooks(), app=app)
        pipe.deliver(b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
        await turns()
        pipe.deliver(b"no size\r\n")
        await turns()
        assert pipe.unsent.startswith(b"HTTP/1.1 400 ")

    asyncio.run(run())
