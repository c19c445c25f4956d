"""Tests of connections: long bodies, the choice of the connection to close, and complete cleanup."""

from __future__ import annotations

import gc
import resource
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
import uvicorn
from cases import cases
from conftest import PATIENCE, SECONDS, Served, free_port, served, wait_for
from raw_http import (
    BODY,
    GET,
    KEPT,
    LAST,
    LONGEST,
    POST,
    SECRET,
    answers,
    ask,
    assert_refused,
    connect,
    read_all,
    trickle,
)
from test_heads import MALFORMED
from test_timeouts import SLOW, check_status, read_until_cut, reader

from axiscast_service.app import create_app
from axiscast_service.http.hooks import HOOKS, Hooks
from axiscast_service.http.limits import Connections
from axiscast_service.http.protocol import HTTPProtocol
from axiscast_service.settings import Settings


def test_many_connections_leave_file_descriptors_free_and_the_log_short() -> None:
    with served(request_seconds=10 * LONGEST) as small:
        resource.prlimit(small.process.pid, resource.RLIMIT_NOFILE, (256, 256))
        idle = [connect(small.port) for _ in range(600)]
        assert httpx.get(f"{small.url}/livez", timeout=LONGEST).status_code == 200
        assert len(list(Path(f"/proc/{small.process.pid}/fd").iterdir())) < 256
        assert idle[0].recv(1) == b""
        assert select.select([idle[-1]], [], [], 0)[0] == []
        for connection in idle:
            connection.close()
        for data in MALFORMED.values():
            ask(small.port, data)
        for _ in range(50):
            with reader(small.port) as connection:
                connection.recv(1)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
        assert check_status(small) == 200
    assert "Traceback" not in small.log
    assert SECRET.decode() not in small.log
    assert len(small.log.splitlines()) < 20 + len(MALFORMED)


@contextmanager
def running(app: Any, kept: float = KEPT, http: type[HTTPProtocol] = HTTPProtocol) -> Iterator[int]:
    """The port of a server of this application, in this process."""
    port = free_port()
    config = uvicorn.Config(app, port=port, http=http, log_config=None, timeout_keep_alive=kept)  # type: ignore[arg-type]
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    assert wait_for(lambda: server.started)
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def here() -> Iterator[tuple[int, Any]]:
    """The port and the application of a service in this process."""
    app = create_app(Settings(request_seconds=SECONDS))
    with running(app) as port:
        yield port, app


def test_an_early_response_differs_only_in_its_headers() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            scope["state"][HOOKS] = Hooks(refusal=lambda *_: (500, [], b""))
            for event in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{event}.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"6")]})
        await send({"type": "http.response.body", "body": b"a\r\n", "more_body": True})
        await send({"type": "http.response.body", "body": b"b\r\n"})

    with running(app) as port:
        (answer,) = ask(port, POST + b"Content-Length: 99999\r\n\r\n")
    assert (answer.headers["connection"], answer.body) == ("close", b"a\r\nb\r\n")


@cases("pause", [0.0, 0.05])
def test_a_long_body_arrives_as_it_was_sent_and_the_next_request_behind_it(gate: Served, pause: float) -> None:
    sent = np.random.default_rng(0).integers(0, 256, 3 * 2**20, np.uint8)
    tensor = {"dtype": "uint8", "shape": [len(sent)], "data": sent.tobytes()}
    body = msgpack.packb({"op": {"name": "numpy.broadcast_to", "shape": [len(sent)]}, "inputs": [tensor]})
    head = b"POST /v1/broadcast HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\nUpgrade: h2c\r\n"
    raw = head + b"Content-Length: %d\r\n\r\n" % len(body) + body + LAST
    cuts = [0, 50, 200, 70_000, 400_000, 2**21, 2**21 + 9, len(raw) - 20, len(raw)]
    first, second = ask(gate.port, *[raw[start:stop] for start, stop in pairwise(cuts)], pause=pause)
    assert (first.status, second.status) == (200, 200)
    assert msgpack.unpackb(first.body)["broadcast_inputs"][0]["data"] == sent.tobytes()


def test_a_stalled_long_body_gets_a_408(gate: Served) -> None:
    begun = [POST + b"Content-Length: 3000000\r\n\r\n" + b"x" * sent for sent in (0, 300_000, 2_500_000)]
    with ThreadPoolExecutor(len(begun)) as pool:
        for raw, _ in pool.map(lambda data: trickle(gate.port, data, b"x"), begun):
            assert [answer.status for answer in answers(raw)] == [408]


@pytest.mark.parametrize("raw", [GET, b"GET / HTTP/1.1\r\n\r\n", POST + b"Content-Length: 999999\r\n\r\n" + BODY])
@pytest.mark.parametrize("reset", [False, True])
def test_a_closed_connection_needs_no_garbage_collection(here: tuple[int, Any], raw: bytes, reset: bool) -> None:
    port, _ = here
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            with connect(port) as connection:
                connection.sendall(raw)
                time.sleep(0.05)
                if reset:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert wait_for(lambda: not any(isinstance(each, HTTPProtocol) for each in gc.get_objects()), LONGEST)
    finally:
        gc.enable()


def wait_for_connections(app: Any, number: int) -> None:
    assert wait_for(lambda: app.state.connections.total == number)


def test_refused_and_aborted_connections_are_counted_and_leave_nothing_behind(here: tuple[int, Any]) -> None:
    port, app = here
    ask(port, MALFORMED["no Host"])
    ask(port, MALFORMED["a chunk without a size"])
    ask(port, LAST[:-2] + b"X: 1\r\n" * 101)
    ask(port, GET, LAST)
    with ThreadPoolExecutor(4) as pool, reader(port) as stalled:
        list(pool.map(trickle, [port] * 3, *zip(*(SLOW[name] for name in list(SLOW)[:3]), strict=True)))
        read_until_cut(stalled, 0)
    assert app.state.refusals == {
        "malformed-request": 2,
        "head-too-large": 1,
        "silent": 1,
        "request-timeout": 2,
        "stalled-reader": 1,
    }
    wait_for_connections(app, 0)
    assert vars(app.state.connections) == vars(Connections())


def test_the_longest_waiting_connections_are_closed_and_none_in_flight() -> None:
    app = create_app(Settings(request_seconds=10 * LONGEST))
    connections: Connections = app.state.connections
    connections.limit, connections.clock = 3, count().__next__
    with running(app, kept=PATIENCE) as port, reader(port) as working:
        assert working.recv(12) == b"HTTP/1.1 200"
        with connect(port) as first, connect(port) as second:
            for connection in (second, first, second):  # so the first has waited for longer
                connection.sendall(GET)
                answer = b""
                while not answer.endswith(b"}"):
                    answer += connection.recv(2**16)
            assert [last.status for last in ask(port, LAST)] == [200]
            assert first.recv(1) == b""
            second.sendall(LAST)
            assert answers(read_all(second))[0].status == 200
        connections.limit = 1
        wait_for_connections(app, 1)
        (answer,) = ask(port, LAST)
        assert_refused(answer, 503, "overloaded")
        assert answer.headers["retry-after"] == "1"
        assert len(read_all(working)) > 64 * 2**20
    assert app.state.refusals == {"no-room": 1, "overloaded": 1}


def test_the_connection_with_the_slowest_body_is_closed() -> None:
    app = create_app(Settings(request_seconds=10 * LONGEST))
    connections: Connections = app.state.connections
    connections.limit, connections.clock = 3, count().__next__
    head = POST.replace(b"json", b"msgpack") + b"Content-Length: 3000000\r\n\r\n"
    with running(app, kept=PATIENCE) as port, connect(port) as slow, connect(port) as fast, connect(port) as short:
        fast.sendall(head + bytes(200_000))
        slow.sendall(head + bytes(100))
        short.sendall(POST + b"Content-Length: 16\r\n\r\n" + BODY[:-1])
        assert wait_for(lambda: len(app.state.connections.arriving) == 3)
        time.sleep(0.1)
        assert [answer.status for answer in ask(port, LAST)] == [200]
        assert short.recv(1) == b""
        with connect(port) as another:
            another.sendall(GET)
            assert another.recv(2**16).endswith(b"}")
            assert [answer.status for answer in ask(port, LAST)] == [200]
            assert another.recv(1) == b""  # what is idle comes before what arrives
        fast.sendall(bytes(2_800_000))
        assert fast.recv(12) == b"HTTP/1.1 400"
    assert app.state.refusals["no-room"] == 2
