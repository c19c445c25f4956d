"""The listener: prompt accepts, distribution among workers, counting and shutdown."""

from __future__ import annotations

import gc
import itertools
import json
import os
import re
import resource
import selectors
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from conftest import PATIENCE, free_port, run, served, started
from raw_http import BROADCAST
from test_metrics import workers_of

from axiscast_service.app import create_app
from axiscast_service.http.limits import CONNECTIONS
from axiscast_service.http.protocol import HTTPProtocol
from axiscast_service.settings import Settings, unknown_variables

LIVEZ = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
LONGEST = 30
LOOP = "axiscast_service.http.listener:Loop"


def sockets_of(pid: int) -> int:
    links = [link for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()]
    return sum(os.readlink(link).startswith("socket:") for link in links)


def listening(port: int) -> int:
    """How many sockets listen on a port."""
    rows = [line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/net/{table}").read_text().splitlines()]
    return sum(row[3] == "0A" and row[1].endswith(f":{port:04X}") for row in rows)


def wait_until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=LONGEST)


def encrypted(pem: Path, **settings: object) -> Any:
    return served(tls_certificate=pem / "certificate", tls_key=pem / "key", **settings)


def trusting(pem: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(pem / "certificate"))


def hello(pem: Path) -> bytes:
    """What a caller sends first of a handshake."""
    sent = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        trusting(pem).wrap_bio(ssl.MemoryBIO(), sent, server_hostname="127.0.0.1").do_handshake()
    return sent.read()


# --- fresh connections ----------------------------------------------------------------------------


def never_asked(number: int) -> bytes:
    body = json.dumps({"inputs": [[8, 1, 6, 1], [7, 1, number]]}).encode()
    head = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % len(body) + body


def turns_until_answered(port: int, busy: int, fresh: int) -> float:
    """Return the median number of responses that a busy connection gets until a new connection gets its first.

    A busy connection gets one response per iteration of the server's loop, so this counts iterations, not time.
    """
    sizes = itertools.count(2)
    came: dict[socket.socket, bytes] = {}
    turns: list[float] = []
    with ExitStack() as stack, selectors.DefaultSelector() as selector:

        def add(first: bytes) -> socket.socket:
            connection = stack.enter_context(connect(port))
            connection.sendall(first)
            selector.register(connection, selectors.EVENT_READ)
            came[connection] = b""
            return connection

        def answered() -> Iterator[socket.socket]:
            """Those of which a whole answer has come."""
            for key, _ in selector.select(LONGEST):
                connection: Any = key.fileobj
                came[connection] += connection.recv(2**16)
                head, end, body = came[connection].partition(b"\r\n\r\n")
                if end and len(body) == int(re.findall(rb"content-length: (\d+)", head)[0]):
                    assert head.startswith(b"HTTP/1.1 200 ")
                    came[connection] = b""
                    yield connection

        others = {add(never_asked(next(sizes))) for _ in range(busy)}
        answers = 0
        while len(turns) < fresh:
            for connection in list(answered()):
                if connection in others:
                    answers += 1
                    connection.sendall(never_asked(next(sizes)))
                else:
                    turns.append(answers / busy)
                    selector.unregister(connection)
            if answers >= 5 * busy and len(came) == busy:  # it is in full swing
                answers = 0
                for _ in range(fresh):
                    add(LIVEZ)
    return statistics.median(turns)


@pytest.mark.parametrize("absent", ["", "uvloop"], ids=["uvloop", "asyncio"])
def test_new_connections_wait_for_few_turns_while_others_are_busy(absent: str) -> None:
    with served(absent) as running:
        # One connection in each turn, as libuv has it, makes half of the 40 wait for more than 20.
        assert turns_until_answered(running.port, busy=40, fresh=40) < 8


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_connections_are_distributed_among_workers(tls: bool, pem: Path) -> None:
    with encrypted(pem, workers=2) if tls else served(workers=2) as running, ExitStack() as stack:
        workers = workers_of(running)
        wait_until(lambda: listening(running.port) == 2)
        before = [sockets_of(pid) for pid in workers]
        for _ in range(200):
            stack.enter_context(connect(running.port))
        wait_until(lambda: sum(map(sockets_of, workers)) >= sum(before) + 200)
        shares = [sockets_of(pid) - count for pid, count in zip(workers, before, strict=True)]
        # They are shared out by their ports, as a coin would: beyond these bounds once in 10^8.
        assert min(shares) >= 60


def test_a_port_on_which_workers_listen_is_taken() -> None:
    with served(workers=2) as running:
        command = [sys.executable, "-m", "axiscast", "serve", "--port", str(running.port), "--workers"]
        for workers in ("1", "2"):
            second = run([*command, workers])
            assert (second.returncode, second.stdout) == (2, "")
            said = f"127.0.0.1 port {running.port} (AXISCAST_HOST, AXISCAST_PORT): Address already in use"
            assert said in second.stderr
            assert "http://" not in second.stderr  # as if it listened


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_an_unavailable_address_is_named_in_the_error(host: str) -> None:
    done = run([sys.executable, "-m", "axiscast", "serve", "--host", host, "--port", "8080"])
    assert done.returncode == 2
    assert f"can't listen on {host} port 8080 (AXISCAST_HOST, AXISCAST_PORT)" in done.stderr


def test_an_unknown_variable_is_named_at_the_start() -> None:
    sentence = "AXISCAST_API_KEY_FILE is not a setting: did you mean AXISCAST_API_KEYS_FILE?"
    with served(api_key_file="keys", log_format="json") as running:
        warning = json.loads(running.end().splitlines()[0])
    assert (warning["level"], warning["message"]) == ("warning", sentence)
    assert unknown_variables({"AXISCAST_API_KEY": "x", "AXISCAST_PORT": "1", "PATH": "/", "AXISCASTS": ""}) == []
    (unlike,) = unknown_variables({"AXISCAST_COLOUR": "red"})
    assert unlike.endswith("is not a setting: `axiscast serve --help` lists all settings")


@pytest.mark.skipif(not socket.has_ipv6, reason="there is no IPv6 here")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_it_listens_on_ipv6_and_logs_the_free_port(workers: str) -> None:
    command = [sys.executable, "-m", "axiscast", "serve", "--host", "::1", "--port", "0", "--workers", workers]
    with started(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = iter(process.stderr.readline, "")
        url = next(found[1] for line in said if (found := re.search(r"running on (http://\[::1\]:\d+) ", line)))
        wait_until(lambda: listening(int(url.rpartition(":")[2])) == int(workers))
        assert httpx.get(f"{url}/livez", timeout=LONGEST).status_code == 200


# --- no file for another --------------------------------------------------------------------------


def seconds_worked(pid: int) -> float:
    """Of the processor, by a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("absent", ["", "uvloop"], ids=["uvloop", "asyncio"])
def test_without_file_descriptors_it_waits_without_spinning_and_continues(absent: str) -> None:
    with served(absent) as running, ExitStack() as stack:
        pid = running.process.pid
        time.sleep(0.3)  # the one that asked whether it is ready is closed
        held = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (held + 3, held + 3))
        working = []
        for _ in range(3):  # in flight: they make no room
            working.append(stack.enter_context(connect(running.port)))
            working[-1].sendall(BROADCAST)
            assert working[-1].recv(12) == b"HTTP/1.1 200"
        queued = stack.enter_context(connect(running.port))
        queued.sendall(LIVEZ)
        queued.settimeout(1)
        before = seconds_worked(pid)
        with pytest.raises(TimeoutError):
            queued.recv(1)
        assert seconds_worked(pid) - before < 0.5
        queued.settimeout(LONGEST)
        working[0].close()
        assert queued.recv(2**16).startswith(b"HTTP/1.1 200 ")
        for _ in range(2):  # one that waits makes room
            another = stack.enter_context(connect(running.port))
            another.sendall(LIVEZ)
            assert another.recv(2**16).startswith(b"HTTP/1.1 200 ")
        while queued.recv(2**16):
            pass
    assert running.log.count("can't accept a connection") == 1
    assert "Too many open files" in running.log


# --- handshakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("absent", ["", "uvloop"], ids=["uvloop", "asyncio"])
@pytest.mark.parametrize("begun", [False, True], ids=["silent", "half"])
def test_handshakes_that_never_end_are_closed_for_new_connections(absent: str, begun: bool, pem: Path) -> None:
    first = hello(pem) if begun else b""
    with encrypted(pem, absent=absent, request_seconds=300) as running, ExitStack() as stack:
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (128, 128))
        with httpx.Client(verify=trusting(pem), base_url=running.url, timeout=LONGEST) as honest:
            assert honest.get("/livez").status_code == 200
            idle = [stack.enter_context(connect(running.port)) for _ in range(200)]
            for connection in idle:
                connection.sendall(first)
            assert httpx.get(f"{running.url}/livez", verify=trusting(pem), timeout=LONGEST).status_code == 200
            assert len(list(Path(f"/proc/{running.process.pid}/fd").iterdir())) < 128
            counted = httpx.get(f"{running.url}/metrics", verify=trusting(pem), timeout=LONGEST).text
            assert float(re.findall(r'refused_total{reason="no-room"} (.*)', counted)[0]) >= 200 - 0.75 * 128
            idle[0].settimeout(LONGEST)
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

    with here(pem) as (port, _), ExitStack() as stack:
        small, *large = (
            stack.enter_context(
                trusting(pem).wrap_socket(connect(port), server_hostname="127.0.0.1", suppress_ragged_eofs=True)
            )
            for _ in range(4)
        )
        for connection, request in ((small, LIVEZ), *((connection, post % len(body) + body) for connection in large)):
            assert answer(connection, request).startswith(b"HTTP/1.1 200 ")
        wait_until(lambda: CONNECTIONS.total == 2)
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
        thread.join(LONGEST)


def test_a_failed_handshake_leaves_nothing_behind(pem: Path, caplog: pytest.LogCaptureFixture) -> None:
    with here(pem, request_seconds=1) as (port, app):
        with connect(port) as silent, connect(port) as half, connect(port) as plain, connect(port) as gone:
            half.sendall(hello(pem))
            plain.sendall(LIVEZ)
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            gone.close()  # by a reset
            for connection in (silent, half, plain):
                with suppress(ConnectionResetError):
                    while connection.recv(2**16):
                        pass
        wait_until(lambda: CONNECTIONS.total == 0)
        assert CONNECTIONS.waiting == {}
        assert app.state.refusals == {"handshake": 4}
        # One that counted from its handshake on counts once.
        with trusting(pem).wrap_socket(connect(port), server_hostname="127.0.0.1") as connection:
            connection.sendall(LIVEZ)
            assert connection.recv(2**16).startswith(b"HTTP/1.1 200 ")
            wait_until(lambda: (CONNECTIONS.total, len(CONNECTIONS.waiting)) == (1, 1))
        wait_until(lambda: CONNECTIONS.total == 0)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.parametrize("reset", [False, True])
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
    monkeypatch.setattr("axiscast_service.http.limits.MAX_CONNECTIONS", 1)
    last = LIVEZ.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with here(pem) as (port, app), ExitStack() as stack:
        for _ in range(2):
            connection = stack.enter_context(
                trusting(pem).wrap_socket(connect(port), server_hostname="127.0.0.1", suppress_ragged_eofs=False)
            )
            connection.sendall(last)
            assert connection.recv(2**16).startswith(b"HTTP/1.1 200 ")
            wait_until(lambda: len(CONNECTIONS.waiting) == CONNECTIONS.total)
            if seconds == 1:
                wait_until(lambda: CONNECTIONS.total == 0)
        assert app.state.refusals == ({} if seconds == 1 else {"no-room": 1})


# --- the end --------------------------------------------------------------------------------------


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


def test_a_handshake_that_never_ends_does_not_delay_the_shutdown(pem: Path) -> None:
    with encrypted(pem, request_seconds=300) as running, connect(running.port) as silent:
        time.sleep(0.2)
        running.process.terminate()
        with suppress(ConnectionResetError):
            assert silent.recv(1) == b""
    assert "exceeded" not in running.log  # the time for running answers
    assert "Traceback" not in running.log


def test_a_request_after_a_handshake_that_ends_during_the_shutdown_is_answered(pem: Path) -> None:
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
            received.write(connection.recv(2**16) or pytest.fail("the connection ended without a response"))
            with suppress(ssl.SSLWantReadError):
                response += client.read()
        assert response.startswith(b"HTTP/1.1 200 ")
    assert "Traceback" not in running.log
