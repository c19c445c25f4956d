"""What peers do at their sockets costs the others little: pipelining, reading nothing, leaving early, long heads."""

from __future__ import annotations

import http.client
import re
import resource
import signal
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest
from conftest import PATIENCE, Served, served, unhurried, wait_for, warm
from raw_http import BODY, GET, POST, SECRET, connect

MiB = 2**20
CHECK = b"GET /v1/check?input=3 HTTP/1.1\r\nHost: x\r\n\r\n"
FILES = 256
"""Files that the service may have open: three quarters of them may be connections."""


@contextmanager
def crowded(service: Served, request: bytes, nbytes: int) -> Iterator[list[socket.socket]]:
    """Yield the maximum number of connections. Each has sent `nbytes` bytes of the request, and reads nothing."""
    with ExitStack() as stack:
        connections = []
        for _ in range(FILES):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", service.port))
            connection.setblocking(False)
            connections.append(connection)
        for connection in connections:
            with suppress(OSError):  # no more fits, or it has made room
                connection.send(request * (nbytes // len(request)))
        yield connections


@pytest.mark.parametrize("request_", [GET, CHECK, CHECK[:-2], POST + b"Content-Length: 9\r\n\r\n"])
def test_connections_that_read_nothing_shut_nobody_out(absent: str, request_: bytes) -> None:
    with served(absent, request_seconds=300) as running:
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
        with crowded(running, request_, 32 * 1024):
            # Until the event loop has read what has arrived, no connection can be closed for a new one.
            assert wait_for(lambda: httpx.get(f"{running.url}/livez").status_code == 200)
            for path in ["/livez", "/readyz", "/v1/check?input=3"] * 5:
                assert httpx.get(running.url + path).status_code == 200


def test_pipelined_requests_take_little_memory_and_give_it_back(absent: str) -> None:
    with served(absent, request_seconds=300) as running:
        before = warm(running)
        with crowded(running, CHECK, 256 * 1024):
            assert httpx.get(f"{running.url}/livez").status_code == 200
            time.sleep(0.5)
            assert running.memory() - before < 24 * MiB
        assert wait_for(lambda: running.memory() - before < 12 * MiB, 60)


def test_fresh_connections_are_answered_while_others_pipeline(absent: str) -> None:
    """Without turns of their own they would wait for all that is pipelined."""

    def claim(seconds: float) -> None:
        assert statistics.median(waits_beside_pipelines(absent)) < seconds

    unhurried(claim, 2)


def waits_beside_pipelines(absent: str) -> list[float]:
    """Return the seconds that new connections wait for their first response while others pipeline requests."""
    with served(absent) as running, ExitStack() as stack:
        pipeliners = [stack.enter_context(connect(running.port)) for _ in range(50)]
        ended = threading.Event()

        def pipeline(connection: socket.socket) -> None:
            with suppress(OSError):
                while not ended.is_set():
                    connection.sendall(GET * 500)

        def read(connection: socket.socket) -> None:
            with suppress(OSError):
                while not ended.is_set() and connection.recv(2**16):
                    pass

        threads = [threading.Thread(target=job, args=[each]) for each in pipeliners for job in (pipeline, read)]
        for thread in threads:
            thread.start()
        try:
            waits = []
            for _ in range(20):
                start = time.monotonic()
                with connect(running.port) as fresh:
                    fresh.sendall(GET)
                    assert fresh.recv(12) == b"HTTP/1.1 200"
                waits.append(time.monotonic() - start)
        finally:
            ended.set()
            for connection in pipeliners:
                connection.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
    return waits


# --- refusals


def posted(port: int, nbytes: int) -> int:
    """The status of the response to an upload of zeros, by a client that reads nothing before it has sent all."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("POST", "/v1/broadcast", bytes(nbytes), {"Content-Type": "application/msgpack"})
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_client_that_sends_all_of_a_refused_upload_reads_the_refusal(absent: str) -> None:
    with served(absent, memory_budget_bytes=32 * MiB) as running:
        assert posted(running.port, 80 * MiB) == 413
        with connect(running.port) as other:
            other.sendall(POST.replace(b"json", b"msgpack") + b"Content-Length: %d\r\n\r\n" % (18 * MiB))
            other.sendall(bytes(17 * MiB))
            assert wait_for(lambda: "axiscast_memory_held_ratio 0.7" in httpx.get(f"{running.url}/metrics").text)
            for _ in range(3):
                assert posted(running.port, 16 * MiB) == 503


def test_of_a_refused_upload_that_never_ends_no_more_is_read_than_the_limit_says(absent: str) -> None:
    with served(absent, max_body_bytes=MiB) as running, connect(running.port) as connection:
        connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % 2**40)
        sent = 0
        with suppress(ConnectionError):
            while sent < 2**30:
                sent += connection.send(bytes(2**16))
        assert sent < 32 * MiB  # twice the limit, and what the system itself takes


def test_an_early_response_is_read_though_the_rest_of_the_body_is_malformed(absent: str) -> None:
    head = b"POST /nothing HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
    with served(absent) as running:
        for pause in (0, 0.001, 0.01):
            for _ in range(20):
                with connect(running.port) as connection:
                    connection.sendall(head)
                    time.sleep(pause)
                    connection.sendall(b";x\r\n")
                    assert re.match(rb"HTTP/1.1 40[04] ", connection.recv(2**16))


def test_malformed_requests_are_one_line_per_second_in_the_log(absent: str) -> None:
    start = time.monotonic()
    with served(absent) as running:
        for number in range(30):
            with connect(running.port) as connection:
                connection.sendall(SECRET + b" %d\r\n\r\n" % number)
                connection.recv(2**16)
        seconds = time.monotonic() - start
    assert 1 <= running.log.count("refused code=malformed-request") <= seconds + 1
    assert SECRET.decode() not in running.log
    assert "Invalid HTTP" not in running.log


def test_an_unknown_method_is_405(absent: str) -> None:
    with served(absent) as running:
        for method in (b"FOO", b"M-SEARCH", b"get"):
            with connect(running.port) as connection:
                connection.sendall(GET.replace(b"GET", method))
                assert connection.recv(12) == b"HTTP/1.1 405"


# --- the end


class Load:
    """Clients that send requests until the service stops responding.

    They send whole requests or halves, on kept connections or on new ones.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.lost: list[tuple[float, str]] = []
        """When requests without an answer began."""
        self.answered = 0
        self.threads = [threading.Thread(target=self.run, args=[number]) for number in range(16)]
        for thread in self.threads:
            thread.start()

    def run(self, number: int) -> None:
        request = POST + b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
        cut, kept = (60 if number % 2 else len(request)), number % 4 < 2
        connection: socket.socket | None = None
        while True:
            if connection is None:
                try:
                    connection = connect(self.port)
                except OSError:
                    return
            try:
                connection.sendall(request[:cut])
            except OSError:  # it had been closed before the request began
                connection = None
                continue
            began = time.monotonic()
            try:
                if cut < len(request):
                    time.sleep(0.003)
                    connection.sendall(request[cut:])
                response = connection.recv(2**16)
            except OSError as error:
                response = b""
                self.lost.append((began, f"{number} {error}"))
            else:
                if not response:
                    self.lost.append((began, f"{number} closed"))
            self.answered += bool(response)
            if not response or not kept or b"connection: close" in response:
                connection.close()
                connection = None


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("drain_seconds", [0, 1])
def test_sigterm_loses_no_request_that_had_begun(workers: int, drain_seconds: int) -> None:
    with served(workers=workers, drain_seconds=drain_seconds) as running:  # benchmarks/load/peers.py has more trials
        load = Load(running.port)
        assert wait_for(lambda: load.answered > 100)
        signalled = time.monotonic()
        running.process.send_signal(signal.SIGTERM)
        for thread in load.threads:
            thread.join(PATIENCE)
        assert running.process.wait(PATIENCE) in (0, -signal.SIGTERM)
    assert [what for began, what in load.lost if began < signalled] == []


def test_half_a_request_at_the_end_is_answered_503(absent: str) -> None:
    with served(absent) as running, connect(running.port) as half:
        half.sendall(GET[:9])
        assert httpx.get(f"{running.url}/livez").status_code == 200  # so the half has been read
        running.process.send_signal(signal.SIGTERM)
        response = half.recv(2**16)
        assert response.startswith(b"HTTP/1.1 503 ")
        assert b"shutting-down" in response


def test_a_body_that_arrives_slowly_does_not_delay_the_end() -> None:
    body = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    received = b""
    with served(finish_seconds=20) as running, connect(running.port) as slow:
        slow.sendall(body)
        slow.settimeout(0.1)
        assert httpx.get(f"{running.url}/livez").status_code == 200  # so the beginning has been read
        running.process.send_signal(signal.SIGTERM)
        while running.process.poll() is None:
            time.sleep(0.05)
            with suppress(OSError):
                slow.send(b" ")
                received += slow.recv(2**16)
    assert received.startswith(b"HTTP/1.1 503 ")
    assert "graceful shutdown exceeded" not in running.log
