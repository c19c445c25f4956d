"""The end of a connection after a refusal: draining, lingering and counting."""

from __future__ import annotations

import asyncio
from typing import Any

from cases import cases
from conversation import Pipe, connection, hooks, limited, turns

POST = b"POST /early?0 HTTP/1.1\r\nHost: x\r\n"


def test_a_refused_upload_is_drained_to_its_last_byte_and_then_closed() -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        pipe.deliver(POST + b"Content-Length: 70000\r\n\r\n" + bytes(10))
        await turns()
        pipe.take(2**20)
        assert protocol.hooks.connections.draining == {protocol.place}
        pipe.deliver(bytes(60_000))
        pipe.deliver(bytes(9_989))
        await turns()
        assert not pipe.lost
        pipe.deliver(bytes(1))
        await turns()
        assert pipe.lost
        assert not protocol.hooks.connections.draining

    asyncio.run(run())


@cases(
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
        assert protocol.closing.has_begun
        assert not protocol.hooks.connections.draining
        pipe.end()
        await turns()
        assert pipe.lost

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


def test_an_excess_connection_is_closed_after_a_response() -> None:
    async def run() -> None:
        shared = hooks(connections=limited(8))
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
