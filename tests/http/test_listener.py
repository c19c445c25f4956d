"""Listening sockets: new connections among busy ones, addresses, workers and missing file descriptors."""

from __future__ import annotations

import itertools
import json
import os
import re
import resource
import selectors
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import PATIENCE, run, served, started, unhurried
from listener_sockets import LIVEZ, accepted, connect, encrypted, listening, sockets_of, wait_until
from raw_http import BROADCAST
from test_metrics import workers_of

from axiscast_service.settings import unknown_variables

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
            """Return the connections that have received a complete response."""
            for key, _ in selector.select(PATIENCE):
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


def test_new_connections_wait_for_few_turns_while_others_are_busy() -> None:
    with served() as running:
        # One connection in each turn, as libuv has it, makes half of the 40 wait for more than 20.
        assert turns_until_answered(running.port, busy=40, fresh=40) < 8


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_connections_are_distributed_among_workers(tls: bool, pem: Path) -> None:
    with encrypted(pem, workers=2) if tls else served(workers=2) as running, ExitStack() as stack:
        wait_until(lambda: listening(running.port) == 2)
        workers = workers_of(running)
        before = [sockets_of(pid) for pid in workers]
        for _ in range(200):
            stack.enter_context(connect(running.port))
        # A connection of the fixture that was still open before may have been closed since.
        wait_until(lambda: sum(map(sockets_of, workers)) >= sum(before) + 195)
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
    assert unknown_variables({"AXISCAST_PORT": "1", "PATH": "/", "AXISCASTS": ""}) == []
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
        assert httpx.get(f"{url}/livez", timeout=PATIENCE).status_code == 200


# --- no file for another --------------------------------------------------------------------------


def seconds_worked(pid: int) -> float:
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_without_file_descriptors_it_waits_without_spinning_and_continues() -> None:
    with served() as running, ExitStack() as stack:
        pid = running.process.pid
        wait_until(lambda: accepted(running.port) == 0)  # the one that asked whether it is ready is closed
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

        def waits(seconds: float) -> None:
            before = seconds_worked(pid)
            with pytest.raises(TimeoutError):
                queued.recv(1)
            assert seconds_worked(pid) - before < seconds

        unhurried(waits, 0.5)
        queued.settimeout(PATIENCE)
        working[0].close()
        assert queued.recv(2**16).startswith(b"HTTP/1.1 200 ")
        for _ in range(2):  # one that waits makes room
            another = stack.enter_context(connect(running.port))
            another.sendall(LIVEZ)
            assert another.recv(2**16).startswith(b"HTTP/1.1 200 ")
        while queued.recv(2**16):
            pass
    assert 0 < running.log.count("can't accept a connection") < 10  # about 20 attempts per second
    assert "Too many open files" in running.log
