"""The end of a connection after a refusal: draining, lingering and counting."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conversation import PAGE, Pipe, connection, hooks

from axiscast_service.http.rates import CHECKS_PER_WINDOW, FLOOR_BYTES, Rates

POST = b"POST /early?0 HTTP/1.1\r\nHost: x\r\n"


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_refused_upload_is_drained_to_its_last_byte_and_then_closed() -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        pipe.deliver(POST + b"Content-Length: 70000\r\n\r\n" + bytes(10))
        await turns()
        pipe.take(2**20)
        assert set(protocol.connections.draining) == {protocol}
        pipe.deliver(bytes(60_000))
        pipe.deliver(bytes(9_989))
        await turns()
        assert not pipe.lost
        pipe.deliver(bytes(1))
        await turns()
        assert pipe.lost
        assert not protocol.connections.draining

    asyncio.run(run())


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET /x?0 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET / HT",
        POST + b"Expect: 100-continue\r\nContent-Length: 70000\r\n\r\n",
    ],
    ids=["malformed", "its last request", "no body was asked for"],
)
def test_nothing_is_drained_without_an_arriving_body(data: bytes) -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        pipe.deliver(data)
        await turns()
        pipe.take(2**20)
        assert protocol.closing is not None
        assert not protocol.connections.draining
        pipe.end()
        await turns()
        assert pipe.lost

    asyncio.run(run())


def test_a_response_without_a_length_ends_with_the_connection_in_http_1_0() -> None:
    async def run() -> None:
        pipe, _ = connection(hooks())
        pipe.deliver(b"GET /long?0 HTTP/1.0\r\nHost: x\r\n\r\n")
        for _ in range(10):
            await turns()
            pipe.take(2**20)
        assert pipe.lost
        head, _, body = bytes(pipe.received).partition(b"\r\n\r\n")
        assert b"transfer-encoding" not in head
        assert body == bytes(4 * PAGE)

    asyncio.run(run())


def test_no_continue_is_sent_after_a_response_has_begun() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
        await asyncio.wait_for(receive(), 0.01)

    async def run() -> None:
        pipe, _ = connection(hooks(), app=app)
        pipe.deliver(POST + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n")
        await turns()
        assert pipe.unsent == b""
        pipe.lose()
        await turns()

    asyncio.run(run())


def test_the_slowest_body_is_closed_if_no_connection_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        shared = hooks()
        fast, slow = connection(shared)[0], connection(shared)[0]
        for pipe, nbytes in ((fast, 60_000), (slow, 10)):
            pipe.deliver(b"POST /x?0 HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n")
            pipe.deliver(bytes(nbytes))
        await asyncio.sleep(0.01)
        monkeypatch.setattr("axiscast_service.http.limits.MAX_CONNECTIONS", 2)
        connection(shared)
        await turns()
        assert [fast.lost, slow.lost] == [False, True]

    asyncio.run(run())


def test_an_excess_connection_is_closed_after_a_response(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        monkeypatch.setattr("axiscast_service.http.limits.MAX_CONNECTIONS", 8)
        monkeypatch.setattr("axiscast_service.http.limits.IN_USE_SECONDS", 0)
        shared = hooks()
        pipes: list[Pipe] = []
        for _ in range(9):
            pipe, _protocol = connection(shared)
            pipe.deliver(b"GET /x?3 HTTP/1.1\r\nHost: x\r\n\r\n")
            pipes.append(pipe)
        assert shared.connections.above_limit
        await turns()
        assert [pipe.lost for pipe in pipes].count(True) == 1
        assert not shared.connections.above_limit

    asyncio.run(run())


@pytest.mark.parametrize(("nbytes", "waits"), [(FLOOR_BYTES, 0), (FLOOR_BYTES - 1, CHECKS_PER_WINDOW)])
def test_a_window_with_too_few_bytes_is_counted(nbytes: int, waits: int) -> None:
    rates = Rates()
    rates.received += nbytes
    for _ in range(CHECKS_PER_WINDOW):
        rates.check(0, awaited=True)
        if not waits:
            assert rates.waits == 0
            rates.received += FLOOR_BYTES
    assert rates.waits == waits
