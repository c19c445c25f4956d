"""A service in a process of its own, a probe beside it that measures what all others wait, and callers."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from harness import free_port

EVERY = 0.002
"""Seconds between two probes."""
ANSWER_SECONDS = 20
"""How long a caller waits for its answer,"""
STREAM_SECONDS = 1
"""and how long it reads one."""
STOP_SECONDS = 12
"""The service is to end so long after SIGTERM: drain and finish."""

PROBE = """
import os, socket, struct, sys, time
port, every, out, server = int(sys.argv[1]), float(sys.argv[2]), open(sys.argv[3], "ab", buffering=0), sys.argv[4]
tasks = [os.open(path, os.O_RDONLY) for path in ("/proc/self/schedstat", f"/proc/{server}/task/{server}/schedstat")]
def queued():
    try:
        return sum(int(os.pread(task, 100, 0).split()[1]) for task in tasks) / 1e9
    except OSError:  # the service has ended
        return 0
connection, failed = None, 0
while failed < 1000:
    before, start = queued(), time.monotonic()
    try:
        connection = connection or socket.create_connection(("127.0.0.1", port), 300)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(b"GET /livez HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
        if not connection.recv(65536):
            raise OSError
        failed = 0
    except OSError:
        connection, failed = None, failed + 1
    waited = time.monotonic() - start
    out.write(struct.pack("ddd", start, waited, min(max(queued() - before, 0), waited)))
    time.sleep(every)
"""
"""Writes of each request when it was sent, the seconds until its answer, and how many of them the probe itself and the
service's main thread were kept from a core: on a machine with other work that is no fault of the service's."""
SERVE = """
import faulthandler, signal, sys
faulthandler.register(signal.SIGUSR1)
sys.argv[1:] = ["serve", "--port", sys.argv[1]]
from axiscast.cli import main
main()
"""
"""The service, which says on SIGUSR1 where each of its threads is."""


class Waited(NamedTuple):
    """A probe: when it was sent, and the seconds that it waited, of which it was `queued` for a core."""

    sent: float
    raw: float
    queued: float

    @property
    def net(self) -> float:
        return self.raw - self.queued


RECORD = 24
"""Bytes of one in the file."""


class Service:
    """A service with its defaults, in a process of its own, and its probe."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.log = folder / f"log-{self.port}"
        self.probes = folder / f"probes-{self.port}"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AXISCAST_")}
        command = [sys.executable, "-c", SERVE, str(self.port)]
        self.probe: subprocess.Popen[bytes] | None = None
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, env=environment, stderr=log, stdout=log)
        try:
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + 60
        while b" 200 " not in ask(
            self.port, [b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"], 1
        ):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the service did not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.05)
        probe = [sys.executable, "-c", PROBE, str(self.port), str(EVERY), str(self.probes), str(self.process.pid)]
        self.probe = subprocess.Popen(probe)
        while not self.probes.exists() or self.probes.stat().st_size < 10 * RECORD:
            time.sleep(0.05)

    def asked(self, start: float, stop: float) -> list[Waited]:
        """The probes that ran between two times."""
        size = self.probes.stat().st_size // RECORD
        found: list[Waited] = []
        with self.probes.open("rb") as records:
            while size and (not found or found[-1].sent + found[-1].raw >= start):
                first = max(size - 1000, 0)
                records.seek(first * RECORD)
                pieces = struct.iter_unpack("ddd", records.read((size - first) * RECORD))
                found += reversed([Waited(*piece) for piece in pieces])
                size = first
        return [probe for probe in reversed(found) if probe.sent + probe.raw >= start and probe.sent <= stop]

    def last(self) -> float:
        """When the last answered probe was answered."""
        with self.probes.open("rb") as records:
            records.seek((self.probes.stat().st_size // RECORD - 1) * RECORD)
            probe = Waited(*struct.unpack("ddd", records.read(RECORD)))
        return probe.sent + probe.raw

    def busy(self) -> float:
        """Seconds that its threads have been running."""
        ran = 0.0
        try:
            for task in Path(f"/proc/{self.process.pid}/task").iterdir():
                ran += int((task / "schedstat").read_text().split()[0]) / 1e9
        except OSError:  # a thread, or all of it, has ended meanwhile
            pass
        return ran

    def settle(self, most: float = 15) -> float:
        """Wait until it has nothing left to do, for `most` seconds; how long that took."""
        start = time.monotonic()
        quiet = 0
        while quiet < 2 and time.monotonic() - start < most:
            before = self.busy()
            time.sleep(0.03)
            quiet = quiet + 1 if self.busy() - before < 0.018 and time.monotonic() - self.last() < 0.05 else 0
        return time.monotonic() - start - 0.06

    def stop(self) -> float | None:
        """Seconds from one SIGTERM to its end; None where it had to be killed."""
        start = time.monotonic()
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS + 20)
            seconds: float | None = time.monotonic() - start
        except subprocess.TimeoutExpired:
            seconds = None
        self.kill()
        return seconds

    def kill(self) -> None:
        for process in (self.process, self.probe):
            if process is not None:
                process.kill()
                process.wait()


def ask(port: int, wires: Sequence[bytes], seconds: float = ANSWER_SECONDS) -> bytes:
    """The first bytes of an answer that is read as far as there is time; nothing where there was none."""
    first = b""
    end = time.monotonic() + seconds
    try:
        with socket.create_connection(("127.0.0.1", port), seconds) as connection:
            connection.settimeout(seconds)
            try:
                for wire in wires:
                    connection.sendall(wire)
            except OSError:  # refused before all was sent
                pass
            room = bytearray(2**18)
            while (left := end - time.monotonic()) > 0:
                connection.settimeout(left)
                size = connection.recv_into(room)
                if not size:
                    break
                if not first:
                    first = bytes(room[: min(size, 300)])
                    end = min(end, time.monotonic() + STREAM_SECONDS)
    except OSError:
        pass
    return first
