"""The failures that both clients retry, and those that they do not retry, over every kind of transport."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import httpx
import msgpack
import pytest
from cases import cases
from conftest import PATIENCE, free_port, trusted
from peer import CHECKED, GOOD, MSGPACK, Sync, answering, peer, request_on, until_left

import axiscast
from axiscast import Client
from axiscast.client import connection_pool, retries
from axiscast.client.address import AttemptRequest
from axiscast.client.attempt import Attempt
from axiscast.client.call import Call
from axiscast.client.http_exchange import HttpExchange
from axiscast.client.response_reading import WholeBodyReader
from axiscast.client.retries import RetryPolicy

WAYS: dict[str, Any] = {
    "sync": Client,
    "async": Sync,
    "httpx": lambda url, **options: Client(url, transport=httpx.HTTPTransport(verify=trusted()), **options),
    "async httpx": lambda url, **options: Sync(url, transport=httpx.AsyncHTTPTransport(verify=trusted()), **options),
    "proxy": lambda url, **options: Client("http://service.example", proxy=url, verify=trusted(), **options),
    "async proxy": lambda url, **options: Sync("http://service.example", proxy=url, verify=trusted(), **options),
}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(RetryPolicy, "FIRST_DELAY", 0.0)
    return request.param


class Counting:
    """Counts requests, and sends the same response to each. It closes the connection after a response."""

    def __init__(self, listener: socket.socket, answer: bytes, reset: bool) -> None:
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self.requests = 0
        self._listener, self._answer, self._reset = listener, answer, reset

    def run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(PATIENCE)
                request_on(connection)
                self.requests += 1
                connection.sendall(self._answer)
                if self._reset:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@contextmanager
def counting(answer: bytes, reset: bool = False) -> Iterator[Counting]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = Counting(listener, answer, reset)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(PATIENCE)
    assert not thread.is_alive()


def response(status: int, media: str, body: bytes, *fields: str) -> bytes:
    head = [f"HTTP/1.1 {status} X", f"Content-Type: {media}", f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join([*head, *fields, "", ""]).encode() + body


MISFIT = bytes(msgpack.packb({"compatible": "perhaps"}))
CHUNKED = b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(CHECKED)
PROBLEM = json.dumps({"code": "a-code", "detail": "a detail"}).encode()

RETRIED, OTHERS = [408, 429, 502, 503, 504], [301, 304, 400, 401, 404, 413, 425, 500, 505]

BROKEN = {
    "no response": b"",
    "in the status line": b"HTTP/1.1 20",
    "in the headers": b"HTTP/1.1 200 OK\r\n" + MSGPACK,
    "before the body": GOOD[: -len(CHECKED)],
    "in the body": GOOD[:-1],
    "before the chunk": CHUNKED,
    "in a chunk": CHUNKED + CHECKED[:-1],
    "before the last chunk": CHUNKED + CHECKED + b"\r\n",
}

INVALID = {
    "a page": response(200, "text/html", b"<p>hello"),
    "no content type": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "JSON": response(200, "application/json", b'{"compatible": true}'),
    "another schema": response(200, "application/vnd.msgpack", MISFIT),
    "no MessagePack": response(200, "application/vnd.msgpack", b"\xc1"),
    "an empty body": response(200, "application/vnd.msgpack", b""),
    "compressed": response(200, "application/vnd.msgpack", gzip.compress(CHECKED), "Content-Encoding: gzip"),
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "a line without a colon": b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
    "a chunk without a length": CHUNKED.rpartition(b"\r\n\r\n")[0] + b"\r\n\r\nxyz\r\n",
}


def raised(way: Any, answer: bytes, reset: bool = False) -> tuple[axiscast.AxiscastError, int]:
    """Return the exception of a call, and the number of requests that the service received."""
    with counting(answer, reset) as server:
        with way(server.url, retries=2) as client, pytest.raises(axiscast.AxiscastError) as caught:
            client.can_broadcast((3,))
        return caught.value, server.requests


@cases("answer", BROKEN.values(), ids=BROKEN)
@cases("reset", [False, True], ids=["closed", "reset"])
def test_a_broken_connection_is_retried(way: Any, answer: bytes, reset: bool) -> None:
    error, requests = raised(way, answer, reset)
    assert (type(error), requests) == (axiscast.ConnectionFailed, 3)
    assert "the connection to the service broke" in str(error)


@cases("answer", INVALID.values(), ids=INVALID)
def test_an_invalid_answer_is_not_retried(way: Any, answer: bytes) -> None:
    error, requests = raised(way, answer)
    assert (type(error), requests) == (axiscast.InvalidAnswer, 1)


@cases("status", [*RETRIED, *OTHERS])
@cases("media", ["text/html; charset=utf-8", "application/json"])
def test_the_status_of_an_error_response_decides_about_a_retry(way: Any, status: int, media: str) -> None:
    error, requests = raised(way, response(status, media, b"Bad Gateway"))
    assert (type(error), error.status) == (axiscast.UnexpectedStatus, status)
    assert f"status {status}" in str(error)
    assert requests == (3 if status in RETRIED else 1)


@cases("status", [status for status in (*RETRIED, *OTHERS) if status >= 400])
def test_the_status_of_a_problem_decides_about_a_retry(way: Any, status: int) -> None:
    error, requests = raised(way, response(status, "application/problem+json", PROBLEM))
    assert (type(error), error.status) == (axiscast.ServiceProblem, status)
    assert requests == (3 if status in RETRIED else 1)


@cases(
    "answer",
    [
        response(502, "text/html", gzip.compress(b"Bad Gateway"), "Content-Encoding: gzip"),
        response(502, "application/json", PROBLEM[:9]),
        response(502, "application/problem+json", b"[" * (2**20 + 1)),
        b"HTTP/1.1 502 Bad Gateway\r\n\r\nno length and no content type",
    ],
    ids=["compressed", "no JSON", "a long one", "without headers"],
)
def test_a_gateway_status_counts_with_any_body(way: Any, answer: bytes) -> None:
    error, requests = raised(way, answer)
    assert (type(error), error.status, requests) == (axiscast.UnexpectedStatus, 502, 3)
    assert "502 Bad Gateway" in str(error)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_proxy_that_refuses_a_tunnel_raises_its_status(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RetryPolicy, "FIRST_DELAY", 0.0)
    for status, count in ((502, 3), (407, 1)):
        with counting(b"HTTP/1.1 %d Failed\r\nContent-Length: 0\r\n\r\n" % status) as proxy:
            client = WAYS[kind]("https://service.example", proxy=proxy.url)
            with client, pytest.raises(axiscast.UnexpectedStatus) as caught:
                client.can_broadcast((3,))
            assert (caught.value.status, proxy.requests) == (status, count)


def test_a_retry_after_of_a_proxy_is_honoured(way: Any) -> None:
    with counting(response(503, "text/plain", b"busy", "Retry-After: 31")) as server:
        with way(server.url, timeout=30) as client, pytest.raises(axiscast.UnexpectedStatus):
            client.can_broadcast((3,))
        assert server.requests == 1  # the next attempt would begin after the timeout


@pytest.mark.parametrize("kind", ["sync", "async", "httpx", "async httpx"])
def test_an_untrusted_certificate_is_not_retried(
    kind: str, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    handshakes = []

    def accept(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            handshakes.append(connection)
            with connection, suppress(OSError):
                tls.wrap_socket(connection, server_side=True)

    monkeypatch.setattr(RetryPolicy, "FIRST_DELAY", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, args=[listener], daemon=True)
        thread.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        with (
            WAYS[kind](url) as client,
            pytest.raises(axiscast.ConnectionFailed, match="certificate authority") as caught,
        ):
            client.can_broadcast((3,))
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE)
    assert (len(handshakes), caught.value.is_permanent) == (1, True)


@pytest.mark.parametrize("kind", ["sync", "async", "httpx", "async httpx"])
def test_https_to_an_http_port_is_not_retried(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RetryPolicy, "FIRST_DELAY", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        seen = []

        def answer() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    seen.append(connection.recv(65536))
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        with WAYS[kind](url) as client, pytest.raises(axiscast.ConnectionFailed) as caught:
            client.can_broadcast((3,))
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE)
    assert (len(seen), caught.value.is_permanent) == (1, True)


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize(
    ("error", "count"), [(socket.EAI_NONAME, 1), (socket.EAI_AGAIN, 3)], ids=["unknown", "no name server"]
)
def test_an_unknown_host_is_not_retried(kind: str, error: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def unknown(*place: Any, **_: Any) -> Any:
        asked.append(place)
        raise socket.gaierror(error, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setattr(RetryPolicy, "FIRST_DELAY", 0.0)
    with WAYS[kind]("http://service.example") as client, pytest.raises(axiscast.ConnectionFailed):
        client.can_broadcast((3,))
    assert len(asked) == count


def test_a_refused_connection_is_retried(way: Any) -> None:
    with (
        way(f"http://127.0.0.1:{free_port()}", retries=1) as client,
        pytest.raises(axiscast.ConnectionFailed) as caught,
    ):
        client.can_broadcast((3,))
    assert not caught.value.is_permanent


# --- delays -------------------------------------------------------------------------------------

BUSY = axiscast.ServiceProblem({"code": "overloaded", "status": 503})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Stop the clocks at 100 s and at 00:15 of 2 January 1970, and use the longest random delay."""
    monkeypatch.setattr(retries, "time", SimpleNamespace(monotonic=lambda: 100.0, time=lambda: 87300.0))
    monkeypatch.setattr(retries, "random", SimpleNamespace(uniform=lambda low, high: high))


def test_the_delay_doubles_up_to_five_seconds(clock: Any) -> None:
    policy = RetryPolicy(None, 9)
    delays = [policy.delay_after(BUSY) for _ in range(9)]
    assert delays == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]
    with pytest.raises(axiscast.ServiceProblem):
        policy.delay_after(BUSY)


def test_up_to_half_of_the_delay_is_random(monkeypatch: pytest.MonkeyPatch) -> None:
    spans: list[tuple[float, float]] = []
    monkeypatch.setattr(retries, "random", SimpleNamespace(uniform=lambda *span: spans.append(span) or span[0]))
    assert RetryPolicy(None, 1).delay_after(BUSY) == 0.05
    assert spans == [(0.5, 1.0)]


@pytest.mark.parametrize(("timeout", "waits"), [(2.0, False), (2.001, True), (None, True)])
def test_no_attempt_begins_after_the_deadline(clock: Any, timeout: float | None, waits: bool) -> None:
    policy = RetryPolicy(timeout, 1)
    if waits:
        assert policy.delay_after(BUSY, "2") == 2.0
    else:
        with pytest.raises(axiscast.ServiceProblem):
            policy.delay_after(BUSY, "2")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.1),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("99999", 3600.0),
        ("9" * 400, 3600.0),
        ("Fri, 02 Jan 1970 00:15:09 GMT", 9.0),
        ("Fri, 02 Jan 1970 00:14:00 GMT", 0.1),
        ("Fri, 02 Jan 2970 00:15:09 GMT", 3600.0),
        ("-1", 0.1),
        ("soon", 0.1),
        ("", 0.1),
    ],
)
def test_retry_after_is_a_number_or_a_date_up_to_an_hour(clock: Any, text: str, seconds: float) -> None:
    assert RetryPolicy(None, 1).delay_after(BUSY, text) == seconds


# --- reused connections -------------------------------------------------------------------------


@pytest.mark.parametrize(("idle", "connections"), [(29.9, 1), (30.1, 2)])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_connection_is_not_reused_after_half_a_minute(
    kind: str, idle: float, connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(connection_pool, "time", SimpleNamespace(monotonic=lambda: now[0]))
    scripts = [answering(GOOD, GOOD)] if connections == 1 else [answer_once, answer_once]
    with peer(*scripts) as url, WAYS[kind](url, retries=0) as client:
        assert client.can_broadcast((3,))
        now[0] += idle
        assert client.can_broadcast((3,))


def answer_once(connection: socket.socket) -> None:
    answering(GOOD)(connection)
    until_left(connection)  # the connection stays open, so only its age prevents its reuse


@cases("more", [b"", b"x", GOOD], ids=["nothing", "a byte", "an answer"])
@cases("head", [b"", b"Connection: keep-alive\r\n"], ids=["plain", "h11"])
def test_a_connection_with_bytes_after_the_response_is_not_reused(head: bytes, more: bytes) -> None:
    attempt = Attempt(
        Call("GET", "/", [], lambda length: WholeBodyReader(length or 0, lambda body, reserve: body)), None
    )
    scratch = memoryview(bytearray(1000))
    exchange = HttpExchange(AttemptRequest("GET", httpx.URL("http://a/"), [(b"Host", b"a")], attempt, None), scratch)
    exchange.last_bytes()
    came = GOOD.replace(b"\r\n", b"\r\n" + head, 1) + more
    scratch[: len(came)] = came
    exchange.received(len(came))
    assert (exchange.is_complete, attempt.finish()) == (True, CHECKED)
    assert exchange.is_reusable == (not more)
