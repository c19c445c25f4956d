"""The kernel's buffers of a connection grow only while a long body arrives."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest
from conftest import PATIENCE, Served, run, served, wait_for
from conversation import connection, hooks, turns

from axiscast_service.http.kernel_buffers import (
    CAN_UNLOCK,
    RECEIVE_BYTES,
    grow_receive_buffer,
    is_closed,
    limit_receive_buffer,
    unread_bytes,
)

MiB = 2**20
BODY = b'{"inputs": [[3]]}'.ljust(4 * MiB)
UPLOAD = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(
    BODY
)
OPS = b"GET /v1/ops HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Return both ends of a TCP connection, the client's first."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted = server.accept()[0]
        with accepted:
            yield client, accepted


def flood(client: socket.socket, limit: int) -> int:
    """Return the number of bytes that fit in the buffers of both ends."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**14)
    client.settimeout(0.3)
    sent = 0
    with suppress(TimeoutError):
        while sent < limit:
            sent += client.send(bytes(2**14))
    return sent


def test_unread_bytes_are_counted(pair: tuple[socket.socket, socket.socket]) -> None:
    client, ours = pair
    assert unread_bytes(ours) == 0
    client.sendall(b"12345")
    assert wait_for(lambda: unread_bytes(ours) == 5)
    ours.close()
    assert unread_bytes(ours) == 0


def test_a_limited_receive_buffer_takes_little_even_after_it_has_grown(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    client, ours = pair
    ours.setblocking(False)
    end = time.monotonic() + 0.3
    while time.monotonic() < end:  # the receive buffer grows because everything is read immediately
        with suppress(BlockingIOError):
            client.setblocking(False)
            client.send(bytes(2**18))
        with suppress(BlockingIOError):
            ours.recv(2**20)
    limit_receive_buffer(ours)
    flood(client, 16 * MiB)
    assert unread_bytes(ours) <= 4 * RECEIVE_BYTES


@pytest.mark.skipif(not CAN_UNLOCK, reason="the system can't grow a receive buffer again")
def test_a_limited_receive_buffer_can_grow_again(pair: tuple[socket.socket, socket.socket]) -> None:
    _, ours = pair
    before = ours.getsockopt(socket.SOL_SOCKET, 72)
    limit_receive_buffer(ours)
    assert ours.getsockopt(socket.SOL_SOCKET, 72) != before
    grow_receive_buffer(ours)
    assert ours.getsockopt(socket.SOL_SOCKET, 72) == before


def test_only_a_connection_that_was_reset_or_has_ended_is_closed(pair: tuple[socket.socket, socket.socket]) -> None:
    client, ours = pair
    assert not is_closed(ours)
    client.shutdown(socket.SHUT_WR)
    assert not is_closed(ours)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()
    assert wait_for(lambda: is_closed(ours))
    ours.close()
    assert is_closed(ours)


def queued(running: Served) -> int:
    """Return the memory of the service's receive queues in bytes, as a container's limit counts it."""
    found = run(["ss", "-tmnH", f"sport = :{running.port}"]).stdout
    return sum(map(int, re.findall(r"skmem:\(r(\d+),", found)))


@pytest.mark.parametrize("at_once", [False, True], ids=["after the response", "behind the body"])
def test_requests_behind_a_long_body_take_little_memory_of_the_kernel(at_once: bool) -> None:
    if shutil.which("ss") is None:
        pytest.skip("ss is not installed")
    count = 20
    with served() as running, ExitStack() as stack:
        for _ in range(count):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE))
            client.sendall(UPLOAD + BODY)
            if not at_once:
                assert client.recv(2**16).startswith(b"HTTP/1.1 200 ")
            client.settimeout(0.05)
            with suppress(TimeoutError, ConnectionError):
                client.sendall(OPS * (8 * MiB // len(OPS)))
        assert wait_for(lambda: queued(running) < count * 2**19)  # before, 100 MiB stayed there
        assert httpx.get(f"{running.url}/livez").status_code == 200


def test_a_connection_with_too_much_unread_data_is_closed_after_its_response(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        monkeypatch.setattr("axiscast_service.http.receiver.unread_bytes", lambda connection: RECEIVE_BYTES + 1)
        pipe, _ = connection(hooks())
        left = b"POST /into?0 HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n" + bytes(300_000)
        while left:
            left = left[pipe.deliver(left) :]
            await asyncio.sleep(0)
        pipe.deliver(b"GET /v1/check?1 HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
        await turns()
        assert pipe.unsent.count(b"HTTP/1.1 ") == 1
        assert b"connection: close\r\n" in pipe.unsent
        assert pipe.ended

    asyncio.run(run())
