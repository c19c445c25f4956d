"""HTTP exchanges of the client: the framing of responses, byte by byte."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from peer import FRAMINGS, GOOD, MSGPACK, answering, peer, until_left

import axiscast
from axiscast.client.address import AttemptRequest
from axiscast.client.attempt import Attempt
from axiscast.client.call import Call
from axiscast.client.http_exchange import HttpExchange
from axiscast.client.request_building import broadcast
from axiscast.client.response_reading import WholeBodyReader
from axiscast.wire.tensors import msgpack_parts


# --- framing -----------------------------------------------------------------------------------
@cases("bytewise", [False, True], ids=["at once", "byte by byte"])
@cases("answer", FRAMINGS.values(), ids=FRAMINGS)
def test_a_body_in_any_framing_fills_the_array(make: Any, answer: bytes, bytewise: bool) -> None:
    out = np.zeros((4, 50), np.uint8)
    with peer(answering(answer, bytewise=bytewise)) as url, make(url, retries=0) as client:
        (same,) = client.broadcast("numpy.broadcast_arrays", out, out=out)
    assert same is out
    assert out.reshape(-1).tolist() == list(range(200))


@cases("answer", FRAMINGS.values(), ids=FRAMINGS)
def test_a_response_truncated_at_any_byte_raises_an_error(make: Any, answer: bytes) -> None:
    for end in (1, 10, 40, len(answer) - 100, len(answer) - 1):
        with (
            peer(answering(answer[:end])) as url,
            make(url, retries=0) as client,
            pytest.raises((axiscast.InvalidAnswer, axiscast.ConnectionFailed)),
        ):
            client.broadcast_to(np.zeros(1, np.uint8), (4, 50))


def test_no_byte_beyond_the_announced_length_is_read(make: Any) -> None:
    array = bytes(msgpack.packb({"broadcast_inputs": [{"dtype": "uint8", "shape": [10**6], "data": bytes(10**6)}]}))
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


@cases(
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
            "broadcast_inputs": [
                {"dtype": "int32", "shape": [5, 8], "data": values.tobytes()},
                {"dtype": "int32", "shape": [1, 8], "data": [values[0, :3].tobytes(), values[0, 3:].tobytes()]},
            ]
        }
    )
    first = np.empty((5, 8), np.int32)
    op = "poputil.expandToMatchRanks"
    call = broadcast([op, values, values[0]], {"out": [first, np.empty((1, 8), np.int32)]})
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
def test_a_response_may_arrive_in_one_chunk_or_in_many(array: Any, bytewise: bool) -> None:
    body = b"\x81\xb0broadcast_inputs\x91" + b"".join(msgpack_parts(array, strided=False))
    attempt = Attempt(broadcast(["numpy.broadcast_arrays", array], {}), None)
    attempt.start_response(200, {"content-type": "application/vnd.msgpack", "content-length": str(len(body))})
    for piece in [body[at : at + 1] for at in range(len(body))] if bytewise else [body]:
        attempt.feed(memoryview(piece))
    (same,) = attempt.finish()
    np.testing.assert_array_equal(same, array, strict=True)
    assert same.flags.writeable


@cases(("data", "length"), [(b"\x02\x01", 2), (b"\x01", 2), (b"\x01\x01\x01", 2), (b"\x01", 1), (b"\x01\x01\xc0", 3)])
def test_a_nearly_ordinary_response_raises_an_error(data: bytes, length: int) -> None:
    body = (
        b"\x81\xb0broadcast_inputs\x91\x83\xa5dtype\xa4bool\xa5shape\x91\x02\xa4data\xc6"
        + length.to_bytes(4, "big")
        + data
    )
    attempt = Attempt(broadcast(["numpy.broadcast_arrays", np.ones(2, bool)], {}), None)
    attempt.start_response(200, {"content-type": "application/vnd.msgpack", "content-length": str(len(body))})

    def take() -> object:
        attempt.feed(body)
        return attempt.finish()

    with pytest.raises(axiscast.InvalidAnswer):
        take()


def test_tensor_bytes_are_received_directly_into_the_array() -> None:
    out = np.zeros((1000, 1000), np.uint8)
    attempt = Attempt(broadcast(["numpy.broadcast_arrays", out], {"out": out}), None)
    attempt.start_response(200, {"content-type": "application/vnd.msgpack"})
    attempt.feed(
        b"\x81\xb0broadcast_inputs\x91\x83\xa5dtype\xa5uint8\xa5shape\x92\xcd\x03\xe8\xcd\x03\xe8\xa4data\xc6\0\x0fB@"
        + b"ab"
    )
    assert np.shares_memory(np.frombuffer(attempt.buffer(), np.uint8), out)
    assert (len(attempt.buffer()), out[0, :3].tolist()) == (999_998, [97, 98, 0])
