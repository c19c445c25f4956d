"""TLS handshakes and closes on the connections of a listener, also while the service shuts down."""

from __future__ import annotations

import gc
import re
import resource
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from cases import cases
from conftest import PATIENCE, free_port, unhurried
from listener_sockets import LIVEZ, LOOP, connect, encrypted, hello, listening, trusting, wait_until

from axiscast_service.app import create_app
from axiscast_service.http.protocol import HTTPProtocol
from axiscast_service.settings import Settings


@cases("begun", [False, True], ids=["silent", "half"])
def test_handshakes_that_never_end_are_closed_for_new_connections(begun: bool, pem: Path) -> None:
    first = hello(pem) if begun else b""
    with encrypted(pem, request_seconds=300) as running, ExitStack() as stack:
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (128, 128))
        with httpx.Client(verify=trusting(pem), base_url=running.url, timeout=PATIENCE) as honest:
            assert honest.get("/livez").status_code == 200
            idle = [stack.enter_context(connect(running.port)) for _ in range(200)]
            for connection in idle:
                connection.sendall(first)
            assert httpx.get(f"{running.url}/livez", verify=trusting(pem), timeout=PATIENCE).status_code == 200
            assert len(list(Path(f"/proc/{running.process.pid}/fd").iterdir())) < 128
            counted = httpx.get(f"{running.url}/metrics", verify=trusting(pem), timeout=PATIENCE).text
            assert (
                float(re.findall(r'refused_total{reason="no-room"} (.*)', counted)[0]) >= 150 - 0.75 * 128
            )  # a connection with unread data is not closed
            idle[0].settimeout(PATIENCE)
            while idle[0].recv(2**16):  # the answer to its beginning, then the end
                pass
    assert "Traceback" not in running.log
    assert "never retrieved" not in running.log


def test_few_encrypted_connections_with_grown_buffers_may_wait(pem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("axiscast_service.http.limits.MAX_GROWN_TLS", 1)
    body = b'{"inputs":[[3]]}' + b" " * 2**17
    post = b"POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"

    def answer(connection: ssl.SSLSocket, request: bytes) -> bytes:
        connection.sendall(request)
        answer = b""
        while not answer.endswith(b"}"):
            answer += connection.recv(2**16)
        return answer

    with here(pem) as (port, app), ExitStack() as stack:
        small, *large = (
            stack.enter_context(
                trusting(pem).wrap_socket(connect(port), server_hostname="127.0.0.1", suppress_ragged_eofs=True)
            )
            for _ in range(4)
        )
        for connection, request in ((small, LIVEZ), *((connection, post % len(body) + body) for connection in large)):
            assert answer(connection, request).startswith(b"HTTP/1.1 200 ")
        wait_until(lambda: app.state.connections.total == 2)
        for connection in (small, large[-1]):  # the first two of the large ones were closed
            assert answer(connection, LIVEZ).startswith(b"HTTP/1.1 200 ")


@contextmanager
def here(pem: Path, **settings: Any) -> Iterator[tuple[int, Any]]:
    """The port of an encrypted service in this process, and its application."""
    files = {"tls_certificate": str(pem / "certificate"), "tls_key": str(pem / "key")}
    app = create_app(Settings(**files, **settings))
    config = uvicorn.Config(
        app,
        port=free_port(),
        loop=LOOP,
        http=HTTPProtocol,
        log_config=None,
        ssl_certfile=files["tls_certificate"],
        ssl_keyfile=files["tls_key"],
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield config.port, app
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def test_a_failed_handshake_leaves_nothing_behind(pem: Path, caplog: pytest.LogCaptureFixture) -> None:
    unhurried(lambda seconds: assert_nothing_is_left_of_failed_handshakes(pem, int(seconds)), 1)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def assert_nothing_is_left_of_failed_handshakes(pem: Path, seconds: int) -> None:
    with here(pem, request_seconds=seconds) as (port, app):
        with connect(port) as silent, connect(port) as half, connect(port) as plain, connect(port) as gone:
            half.sendall(hello(pem))
            plain.sendall(LIVEZ)
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            gone.close()  # by a reset
            for connection in (silent, half, plain):
                with suppress(ConnectionResetError):
                    while connection.recv(2**16):
                        pass
        wait_until(lambda: app.state.connections.total == 0)
        assert app.state.connections.unserved == {}
        assert app.state.refusals == {"handshake": 4}
        # One that counted from its handshake on counts once.
        with trusting(pem).wrap_socket(connect(port), server_hostname="127.0.0.1") as connection:
            connection.sendall(LIVEZ)
            assert connection.recv(2**16).startswith(b"HTTP/1.1 200 ")
            wait_until(lambda: (app.state.connections.total, len(app.state.connections.idle)) == (1, 1))
        wait_until(lambda: app.state.connections.total == 0)


@cases("reset", [False, True])
def test_an_encrypted_connection_leaves_nothing_behind(pem: Path, reset: bool) -> None:
    gc.collect()
    gc.disable()
    try:
        with here(pem) as (port, _):
            for _ in range(3):
                with trusting(pem).wrap_socket(connect(port), server_hostname="127.0.0.1") as connection:
                    connection.sendall(LIVEZ)
                    assert connection.recv(2**16).startswith(b"HTTP/1.1 200 ")
                    if reset:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            wait_until(lambda: not any(isinstance(each, HTTPProtocol) for each in gc.get_objects()))
    finally:
        gc.enable()


@pytest.mark.parametrize("seconds", [1, 3600])
def test_a_client_that_sends_no_close_notify_is_not_awaited(
    seconds: int, pem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("axiscast_service.http.listener.LINGER_SECONDS", seconds)
    last = LIVEZ.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with here(pem) as (port, app), ExitStack() as stack:
        app.state.connections.limit = 1
        for _ in range(2):
            connection = stack.enter_context(
                trusting(pem).wrap_socket(connect(port), server_hostname="127.0.0.1", suppress_ragged_eofs=False)
            )
            connection.sendall(last)
            assert connection.recv(2**16).startswith(b"HTTP/1.1 200 ")
            wait_until(lambda: len(app.state.connections.lingering) == app.state.connections.total)
            if seconds == 1:
                wait_until(lambda: app.state.connections.total == 0)
        assert app.state.refusals == ({} if seconds == 1 else {"no-room": 1})


def test_a_handshake_that_never_ends_does_not_delay_the_shutdown(pem: Path) -> None:
    with encrypted(pem, request_seconds=300) as running, connect(running.port) as silent:
        time.sleep(0.2)
        running.process.terminate()
        with suppress(ConnectionResetError):
            assert silent.recv(1) == b""
    assert "exceeded" not in running.log  # the time for running answers
    assert "Traceback" not in running.log


def test_a_request_after_a_handshake_that_ends_during_the_shutdown_is_answered(pem: Path) -> None:
    """A handshake may last one second of the shutdown. A busy client that takes longer tries again."""
    unhurried(lambda _: assert_answered_after_a_late_handshake(pem), 0)


def assert_answered_after_a_late_handshake(pem: Path) -> None:
    with encrypted(pem) as running, connect(running.port) as connection:
        received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = trusting(pem).wrap_bio(received, sent, server_hostname="127.0.0.1")
        while True:
            with suppress(ssl.SSLWantReadError):
                client.do_handshake()
                break
            connection.sendall(sent.read())
            received.write(connection.recv(2**16))
        last = sent.read()  # of the handshake
        client.write(LIVEZ)
        running.process.terminate()
        wait_until(lambda: listening(running.port) == 0)
        time.sleep(0.3)  # no other connection is left to wait for
        connection.sendall(last)
        time.sleep(0.05)
        connection.sendall(sent.read())
        response = b""
        while not response.endswith(b"}"):
            data = connection.recv(2**16)
            assert data, "the connection ended without a response"
            received.write(data)
            with suppress(ssl.SSLWantReadError):
                response += client.read()
        assert response.startswith(b"HTTP/1.1 200 ")
    assert "Traceback" not in running.log
