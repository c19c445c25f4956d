"""A killed worker, a full disk, and clients that reset their connections."""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest
from conftest import Served, served, wait_for

from axiscast import Client

STREAM = (
    b"POST /v1/broadcast HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: application/vnd.msgpack\r\n"
    b"Content-Length: %d\r\n\r\n%s"
)
LARGE = b'{"op": {"name": "numpy.broadcast_to", "shape": [1000, 1000, 1000]}, "inputs": [{"shape": [], "data": 1}]}'


def workers_of(service: Served) -> list[int]:
    """Return the process ids of a service's workers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            if parent == service.process.pid and b"spawn_main" in (path.parent / "cmdline").read_bytes():
                found.append(int(path.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
    return sorted(found)


def listeners_of(service: Served) -> int:
    """Return the number of sockets that listen on the port of a service. Each started worker has one socket."""
    port = f":{int(service.url.rpartition(':')[2]):04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    return sum(line[1].endswith(port) and line[3] == "0A" for line in lines)


def is_running(pid: int) -> bool:
    """Return whether a process exists that has not ended. The test's system may never collect an orphan's status."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def test_the_workers_of_a_killed_supervisor_finish_their_requests_and_end() -> None:
    body = LARGE.replace(b"1000", b"50", 1)
    with served(workers=2, drain_seconds=1, finish_seconds=200) as service:
        assert wait_for(lambda: listeners_of(service) == 2)
        workers = workers_of(service)
        try:
            with socket.create_connection(("127.0.0.1", service.port)) as connection:
                connection.sendall(STREAM % (len(body), body))
                connection.recv(1, socket.MSG_PEEK)
                service.process.send_signal(signal.SIGKILL)
                length = 0
                while data := connection.recv(2**22):
                    length += len(data)
                assert length > 50 * 1000 * 1000 * 8, "the stream was cut"
            assert wait_for(lambda: not any(map(is_running, workers)))
            assert listeners_of(service) == 0
        finally:
            for worker in filter(is_running, workers):
                os.kill(worker, signal.SIGKILL)


def test_a_killed_worker_loses_only_its_own_requests_and_is_replaced() -> None:
    with served(workers=2) as service:
        assert wait_for(lambda: listeners_of(service) == 2)  # otherwise no worker may be left
        seen: Counter[str] = Counter()
        stop = threading.Event()

        def ask() -> None:
            with Client(service.url, retries=0) as client:
                while not stop.is_set():
                    try:
                        assert client.broadcast_shapes((3, 1), (4,)) == (3, 4)
                        seen["good"] += 1
                    except Exception as error:
                        seen[type(error).__name__] += 1

        askers = [threading.Thread(target=ask) for _ in range(8)]
        for asker in askers:
            asker.start()
        assert wait_for(lambda: seen["good"] > 20 * len(askers))
        before = workers_of(service)
        os.kill(before[0], signal.SIGKILL)
        assert wait_for(
            lambda: bool(set(workers_of(service)) - set(before))
        )  # 3 s on a machine that has nothing else to do
        good = seen["good"]
        assert wait_for(lambda: seen["good"] > good + 20 * len(askers))
        assert wait_for(lambda: len(workers_of(service)) == 2)
        stop.set()
        for asker in askers:
            asker.join()
        del seen["good"]
        # Each of the callers loses at most the request that it was waiting for; a new connection may be reset as well.
        assert sum(seen.values()) <= 2 * len(askers), seen


def test_a_full_disk_stops_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here /dev/full replaces every writable file, because the service does not need to write any file."""
    monkeypatch.setenv("TMPDIR", "/dev/full")
    with served() as service, Client(service.url) as client:
        assert client.broadcast_to([1, 2], (3, 2)).shape == (3, 2)
        assert httpx.get(f"{service.url}/metrics").status_code == 200


def test_clients_that_reset_during_a_response_free_all_resources(service: Served) -> None:
    def files() -> int:
        return len(os.listdir(f"/proc/{service.process.pid}/fd"))

    def reset() -> None:
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(STREAM % (len(LARGE), LARGE))
            connection.recv(1000)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    reset()
    time.sleep(0.5)
    before, memory = files(), service.memory()
    for _ in range(100):
        reset()
    assert wait_for(lambda: files() <= before)
    assert service.memory() < memory + 32 * 2**20
    assert httpx.get(f"{service.url}/livez").status_code == 200
