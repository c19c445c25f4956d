"""Servers that send invalid, endless or truncated HTTP."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from cases import cases
from conftest import unhurried
from peer import CHECKED, GOOD, MSGPACK, STAYS, TENSOR, Script, answering, left, peer, request_on, stay

import axiscast


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


@cases("flood", FLOODS.values(), ids=FLOODS)
def test_an_endless_response_is_stopped_without_a_deadline(make: Any, flood: Script) -> None:
    refusals = (axiscast.InvalidAnswer, axiscast.UnexpectedStatus)
    with peer(flood) as url, make(url, retries=0, timeout=None) as client, pytest.raises(refusals):
        client.can_broadcast((3,))


def test_a_response_in_small_chunks_is_read(make: Any) -> None:
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in TENSOR)
    with peer(answering(CHUNKED_HEAD + chunks + b"0\r\n\r\n")) as url, make(url, retries=0) as client:
        assert client.broadcast_to(np.zeros(1, np.uint8), (4, 50)).reshape(-1).tolist() == list(range(200))


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


@cases(("answer", "words"), HOSTILE.values(), ids=HOSTILE)
def test_invalid_http_raises_invalid_answer(make: Any, answer: bytes, words: str) -> None:
    def run(connection: socket.socket) -> None:
        with suppress(ConnectionError):  # the client may close the connection
            answering(answer)(connection)

    with peer(run) as url, make(url, retries=0) as client:
        with pytest.raises(axiscast.InvalidAnswer, match=words) as caught:
            client.can_broadcast((3,))
        assert len(str(caught.value)) < 300


@cases(("answer", "words"), BROKEN.values(), ids=BROKEN)
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
