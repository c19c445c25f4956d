"""Time limits of requests that do not arrive and of responses that are not read."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from cases import cases
from conftest import SECONDS, SLOTS, Served, wait_for
from conversation import Unhurried
from raw_http import (
    BODY,
    BROADCAST,
    CHUNKED,
    DUE,
    GET,
    LAST,
    LONGEST,
    POST,
    Answer,
    answers,
    ask,
    assert_refused,
    at_most,
    connect,
    receive,
    trickle,
)
from uvicorn.server import ServerState

from axiscast_service.http.hooks import HOOKS, Hooks
from axiscast_service.http.protocol import HTTPProtocol

SLOW = {
    "silence": (b"", b""),
    "half a head": (b"GET /livez HTT", b""),
    "half a second head": (GET + b"GET /livez HTT", b""),
    "a slow head": (LAST[:-2] + b"X: ", b"x"),
    "half a body": (POST.replace(b"json", b"msgpack") + b"X-Request-ID: mine\r\nContent-Length: 9\r\n\r\n{", b""),
    "a slow body": (POST + b"Content-Length: 1000\r\n\r\n", b"x"),
    "slow chunks": (CHUNKED, b"1;ignored\r\nx\r\n"),
    "a slow trailer": (CHUNKED + b"0\r\nX: ", b"x"),
}


def reader(port: int) -> socket.socket:
    """A connection that has requested much data, and reads little of the response."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
    connection.settimeout(LONGEST)
    connection.connect(("127.0.0.1", port))
    connection.sendall(BROADCAST)
    return connection


def asked_until(statuses: list[int], port: int, *pieces: bytes, pause: float) -> list[Answer]:
    """Send pieces of requests, up to three times until the responses have these statuses.

    On a busy machine, a single pause may last longer than the time limit.
    """
    found: list[Answer] = []
    for _ in range(3):
        with suppress(ConnectionError):
            found = ask(port, *pieces, pause=pause)
        if [answer.status for answer in found] == statuses:
            break
    return found


def long_body(port: int) -> list[Answer]:
    """Send a body that takes longer than a second but makes progress."""
    pieces = [POST + b"Content-Length: 2000000\r\nConnection: close\r\n\r\n", *[b"x" * 200_000] * 10]
    return asked_until([400], port, *pieces, pause=0.15 * SECONDS)


def slow_requests(port: int) -> list[Answer]:
    """Send a header block, a body and another header block, which together take longer than one time limit."""
    post = POST + b"Content-Length: 16\r\n\r\n" + BODY
    pieces = [post[:40], post[40:-9], post[-9:] + LAST[:40], LAST[40:]]
    return asked_until([200, 200], port, *pieces, pause=0.4 * SECONDS)


def far_apart(port: int) -> list[Answer]:
    """Send two requests with a pause that is longer than the limit for header blocks, bodies and readers."""
    return asked_until([200, 200], port, GET, LAST, pause=1.5 * SECONDS)


def slow_reader(port: int) -> bytes:
    """Read a response so slowly that the system can't buffer the rest."""
    start, raw = time.monotonic(), bytearray()
    with reader(port) as connection:
        while part := connection.recv(2**16):
            raw += part
            if time.monotonic() - start < 1.7 * SECONDS:
                time.sleep(0.01)
    return bytes(raw)


def sends_on(port: int) -> tuple[list[Answer], int, float]:
    """Return the response to a refused body that is still sent, the number of sent bytes, and the duration."""
    with connect(port) as connection:
        start, sent = time.monotonic(), 0
        connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % DUE)
        try:
            while sent < 2**30:
                sent += connection.send(b"x" * 2**16)
        except ConnectionError:
            pass
        return answers(connection.recv(2**16)), sent, time.monotonic() - start


@pytest.fixture(scope="module")
def waited(gate: Served) -> dict[Any, Any]:
    """Run all these coroutines at the same time, and return their results."""
    jobs: dict[Any, Any] = {name: partial(trickle, gate.port, *data) for name, data in SLOW.items()}
    jobs |= {job: partial(job, gate.port) for job in (long_body, slow_requests, far_apart, slow_reader, sends_on)}
    with at_most(32 * 2**20, gate), ThreadPoolExecutor(len(jobs)) as pool:
        futures = {name: pool.submit(job) for name, job in jobs.items()}
        return {name: future.result() for name, future in futures.items()}


@cases("name", SLOW)
def test_incomplete_requests_are_closed_after_the_time_limit(waited: dict[Any, Any], name: str) -> None:
    assert waited[name][1] >= SECONDS


@cases("name", [name for name in SLOW if name not in ("silence", "half a body")])
def test_a_partial_request_gets_a_408(waited: dict[Any, Any], name: str) -> None:
    *before, answer = answers(waited[name][0])
    assert_refused(answer, 408, "request-timeout")
    assert [other.status for other in before] == ([200] if name == "half a second head" else [])


def test_a_408_has_the_encoding_and_the_id_of_its_request(waited: dict[Any, Any]) -> None:
    (answer,) = answers(waited["half a body"][0])
    assert (answer.status, answer.problem["code"]) == (408, "request-timeout")
    assert (answer.headers["content-type"], answer.headers["x-request-id"]) == ("application/vnd.msgpack", "mine")


def test_a_silent_connection_gets_no_response(waited: dict[Any, Any]) -> None:
    assert waited["silence"][0] == b""


def test_a_body_that_makes_progress_may_take_longer(waited: dict[Any, Any]) -> None:
    (answer,) = waited[long_body]
    assert (answer.status, answer.problem["code"]) == (400, "malformed-body")


def test_each_header_block_and_each_body_has_its_own_time(waited: dict[Any, Any]) -> None:
    assert [answer.status for answer in waited[slow_requests]] == [200, 200]


def test_a_connection_between_two_requests_may_idle_for_longer(waited: dict[Any, Any]) -> None:
    assert [answer.status for answer in waited[far_apart]] == [200, 200]


def test_a_slow_reader_gets_the_complete_response(waited: dict[Any, Any]) -> None:
    head, _, body = waited[slow_reader].partition(b"\r\n\r\n")
    (announced,) = re.findall(rb"content-length: ([0-9]+)", head)
    assert len(body) == int(announced) > 64 * 2**20


def test_a_client_that_keeps_sending_can_read_its_refusal(waited: dict[Any, Any]) -> None:
    (answer,), sent, seconds = waited[sends_on]
    assert (answer.status, answer.headers["connection"]) == (413, "close")
    assert sent < 64 * 2**20  # what the system itself takes
    assert seconds > 1


def check_status(service: Served) -> int:
    return httpx.get(f"{service.url}/v1/check?input=3").status_code


def read_until_cut(connection: socket.socket, nbytes: int) -> None:
    """Read this number of bytes twenty times per second."""
    end = time.monotonic() + LONGEST
    try:
        while time.monotonic() < end:
            if nbytes:
                connection.recv(nbytes)
            connection.sendall(b"x")  # what has come can be read after a reset too: this tells of it
            time.sleep(0.05)
    except ConnectionError:
        return
    raise TimeoutError


def unsent_of(service: Served) -> int:
    """Return the bytes that the system buffers for clients of the service, on open and closed connections."""
    sockets = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return sum(int(fields[4][:8], 16) for fields in sockets if fields[1].endswith(f":{service.port:04X}"))


def test_slow_readers_are_cut_and_block_no_other_client(gate: Served) -> None:
    with ExitStack() as stack:
        readers = [stack.enter_context(reader(gate.port)) for _ in range(SLOTS)]
        assert [connection.recv(12) for connection in readers] == [b"HTTP/1.1 200"] * len(readers)
        assert check_status(gate) == 200
        assert 0 < unsent_of(gate) < len(readers) * 2**19  # what the system itself takes
        start = time.monotonic()
        with ThreadPoolExecutor(SLOTS) as pool:
            cut = pool.map(read_until_cut, readers[1:], [0, *[1] * SLOTS])  # the first does nothing at all
            list(cut)
        assert time.monotonic() - start > 0.5 * SECONDS
        assert wait_for(lambda: unsent_of(gate) == 0, 60)  # else for minutes


WITHHELD = {
    "a short body": POST + b"Content-Length: 16\r\n\r\n" + BODY[:-1],
    "chunks": CHUNKED + b"10\r\n" + BODY + b"\r\n",
    "a long body": POST.replace(b"json", b"msgpack") + b"Content-Length: 300000\r\n\r\n" + bytes(200_000),
    "a head": GET[:-2],
}


@cases("data", WITHHELD.values(), ids=WITHHELD)
def test_clients_that_withhold_the_end_of_a_request_do_not_block_others(gate: Served, data: bytes) -> None:
    with ExitStack() as stack:
        withholders = [stack.enter_context(connect(gate.port)) for _ in range(4 * SLOTS)]
        for connection in withholders:
            connection.sendall(data)
        for _ in range(20):
            assert check_status(gate) == 200


class Wire(asyncio.Transport):
    """A transport with this number of unsent bytes."""

    def __init__(self, connection: socket.socket, unsent: int) -> None:
        super().__init__({"socket": connection, "sockname": None, "peername": None})
        self.unsent = unsent
        self.written = b""
        self.aborted = False

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...

    def can_write_eof(self) -> bool:
        return False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.aborted

    def close(self) -> None:
        pass

    def abort(self) -> None:
        self.aborted = True


async def hangs(scope: Any, receive: Any, send: Any) -> None:
    """An application that neither reads nor responds."""
    await asyncio.sleep(1000)


async def begins(scope: Any, receive: Any, send: Any) -> None:
    """An application that sends a part of a response."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]})
    await send({"type": "http.response.body", "body": b"part", "more_body": True})
    await asyncio.sleep(1000)


BEGUN = POST + b"Content-Length: 3000000\r\n\r\n{"


def watched(data: bytes, app: Any = hangs, taken: bool = False, unsent: int = 0, takes: int = 0) -> Wire:
    """Return the state of a connection that has received this data, after five times `request_seconds`."""

    async def watch(wire: Wire) -> None:
        config = uvicorn.Config(app, log_config=None, lifespan="off")
        config.load()
        config.loaded_app = app
        hooks = Hooks(refusal=lambda *_: (408, [], b""), request_seconds=0.04)
        connection = HTTPProtocol(config, ServerState(), {HOOKS: hooks})
        connection.connection_made(wire)
        receive(connection, data)
        for _ in range(20):
            wire.unsent = max(wire.unsent - takes, 0)
            if taken:
                connection.resume_writing()
            await asyncio.sleep(0.01)
        connection.connection_lost(ConnectionError())
        left = (wire.written, wire.aborted)
        await asyncio.sleep(0.1)
        assert left == (wire.written, wire.aborted)  # it is not watched any more

    with socket.socket(socket.AF_UNIX) as sock, asyncio.Runner(loop_factory=Unhurried) as runner:
        wire = Wire(sock, unsent)
        runner.run(watch(wire))
        return wire


def test_a_refilled_write_buffer_is_not_a_stalled_reader() -> None:
    assert watched(GET, unsent=1000).aborted
    assert not watched(GET, unsent=1000, taken=True).aborted


def test_a_client_must_read_enough_in_its_time_or_all() -> None:
    assert watched(GET, unsent=2**24, takes=1000).aborted
    assert not watched(GET, unsent=2**24, takes=2**18).aborted
    assert not watched(GET, unsent=1000, takes=400).aborted


def test_an_application_that_does_not_read_does_not_make_its_client_slow() -> None:
    assert watched(BEGUN).written.startswith(b"HTTP/1.1 408 ")
    assert watched(BEGUN + bytes(200_000)).written == b""


def test_a_started_response_is_aborted_and_not_followed_by_another() -> None:
    wire = watched(BEGUN, begins)
    assert wire.aborted
    assert wire.written.endswith(b"\r\n\r\npart")
    assert b"408" not in wire.written


def test_a_request_that_waits_for_its_turn_has_arrived() -> None:
    async def watch(wire: Wire) -> None:
        config = uvicorn.Config(hangs, log_config=None, lifespan="off")
        config.load()
        hooks = Hooks(refusal=lambda *_: (408, [], b""), request_seconds=0.04)
        hooks.turns = Held()  # type: ignore[assignment]
        connection = HTTPProtocol(config, ServerState(), {HOOKS: hooks})
        connection.connection_made(wire)
        receive(connection, GET)
        await asyncio.sleep(0.2)
        assert (wire.written, wire.aborted) == (b"", False)
        connection.connection_lost(None)

    class Held:
        def enter(self, *_: Any) -> None: ...

    with socket.socket(socket.AF_UNIX) as sock, asyncio.Runner(loop_factory=Unhurried) as runner:
        runner.run(watch(Wire(sock, 0)))
