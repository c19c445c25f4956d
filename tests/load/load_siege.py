"""deploy/siege.py against a worker with 256 MiB (384 with TLS): by a cgroup if one can be had, and by its memory."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import run, served, unhurried

MiB = 2**20
LIMIT, ENCRYPTED_LIMIT = 256 * MiB, 384 * MiB
"""Those of docs/limits.md: for a worker, and for one that speaks TLS itself."""
SIEGE = Path(__file__).parents[2] / "deploy" / "siege.py"
SECONDS = 4
GROUPS = Path("/sys/fs/cgroup")


class Group:
    """A cgroup of version 1 that limits the memory of its processes.

    Version 2 also counts the memory of connections, so it is counted separately.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        (path / "memory.limit_in_bytes").write_text(str(limit))
        (path / "memory.kmem.tcp.limit_in_bytes").write_text(str(2**40))

    def taken(self) -> int:
        names = ("memory.usage_in_bytes", "memory.kmem.tcp.usage_in_bytes")
        return sum(int((self.path / name).read_text()) for name in names)

    @property
    def kills(self) -> int:
        return int((self.path / "memory.oom_control").read_text().split()[-1])


@contextmanager
def confined(limit: int) -> Iterator[Group | None]:
    """A cgroup; None where none can be had."""
    path = GROUPS / "memory" / f"axiscast-test-{os.getpid()}"
    try:
        path.mkdir()
        group = Group(path, limit)
    except OSError:
        yield None
        return
    try:
        yield group
    finally:
        for _ in range(100):
            try:
                path.rmdir()
                break
            except OSError:  # its last process is about to end
                time.sleep(0.05)


@contextmanager
def inside(group: Group | None) -> Iterator[None]:
    """What is started here is started in the group."""
    if group is None:
        yield
        return
    own = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if ":memory:" in line)
    (group.path / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (GROUPS / "memory" / own.split(":", 2)[2].lstrip("/") / "cgroup.procs").write_text(str(os.getpid()))


def siege(settings: dict[str, Any], seconds: float) -> None:
    most, ended = 0, threading.Event()
    limit = ENCRYPTED_LIMIT if "tls_key" in settings else LIMIT

    def look(group: Group) -> None:
        nonlocal most
        while not ended.wait(0.01):
            most = max(most, group.taken())

    with confined(limit) as group:
        server = served(**settings)
        with inside(group):
            service = server.__enter__()
        try:
            watch = threading.Thread(target=look, args=[group])
            if group is not None:
                watch.start()
            command = [sys.executable, str(SIEGE), service.url, "--seconds", str(seconds)]
            done = run(command)
            ended.set()
            assert done.returncode == 0, done.stdout + done.stderr
            peak = service.memory("VmHWM")
            assert peak < limit
            slots = settings["max_concurrent_requests"]
            if group is not None:
                watch.join()
                print(f"resident {peak / MiB:.0f} MiB, with its connections {most / MiB:.0f}")
                assert group.kills == 0
                if settings == {"max_concurrent_requests": 64}:
                    assert most < LIMIT
            seen = json.loads(done.stdout)
            readers = seen["besiegers"]["readers of the documentation"].get("200", 0)
            assert readers == 64 or (readers and slots > 64)  # 600 other requests in flight make these readers slower
            for kind, statuses in seen["besiegers"].items():
                assert set(statuses) <= {"200", "400", "408", "413", "422", "503", "reset", ""}, kind
        finally:
            ended.set()
            server.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("encrypted", "slots"), [(False, 64), (False, 600), (True, 64)], ids=["plain", "as many slots as callers", "TLS"]
)
def test_a_siege_takes_less_than_is_documented_and_probes_are_answered(encrypted: bool, slots: int, pem: Path) -> None:
    settings: dict[str, Any] = {"max_concurrent_requests": slots}
    if encrypted:
        settings |= {"tls_certificate": pem / "certificate", "tls_key": pem / "key"}
    unhurried(partial(siege, settings), SECONDS)  # all handshakes take longer on a busy machine
