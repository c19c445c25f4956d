"""The wire under the clients: framing, connections that are used again, early answers, deadlines, hostile services."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import httpx
import msgpack
import numpy as np
import pytest
from conftest import PATIENCE, Served
from hypothesis import given
from hypothesis import strategies as st

import tensorcast
from tensorcast import AsyncClient, Client
from tensorcast.client.attempt import Attempt
from tensorcast.client.calls import Call, broadcast
from tensorcast.client.exchange import Exchange
from tensorcast.client.reading import Plain

MSGPACK = b"Content-Type: application/vnd.msgpack\r\n"
REACHED = {"shape": [3], "input": 0, "axes": [0], "broadcast_axes": [], "elements": 3}
CHECKED = bytes(msgpack.packb({"compatible": True, "outputs": [REACHED], "warnings": []}))
GOOD = b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"Content-Length: %d\r\n\r\n" % len(CHECKED) + CHECKED
TOO_LARGE = json.dumps({"code": "body-too-large", "detail": "no more than a byte", "limit": 1}).encode()
REFUSED = (
    b"HTTP/1.1 413 Content Too Large\r\nContent-Type: application/problem+json\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(TOO_LARGE) + TOO_LARGE
)
LARGE = np.zeros(32 * 2**20, np.uint8)
"""More than the kernel takes off a client's hands while nobody reads."""

STAYS = 60.0
"""Seconds that a service which is to be left stays. A client that does not leave is seen by it, on any machine."""

NO_FAMILY = 99
"""A family of addresses that the system doesn't have, as IPv6 is on some."""

Script = Callable[[socket.socket], None]


def request_on(connection: socket.socket) -> bytes:
    """The next request on a connection, head and body."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(1) or pytest.fail("the client left before its request was whole")
    length = int(httpx.Headers(received_headers(received)).get("content-length", 0))
    body = b""
    while len(body) < length:
        body += connection.recv(length - len(body)) or pytest.fail("the client left before its request was whole")
    return received + body


def received_headers(head: bytes) -> list[tuple[bytes, bytes]]:
    lines = head.split(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    return [(name, value.strip()) for name, _, value in (line.partition(b":") for line in lines)]


def answering(*answers: bytes, bytewise: bool = False) -> Script:
    """A script that gives these answers in turn, and closes the connection."""

    def run(connection: socket.socket) -> None:
        for answer in answers:
            request_on(connection)
            if bytewise:
                for byte in answer:
                    connection.sendall(bytes([byte]))
            else:
                connection.sendall(answer)

    return run


def until_left(connection: socket.socket) -> None:
    """Read until the client closes."""
    with suppress(ConnectionError):  # it may close in the middle of something
        while connection.recv(65536):
            pass


left = threading.Semaphore(0)


def stay(connection: socket.socket) -> None:
    """Take nothing, and say nothing, until the client has left: as long as nothing is read, only it can tell."""
    left.acquire(timeout=STAYS)


@contextmanager
def peer(*scripts: Script, family: int = socket.AF_INET, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """A server that does one script with each connection in turn; at the end all of them must have been run."""
    failures: list[BaseException] = []
    host = "::1" if family == socket.AF_INET6 else "127.0.0.1"
    with socket.create_server((host, 0), family=family) as listener:

        def run() -> None:
            for script in scripts:
                connection, _ = listener.accept()
                connection.settimeout(PATIENCE)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                try:
                    with tls.wrap_socket(connection, server_side=True) if tls else connection as talking:
                        script(talking)
                except BaseException as error:
                    failures.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        name = f"[{host}]" if ":" in host else host
        yield f"{'https' if tls else 'http'}://{name}:{listener.getsockname()[1]}"
        thread.join(timeout=PATIENCE)
        assert not thread.is_alive(), "the client made fewer connections than it should have"
    for failure in failures:
        raise failure


class Sync:
    """AsyncClient as if it were Client: so that both pass the same tests."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._client = AsyncClient(*arguments, **named)
        self._loop = asyncio.SelectorEventLoop()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments, **named: self._loop.run_until_complete(
            getattr(self._client, name)(*arguments, **named)
        )

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._client.aclose())
        self._loop.close()


@pytest.fixture(params=[Client, Sync], ids=["sync", "async"])
def make(request: pytest.FixtureRequest) -> Any:
    return request.param


# --- framing --------------------------------------------------------------------------------------

TENSOR = bytes(msgpack.packb({"outputs": [{"dtype": "uint8", "shape": [4, 50], "data": bytes(range(200))}]}))
CHUNKED = b"".join(b"%x;x=y\r\n%s\r\n" % (len(TENSOR[at : at + 70]), TENSOR[at : at + 70]) for at in (0, 70, 140, 210))
FRAMINGS = {
    "a length": b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"Content-Length: %d\r\n\r\n" % len(TENSOR) + TENSOR,
    "chunks": b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED + b"0\r\nA: b\r\n\r\n",
    "the end of the connection": b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"\r\n" + TENSOR,
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n" + MSGPACK + b"\r\n" + TENSOR,
    "heads before it": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n"
    b"HTTP/1.1 200 \r\n" + MSGPACK + b"content-LENGTH:%d  \r\n\r\n" % len(TENSOR) + TENSOR,
}


@pytest.mark.parametrize("bytewise", [False, True], ids=["at once", "byte by byte"])
@pytest.mark.parametrize("answer", FRAMINGS.values(), ids=FRAMINGS)
def test_every_framing_fills_the_array(make: Any, answer: bytes, bytewise: bool) -> None:
    out = np.zeros((4, 50), np.uint8)
    with peer(answering(answer, bytewise=bytewise)) as url, make(url, retries=0) as client:
        (same,) = client.broadcast("numpy.broadcast_arrays", out, out=out)
    assert same is out
    assert out.reshape(-1).tolist() == list(range(200))


@pytest.mark.parametrize("answer", FRAMINGS.values(), ids=FRAMINGS)
def test_an_answer_that_is_cut_short_anywhere_is_an_error(make: Any, answer: bytes) -> None:
    for end in (1, 10, 40, len(answer) - 100, len(answer) - 1):
        with (
            peer(answering(answer[:end])) as url,
            make(url, retries=0) as client,
            pytest.raises((tensorcast.InvalidAnswer, tensorcast.ConnectionFailed)),
        ):
            client.broadcast_to(np.zeros(1, np.uint8), (4, 50))


def test_no_byte_beyond_the_announced_length_is_taken(make: Any) -> None:
    array = bytes(msgpack.packb({"outputs": [{"dtype": "uint8", "shape": [10**6], "data": bytes(10**6)}]}))
    head = b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"Content-Length: %d\r\n\r\n"

    def run(connection: socket.socket) -> None:
        with suppress(ConnectionError):  # the client need not read on
            answering(head % (len(array) - 10) + array)(connection)
            until_left(connection)

    with peer(run) as url, make(url, retries=0) as client, pytest.raises(tensorcast.InvalidAnswer):
        client.broadcast_to(np.zeros(1, np.uint8), (10**6,))


class Taken(Attempt[bytes]):
    """An attempt that keeps the status and the body that it gets."""

    def __init__(self, *body: bytes) -> None:
        super().__init__(Call("POST", "/", body, lambda length: Plain(length or 0, lambda body, reserve: body)), None)
        self.status = 0
        self.body = b""

    def begin(self, status: int, headers: Any) -> None:
        self.status = status
        self.buffer = lambda: memoryview(b"")

    def feed(self, chunk: Any) -> None:
        self.body += bytes(chunk)


@pytest.mark.parametrize(
    ("method", "status", "body", "left"),
    [("HEAD", 200, b"", b"more"), ("GET", 204, b"", b"more"), ("GET", 304, b"", b"more"), ("GET", 200, b"more", b"")],
)
def test_what_has_no_body_ends_with_its_head(method: str, status: int, body: bytes, left: bytes) -> None:
    taken = Taken()
    scratch = memoryview(bytearray(1000))
    exchange = Exchange(httpx.Request(method, "http://a/b?c", stream=taken, headers={"Host": "a"}), scratch)
    assert exchange.ending() == method.encode() + b" /b?c HTTP/1.1\r\nHost: a\r\n\r\n"
    answer = b"HTTP/1.1 %d X\r\nContent-Length: 4\r\n\r\nmore" % status
    scratch[: len(answer)] = answer
    assert exchange.buffer() is scratch
    exchange.received(len(answer))
    assert (taken.status, taken.body, exchange.complete) == (status, body, True)
    assert exchange.reusable == (not left)


def test_a_connection_whose_request_was_not_sent_whole_is_not_used_again() -> None:
    scratch = memoryview(bytearray(1000))
    request = httpx.Request("POST", "http://a/", stream=Taken(b"12"), headers={"Content-Length": "2"})
    exchange = Exchange(request, scratch)
    assert b"".join(exchange.outgoing(b"1")).endswith(b"Content-Length: 2\r\n\r\n1")
    scratch[: len(GOOD)] = GOOD
    exchange.received(len(GOOD))
    assert (exchange.complete, exchange.reusable) == (True, False)
    assert exchange.ending() == b""
    assert exchange.reusable


@given(st.data())
def test_a_reader_may_be_fed_and_received_into_by_turns(data: st.DataObject) -> None:
    values = np.arange(40, dtype=np.int32).reshape(5, 8)
    body = msgpack.packb(
        {
            "outputs": [
                {"dtype": "int32", "shape": [5, 8], "data": values.tobytes()},
                {"dtype": "int32", "shape": [1, 8], "data": [values[0, :3].tobytes(), values[0, 3:].tobytes()]},
            ]
        }
    )
    first = np.empty((5, 8), np.int32)
    op = "poputil.expandToMatchRanks"
    call = broadcast(op, [values, values[0]], "dense", None, [first, np.empty((1, 8), np.int32)])
    attempt = Attempt(call, None)
    attempt.begin(200, {"content-type": "application/vnd.msgpack", "content-length": str(len(body))})
    straight = 0
    while body:
        count = data.draw(st.integers(1, len(body)))
        target = attempt.buffer()
        if target and data.draw(st.booleans()):
            count = min(count, len(target))
            target[:count] = body[:count]
            attempt.received(count)
            straight += count
        else:
            attempt.feed(body[:count])
        body = body[count:]
    for ours, expected in zip(attempt.finish(), (values, values[:1]), strict=True):
        np.testing.assert_array_equal(ours, expected, strict=True)
    assert straight <= 5 * 8 * 4 + 8 * 4


def test_the_bytes_of_a_tensor_belong_in_the_array_itself() -> None:
    out = np.zeros((1000, 1000), np.uint8)
    attempt = Attempt(broadcast("numpy.broadcast_arrays", [out], "dense", None, out), None)
    attempt.begin(200, {"content-type": "application/vnd.msgpack"})
    attempt.feed(
        b"\x81\xa7outputs\x91\x83\xa5dtype\xa5uint8\xa5shape\x92\xcd\x03\xe8\xcd\x03\xe8\xa4data\xc6\0\x0fB@" + b"ab"
    )
    assert np.shares_memory(np.frombuffer(attempt.buffer(), np.uint8), out)
    assert (len(attempt.buffer()), out[0, :3].tolist()) == (999_998, [97, 98, 0])


# --- connections that are used again --------------------------------------------------------------


def test_one_connection_serves_many_calls(make: Any) -> None:
    def run(connection: socket.socket) -> None:
        answering(GOOD, GOOD, REFUSED.replace(b"Connection: close\r\n", b""), GOOD)(connection)
        until_left(connection)

    with peer(run) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))
        assert client.can_broadcast((3,))
        with pytest.raises(tensorcast.BodyTooLarge):
            client.can_broadcast((3,))
        assert client.can_broadcast((3,))


@pytest.mark.parametrize(
    "answer",
    [
        GOOD.replace(b"\r\n", b"\r\nConnection: close\r\n", 1),
        GOOD.replace(b"HTTP/1.1", b"HTTP/1.0"),
        GOOD + b"HTTP/1.1 200 OK\r\n",
        FRAMINGS["chunks"].replace(CHUNKED, b"%x\r\n%s\r\n" % (len(CHECKED), CHECKED)) + b"more",
    ],
    ids=["it says so", "HTTP/1.0", "excess", "excess after chunks"],
)
def test_a_connection_that_is_not_as_good_as_new_is_closed(make: Any, answer: bytes) -> None:
    def run(connection: socket.socket) -> None:
        answering(answer)(connection)
        until_left(connection)

    with peer(run, answering(GOOD)) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))
        assert client.can_broadcast((3,))


def test_a_connection_whose_answer_was_refused_is_closed(make: Any) -> None:
    def run(connection: socket.socket) -> None:
        answering(GOOD.replace(b"vnd.msgpack", b"octet-stream"))(connection)
        until_left(connection)

    with peer(run, answering(GOOD)) as url, make(url, retries=0) as client:
        with pytest.raises(tensorcast.InvalidAnswer):
            client.can_broadcast((3,))
        assert client.can_broadcast((3,))


def test_a_connection_that_the_service_closed_meanwhile_is_not_used(make: Any) -> None:
    with peer(answering(GOOD), answering(GOOD)) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))
        time.sleep(0.1)
        assert client.can_broadcast((3,))


def test_what_the_service_says_unasked_answers_nothing(make: Any) -> None:
    answered, said = threading.Event(), threading.Event()

    def run(connection: socket.socket) -> None:
        answering(GOOD)(connection)
        answered.wait(PATIENCE)  # else it comes together with the answer, as excess
        connection.sendall(REFUSED.replace(b"413", b"408"))
        said.set()
        until_left(connection)

    with peer(run, answering(GOOD)) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))
        answered.set()
        said.wait(PATIENCE)
        assert client.can_broadcast((3,))


CLASH = {"code": "size-mismatch", "message": "no"}
CLASHES = bytes(msgpack.packb({"compatible": False, "conflict": CLASH}))
EXCESS = b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"Content-Length: %d\r\n\r\n" % len(CLASHES) + CLASHES
"""A whole answer, to another question."""
EXCESSES = {
    "with the answer": [GOOD + EXCESS],
    "with its body": [GOOD.removesuffix(CHECKED), CHECKED + EXCESS],
    "with its last byte": [GOOD[:-1], GOOD[-1:] + EXCESS],
    "after it": [GOOD, EXCESS],
    "after it in part": [GOOD, EXCESS[:5]],
    "after it in pieces": [GOOD, EXCESS[:20], EXCESS[20:]],
}


@pytest.mark.parametrize("way", ["plain", "TLS", "proxy"])
@pytest.mark.parametrize("pieces", EXCESSES.values(), ids=EXCESSES)
def test_bytes_that_follow_an_answer_answer_nothing(
    make: Any, pieces: list[bytes], way: str, tls: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    said = threading.Event()

    def run(connection: socket.socket) -> None:
        request_on(connection)
        with suppress(ConnectionError):  # it may have left by then
            for piece in pieces:  # over TLS a record each
                connection.sendall(piece)
        said.set()
        until_left(connection)

    with peer(run, answering(GOOD), tls=tls if way == "TLS" else None) as url:
        options = {"plain": {}, "TLS": {"verify": trusting}, "proxy": {"proxy": url}}[way]
        with make(url, retries=0, **options) as client:
            assert client.can_broadcast((3,))
            assert said.wait(PATIENCE)
            assert client.can_broadcast((3,))


def test_bytes_that_follow_an_answer_answer_nothing_on_trio() -> None:
    def run(connection: socket.socket) -> None:
        answering(GOOD + EXCESS)(connection)
        until_left(connection)

    async def main(url: str) -> list[bool]:
        async with AsyncClient(url, retries=0) as client:
            return [await client.can_broadcast((3,)) for _ in range(2)]

    with peer(run, answering(GOOD)) as url:
        assert anyio.run(main, url, backend="trio") == [True, True]


def test_an_answer_that_says_twice_what_becomes_of_its_connection_closes_it(make: Any) -> None:
    def run(connection: socket.socket) -> None:
        answering(GOOD.replace(b"\r\n", b"\r\nConnection: close\r\nConnection: keep-alive\r\n", 1))(connection)
        until_left(connection)

    with peer(run, answering(GOOD)) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))
        assert client.can_broadcast((3,))


def test_a_request_on_a_connection_that_the_service_closes_at_that_moment_is_sent_anew(make: Any) -> None:
    def run(connection: socket.socket) -> None:
        answering(GOOD)(connection)
        request_on(connection)  # and close

    with peer(run, answering(GOOD)) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))
        assert client.can_broadcast((3,))


def test_a_request_that_was_answered_in_part_is_not_sent_anew(make: Any) -> None:
    def run(connection: socket.socket) -> None:
        answering(GOOD, GOOD[:10])(connection)

    with peer(run) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))
        with pytest.raises(tensorcast.InvalidAnswer):
            client.can_broadcast((3,))


def test_a_service_that_never_answers_is_asked_once_for_each_attempt(make: Any) -> None:
    with (
        peer(answering(b""), answering(b"")) as url,
        make(url, retries=1) as client,
        pytest.raises(tensorcast.InvalidAnswer),
    ):
        client.can_broadcast((3,))


def test_a_closed_client_says_so(make: Any) -> None:
    with peer() as url, make(url) as client:
        getattr(client, "close" if make is Client else "aclose")()
        with pytest.raises(RuntimeError, match="closed"):
            client.can_broadcast((3,))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_does_not_talk_on_its_parents_connections() -> None:
    kept = []

    def run(connection: socket.socket) -> None:
        answering(GOOD)(connection)
        kept.append(connection.dup())  # so it stays open, and nobody answers there any more

    with peer(run, answering(GOOD)) as url, Client(url, retries=0) as client:
        assert client.can_broadcast((3,))
        child = os.fork()
        if not child:
            status = 1
            try:
                status = 0 if client.can_broadcast((3,)) else 1
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
    kept[0].close()


def test_an_async_client_outlives_its_event_loop() -> None:
    def run(connection: socket.socket) -> None:
        answering(GOOD, GOOD)(connection)
        until_left(connection)

    with peer(run) as url:
        client = AsyncClient(url, retries=0)
        assert asyncio.run(client.can_broadcast((3,)))
        assert asyncio.run(client.can_broadcast((3,)))
        asyncio.run(client.aclose())


# --- answers before the request is whole ------------------------------------------------------------


def refuse_and_close(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(REFUSED)


def refuse_and_stay(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(REFUSED[:30])
    time.sleep(0.1)
    connection.sendall(REFUSED[30:])
    stay(connection)


def refuse_later(connection: socket.socket) -> None:
    received = 0
    while received < 2**23:
        received += len(connection.recv(2**16))
    connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" + REFUSED)


@pytest.mark.parametrize("refuse", [refuse_and_close, refuse_and_stay, refuse_later])
def test_a_refusal_is_read_while_the_request_is_still_sent(make: Any, refuse: Script) -> None:
    with peer(refuse, refuse, refuse) as url, make(url, retries=0) as client:
        for _ in range(3):
            start = time.monotonic()
            with pytest.raises(tensorcast.BodyTooLarge) as caught:
                client.broadcast("numpy.broadcast_arrays", LARGE)
            assert caught.value.facts["limit"] == 1
            assert time.monotonic() - start < STAYS / 2
            if refuse is refuse_and_stay:
                left.release()


def test_a_service_that_closes_while_it_is_sent_to_is_an_error(make: Any) -> None:
    def leave(connection: socket.socket) -> None:
        connection.recv(1000)

    with (
        peer(leave) as url,
        make(url, retries=0) as client,
        pytest.raises((tensorcast.ConnectionFailed, tensorcast.InvalidAnswer)),
    ):
        client.broadcast("numpy.broadcast_arrays", LARGE)


@pytest.mark.parametrize("direction", ["upload", "download"])
def test_what_a_progress_callback_raises_reaches_the_caller(make: Any, service: Served, direction: str) -> None:
    def fail(transfer: tensorcast.Transfer) -> None:
        if transfer.direction == direction:
            raise BrokenPipeError("the terminal has gone")

    with make(service.url) as client:
        with pytest.raises(BrokenPipeError, match="terminal"):
            client.broadcast("numpy.broadcast_arrays", LARGE[: 2**22], progress=fail)
        assert client.can_broadcast((3,))


# --- deadlines --------------------------------------------------------------------------------------


def trickle(connection: socket.socket) -> None:
    connection.recv(2**16)
    with suppress(ConnectionError):  # the client leaves, as it should
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"y" * int(STAYS / 0.02):
            connection.sendall(bytes([byte]))
            time.sleep(0.02)


def repeat(part: bytes, first: bytes = b"") -> Script:
    def run(connection: socket.socket) -> None:
        connection.recv(2**16)
        end = time.monotonic() + STAYS
        with suppress(ConnectionError):  # the client leaves, as it should
            connection.sendall(first)
            while time.monotonic() < end:
                connection.sendall(part)
            pytest.fail("the client did not leave")

    return run


SLOW = {
    "takes nothing": stay,
    "trickles its head": trickle,
}


@pytest.mark.parametrize("script", SLOW.values(), ids=SLOW)
def test_nothing_takes_longer_than_the_deadline(make: Any, script: Script) -> None:
    with peer(script) as url, make(url, timeout=0.5) as client:
        start = time.monotonic()
        with pytest.raises(tensorcast.DeadlineExceeded, match=r"0\.5 s"):
            client.broadcast("numpy.broadcast_arrays", LARGE if script is stay else LARGE[:10])
        assert 0.5 <= time.monotonic() - start < STAYS / 2
        if script is stay:
            left.release()


@pytest.mark.parametrize("array", [LARGE, LARGE[:10]], ids=["to send", "to receive"])
def test_waiting_costs_nothing(make: Any, array: Any) -> None:
    with peer(stay) as url, make(url, timeout=0.5) as client:
        start = time.process_time()
        with pytest.raises(tensorcast.DeadlineExceeded):
            client.broadcast("numpy.broadcast_arrays", array)
        assert time.process_time() - start < 0.25  # of the 0.5 that asking again and again would take
        left.release()


def test_other_tasks_run_while_an_answer_pours_in() -> None:
    size = 2**28
    head = b"\x81\xa7outputs\x91\x83\xa5dtype\xa5uint8\xa5shape\x91\xce" + size.to_bytes(4, "big")
    head += b"\xa4data\xc6" + size.to_bytes(4, "big")

    def run(connection: socket.socket) -> None:
        request_on(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"Content-Length: %d\r\n\r\n" % (len(head) + size) + head)
        for _ in range(size // len(LARGE)):
            connection.sendall(LARGE.data)

    async def main(url: str) -> int:
        async with AsyncClient(url, retries=0) as client:
            call = asyncio.create_task(client.broadcast(tensorcast.numpy.broadcast_to(shape=(size,)), LARGE[:1]))
            turns = 0
            while not call.done():
                await asyncio.sleep(0)
                turns += 1
            (array,) = await call
            assert array.shape == (size,)
        return turns

    with peer(run) as url:
        assert asyncio.run(main(url)) > 50


def test_a_cancelled_call_closes_its_connection() -> None:
    asked, closed = threading.Event(), threading.Event()

    def run(connection: socket.socket) -> None:
        request_on(connection)
        asked.set()
        until_left(connection)
        closed.set()

    async def main(url: str) -> None:
        async with AsyncClient(url, retries=0) as client:
            call = asyncio.create_task(client.can_broadcast((3,)))
            assert await asyncio.to_thread(asked.wait, PATIENCE)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert await asyncio.to_thread(closed.wait, PATIENCE)
            assert await client.can_broadcast((3,))

    with peer(run, answering(GOOD)) as url:
        asyncio.run(main(url))


CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + MSGPACK + b"\r\n"
FLOODS = {
    "heads of other answers": repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100),
    "long heads of other answers": repeat(b"HTTP/1.1 100 Continue\r\nX: " + b"y" * 10_000 + b"\r\n\r\n"),
    "a head": repeat(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 10_000),
    "a status line": repeat(b"HTTP" * 1000),
    "a chunk's extension": repeat(CHUNKED_HEAD + b"1;" + b"x" * 10_000),
    "chunks of long extensions": repeat((b"1;" + b"x" * 10_000 + b"\r\n\x81\r\n") * 100, CHUNKED_HEAD),
    "trailers": repeat(CHUNKED_HEAD + b"%x\r\n%s\r\n0\r\n" % (len(CHECKED), CHECKED) + b"X: y\r\n" * 20_000),
    "a body": repeat(b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"\r\n" + b"\x90" * 10_000),
    "a body of a length": repeat(
        b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n" + MSGPACK + b"\r\n" + b"\x90" * 9999
    ),
    "a problem": repeat(b"HTTP/1.1 500 X\r\nContent-Type: application/problem+json\r\n\r\n" + b"[" * 10_000),
    "a page": repeat(b"HTTP/1.1 404 X\r\nContent-Type: text/html\r\n\r\n" + b"<p>" * 10_000),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_what_has_no_end_is_ended_without_a_deadline(make: Any, flood: Script) -> None:
    with peer(flood) as url, make(url, retries=0, timeout=None) as client, pytest.raises(tensorcast.InvalidAnswer):
        client.can_broadcast((3,))


def test_small_chunks_are_an_answer_like_others(make: Any) -> None:
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in TENSOR)
    with peer(answering(CHUNKED_HEAD + chunks + b"0\r\n\r\n")) as url, make(url, retries=0) as client:
        assert client.broadcast_to(np.zeros(1, np.uint8), (4, 50)).reshape(-1).tolist() == list(range(200))


# --- services that are none -------------------------------------------------------------------------

CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + MSGPACK + b"\r\n"
CHUNK = b"%x\r\n%s\r\n0\r\n\r\n" % (len(CHECKED), CHECKED)
HOSTILE = {
    "another protocol": (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "illegal status line"),
    "a status that is none": (b"HTTP/1.1 2000 OK\r\n\r\n", "illegal status line"),
    "a line without a colon": (b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", "illegal header line"),
    "a head without end": (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 10_000_000, "too long"),
    "headers without end": (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 2_000_000, "too long"),
    "two lengths": (GOOD.replace(b"\r\n", b"\r\nContent-Length: 7\r\n", 1), "conflicting Content-Length"),
    "a length and chunks": (CHUNKS.replace(b"Tr", b"Content-Length: 9\r\nTr") + CHUNK, "both"),
    "two codings": (CHUNKS.replace(b"Tr", b"Transfer-Encoding: gzip\r\nTr") + CHUNK, "Transfer-Encoding"),
    "a negative length": (GOOD.replace(b"Length: ", b"Length: -"), "bad Content-Length"),
    "a length that is a word": (GOOD.replace(b"Length: ", b"Length: many"), "bad Content-Length"),
    "a length of many digits": (GOOD.replace(b"Length: ", b"Length: " + b"9" * 5000), "bad Content-Length"),
    "a length beyond memory": (GOOD.replace(b"Length: ", b"Length: 9999999999999"), "before the answer's end"),
    "an unknown coding": (GOOD.replace(b"Content-Length", b"Transfer-Encoding"), "chunked is supported"),
    "a chunk that is none": (CHUNKS + b"xyz\r\n", "illegal chunk header"),
    "a chunk header without end": (CHUNKS + b"f" * 30, "illegal chunk header|closed connection"),
    "compressed": (GOOD.replace(b"\r\n", b"\r\nContent-Encoding: gzip\r\n", 1), "compressed"),
    "another protocol from now on": (
        b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        "without a pending proposal",
    ),
    "nothing": (b"", "without an answer"),
}


@pytest.mark.parametrize(("answer", "words"), HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_answer_is_an_invalid_answer(make: Any, answer: bytes, words: str) -> None:
    def run(connection: socket.socket) -> None:
        with suppress(ConnectionError):  # the client need not read on
            answering(answer)(connection)

    with peer(run) as url, make(url, retries=0) as client:
        with pytest.raises(tensorcast.InvalidAnswer, match=words) as caught:
            client.can_broadcast((3,))
        assert len(str(caught.value)) < 300


# --- what is sent -----------------------------------------------------------------------------------


def test_the_callers_headers_are_sent_but_for_those_that_the_call_decides(make: Any) -> None:
    seen: list[bytes] = []

    def run(connection: socket.socket) -> None:
        seen.append(request_on(connection))
        connection.sendall(GOOD)

    headers = {"X-Team": "blue", "Accept": "text/html", "Content-Length": "7", "host": "example.org"}
    with peer(run) as url, make(f"{url}/prefix/", headers=headers) as client:
        assert client.can_broadcast((3,))
    (request,) = seen
    assert request.startswith(b"POST /prefix/v1/check HTTP/1.1\r\nHost: example.org\r\n")
    sent = httpx.Headers(received_headers(request))
    assert (sent["x-team"], sent["accept"], sent["accept-encoding"]) == ("blue", "application/vnd.msgpack", "identity")
    assert sent["content-length"] == str(len(request.split(b"\r\n\r\n", 1)[1]))


def test_a_header_with_a_line_break_is_the_callers_value_error(make: Any) -> None:
    with pytest.raises(ValueError, match="header") as caught:
        make("http://127.0.0.1:1", headers={"X-Team": "blue\r\nX-Admin: yes"})
    assert "blue" not in str(caught.value)  # it may be a secret


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_an_address_may_be_of_version_6(make: Any) -> None:
    with peer(answering(GOOD), family=socket.AF_INET6) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))


def test_a_host_name_is_tried_at_each_of_its_addresses(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with peer(answering(GOOD)) as url, socket.create_server(("127.0.0.1", 0)) as closed:
        port, other = int(url.rsplit(":", 1)[1]), closed.getsockname()[1]
        closed.close()
        found: list[Any] = [(NO_FAMILY, socket.SOCK_STREAM, 6, "", ("::1", port, 0, 0))]
        found += [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", at)) for at in (other, port)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        with make("http://service.example", retries=0) as client:
            assert client.can_broadcast((3,))


def test_a_socket_that_can_not_be_had_is_a_connection_that_failed(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(NO_FAMILY, socket.SOCK_STREAM, 6, "", ("::1", 80, 0, 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with make("http://service.example", retries=0) as client, pytest.raises(tensorcast.ConnectionFailed, match="amily"):
        client.can_broadcast((3,))


def test_a_name_that_can_be_none_is_a_connection_that_failed(make: Any) -> None:
    with make("http://a..b", retries=0) as client, pytest.raises(tensorcast.ConnectionFailed, match="this address"):
        client.can_broadcast((3,))


def test_a_name_that_nobody_knows_is_a_connection_that_failed(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with make("http://service.example", retries=0) as client, pytest.raises(tensorcast.ConnectionFailed, match="known"):
        client.can_broadcast((3,))


# --- TLS, proxies, other transports -----------------------------------------------------------------


@pytest.fixture
def tls(pem: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem / "certificate", pem / "key")
    return context


@pytest.fixture
def trusting(pem: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(pem / "certificate"))


def test_tls_carries_large_arrays_both_ways_on_one_connection(
    make: Any, tls: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    values = np.arange(2**20, dtype=np.uint32)
    body = msgpack.packb({"outputs": [{"dtype": "uint32", "shape": [2**20], "data": values.tobytes()}]})
    answer = b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"Content-Length: %d\r\n\r\n" % len(body) + body
    seen: list[bytes] = []

    def run(connection: socket.socket) -> None:
        for _ in range(2):
            seen.append(request_on(connection))
            connection.sendall(answer)

    with peer(run, tls=tls) as url, make(url, verify=trusting, retries=0) as client:
        for _ in range(2):
            (array,) = client.broadcast("numpy.broadcast_arrays", values)
            np.testing.assert_array_equal(array, values, strict=True)
    assert all(request.endswith(values.tobytes()) for request in seen)


def test_a_refusal_over_tls_is_read_while_the_request_is_still_sent(
    make: Any, tls: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    with (
        peer(refuse_and_stay, tls=tls) as url,
        make(url, verify=trusting, retries=0) as client,
    ):
        with pytest.raises(tensorcast.BodyTooLarge):
            client.broadcast("numpy.broadcast_arrays", LARGE)
        left.release()


def test_a_certificate_that_nobody_vouches_for_is_refused(make: Any, tls: ssl.SSLContext) -> None:
    def run(connection: socket.socket) -> None:
        raise AssertionError("the client talked")

    with (
        pytest.raises(ssl.SSLError),
        peer(run, tls=tls) as url,
        make(url, retries=0) as client,
        pytest.raises(tensorcast.ConnectionFailed, match="certificate"),
    ):
        client.can_broadcast((3,))


def test_a_tls_handshake_ends_with_the_deadline(make: Any) -> None:
    with peer(stay) as url, make(url.replace("http", "https"), timeout=0.5) as client:
        start = time.monotonic()
        with pytest.raises(tensorcast.DeadlineExceeded):
            client.can_broadcast((3,))
        assert 0.5 <= time.monotonic() - start < STAYS / 2
        left.release()


def test_a_proxy_of_the_environment_is_asked_unless_the_host_is_excepted(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []

    def run(connection: socket.socket) -> None:
        seen.append(request_on(connection).split(b"\r\n")[0])
        connection.sendall(GOOD)

    with peer(run, run, run, run) as url:
        monkeypatch.setenv("http_proxy", url)
        with make("http://service.example", retries=0) as client:
            assert client.can_broadcast((3,))
        with make("http://service.example", retries=0, proxy="") as client, pytest.raises(tensorcast.ConnectionFailed):
            client.can_broadcast((3,))
        for excepted in ("127.0.0.1", url.removeprefix("http://")):
            monkeypatch.setenv("no_proxy", excepted)
            with make(url, retries=0) as client:
                assert client.can_broadcast((3,))
        with make("http://service.example", retries=0, proxy=url.removeprefix("http://")) as client:
            monkeypatch.delenv("http_proxy")
            assert client.can_broadcast((3,))
    straight, by_proxy = b"POST /v1/check HTTP/1.1", b"POST http://service.example/v1/check HTTP/1.1"
    assert seen == [by_proxy, straight, straight, by_proxy]


@pytest.mark.parametrize("option", ["limits", "auth", "params", "cookies", "http2", "follow_redirects", "mounts"])
def test_an_option_of_httpx_that_is_none_of_ours_is_refused_by_name(make: Any, option: str) -> None:
    with pytest.raises(TypeError, match=option):
        make(**{option: None})


def test_a_transport_of_httpx_brings_its_own_options(make: Any, service: Served) -> None:
    kind = httpx.HTTPTransport if make is Client else httpx.AsyncHTTPTransport
    out = np.empty((2**20, 3), np.float32)
    with make(service.url, transport=kind(limits=httpx.Limits(max_connections=1)), retries=0) as client:
        for values in (np.arange(3, dtype=np.float32), np.ones(3, np.float32)):
            client.broadcast("numpy.broadcast_arrays", np.broadcast_to(values, out.shape).copy(), out=out)
            np.testing.assert_array_equal(out, np.broadcast_to(values, out.shape))
    for options in ({"proxy": "http://127.0.0.1:1"}, {"verify": False}):
        with pytest.raises(ValueError, match="transport of your own"):
            make(service.url, transport=kind(), **options)


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "localhost:8000", "ftp://127.0.0.1", "http://", "http://[::1", ""])
def test_what_is_no_url_of_a_service_is_the_callers_value_error(make: Any, url: str) -> None:
    with pytest.raises(ValueError, match="is no URL"):
        make(url)


def test_a_name_and_password_in_the_url_are_sent(make: Any) -> None:
    def run(connection: socket.socket) -> None:
        assert b"Authorization: Basic bWU6c2VjcmV0\r\n" in request_on(connection)
        connection.sendall(GOOD)

    with peer(run) as url, make(url.replace("//", "//me:secret@"), retries=0) as client:
        assert client.can_broadcast((3,))


def test_an_async_client_works_on_trio(service: Served) -> None:
    async def main() -> None:
        async with AsyncClient(service.url, retries=0) as client:
            out = np.empty((2**22, 3), np.uint8)
            values = np.arange(out.size, dtype=np.uint8).reshape(out.shape)
            for _ in range(2):
                await client.broadcast("numpy.broadcast_arrays", values, out=out)
                np.testing.assert_array_equal(out, values)
                out[:] = 0

    anyio.run(main, backend="trio")


def test_a_refusal_is_read_while_the_request_is_still_sent_on_trio() -> None:
    async def main(url: str) -> None:
        async with AsyncClient(url, retries=0) as client:
            with pytest.raises(tensorcast.BodyTooLarge):
                await client.broadcast("numpy.broadcast_arrays", LARGE)
        left.release()

    with peer(refuse_and_stay) as url:
        anyio.run(main, url, backend="trio")


def test_a_deadline_ends_a_call_on_trio() -> None:
    async def main(url: str) -> None:
        async with AsyncClient(url, timeout=0.5) as client:
            with pytest.raises(tensorcast.DeadlineExceeded, match=r"0\.5 s"):
                await client.broadcast("numpy.broadcast_arrays", LARGE)
        left.release()

    with peer(stay) as url:
        anyio.run(main, url, backend="trio")


def test_many_calls_of_one_async_client_run_at_once(service: Served) -> None:
    async def main() -> list[bool]:
        async with AsyncClient(service.url, retries=0) as client:
            arrays = [np.full((1, 1000), number) for number in range(50)]
            outputs = await asyncio.gather(*(client.broadcast_to(array, (300, 1000)) for array in arrays))
            return [bool((output == number).all()) for number, output in enumerate(outputs)]

    assert asyncio.run(main()) == [True] * 50
