"""Connections are reused only if they are in a clean state."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import threading
import time
from contextlib import suppress
from typing import Any

import anyio
import msgpack
import pytest
from cases import cases
from conftest import PATIENCE
from peer import CHECKED, CHUNKED, FRAMINGS, GOOD, MSGPACK, REFUSED, answering, peer, request_on, until_left

import axiscast
from axiscast import AsyncClient, Client
from axiscast.client.connection import HttpConnection


def test_many_calls_reuse_one_connection(make: Any) -> None:
    def run(connection: socket.socket) -> None:
        answering(GOOD, GOOD, REFUSED.replace(b"Connection: close\r\n", b""), GOOD)(connection)
        until_left(connection)

    with peer(run) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))
        assert client.can_broadcast((3,))
        with pytest.raises(axiscast.BodyTooLarge):
            client.can_broadcast((3,))
        assert client.can_broadcast((3,))


@cases(
    "answer",
    [
        GOOD.replace(b"\r\n", b"\r\nConnection: close\r\n", 1),
        GOOD.replace(b"HTTP/1.1", b"HTTP/1.0"),
        GOOD + b"HTTP/1.1 200 OK\r\n",
        FRAMINGS["chunks"].replace(CHUNKED, b"%x\r\n%s\r\n" % (len(CHECKED), CHECKED)) + b"more",
    ],
    ids=["it says so", "HTTP/1.0", "excess", "excess after chunks"],
)
def test_a_connection_in_an_unclear_state_is_closed(make: Any, answer: bytes) -> None:
    def run(connection: socket.socket) -> None:
        answering(answer)(connection)
        until_left(connection)

    with peer(run, answering(GOOD)) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))
        assert client.can_broadcast((3,))


def test_a_connection_with_a_rejected_response_is_closed(make: Any) -> None:
    def run(connection: socket.socket) -> None:
        answering(GOOD.replace(b"vnd.msgpack", b"octet-stream"))(connection)
        until_left(connection)

    with peer(run, answering(GOOD)) as url, make(url, retries=0) as client:
        with pytest.raises(axiscast.InvalidAnswer):
            client.can_broadcast((3,))
        assert client.can_broadcast((3,))


def test_a_connection_closed_by_the_service_is_not_reused(make: Any) -> None:
    with peer(answering(GOOD), answering(GOOD)) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))
        time.sleep(0.1)
        assert client.can_broadcast((3,))


def test_unrequested_bytes_are_not_read_as_a_response(make: Any) -> None:
    answered, sent = threading.Event(), threading.Event()

    def run(connection: socket.socket) -> None:
        answering(GOOD)(connection)
        answered.wait(PATIENCE)  # otherwise it arrives together with the response
        connection.sendall(REFUSED.replace(b"413", b"408"))
        sent.set()
        until_left(connection)

    with peer(run, answering(GOOD)) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))
        answered.set()
        sent.wait(PATIENCE)
        assert client.can_broadcast((3,))


CONFLICT = {"code": "size-mismatch", "message": "no"}
CONFLICTING = bytes(msgpack.packb({"compatible": False, "conflict": CONFLICT}))
EXCESS = b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"Content-Length: %d\r\n\r\n" % len(CONFLICTING) + CONFLICTING
"""A complete response to a different request."""
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
def test_bytes_after_a_response_are_not_read_as_the_next_response(
    make: Any, pieces: list[bytes], way: str, tls: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    sent = threading.Event()

    def run(connection: socket.socket) -> None:
        request_on(connection)
        with suppress(ConnectionError):  # the client may already have closed the connection
            for piece in pieces:  # over TLS, each piece is a record
                connection.sendall(piece)
        sent.set()
        until_left(connection)

    with peer(run, answering(GOOD), tls=tls if way == "TLS" else None) as url:
        options = {"plain": {}, "TLS": {"verify": trusting}, "proxy": {"proxy": url}}[way]
        with make(url, retries=0, **options) as client:
            assert client.can_broadcast((3,))
            assert sent.wait(PATIENCE)
            assert client.can_broadcast((3,))


def test_bytes_after_a_response_are_not_read_as_the_next_response_on_trio() -> None:
    def run(connection: socket.socket) -> None:
        answering(GOOD + EXCESS)(connection)
        until_left(connection)

    async def main(url: str) -> list[bool]:
        async with AsyncClient(url, retries=0) as client:
            return [await client.can_broadcast((3,)) for _ in range(2)]

    with peer(run, answering(GOOD)) as url:
        assert anyio.run(main, url, backend="trio") == [True, True]


def test_a_response_with_two_connection_headers_closes_its_connection(make: Any) -> None:
    def run(connection: socket.socket) -> None:
        answering(GOOD.replace(b"\r\n", b"\r\nConnection: close\r\nConnection: keep-alive\r\n", 1))(connection)
        until_left(connection)

    with peer(run, answering(GOOD)) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))
        assert client.can_broadcast((3,))


def test_a_request_is_sent_again_if_the_service_closes_the_idle_connection(make: Any) -> None:
    def run(connection: socket.socket) -> None:
        answering(GOOD)(connection)
        request_on(connection)  # the connection is then closed

    with peer(run, answering(GOOD)) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))
        assert client.can_broadcast((3,))


def test_a_request_with_a_partial_response_is_not_sent_again(make: Any) -> None:
    def run(connection: socket.socket) -> None:
        answering(GOOD, GOOD[:10])(connection)

    with peer(run) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))
        with pytest.raises(axiscast.ConnectionFailed):
            client.can_broadcast((3,))


def test_each_attempt_sends_one_request_to_a_silent_service(make: Any) -> None:
    with (
        peer(answering(b""), answering(b"")) as url,
        make(url, retries=1) as client,
        pytest.raises(axiscast.ConnectionFailed),
    ):
        client.can_broadcast((3,))


def test_a_closed_client_raises_an_error(make: Any) -> None:
    with peer() as url, make(url) as client:
        getattr(client, "close" if make is Client else "aclose")()
        with pytest.raises(RuntimeError, match="closed"):
            client.can_broadcast((3,))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_does_not_use_the_connections_of_its_parent() -> None:
    kept = []

    def run(connection: socket.socket) -> None:
        answering(GOOD)(connection)
        kept.append(connection.dup())  # the socket stays open, but the service no longer responds

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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_process_that_is_forked_while_a_thread_takes_a_connection_works(monkeypatch: pytest.MonkeyPatch) -> None:
    taking, forked = threading.Event(), threading.Event()

    def slowly(connection: HttpConnection) -> bool:
        taking.set()
        forked.wait(PATIENCE)
        return False

    with peer(answering(GOOD), answering(GOOD), answering(GOOD)) as url, Client(url, retries=0) as client:
        assert client.can_broadcast((3,))
        monkeypatch.setattr(HttpConnection, "is_open_and_silent", slowly)
        other = threading.Thread(target=client.can_broadcast, args=[(3,)])
        other.start()
        assert taking.wait(PATIENCE)
        child = os.fork()
        if not child:
            status = 1
            try:
                signal.alarm(60)  # ends a process that hangs
                status = 0 if client.can_broadcast((3,)) else 1
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        forked.set()
        other.join()


def test_an_async_client_works_in_a_second_event_loop() -> None:
    def run(connection: socket.socket) -> None:
        answering(GOOD, GOOD)(connection)
        until_left(connection)

    with peer(run) as url:
        client = AsyncClient(url, retries=0)
        assert asyncio.run(client.can_broadcast((3,)))
        assert asyncio.run(client.can_broadcast((3,)))
        asyncio.run(client.aclose())
