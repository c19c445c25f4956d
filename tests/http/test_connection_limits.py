"""Rates, lingering closes, and the choice of the connection that is closed for a new one."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace
from typing import Any

import pytest
from conversation import CHECK, answered, application, connection, hooks, turns
from uvicorn.server import ServerState

from axiscast.wire.problems import Problem
from axiscast_service.http.hooks import HOOKS
from axiscast_service.http.lingering_close import LINGER_BYTES, LingeringClose
from axiscast_service.http.listener import Loop
from axiscast_service.http.protocol import HTTPProtocol
from axiscast_service.http.rates import CHECKS_PER_WINDOW, FLOOR_BYTES, Rates

LONG = b"POST /into?0 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"


# --- rates


def test_a_silent_client_is_too_slow_after_five_checks_and_no_sooner() -> None:
    rates = Rates()
    for look in range(1, CHECKS_PER_WINDOW + 2):
        rates.check(unsent=0, awaited=True)
        assert rates.waits == look
    rates.check(unsent=0, awaited=False)
    assert rates.waits == 0


@pytest.mark.parametrize(("nbytes", "waits"), [(FLOOR_BYTES, 0), (FLOOR_BYTES - 1, 1)])
def test_a_fast_enough_body_starts_another_window(nbytes: int, waits: int) -> None:
    rates = Rates()
    for _ in range(3):
        rates.received += nbytes
        rates.check(unsent=0, awaited=True)
        assert rates.waits == waits
        rates.begin()


def test_a_client_is_stalled_unless_it_reads_enough_or_all() -> None:
    rates = Rates()
    for unsent, stalls in (
        (2 * FLOOR_BYTES, 0),
        (FLOOR_BYTES + 1, 1),
        (FLOOR_BYTES, 0),
        (FLOOR_BYTES, 1),
        (2 * FLOOR_BYTES, 2),
        (1, 3),
        (0, 0),
        (FLOOR_BYTES, 0),
        (1, 1),
    ):
        rates.check(unsent, awaited=False)
        assert rates.stalls == stalls, unsent


# --- lingering


def test_a_drained_upload_ends_with_its_last_byte() -> None:
    closing = LingeringClose(drains=True, due=10, max_body_bytes=100)
    closing.received(9)
    assert not closing.is_over
    closing.received(1)
    assert closing.is_over
    assert not closing.is_too_much
    closing.received(189)
    assert not closing.is_too_much
    closing.received(1)
    assert closing.is_too_much


def test_a_lingering_close_without_draining_reads_one_mebibyte() -> None:
    closing = LingeringClose(drains=False, due=10, max_body_bytes=100)
    closing.received(LINGER_BYTES - 1)
    assert (closing.is_over, closing.is_too_much) == (False, False)
    closing.received(1)
    assert closing.is_too_much


@pytest.mark.parametrize("sent", [b"", LONG])
def test_only_an_arriving_body_is_drained(sent: bytes) -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        pipe.deliver(sent)
        await turns()
        protocol.refuse(Problem("overloaded", "later"))
        assert protocol.connections.draining == ({protocol} if sent else set())
        assert list(protocol.connections.lingering) == [protocol]
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
def test_a_connection_in_the_reserve_is_answered_and_closed(
    make_loop: type[asyncio.AbstractEventLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await begun.wait()
        await application(scope, receive, send)

    async def run() -> None:
        monkeypatch.setattr("axiscast_service.http.limits.MAX_CONNECTIONS", 8)
        monkeypatch.setattr("axiscast_service.http.limits.IN_USE_SECONDS", 0)
        loop, shared = asyncio.get_running_loop(), hooks()
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
            theirs.settimeout(1)
            theirs.sendall(CHECK % 2)
            await asyncio.sleep(0.05)
            assert b"x-number: 2" in theirs.recv(2**16)  # and is not reset
            assert theirs.recv(1) == b""
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
        slow.request_start -= 100
        fast.request_start -= 1
        assert slow.bytes_per_second() == pytest.approx(10, rel=0.01)
        assert fast.bytes_per_second() == pytest.approx(500, rel=0.05)
        assert shared.connections.close_one_for_capacity()
        await turns()
        assert (slow_pipe.lost, fast_pipe.lost) == (True, False)
        fast_pipe.lose()
        await turns()

    asyncio.run(run())


@pytest.mark.parametrize("encrypted", [False, True])
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
            assert protocol.has_grown_tls == (encrypted and number == 1)
        assert list(protocol.connections.grown_tls) == [protocol] * encrypted

    asyncio.run(run())


# --- the end of a response


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
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
