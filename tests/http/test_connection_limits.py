"""The limit on connections, and what happens to the connections above it."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace
from typing import Any

import pytest
from cases import cases
from conftest import PATIENCE
from conversation import CHECK, Unhurried, answered, application, connection, hooks, limited, turns
from uvicorn.server import ServerState

from axiscast.wire.problems import Problem
from axiscast_service.http.hooks import HOOKS
from axiscast_service.http.listener import Loop
from axiscast_service.http.protocol import HTTPProtocol

LONG = b"POST /into?0 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"


# --- lingering


@cases("sent", [b"", LONG])
def test_only_an_arriving_body_is_drained(sent: bytes) -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        pipe.deliver(sent)
        await turns()
        protocol.refuse(Problem("overloaded", "later"))
        assert protocol.hooks.connections.draining == ({protocol.place} if sent else set())
        assert list(protocol.hooks.connections.lingering) == [protocol.place]
        if sent:
            left = 1_000_000
            while left > 1:
                left -= pipe.deliver(bytes(min(left - 1, 2**16)))
            assert not pipe.closing
            pipe.take(2**20)
            pipe.deliver(b"x")
        else:
            pipe.lose()
        await turns()
        assert pipe.lost

    asyncio.run(run())


# --- room


@pytest.mark.parametrize("make_loop", [asyncio.SelectorEventLoop, pytest.param(Loop, id="uvloop")])
def test_a_connection_in_the_reserve_is_answered_and_closed(make_loop: type[asyncio.AbstractEventLoop]) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await begun.wait()
        await application(scope, receive, send)

    async def run() -> None:
        loop, shared = asyncio.get_running_loop(), hooks(connections=limited(8))
        busy = [connection(shared, app=app)[0] for _ in range(8)]
        for pipe in busy:
            pipe.deliver(b"GET /x?0 HTTP/1.1\r\nHost: x\r\n\r\n")
        await turns()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        config = SimpleNamespace(loaded_app=application, timeout_keep_alive=60)
        reserve = HTTPProtocol(config, ServerState(), {HOOKS: shared}, loop)
        await loop.connect_accepted_socket(lambda: reserve, ours)
        assert (shared.connections.total, shared.connections.above_limit) == (9, True)
        with theirs:
            theirs.setblocking(False)
            theirs.sendall(CHECK % 2)
            async with asyncio.timeout(PATIENCE):
                assert b"x-number: 2" in await loop.sock_recv(theirs, 2**16)  # and is not reset
                assert await loop.sock_recv(theirs, 1) == b""
                while shared.connections.total > 8:
                    await asyncio.sleep(0)
        assert shared.connections.total == 8
        begun.set()
        await turns()

    begun = asyncio.Event()
    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(run())


def test_the_slowest_body_is_the_one_with_the_fewest_bytes_in_each_second() -> None:
    async def run() -> None:
        shared = hooks()
        (slow_pipe, slow), (fast_pipe, fast) = (connection(shared) for _ in range(2))
        for pipe, nbytes in ((slow_pipe, 1000), (fast_pipe, 500)):
            pipe.deliver(LONG)
            await turns()
            pipe.deliver(bytes(nbytes))
            await asyncio.sleep(1 if pipe is fast_pipe else 10)
        assert slow.rates.per_second() == pytest.approx(1000 / 11)
        assert fast.rates.per_second() == pytest.approx(500)
        assert shared.connections.close_one_for_capacity()
        await turns()
        assert (slow_pipe.lost, fast_pipe.lost) == (True, False)
        fast_pipe.lose()
        await turns()

    with asyncio.Runner(loop_factory=Unhurried) as runner:
        runner.run(run())


@cases("encrypted", [False, True])
def test_a_long_body_grows_the_tls_buffers_of_an_encrypted_connection(encrypted: bool) -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks(), encrypted)
        for number, nbytes in ((0, 2**16), (1, 2**16 + 1)):
            request = b"POST /x?%d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (number, nbytes)
            left = request + bytes(nbytes)
            while left:
                left = left[pipe.deliver(left) :]
                await turns(3)
            assert await answered(pipe, number + 1) == [*range(number + 1)]
            assert protocol.place.has_grown_tls == (encrypted and number == 1)
        assert list(protocol.hooks.connections.grown_tls) == [protocol.place] * encrypted

    asyncio.run(run())


# --- the end of a response


@cases("version", [b"1.0", b"1.1"])
def test_a_response_without_a_length_ends_with_its_last_chunk_or_its_connection(version: bytes) -> None:
    async def run() -> None:
        pipe, _ = connection(hooks())
        pipe.deliver(b"GET /long?0 HTTP/%b\r\nHost: x\r\n\r\n" % version)
        for _ in range(100):
            pipe.take(2**20)
            await asyncio.sleep(0)
        head, _, body = bytes(pipe.received).partition(b"\r\n\r\n")
        assert (b"transfer-encoding: chunked" in head) == (version == b"1.1")
        assert (b"connection: close" in head) == pipe.lost == (version == b"1.0")
        assert body.endswith(b"0\r\n\r\n") == (version == b"1.1")
        if version == b"1.0":
            assert body == bytes(160_000)

    asyncio.run(run())
