"""The end of listening sockets at a shutdown."""

from __future__ import annotations

import signal
import socket
import time
from contextlib import suppress

import pytest
from conftest import PATIENCE, served, unhurried
from listener_sockets import connect, listening, wait_until

from axiscast_service.app import create_app
from axiscast_service.runtime.drain import LEAVE_SECONDS
from axiscast_service.settings import Settings


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


def test_a_shutdown_aborts_a_stream_after_finish_seconds() -> None:
    unhurried(lambda _: assert_a_stream_is_aborted_after_finish_seconds(), 0)  # a busy process may end by SIGALRM


def assert_a_stream_is_aborted_after_finish_seconds() -> None:
    body = (
        b'{"op":{"name":"numpy.broadcast_to","shape":[268435456]},"inputs":[{"dtype":"uint8","shape":[],"data":[7]}]}'
    )
    head = b"POST /v1/broadcast HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    head += b"Accept: application/vnd.msgpack\r\nContent-Length: %d\r\n\r\n" % len(body)

    def rest(reader: socket.socket) -> int:
        received = 0
        with suppress(ConnectionResetError):
            while chunk := reader.recv(2**20):
                received += chunk.count(7)
        return received

    with (
        served(finish_seconds=1) as impatient,
        served(finish_seconds=300) as patient,
        connect(impatient.port) as cut,
        connect(patient.port) as complete,
    ):
        for running, reader in ((impatient, cut), (patient, complete)):
            reader.sendall(head + body)
            assert reader.recv(100).startswith(b"HTTP/1.1 200 ")
            running.process.send_signal(signal.SIGTERM)
        assert impatient.process.wait(PATIENCE) in (0, -signal.SIGTERM)  # and not SIGALRM, LEAVE_SECONDS later
        assert rest(cut) < 2**28
        time.sleep(LEAVE_SECONDS + 1)
        assert rest(complete) >= 2**28
        assert patient.process.wait(PATIENCE) in (0, -signal.SIGTERM)


def test_the_drain_has_the_seconds_of_the_settings() -> None:
    drain = create_app(Settings(drain_seconds=5, finish_seconds=300)).state.drain
    assert (drain.seconds, drain.finish_seconds) == (5, 300)
