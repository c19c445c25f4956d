"""The end of listening sockets at a shutdown."""

from __future__ import annotations

import signal
import time

import pytest
from conftest import PATIENCE, served
from listener_sockets import connect, listening, wait_until


@pytest.mark.parametrize("workers", [1, 2])
def test_after_the_drain_no_socket_listens_while_responses_continue(workers: int) -> None:
    body = (
        b'{"op":{"name":"numpy.broadcast_to","shape":[4294967296]},"inputs":[{"dtype":"uint8","shape":[],"data":[1]}]}'
    )
    head = b"POST /v1/broadcast HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    head += b"Accept: application/vnd.msgpack\r\nContent-Length: %d\r\n\r\n" % len(body)
    with served(workers=workers) as running, connect(running.port) as reader:
        reader.sendall(head + body)
        assert reader.recv(100).startswith(b"HTTP/1.1 200 ")
        wait_until(lambda: listening(running.port) == workers)
        running.process.send_signal(signal.SIGTERM)
        wait_until(lambda: listening(running.port) == 0)
        assert len(reader.recv(2**20)) > 0
        assert running.process.poll() is None
        with pytest.raises(ConnectionRefusedError):
            connect(running.port)


def test_a_shutdown_aborts_no_stream_before_finish_seconds() -> None:
    body = (
        b'{"op":{"name":"numpy.broadcast_to","shape":[268435456]},"inputs":[{"dtype":"uint8","shape":[],"data":[7]}]}'
    )
    head = b"POST /v1/broadcast HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    head += b"Accept: application/vnd.msgpack\r\nContent-Length: %d\r\n\r\n" % len(body)
    with served(finish_seconds=300) as running, connect(running.port) as reader:
        reader.settimeout(PATIENCE)
        reader.sendall(head + body)
        assert reader.recv(100).startswith(b"HTTP/1.1 200 ")
        running.process.send_signal(signal.SIGTERM)
        time.sleep(12.5)  # longer than by default, the end by SIGALRM included
        received = 0
        while chunk := reader.recv(2**20):
            received += chunk.count(7)
        assert received >= 2**28
        assert running.process.wait(PATIENCE) in (0, -signal.SIGTERM)
