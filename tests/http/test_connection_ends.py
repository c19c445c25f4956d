"""The ends of responses, turns, uploads and handshakes, and the shutdown of the listener."""

from __future__ import annotations

import asyncio
import gc
import socket
from types import SimpleNamespace
from typing import Any

import pytest
from cases import cases
from conftest import PATIENCE
from conversation import CHECK, answered, application, connection, hooks, turns
from raw_http import BODY
from uvicorn.server import ServerState

from axiscast.wire.problems import Problem
from axiscast_service.app import create_app
from axiscast_service.endpoints.api_route import ApiRoute
from axiscast_service.endpoints.request_context import RequestContext
from axiscast_service.http.grammar import read_short_request
from axiscast_service.http.hooks import HOOKS
from axiscast_service.http.limits import Connections
from axiscast_service.http.listener import Handshake, Listener
from axiscast_service.http.protocol import HTTPProtocol
from axiscast_service.http.scheduler import RequestScheduler
from axiscast_service.http.upload import LONG_BYTES, borrow, new_buffer
from axiscast_service.middleware.answer import Answer
from axiscast_service.runtime.budget import FREE_BYTES, MemoryBudget, MemoryReservation


@cases("leaving", [False, True])
def test_a_request_in_pieces_is_answered_without_a_fast_path(leaving: bool) -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        if leaving:
            protocol.shutdown()
        protocol.fast_path = None
        for piece in (b"POST /x?0 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n", b"1", b"23"):
            pipe.deliver(piece)
            await turns()
        assert await answered(pipe, 1) == [0]
        assert (b"connection: close" in pipe.received) == leaving

    asyncio.run(run())


@cases(("leaving", "status"), [(False, b"500"), (True, b"503")])
def test_a_cancelled_application_gets_a_problem_for_its_cause(leaving: bool, status: bytes) -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        pipe.deliver(b"GET /cancelled?0 HTTP/1.1\r\nHost: x\r\n\r\n")
        if leaving:
            protocol.shutdown()
        await turns()
        assert pipe.unsent[9:12] == status

    asyncio.run(run())


@cases("value", [b"close", b"Close"])
def test_an_application_may_end_the_connection(value: bytes) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"Connection", value), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body"})

    async def run() -> None:
        pipe, _ = connection(hooks(), app=app)
        pipe.deliver(b"GET /x?0 HTTP/1.1\r\nHost: x\r\n\r\n")
        await turns()
        pipe.take(2**20)
        await turns()
        assert pipe.received.lower().count(b"connection: close\r\n") == 1
        assert pipe.lost

    asyncio.run(run())


def test_the_scheduler_stops_when_no_connection_waits() -> None:
    class Loop:
        def __init__(self) -> None:
            self.calls: list[Any] = []

        def call_soon(self, *call: Any) -> None:
            self.calls.append(call)

    loop: Any = Loop()
    entrant: Any = SimpleNamespace(loop=loop, answer_fast=lambda: None, take_normal_path=lambda: None)
    shared = RequestScheduler()
    shared.enter(entrant, pipelined=False)
    shared.enter(entrant, pipelined=True)
    ((run, argument),) = loop.calls
    loop.calls.clear()
    run(argument)
    assert loop.calls == [(entrant.take_normal_path,), (entrant.take_normal_path,)]


def test_a_missing_body_is_awaited_on_a_connection_that_had_a_response() -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        pipe.deliver(CHECK % 0)
        assert await answered(pipe, 1) == [0]
        assert not protocol.awaits_request()
        for piece in (b"POST /x?1 HTTP/1.1\r\n", b"Host: x\r\nContent-Length: 9\r\n\r\n", b"12345678"):
            pipe.deliver(piece)
            await turns()
            assert protocol.awaits_request()
        pipe.deliver(b"9")
        assert await answered(pipe, 2) == [0, 1]
        assert not protocol.awaits_request()

    asyncio.run(run())


def test_a_handshake_over_the_limit_may_be_closed() -> None:
    async def run() -> None:
        connections = Connections(0)
        config = SimpleNamespace(loaded_app=application, timeout_keep_alive=60)
        protocol = HTTPProtocol(config, ServerState(), {HOOKS: hooks(connections=connections)})
        ours, theirs = socket.socketpair()
        with theirs:
            handshake = Handshake(ours, protocol, encrypted=True)
            assert protocol.place.is_refused
            assert list(connections.unserved) == [protocol.place]
            assert connections.close_one_for_capacity()
            assert theirs.recv(1) == b""
            handshake.end()
        assert (connections.total, connections.unserved) == (0, {})

    asyncio.run(run())


def test_a_closing_connection_is_not_half_closed() -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        pipe.unsent += b"1"
        pipe.close()
        protocol.closing.linger(10, drains=True)
        assert not pipe.ended
        assert protocol.hooks.connections.draining == set()

    asyncio.run(run())


def test_the_listener_waits_until_a_late_connection_has_ended() -> None:
    async def run() -> None:
        state = ServerState()
        _, late = connection(hooks())
        late.server_state = state
        state.connections.add(late)
        listener = Listener.__new__(Listener)
        listener.opening, listener.accepted_late = {}, [late]
        waiting = asyncio.ensure_future(listener.wait_closed())
        await asyncio.sleep(0.12)
        assert not waiting.done()
        state.connections.clear()
        await asyncio.wait_for(waiting, PATIENCE)

    asyncio.run(run())


def test_the_buffer_of_a_body_is_cached_once_nothing_refers_to_it() -> None:
    async def run() -> None:
        cache = MemoryBudget(2**24).buffers
        buffer = new_buffer(LONG_BYTES + 1, windows=True)
        body = borrow(buffer, LONG_BYTES, cache)
        assert body.nbytes == LONG_BYTES
        body[:3] = b"abc"
        assert bytes(buffer[:3]) == b"abc"
        await turns()
        assert cache.buffer is None
        del body
        gc.collect()
        await turns()
        assert cache.buffer is buffer

    asyncio.run(run())


@pytest.mark.parametrize(("nbytes", "answers"), [(10, True), (FREE_BYTES, True), (FREE_BYTES + 1, False)])
def test_the_fast_path_gives_short_responses(nbytes: int, answers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def respond(route: ApiRoute, context: RequestContext) -> Answer:
        return Answer(bytes(nbytes), "application/json")

    monkeypatch.setattr(ApiRoute, "respond", respond)
    request = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
    assert (create_app().state.dispatcher.answer(request, [], None) is not None) == answers


def test_the_fast_path_does_not_answer_an_incomplete_post() -> None:
    request = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 16\r\n\r\n" + BODY
    plain = read_short_request(request + b"more")
    assert plain is not None
    assert (plain.body, plain.size) == (BODY, len(request))
    assert [read_short_request(request[:size]) for size in range(len(request))] == [None] * len(request)


def test_bytes_of_a_request_above_64_kib_are_reserved() -> None:
    budget = MemoryBudget(4 * 2**20)
    with MemoryReservation(budget) as memory:
        memory.reserve(FREE_BYTES)
        assert budget.held == 0
        memory.reserve(1)
        assert budget.held == 1
        memory.release(2)
        assert budget.held == 0
        memory.reserve(100 + 1)
        assert budget.held == 100
        with pytest.raises(Problem) as refused:
            memory.reserve(budget.limit)
        assert refused.value.code == "body-too-large"
        assert (memory.nbytes, budget.held) == (FREE_BYTES + 100, 100)
    assert budget.held == 0


def test_a_half_closed_connection_closes_after_its_last_response() -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        pipe.deliver(CHECK % 0 + CHECK % 1)
        pipe.end()
        assert not pipe.closing
        await turns()
        pipe.take(2**20)
        await turns()
        assert pipe.received.count(b"HTTP/1.1 200 OK\r\n") == 2
        assert pipe.lost
        assert protocol.receiver.body == b""

    asyncio.run(run())


def test_a_connection_above_the_reserve_is_refused() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await begun.wait()
        await application(scope, receive, send)

    async def run() -> None:
        shared = hooks(connections=Connections(8))
        for number in range(10):
            pipe, protocol = connection(shared, app=app)
            assert protocol.place.is_refused == (number == 9)
            pipe.deliver(b"GET /x?0 HTTP/1.1\r\nHost: x\r\n\r\n")
            await turns()
        assert pipe.unsent.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        begun.set()
        await turns()

    begun = asyncio.Event()
    asyncio.run(run())


def test_a_held_body_is_released() -> None:
    async def run() -> None:
        pipe, protocol = connection(hooks())
        for piece in (b"POST /x?0 HTTP/1.1\r\nHost: x\r\nContent-Length: 6000\r\n\r\n", bytes(5000)):
            pipe.deliver(piece)
            await turns()
        assert (len(protocol.receiver.body), protocol.hooks.budget.held) == (5000, 904)
        pipe.deliver(bytes(1000))
        assert await answered(pipe, 1) == [0]
        assert (len(protocol.receiver.body), protocol.hooks.budget.held) == (0, 0)
        assert pipe.received.startswith(b"HTTP/1.1 200 OK\r\n")

    asyncio.run(run())
