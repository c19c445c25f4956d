"""Connections: what uvicorn's parsers would take, wait for or keep for ever is bounded, whichever of them is there."""

from __future__ import annotations

import ast
import asyncio
import gc
import json
import re
import resource
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
import uvicorn
from conftest import PATIENCE, Served, free_port, served, unhurried, wait_for
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from tensorcast_service.settings import Settings
from tensorcast_service.web import gate as gates
from tensorcast_service.web.app import create_app
from tensorcast_service.web.connections import CONNECTIONS
from tensorcast_service.web.gate import TRANSITIONS, Gate, Phase

SECONDS = 2
LONGEST = 60
"""Seconds after which what should have been cut is held to stay. A busy machine may be late."""
KEPT = 0.4
SLOTS = 8
BODY = b'{"inputs":[[3]]}'
GET = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
POST = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
SECRET = b"not-to-be-repeated"


@pytest.fixture(scope="module", params=["", "httptools"], ids=["httptools", "h11"])
def absent(request: pytest.FixtureRequest) -> str:
    """What is not installed: without httptools the parser is h11."""
    return str(request.param)


@pytest.fixture(scope="module")
def gate(absent: str) -> Iterator[Served]:
    limits = {"request_seconds": SECONDS, "max_body_bytes": 4_000_000, "max_concurrent_requests": SLOTS}
    with served(absent, **limits) as running:
        yield running


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def problem(self) -> dict[str, Any]:
        packed = self.headers["content-type"] == "application/vnd.msgpack"
        document: dict[str, Any] = msgpack.unpackb(self.body) if packed else json.loads(self.body)
        return document


def answers(raw: bytes, headless: bool = False) -> list[Answer]:
    """The answers in what came over one connection, each exactly as long as it says."""
    found = []
    while raw:
        head, separator, rest = raw.partition(b"\r\n\r\n")
        assert separator
        line, *fields = head.decode("ascii").split("\r\n")
        headers = {name.lower(): value for name, value in (field.split(": ", 1) for field in fields)}
        length = 0 if headless or " 100 " in line else int(headers["content-length"])
        assert len(rest) >= length
        found.append(Answer(int(line.split()[1]), headers, rest[:length]))
        raw = rest[length:]
    return found


def connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def read_all(connection: socket.socket) -> bytes:
    """What comes until the service closes."""
    parts = []
    while part := connection.recv(2**16):
        parts.append(part)
    return b"".join(parts)


def ask(port: int, *pieces: bytes, pause: float = 0) -> list[Answer]:
    """The answers to these bytes, which make the service close."""
    with connect(port) as connection:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(pause)
        return answers(read_all(connection), headless=pieces[0].startswith(b"HEAD"))


@contextmanager
def at_most(nbytes: int, service: Served) -> Iterator[None]:
    """Asserts that the service never takes so much more memory than before."""
    Path(f"/proc/{service.process.pid}/clear_refs").write_text("5")  # the peak is counted from now
    before = service.memory()
    yield
    assert service.memory("VmHWM") - before < nbytes


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def assert_refused(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.problem["status"], answer.problem["code"]) == (status, status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["connection"] == "close"
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])
    assert "date" in answer.headers
    assert SECRET not in answer.body


# --- heads ----------------------------------------------------------------------------------------

LARGE = {"dtype": "float32", "shape": [1024], "data": bytes(4096)}
LARGE_BODY = msgpack.packb({"op": {"name": "numpy.broadcast_to", "shape": [2**14, 1024]}, "inputs": [LARGE]})
BROADCAST = b"POST /v1/broadcast HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\nConnection: close\r\n"
BROADCAST += b"Content-Length: %d\r\n\r\n" % len(LARGE_BODY) + LARGE_BODY  # 64 MiB come back

FIELD = b"X: " + SECRET + b"\r\n"
MALFORMED = {
    "no Host": b"GET /livez HTTP/1.1\r\n" + FIELD + b"\r\n",
    "no Host in HTTP/1.0": b"GET /livez HTTP/1.0\r\n\r\n",
    "two Hosts": b"GET /livez HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
    "a list of Hosts": b"GET /livez HTTP/1.1\r\nHost: x, y\r\n\r\n",
    "both framings": CHUNKED[:-2] + b"Content-Length: 5\r\n\r\n0\r\n\r\n" + GET,
    "both framings, the other way": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + GET,
    "two lengths": POST + b"Content-Length: 16\r\nContent-Length: 17\r\n\r\n" + BODY,
    "a list of lengths": POST + b"Content-Length: 16, 16\r\n\r\n" + BODY,
    "a length with a sign": POST + b"Content-Length: +16\r\n\r\n" + BODY,
    "a negative length": POST + b"Content-Length: -16\r\n\r\n" + BODY,
    "an endless length": POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n" + BODY,
    "no length": POST + b"Content-Length: \r\n\r\n" + BODY,
    "another coding": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "an unknown coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked twice": CHUNKED[:-2] + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": CHUNKED.replace(b"HTTP/1.1", b"HTTP/1.0") + b"0\r\n\r\n",
    "a space before the colon": POST + b"Content-Length : 16\r\n\r\n" + BODY,
    "a folded field": b"GET /livez HTTP/1.1\r\nHost: x\r\nX: 1\r\n " + SECRET + b"\r\n\r\n",
    "bare line feeds": GET.replace(b"\r\n", b"\n"),
    "one bare line feed": b"GET /livez HTTP/1.1\r\nHost: x\r\nX: 1\nY: 2\r\n\r\n",
    "a bare carriage return": b"GET /livez HTTP/1.1\r\nHost: x\r\nX: 1\r2\r\n\r\n",
    "NUL": b"GET /livez HTTP/1.1\r\nHost: x\r\nX: \0" + SECRET + b"\r\n\r\n",
    "HTTP/0.9": b"GET /livez\r\n",
    "HTTP/9.9": GET.replace(b"1.1", b"9.9"),
    "no version that is known, and no more": b"GET /livez HTTP/2.0\r\n",
    "the whole URL": b"GET http://x/livez HTTP/1.1\r\nHost: x\r\n\r\n",
    "a path that is not ASCII": "GET /v1/check?input=8\xd71 HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
    "a tunnel": b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    "a tunnel to a path": b"CONNECT / HTTP/1.1\r\nHost: x\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
    "TLS": bytes.fromhex("16030100c8010000c40303") + SECRET,
    "garbage": bytes(range(256)) * 20 + SECRET,
    "a chunk without a size": CHUNKED + b";x\r\n",
    "a chunk of a strange size": CHUNKED + b"0x10\r\n" + BODY,
    "a chunk of an endless size": CHUNKED + b"1" * 17 + b"\r\n" + BODY,
    "a chunk that is longer than it says": CHUNKED + b"f\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk that ends in a line feed": CHUNKED + b"10\n" + BODY,
    "a chunk of endless extensions": CHUNKED + b"10;" + b"x" * 1100,
    "thousands of chunks of a byte": CHUNKED + b"1\r\n \r\n" * 4097,
    "a trailer that is no field": CHUNKED + b"0\r\nno field\r\n\r\n",
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_what_is_not_quite_http_is_answered_once_and_closed(gate: Served, data: bytes) -> None:
    (answer,) = ask(gate.port, data)
    assert_refused(answer, 400, "malformed-request")


def test_a_refused_head_request_has_no_body(gate: Served) -> None:
    (answer,) = ask(gate.port, b"HEAD /livez HTTP/1.1\r\n\r\n")
    assert (answer.status, answer.body) == (400, b"")
    assert int(answer.headers["content-length"]) > 100


def head_of(size: int) -> bytes:
    return LAST[:-2] + b"X: " + b"x" * (size - len(LAST) - 5) + b"\r\n\r\n"


def test_a_head_has_up_to_32_kib_and_100_fields(gate: Served) -> None:
    for whole in (head_of(32 * 1024), LAST[:-2] + b"X: 1\r\n" * 98 + b"\r\n"):
        assert [answer.status for answer in ask(gate.port, whole)] == [200]
    for long in (head_of(32 * 1024 + 1), LAST[:-2] + b"X: 1\r\n" * 99 + b"\r\n"):
        (answer,) = ask(gate.port, long)
        assert_refused(answer, 431, "head-too-large")


UNENDING = {
    "a target": b"GET /",
    "a field": LAST[:-2] + b"X: ",
    "a name": LAST[:-2],
    "fields": LAST[:-2] + b"X: 1\r\n" * 101,
    "a trailer": CHUNKED + b"0\r\nX: ",
}


@pytest.mark.parametrize("data", UNENDING.values(), ids=UNENDING)
def test_what_is_too_long_is_refused_before_it_ends(gate: Served, data: bytes) -> None:
    with at_most(10 * 2**20, gate), connect(gate.port) as connection:
        connection.sendall(data)
        sent = 0
        try:
            while sent < 100 * 2**20:
                sent += connection.send(b"x" * 2**16)
                if select.select([connection], [], [], 0)[0]:
                    break
        except ConnectionError:
            pass  # the answer is here all the same
        (answer,) = answers(connection.recv(2**16))
    assert_refused(answer, 431, "head-too-large")


def test_a_request_may_come_in_any_pieces(gate: Served) -> None:
    requests = (
        b"\r\n"
        + GET
        + (POST + b"Content-Length: 16\r\n\r\n" + BODY)
        + (CHUNKED + b'4;name="value"\r\n{"in\r\n0000C\r\nputs":[[3]]}\r\n0\r\nX: 1\r\nY: 2\r\n\r\n')
        + (CHUNKED + b"10\r\n" + BODY + b"\r\n00\r\n\r\n")
        + LAST
    )
    for size in (1, 2, 7, 50, len(requests)):
        for tries in range(9):  # a busy machine may send more slowly than the gate waits for
            with suppress(ConnectionError):
                alive, *checked, last = ask(gate.port, *in_pieces(requests, size), pause=0.0005 if size > 1 else 0)
                break
            assert tries < 8
        assert (alive.body, last.body) == (b'{"status":"alive"}', b'{"status":"alive"}')
        assert [json.loads(answer.body)["outputs"][0]["shape"] for answer in checked] == [[3]] * 3


def test_chunks_may_be_small_where_they_are_few_or_others_large(gate: Served) -> None:
    small, large = b"1\r\n \r\n", b"1000\r\n" + b" " * 4096 + b"\r\n"
    for chunks in (small * 4095, large + small * 4100):
        (answer,) = ask(gate.port, CHUNKED + chunks + b"10\r\n" + BODY + b"\r\n0\r\n\r\n" + LAST, pause=0)[:1]
        assert json.loads(answer.body)["outputs"][0]["shape"] == [3]


def test_the_fields_after_a_body_are_not_taken_for_the_heads(gate: Served) -> None:
    trailer = b"0\r\nAccept: application/vnd.msgpack\r\nConnection: close\r\n\r\n"
    answer, _ = ask(gate.port, CHUNKED + b"10\r\n" + BODY + b"\r\n" + trailer + LAST)
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
def test_an_upgrade_is_answered_as_if_it_had_not_been_asked_for(gate: Served, protocol: str) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: " + protocol.encode() + b"\r\n"
    post = POST + upgrade + b"Content-Length: 16\r\n\r\n" + BODY
    assert [answer.status for answer in ask(gate.port, GET[:-2] + upgrade + b"\r\n" + post + LAST)] == [200, 200, 200]


# --- one after another ----------------------------------------------------------------------------


def test_pipelined_requests_are_answered_in_their_order(gate: Served) -> None:
    requests = [b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Request-ID: %d\r\n\r\n" % number for number in range(1000)]
    found = ask(gate.port, b"".join(requests) + LAST)
    assert [answer.headers["x-request-id"] for answer in found[:-1]] == [str(number) for number in range(1000)]


def test_what_is_asked_again_and_again_is_answered_alike_between_others(gate: Served) -> None:
    once = POST + b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
    said = ask(gate.port, *[once, GET] * 6, LAST, pause=0.02)[:-1:2]
    assert [answer.status for answer in said] == [200] * 6
    assert {answer.body for answer in said} == {said[0].body}
    assert len({answer.headers["x-request-id"] for answer in said}) == 6


def test_requests_that_nobody_reads_the_answers_of_are_not_queued(gate: Served) -> None:
    with at_most(16 * 2**20, gate), connect(gate.port) as connection:
        connection.sendall(BROADCAST)
        connection.setblocking(False)
        sent, flood, end = 0, GET * 2000, time.monotonic() + SECONDS / 2
        while time.monotonic() < end:
            try:
                sent += connection.send(flood)
            except BlockingIOError:
                time.sleep(0.01)
    assert sent > 2**20


# --- answers that do not wait for the body --------------------------------------------------------

DUE = 10**10
EARLY = {
    "too long": (POST + b"Content-Length: %d\r\n" % DUE, 413),
    "not there": (b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % DUE, 404),
    "not there, chunked": (b"POST /nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n", 404),
    "not for this method": (b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % DUE, 405),
    "of another type": (POST.replace(b"json", b"xml") + b"Content-Length: %d\r\n" % DUE, 415),
}


@pytest.mark.parametrize(("head", "status"), EARLY.values(), ids=EARLY)
def test_an_early_answer_closes_without_the_100_that_would_ask_for_the_body(
    gate: Served, head: bytes, status: int
) -> None:
    (answer,) = ask(gate.port, head + b"Expect: 100-continue\r\n\r\n")
    assert (answer.status, answer.headers["connection"]) == (status, "close")


def test_an_answer_after_the_whole_body_keeps_the_connection(gate: Served) -> None:
    missing = b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
    assert [answer.status for answer in ask(gate.port, missing + LAST)] == [404, 200]


def test_a_caller_that_expects_a_100_gets_it_once(gate: Served) -> None:
    with connect(gate.port) as connection:
        connection.sendall(POST + b"Connection: close\r\nExpect: 100-continue\r\nContent-Length: 16\r\n\r\n")
        assert re.fullmatch(rb"HTTP/1.1 100 Continue ?\r\n\r\n", connection.recv(2**16))
        connection.sendall(BODY)
        (answer,) = answers(read_all(connection))
    assert answer.status == 200


# --- waiting --------------------------------------------------------------------------------------


def trickle(port: int, first: bytes, more: bytes = b"") -> tuple[bytes, float]:
    """What comes back, and after how many seconds the service closes, while `more` is sent every tenth of one."""
    with connect(port) as connection:
        start, raw = time.monotonic(), b""
        connection.sendall(first)
        while time.monotonic() - start < LONGEST:
            if select.select([connection], [], [], 0.1)[0]:
                part = connection.recv(2**16)
                if not part:
                    return raw, time.monotonic() - start
                raw += part
            elif more:
                connection.sendall(more)
    raise TimeoutError


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
    """A connection that has asked for much, and takes little of it by itself."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
    connection.settimeout(LONGEST)
    connection.connect(("127.0.0.1", port))
    connection.sendall(BROADCAST)
    return connection


def long_body(port: int) -> list[Answer]:
    """A body that takes longer than a second, and gets on."""
    pieces = [POST + b"Content-Length: 2000000\r\nConnection: close\r\n\r\n", *[b"x" * 200_000] * 10]
    return ask(port, *pieces, pause=0.15 * SECONDS)


def slow_requests(port: int) -> list[Answer]:
    """A head, a body and another head, that take longer than each of them may."""
    post = POST + b"Content-Length: 16\r\n\r\n" + BODY
    return ask(port, post[:40], post[40:-9], post[-9:] + LAST[:40], LAST[40:], pause=0.4 * SECONDS)


def far_apart(port: int) -> list[Answer]:
    """Two requests with a pause between them that no head, no body and no reader may make."""
    return ask(port, GET, LAST, pause=1.5 * SECONDS)


def slow_reader(port: int) -> bytes:
    """An answer, read too slowly for the system to hold what is left of it."""
    start, raw = time.monotonic(), bytearray()
    with reader(port) as connection:
        while part := connection.recv(2**16):
            raw += part
            if time.monotonic() - start < 1.7 * SECONDS:
                time.sleep(0.01)
    return bytes(raw)


def sends_on(port: int) -> tuple[list[Answer], int, float]:
    """What comes back while a refused body is sent all the same, how much of it can be, and for how long."""
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
    """What becomes of all these, at once."""
    jobs: dict[Any, Any] = {name: partial(trickle, gate.port, *data) for name, data in SLOW.items()}
    jobs |= {job: partial(job, gate.port) for job in (long_body, slow_requests, far_apart, slow_reader, sends_on)}
    with at_most(32 * 2**20, gate), ThreadPoolExecutor(len(jobs)) as pool:
        futures = {name: pool.submit(job) for name, job in jobs.items()}
        return {name: future.result() for name, future in futures.items()}


@pytest.mark.parametrize("name", SLOW)
def test_what_does_not_arrive_is_given_its_time_and_no_more(waited: dict[Any, Any], name: str) -> None:
    assert SECONDS <= waited[name][1] < LONGEST


@pytest.mark.parametrize("name", [name for name in SLOW if name not in ("silence", "half a body")])
def test_what_has_begun_to_arrive_is_answered_408(waited: dict[Any, Any], name: str) -> None:
    *before, answer = answers(waited[name][0])
    assert_refused(answer, 408, "request-timeout")
    assert [other.status for other in before] == ([200] if name == "half a second head" else [])


def test_a_408_is_in_the_requests_encoding_and_bears_its_id(waited: dict[Any, Any]) -> None:
    (answer,) = answers(waited["half a body"][0])
    assert (answer.status, answer.problem["code"]) == (408, "request-timeout")
    assert (answer.headers["content-type"], answer.headers["x-request-id"]) == ("application/vnd.msgpack", "mine")


def test_silence_is_not_answered(waited: dict[Any, Any]) -> None:
    assert waited["silence"][0] == b""


def test_a_body_that_gets_on_may_take_longer(waited: dict[Any, Any]) -> None:
    (answer,) = waited[long_body]
    assert (answer.status, answer.problem["code"]) == (400, "malformed-body")


def test_each_head_and_each_body_has_a_time_of_its_own(waited: dict[Any, Any]) -> None:
    assert [answer.status for answer in waited[slow_requests]] == [200, 200]


def test_a_connection_between_two_requests_may_idle_for_longer(waited: dict[Any, Any]) -> None:
    assert [answer.status for answer in waited[far_apart]] == [200, 200]


def test_a_reader_that_is_only_slow_gets_it_all(waited: dict[Any, Any]) -> None:
    head, _, body = waited[slow_reader].partition(b"\r\n\r\n")
    (announced,) = re.findall(rb"content-length: ([0-9]+)", head)
    assert len(body) == int(announced) > 64 * 2**20


def test_a_caller_that_sends_on_is_not_read_but_can_read_its_answer(waited: dict[Any, Any]) -> None:
    (answer,), sent, seconds = waited[sends_on]
    assert (answer.status, answer.headers["connection"]) == (413, "close")
    assert sent < 64 * 2**20  # what the system itself takes
    assert 1 < seconds < LONGEST


def check_status(service: Served) -> int:
    return httpx.get(f"{service.url}/v1/check?input=3").status_code


def read_until_cut(connection: socket.socket, nbytes: int) -> None:
    """Takes so many bytes twenty times a second."""
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
    """Bytes that the system holds for the service's callers, open connections or not."""
    sockets = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return sum(int(fields[4][:8], 16) for fields in sockets if fields[1].endswith(f":{service.port:04X}"))


def test_what_stalls_is_not_in_work_any_more_once_it_is_cut(gate: Served) -> None:
    with ExitStack() as stack:
        readers = [stack.enter_context(reader(gate.port)) for _ in range(SLOTS // 2)]
        writers = [stack.enter_context(connect(gate.port)) for _ in range(SLOTS // 2)]
        for connection in writers:
            connection.sendall(POST + b"Content-Length: 9\r\n\r\n")
        assert [connection.recv(12) for connection in readers] == [b"HTTP/1.1 200"] * len(readers)
        assert check_status(gate) == 503
        assert 0 < unsent_of(gate) < len(readers) * 2**19  # what the system itself takes
        start = time.monotonic()
        with ThreadPoolExecutor(SLOTS) as pool:
            cut = pool.map(read_until_cut, readers[1:], [0, 1, 1])  # the first does nothing at all
            assert [connection.recv(12) for connection in writers] == [b"HTTP/1.1 408"] * len(writers)
            list(cut)
        assert 0.5 * SECONDS < time.monotonic() - start < LONGEST
        assert wait_for(lambda: unsent_of(gate) == 0, 10)  # else for minutes
        for connection in [stack.enter_context(connect(gate.port)) for _ in range(SLOTS - 1)]:
            connection.sendall(POST + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 100"
        assert check_status(gate) == 200


class Wire(asyncio.Transport):
    """A transport that is always in the same state."""

    def __init__(self, connection: socket.socket, unsent: int, reading: bool) -> None:
        super().__init__({"socket": connection, "sockname": None, "peername": None})
        self.unsent = unsent
        self.reading = reading
        self.written = b""
        self.aborted = False

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_reading(self) -> bool:
        return self.reading

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return True

    def close(self) -> None:
        pass

    def abort(self) -> None:
        self.aborted = True


class Unhurried(asyncio.SelectorEventLoop):
    """A loop whose clock goes on where it would wait, and only there: on a busy machine no timer is late."""

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


def watched(
    phase: Phase, taken: bool = False, answered: bool = False, unsent: int = 0, reading: bool = True, takes: int = 0
) -> Wire:
    """What a connection that stays in this state has come to after five times its `request_seconds`."""

    async def watch(wire: Wire) -> None:
        config = uvicorn.Config(create_app(), log_config=None)
        connection = Gate(config, ServerState(), {"request_seconds": 0.04, "refused": print})
        connection.connection_made(wire)
        connection.phase, connection.answered = phase, answered
        for _ in range(20):
            wire.unsent = max(wire.unsent - takes, 0)
            if taken:
                connection.resume_writing()
            await asyncio.sleep(0.01)
        connection.connection_lost(ConnectionError())
        left = (wire.written, wire.aborted)
        await asyncio.sleep(0.1)
        assert left == (wire.written, wire.aborted)  # it is not watched any more

    with socket.socket() as sock, asyncio.Runner(loop_factory=Unhurried) as runner:
        wire = Wire(sock, unsent, reading)
        runner.run(watch(wire))
        return wire


def test_a_buffer_that_is_full_again_is_no_stalled_reader() -> None:
    assert watched("answer", unsent=1000).aborted
    assert not watched("answer", unsent=1000, taken=True).aborted


def test_a_reader_must_take_some_in_its_time_or_all() -> None:
    assert watched("answer", unsent=2**24, takes=1000).aborted
    assert not watched("answer", unsent=2**24, takes=2**18).aborted
    assert not watched("answer", unsent=1000, takes=400).aborted


def test_an_application_that_does_not_read_makes_no_slow_caller() -> None:
    assert watched("body").written.startswith(b"HTTP/1.1 408 ")
    assert watched("body", reading=False).written == b""


def test_an_answer_that_has_begun_is_cut_off_and_not_followed_by_another() -> None:
    wire = watched("body", answered=True)
    assert (wire.written, wire.aborted) == (b"", True)


# --- the table of phases, and what is touched of uvicorn -------------------------------------------


def test_each_phase_is_followed_by_those_in_the_table_and_no_other() -> None:
    seen: set[tuple[Phase, Phase]] = set()

    class Recorded(Gate):
        @property
        def phase(self) -> Phase:
            return self._phase

        @phase.setter
        def phase(self, phase: Phase) -> None:
            seen.add((getattr(self, "_phase", "head"), phase))
            self._phase = phase

    long = POST.replace(b"json", b"msgpack") + b"Content-Length: 3000000\r\n\r\n" + bytes(1000)
    with running(create_app(Settings(request_seconds=SECONDS)), http=Recorded) as port:
        ask(
            port,
            GET,
            POST + b"Content-Length: 16\r\n\r\n",
            BODY,
            CHUNKED + b"10\r\n",
            BODY + b"\r\n0\r\n\r\n",
            LAST,
            pause=0.02,
        )
        ask(port, long, bytes(2_999_000), LAST, pause=0.1)
        for begun in (b"", GET[:9], POST + b"Content-Length: 16\r\n\r\n", CHUNKED, CHUNKED + b"0\r\n", long):
            with connect(port) as connection:
                connection.sendall(begun)
                time.sleep(0.1)
        wait_for_connections(0)
    table = {(phase, after) for phase, events in TRANSITIONS.items() for after in events.values()}
    over = {(phase, "over") for phase in ("head", "body", "chunks", "trailer")}
    assert {pair for pair in seen if pair[1] != "over"} - {("head", "head")} == table
    assert over <= seen


@pytest.mark.parametrize("kind", [HttpToolsProtocol, H11Protocol])
def test_all_that_the_gate_touches_of_uvicorn_is_listed_and_there(kind: Any) -> None:
    tree = ast.parse(Path(gates.__file__).read_text())
    (own,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Gate")
    names = {node.name for node in own.body if isinstance(node, ast.FunctionDef)} - {"__init__"}
    names |= {
        node.attr
        for node in ast.walk(own)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }

    async def given() -> set[str]:
        return {*dir(kind(uvicorn.Config(create_app(), log_config=None), ServerState(), {}))}

    assert names & asyncio.run(given()) == set(gates.UVICORN)


# --- many connections -----------------------------------------------------------------------------


def test_no_number_of_connections_takes_all_files_or_fills_the_log(absent: str) -> None:
    with served(absent, request_seconds=10 * LONGEST) as small:
        resource.prlimit(small.process.pid, resource.RLIMIT_NOFILE, (256, 256))
        idle = [connect(small.port) for _ in range(600)]
        start = time.monotonic()
        assert httpx.get(f"{small.url}/livez").status_code == 200
        assert time.monotonic() - start < LONGEST
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
def running(app: Any, kept: float = KEPT, http: type[Gate] = Gate) -> Iterator[int]:
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


def test_of_an_early_answer_only_the_head_is_changed() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            scope["state"].update(request_seconds=SECONDS, refused=print)
            for event in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{event}.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"6")]})
        await send({"type": "http.response.body", "body": b"a\r\n", "more_body": True})
        await send({"type": "http.response.body", "body": b"b\r\n"})

    with running(app) as port:
        (answer,) = ask(port, POST + b"Content-Length: 9\r\n\r\n")
    assert (answer.headers["connection"], answer.body) == ("close", b"a\r\nb\r\n")


@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_a_long_body_arrives_as_it_was_sent_and_the_next_request_behind_it(gate: Served, pause: float) -> None:
    sent = np.random.default_rng(0).integers(0, 256, 3 * 2**20, np.uint8)
    tensor = {"dtype": "uint8", "shape": [len(sent)], "data": sent.tobytes()}
    body = msgpack.packb({"op": {"name": "numpy.broadcast_to", "shape": [len(sent)]}, "inputs": [tensor]})
    head = b"POST /v1/broadcast HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\nUpgrade: h2c\r\n"
    raw = head + b"Content-Length: %d\r\n\r\n" % len(body) + body + LAST
    cuts = [0, 50, 200, 70_000, 400_000, 2**21, 2**21 + 9, len(raw) - 20, len(raw)]
    first, second = ask(gate.port, *[raw[start:stop] for start, stop in pairwise(cuts)], pause=pause)
    assert (first.status, second.status) == (200, 200)
    assert msgpack.unpackb(first.body)["outputs"][0]["data"] == sent.tobytes()


@pytest.mark.parametrize("sent", [0, 300_000, 2_500_000])
def test_a_long_body_that_does_not_get_on_is_answered_408(gate: Served, sent: int) -> None:
    raw, seconds = trickle(gate.port, POST + b"Content-Length: 3000000\r\n\r\n" + b"x" * sent, b"x")
    assert [answer.status for answer in answers(raw)] == [408]
    assert seconds < LONGEST


@pytest.mark.parametrize("raw", [GET, b"GET / HTTP/1.1\r\n\r\n", POST + b"Content-Length: 999999\r\n\r\n" + BODY])
@pytest.mark.parametrize("reset", [False, True])
def test_nothing_of_a_connection_waits_for_the_collector_of_cycles(
    here: tuple[int, Any], raw: bytes, reset: bool
) -> None:
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
        assert wait_for(lambda: not any(isinstance(each, Gate) for each in gc.get_objects()), LONGEST)
    finally:
        gc.enable()


def test_an_idle_connection_is_closed_but_not_while_a_head_arrives() -> None:
    def idle(kept: float) -> None:
        with running(create_app(Settings(request_seconds=10 * LONGEST)), kept) as port:
            raw, seconds = trickle(port, GET)
            assert [answer.status for answer in answers(raw)] == [200]
            assert kept <= seconds < LONGEST
            found = ask(port, GET, LAST[:10], LAST[10:], pause=0.7 * kept)
            assert [answer.status for answer in found] == [200, 200]

    unhurried(idle, KEPT)


def wait_for_connections(number: int) -> None:
    assert wait_for(lambda: CONNECTIONS.total == number)


def test_what_is_refused_or_cut_is_counted_and_nothing_is_left_of_it(here: tuple[int, Any]) -> None:
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
    wait_for_connections(0)
    assert CONNECTIONS.waiting == {}


def test_the_longest_waiting_make_room_and_none_in_work(monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(Settings(request_seconds=10 * LONGEST))
    limit = "tensorcast_service.web.connections.MAX_CONNECTIONS"
    monkeypatch.setattr(limit, 3)
    with running(app, kept=PATIENCE) as port, connect(port) as working:
        working.sendall(POST + b"Expect: 100-continue\r\nConnection: close\r\nContent-Length: 16\r\n\r\n")
        assert working.recv(2**16).startswith(b"HTTP/1.1 100 ")
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
        monkeypatch.setattr(limit, 1)
        wait_for_connections(1)
        (answer,) = ask(port, LAST)
        assert_refused(answer, 503, "overloaded")
        assert answer.headers["retry-after"] == "1"
        working.sendall(BODY)
        assert answers(read_all(working))[0].status == 200
    assert app.state.refusals == {"no-room": 1, "overloaded": 1}
