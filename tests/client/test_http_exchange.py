"""HTTP exchanges of the clients: framing, early responses, deadlines, hostile services."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import suppress
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
from conftest import PATIENCE, Served, unhurried
from hypothesis import given
from hypothesis import strategies as st
from peer import (
    CHECKED,
    FRAMINGS,
    GOOD,
    LARGE,
    MSGPACK,
    REFUSED,
    STAYS,
    TENSOR,
    Script,
    answering,
    left,
    peer,
    refuse_and_stay,
    request_on,
    stay,
    until_left,
)

import axiscast
from axiscast import AsyncClient
from axiscast.client.address import AttemptRequest
from axiscast.client.attempt import Attempt
from axiscast.client.call import Call
from axiscast.client.http_exchange import HttpExchange
from axiscast.client.request_building import ResultOptions, broadcast
from axiscast.client.response_reading import WholeBodyReader
from axiscast.wire.tensors import msgpack_parts


# --- framing -----------------------------------------------------------------------------------
@pytest.mark.parametrize("bytewise", [False, True], ids=["at once", "byte by byte"])
@pytest.mark.parametrize("answer", FRAMINGS.values(), ids=FRAMINGS)
def test_a_body_in_any_framing_fills_the_array(make: Any, answer: bytes, bytewise: bool) -> None:
    out = np.zeros((4, 50), np.uint8)
    with peer(answering(answer, bytewise=bytewise)) as url, make(url, retries=0) as client:
        (same,) = client.broadcast("numpy.broadcast_arrays", out, out=out)
    assert same is out
    assert out.reshape(-1).tolist() == list(range(200))


@pytest.mark.parametrize("answer", FRAMINGS.values(), ids=FRAMINGS)
def test_a_response_truncated_at_any_byte_raises_an_error(make: Any, answer: bytes) -> None:
    for end in (1, 10, 40, len(answer) - 100, len(answer) - 1):
        with (
            peer(answering(answer[:end])) as url,
            make(url, retries=0) as client,
            pytest.raises((axiscast.InvalidAnswer, axiscast.ConnectionFailed)),
        ):
            client.broadcast_to(np.zeros(1, np.uint8), (4, 50))


def test_no_byte_beyond_the_announced_length_is_read(make: Any) -> None:
    array = bytes(msgpack.packb({"outputs": [{"dtype": "uint8", "shape": [10**6], "data": bytes(10**6)}]}))
    head = b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"Content-Length: %d\r\n\r\n"

    def run(connection: socket.socket) -> None:
        with suppress(ConnectionError):  # the client may close the connection
            answering(head % (len(array) - 10) + array)(connection)
            until_left(connection)

    with peer(run) as url, make(url, retries=0) as client, pytest.raises(axiscast.InvalidAnswer):
        client.broadcast_to(np.zeros(1, np.uint8), (10**6,))


class Taken(Attempt[bytes]):
    """An attempt that stores the status and the body of its response."""

    def __init__(self, *body: bytes) -> None:
        super().__init__(
            Call("POST", "/", body, lambda length: WholeBodyReader(length or 0, lambda body, reserve: body)), None
        )
        self.status = 0
        self.body = b""

    def start_response(self, status: int, headers: Any) -> None:
        self.status = status
        self.buffer = lambda: memoryview(b"")

    def feed(self, chunk: Any) -> None:
        self.body += bytes(chunk)


@pytest.mark.parametrize(
    ("method", "status", "body", "left"),
    [("HEAD", 200, b"", b"more"), ("GET", 204, b"", b"more"), ("GET", 304, b"", b"more"), ("GET", 200, b"more", b"")],
)
def test_a_response_without_a_body_ends_after_its_headers(method: str, status: int, body: bytes, left: bytes) -> None:
    taken = Taken()
    scratch = memoryview(bytearray(1000))
    exchange = HttpExchange(AttemptRequest(method, httpx.URL("http://a/b?c"), [(b"Host", b"a")], taken, None), scratch)
    assert exchange.last_bytes() == method.encode() + b" /b?c HTTP/1.1\r\nHost: a\r\n\r\n"
    answer = b"HTTP/1.1 %d X\r\nContent-Length: 4\r\n\r\nmore" % status
    scratch[: len(answer)] = answer
    assert exchange.buffer() is scratch
    exchange.received(len(answer))
    assert (taken.status, taken.body, exchange.is_complete) == (status, body, True)
    assert exchange.is_reusable == (not left)


def test_a_connection_with_an_incomplete_request_is_not_reused() -> None:
    scratch = memoryview(bytearray(1000))
    request = AttemptRequest("POST", httpx.URL("http://a/"), [(b"Content-Length", b"2")], Taken(b"12"), None)
    exchange = HttpExchange(request, scratch)
    assert b"".join(exchange.bytes_for(b"1")).endswith(b"Content-Length: 2\r\n\r\n1")
    scratch[: len(GOOD)] = GOOD
    exchange.received(len(GOOD))
    assert (exchange.is_complete, exchange.is_reusable) == (True, False)
    assert exchange.last_bytes() == b""
    assert exchange.is_reusable


@given(st.data())
def test_feed_and_received_can_alternate(data: st.DataObject) -> None:
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
    call = broadcast(op, [values, values[0]], ResultOptions(out=[first, np.empty((1, 8), np.int32)]), {})
    attempt = Attempt(call, None)
    attempt.start_response(200, {"content-type": "application/vnd.msgpack", "content-length": str(len(body))})
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


@pytest.mark.parametrize("bytewise", [False, True], ids=["at once", "byte by byte"])
@pytest.mark.parametrize(
    "array",
    [np.arange(6, dtype=np.int16).reshape(2, 3), np.zeros((0, 3), "M8[s]"), np.array(True), np.array(["ab", "c"])],
    ids=["numbers", "nothing", "a scalar", "strings"],
)
def test_an_ordinary_response_in_one_chunk_is_read_at_once(array: Any, bytewise: bool, monkeypatch: Any) -> None:
    body = b"\x81\xa7outputs\x91" + b"".join(msgpack_parts(array, strided=False))
    attempt = Attempt(broadcast("numpy.broadcast_arrays", [array], ResultOptions(), {}), None)
    attempt.start_response(200, {"content-type": "application/vnd.msgpack", "content-length": str(len(body))})
    if not bytewise:
        monkeypatch.delattr(msgpack, "Unpacker")
    for piece in [body[at : at + 1] for at in range(len(body))] if bytewise else [body]:
        attempt.feed(memoryview(piece))
    (same,) = attempt.finish()
    np.testing.assert_array_equal(same, array, strict=True)
    assert same.flags.writeable


@pytest.mark.parametrize(
    ("data", "length"), [(b"\x02\x01", 2), (b"\x01", 2), (b"\x01\x01\x01", 2), (b"\x01", 1), (b"\x01\x01\xc0", 3)]
)
def test_a_nearly_ordinary_response_raises_an_error(data: bytes, length: int) -> None:
    body = b"\x81\xa7outputs\x91\x83\xa5dtype\xa4bool\xa5shape\x91\x02\xa4data\xc6" + length.to_bytes(4, "big") + data
    attempt = Attempt(broadcast("numpy.broadcast_arrays", [np.ones(2, bool)], ResultOptions(), {}), None)
    attempt.start_response(200, {"content-type": "application/vnd.msgpack", "content-length": str(len(body))})

    def take() -> object:
        attempt.feed(body)
        return attempt.finish()

    with pytest.raises(axiscast.InvalidAnswer):
        take()


def test_tensor_bytes_are_received_directly_into_the_array() -> None:
    out = np.zeros((1000, 1000), np.uint8)
    attempt = Attempt(broadcast("numpy.broadcast_arrays", [out], ResultOptions(out=out), {}), None)
    attempt.start_response(200, {"content-type": "application/vnd.msgpack"})
    attempt.feed(
        b"\x81\xa7outputs\x91\x83\xa5dtype\xa5uint8\xa5shape\x92\xcd\x03\xe8\xcd\x03\xe8\xa4data\xc6\0\x0fB@" + b"ab"
    )
    assert np.shares_memory(np.frombuffer(attempt.buffer(), np.uint8), out)
    assert (len(attempt.buffer()), out[0, :3].tolist()) == (999_998, [97, 98, 0])


# --- responses during the upload ---------------------------------------------------------------


def refuse_and_close(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(REFUSED)


def refuse_later(connection: socket.socket) -> None:
    received = 0
    while received < 2**23:
        received += len(connection.recv(2**16))
    connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" + REFUSED)


@pytest.mark.parametrize("refuse", [refuse_and_close, refuse_and_stay, refuse_later])
def test_an_early_error_response_is_read_during_the_upload(make: Any, refuse: Script) -> None:
    with peer(refuse, refuse, refuse) as url, make(url, retries=0) as client:
        for _ in range(3):
            start = time.monotonic()
            with pytest.raises(axiscast.BodyTooLarge) as caught:
                client.broadcast("numpy.broadcast_arrays", LARGE)
            assert caught.value.facts["limit"] == 1
            assert time.monotonic() - start < STAYS / 2
            if refuse is refuse_and_stay:
                left.release()


def test_a_connection_closed_during_the_upload_raises_an_error(make: Any) -> None:
    def leave(connection: socket.socket) -> None:
        connection.recv(1000)

    with (
        peer(leave) as url,
        make(url, retries=0) as client,
        pytest.raises((axiscast.ConnectionFailed, axiscast.InvalidAnswer)),
    ):
        client.broadcast("numpy.broadcast_arrays", LARGE)


@pytest.mark.parametrize("direction", ["upload", "download"])
def test_an_exception_of_the_progress_callback_is_raised(make: Any, service: Served, direction: str) -> None:
    def fail(transfer: axiscast.Transfer) -> None:
        if transfer.direction == direction:
            raise BrokenPipeError("the terminal has gone")

    with make(service.url) as client:
        with pytest.raises(BrokenPipeError, match="terminal"):
            client.broadcast("numpy.broadcast_arrays", LARGE[: 2**22], progress=fail)
        assert client.can_broadcast((3,))


# --- deadlines ---------------------------------------------------------------------------------


def trickle(connection: socket.socket) -> None:
    connection.recv(2**16)
    with suppress(ConnectionError):  # the client closes the connection, as expected
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"y" * int(STAYS / 0.02):
            connection.sendall(bytes([byte]))
            time.sleep(0.02)


def repeat(part: bytes, first: bytes = b"") -> Script:
    def run(connection: socket.socket) -> None:
        connection.recv(2**16)
        end = time.monotonic() + STAYS
        with suppress(ConnectionError):  # the client closes the connection, as expected
            connection.sendall(first)
            while time.monotonic() < end:
                connection.sendall(part)
            pytest.fail("the client did not leave")

    return run


SLOW = {"takes nothing": stay, "trickles its head": trickle}


@pytest.mark.parametrize("script", SLOW.values(), ids=SLOW)
def test_no_call_takes_longer_than_the_deadline(make: Any, script: Script) -> None:
    with peer(script) as url, make(url, timeout=0.5) as client:
        start = time.monotonic()
        with pytest.raises(axiscast.DeadlineExceeded, match=r"0\.5 s"):
            client.broadcast("numpy.broadcast_arrays", LARGE if script is stay else LARGE[:10])
        assert 0.5 <= time.monotonic() - start < STAYS / 2
        if script is stay:
            left.release()


@pytest.mark.parametrize("array", [LARGE, LARGE[:10]], ids=["to send", "to receive"])
def test_waiting_uses_no_processor_time(make: Any, array: Any) -> None:
    with peer(stay) as url, make(url, timeout=0.5) as client:
        start = time.process_time()
        with pytest.raises(axiscast.DeadlineExceeded):
            client.broadcast("numpy.broadcast_arrays", array)
        assert time.process_time() - start < 0.25  # polling would take 0.5 s
        left.release()


def test_other_tasks_run_while_a_fast_response_arrives() -> None:
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
            call = asyncio.create_task(client.broadcast(axiscast.numpy.broadcast_to(shape=(size,)), LARGE[:1]))
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
def test_an_endless_response_is_stopped_without_a_deadline(make: Any, flood: Script) -> None:
    refusals = (axiscast.InvalidAnswer, axiscast.UnexpectedStatus)
    with peer(flood) as url, make(url, retries=0, timeout=None) as client, pytest.raises(refusals):
        client.can_broadcast((3,))


def test_a_response_in_small_chunks_is_read(make: Any) -> None:
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in TENSOR)
    with peer(answering(CHUNKED_HEAD + chunks + b"0\r\n\r\n")) as url, make(url, retries=0) as client:
        assert client.broadcast_to(np.zeros(1, np.uint8), (4, 50)).reshape(-1).tolist() == list(range(200))


# --- other kinds of servers --------------------------------------------------------------------

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
    "an unknown coding": (GOOD.replace(b"Content-Length", b"Transfer-Encoding"), "chunked is supported"),
    "a chunk that is none": (CHUNKS + b"xyz\r\n", "illegal chunk header"),
    "compressed": (GOOD.replace(b"\r\n", b"\r\nContent-Encoding: gzip\r\n", 1), "compressed"),
    "another protocol from now on": (
        b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        "without a pending proposal",
    ),
}
BROKEN = {
    "a length beyond memory": (GOOD.replace(b"Length: ", b"Length: 9999999999999"), "before the end of the response"),
    "a chunk header without end": (CHUNKS + b"f" * 9, "closed connection"),
    "nothing": (b"", "without a response"),
}


@pytest.mark.parametrize(("answer", "words"), HOSTILE.values(), ids=HOSTILE)
def test_invalid_http_raises_invalid_answer(make: Any, answer: bytes, words: str) -> None:
    def run(connection: socket.socket) -> None:
        with suppress(ConnectionError):  # the client may close the connection
            answering(answer)(connection)

    with peer(run) as url, make(url, retries=0) as client:
        with pytest.raises(axiscast.InvalidAnswer, match=words) as caught:
            client.can_broadcast((3,))
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("answer", "words"), BROKEN.values(), ids=BROKEN)
def test_a_response_that_ends_early_raises_connection_failed(make: Any, answer: bytes, words: str) -> None:
    with (
        peer(answering(answer)) as url,
        make(url, retries=0) as client,
        pytest.raises(axiscast.ConnectionFailed, match=words),
    ):
        client.can_broadcast((3,))


def test_a_deadline_during_a_response_reports_the_request_id(make: Any) -> None:
    def start_response(connection: socket.socket) -> None:
        request_on(connection)
        connection.sendall(GOOD[:-1].replace(b"\r\n\r\n", b"\r\nX-Request-ID: mine\r\n\r\n", 1))
        stay(connection)

    def claim(seconds: float) -> None:
        with peer(start_response) as url:
            with make(url, timeout=seconds) as client, pytest.raises(axiscast.DeadlineExceeded) as caught:
                client.can_broadcast((3,))
            left.release()
        assert caught.value.request_id == "mine"

    unhurried(claim, 0.5)
