"""HTTP exchanges that end early: responses during an upload, deadlines and cancelled calls."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import suppress
from typing import Any

import pytest
from cases import cases
from conftest import PATIENCE, Served, unhurried
from costs import least_seconds
from peer import (
    GOOD,
    LARGE,
    MSGPACK,
    REFUSED,
    STAYS,
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

# --- responses during the upload ---------------------------------------------------------------


def refuse_and_close(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(REFUSED)


def refuse_later(connection: socket.socket) -> None:
    received = 0
    while received < 2**23:
        received += len(connection.recv(2**16))
    connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" + REFUSED)


@cases("refuse", [refuse_and_close, refuse_and_stay, refuse_later])
def test_an_early_error_response_is_read_during_the_upload(make: Any, refuse: Script) -> None:
    with peer(refuse, refuse, refuse) as url, make(url, retries=0) as client:
        for _ in range(3):
            with pytest.raises(axiscast.BodyTooLarge) as caught:
                client.broadcast("numpy.broadcast_arrays", LARGE)
            assert caught.value.facts["limit"] == 1
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


@cases("direction", ["upload", "download"])
def test_an_exception_of_the_progress_callback_is_raised(make: Any, service: Served, direction: str) -> None:
    def fail(transfer: axiscast.Transfer) -> None:
        if transfer.direction == direction:
            raise BrokenPipeError("the terminal has gone")

    with make(service.url) as client:
        with pytest.raises(BrokenPipeError, match="terminal"):
            client.with_options(progress=fail).broadcast("numpy.broadcast_arrays", LARGE[: 2**22])
        assert client.can_broadcast((3,))


# --- deadlines ---------------------------------------------------------------------------------


def trickle(connection: socket.socket) -> None:
    connection.recv(2**16)
    with suppress(ConnectionError):  # the client closes the connection, as expected
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"y" * int(STAYS / 0.02):
            connection.sendall(bytes([byte]))
            time.sleep(0.02)
        pytest.fail("the client did not leave")


SLOW = {"takes nothing": stay, "trickles its head": trickle}


@cases("script", SLOW.values(), ids=SLOW)
def test_no_call_takes_longer_than_the_deadline(make: Any, script: Script) -> None:
    def claim(seconds: float) -> None:
        with peer(script) as url, make(url, timeout=seconds) as client:
            start = time.monotonic()
            with pytest.raises(axiscast.DeadlineExceeded, match=rf"{seconds:g} s"):
                client.broadcast("numpy.broadcast_arrays", LARGE if script is stay else LARGE[:10])
            assert time.monotonic() - start >= seconds
            if script is stay:
                left.release()

    unhurried(claim, 0.5)  # a busy client may not even connect before its deadline


@cases("array", [LARGE, LARGE[:10]], ids=["to send", "to receive"])
def test_waiting_uses_no_processor_time(make: Any, array: Any) -> None:
    def wait() -> None:
        with peer(stay) as url, make(url, timeout=0.5) as client:
            with pytest.raises(axiscast.DeadlineExceeded):
                client.broadcast("numpy.broadcast_arrays", array)
            left.release()

    assert least_seconds(wait, 0.25, tries=5) < 0.25  # polling would take 0.5 s


def test_other_tasks_run_while_a_fast_response_arrives() -> None:
    size = 2**28
    head = b"\x81\xb0broadcast_inputs\x91\x83\xa5dtype\xa5uint8\xa5shape\x91\xce" + size.to_bytes(4, "big")
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
