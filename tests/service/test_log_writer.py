"""The log does not depend on its reader: a reader that stalls or is gone stops no request."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Iterator

import httpx
import pytest
from cases import cases
from conftest import PATIENCE, Served, served, wait_for
from test_faults import listeners_of

from axiscast_service.log_writer import MAX_QUEUED_BYTES, LogWriter

CHECK = b"GET /v1/check?input=3 HTTP/1.1\r\nHost: x\r\n\r\n"
REQUESTS = 10_000
"""The number of requests. A log line has 200 bytes, so the lines of all requests fit neither in the queue (1 MiB) nor
in a pipe (64 KiB)."""


def answers(running: Served, count: int) -> int:
    """Return the number of responses with status 200 to pipelined checks."""
    received = b""
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as connection:
        sender = threading.Thread(target=connection.sendall, args=[CHECK * count])
        sender.start()
        while received.count(b"HTTP/1.1 200 OK\r\n") < count and (part := connection.recv(2**20)):
            received += part
        sender.join()
    return received.count(b"HTTP/1.1 200 OK\r\n")


def dropped(running: Served) -> float:
    text = httpx.get(f"{running.url}/metrics").text
    return float(re.findall(r"(?m)^axiscast_log_lines_dropped_total (\S+)$", text)[0])


def test_requests_and_probes_are_served_if_nobody_reads_the_log() -> None:
    with served(access_log="true", log_format="json") as running:
        assert answers(running, REQUESTS) == REQUESTS
        assert {httpx.get(running.url + path).status_code for path in ("/livez", "/readyz")} == {200}
        lost = dropped(running)
        log = running.end()
    assert 0 < lost < REQUESTS
    assert log.count('"message": "answered"') == REQUESTS - lost
    assert running.process.returncode == 0


def test_a_service_ends_if_nobody_reads_its_log() -> None:
    with served(access_log="true") as running:
        assert answers(running, REQUESTS) == REQUESTS
        running.process.terminate()
        assert running.process.wait(timeout=PATIENCE) == 0


@cases("workers", [1, 2])
def test_the_last_lines_of_each_process_are_written(workers: int) -> None:
    with served(workers=workers) as running:
        assert wait_for(lambda: listeners_of(running) == workers)  # otherwise a worker may not have begun
        log = running.end()
    assert log.count("Application shutdown complete.") == log.count("Finished server process") == workers


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)


def test_lines_are_written_in_order_and_as_ascii_if_they_are_invalid(pipe: tuple[int, int]) -> None:
    log = LogWriter(pipe[1])
    for line in ("first", "second", "\udcff"):
        log.write(line)
    log.flush()
    assert os.read(pipe[0], 100) == b"first\nsecond\n\\udcff\n"


def test_a_writer_that_waits_has_written_each_line_when_it_returns(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[0], False)
    log = LogWriter(pipe[1])
    log.waits = True
    for number in range(100):
        log.write(str(number))
        assert os.read(pipe[0], 100) == b"%d\n" % number


def test_lines_that_do_not_fit_are_dropped_and_counted(pipe: tuple[int, int]) -> None:
    log, lost = LogWriter(pipe[1]), []
    log.on_drop = lost.append
    log.write("x" * (MAX_QUEUED_BYTES - 1))
    assert wait_for(lambda: not log._nbytes)  # the thread has taken this line, and waits for the reader
    log.write("y" * (MAX_QUEUED_BYTES - 11))
    log.write("z" * 9)
    log.write("")
    assert lost == [1]
    received = b""
    while len(received) < 2 * MAX_QUEUED_BYTES:
        received += os.read(pipe[0], 2**20)
    assert [line[:1] for line in received.split(b"\n")] == [b"x", b"y", b"z", b""]


def test_lines_that_cannot_be_written_are_dropped_and_counted() -> None:
    lost: list[int] = []
    with open("/dev/full", "wb") as full:
        log = LogWriter(full.fileno())
        log.on_drop = lost.append
        log.write("first")
        log.write("second")
        log.flush()
    assert sum(lost) == 2
