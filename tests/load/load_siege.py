"""deploy/siege.py against a worker with 256 MiB (384 with TLS): by a cgroup if one can be had, and by its memory."""

from __future__ import annotations

import json
import os
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from conftest import guard, run, served, unhurried, wait_for, warm

MiB = 2**20
LIMIT, ENCRYPTED_LIMIT = 256 * MiB, 384 * MiB
"""Those of docs/evidence/limits.md: for a worker, and for one that speaks TLS itself."""
RESIDENT, ENCRYPTED_RESIDENT = 220 * MiB, 340 * MiB
"""The resident memory that leaves a margin below these limits."""
SIEGE = Path(__file__).parents[2] / "deploy" / "siege.py"
SECONDS = 4
SETTLED_BYTES, ENCRYPTED_SETTLED_BYTES, SETTLE_SECONDS = 32 * MiB, 48 * MiB, 10
"""How much more resident memory than before a siege a worker may have, and how long after the siege."""
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
    guard()  # otherwise it would be started in the group, and stay there
    own = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if ":memory:" in line)
    (group.path / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (GROUPS / "memory" / own.split(":", 2)[2].lstrip("/") / "cgroup.procs").write_text(str(os.getpid()))


@dataclass
class Result:
    """The memory that a worker used, in bytes, and the output of deploy/siege.py."""

    resident: int
    """The peak of the resident memory."""
    grown: int
    """The resident memory SETTLE_SECONDS after the siege, or as soon as it suffices, without that before the siege."""
    group: int
    """The peak of the memory of the cgroup and its connections, or 0 without a cgroup."""
    kills: int
    siege: CompletedProcess[str]


def besiege(settings: dict[str, Any], limit: int, seconds: float) -> Result:
    most, ended = 0, threading.Event()

    def look(group: Group) -> None:
        nonlocal most
        while not ended.wait(0.01):
            most = max(most, group.taken())

    with confined(limit) as group:
        server = served(command=True, **settings)  # a forked service would share memory with its parent
        with inside(group):
            service = server.__enter__()
        try:
            if group is not None:
                threading.Thread(target=look, args=[group]).start()
            certificate = settings.get("tls_certificate")
            before = warm(service, ssl.create_default_context(cafile=certificate) if certificate else None)
            done = run([sys.executable, str(SIEGE), service.url, "--seconds", str(seconds)])
            resident = service.memory("VmHWM")
            wait_for(lambda: service.memory() - before <= SETTLED_BYTES, SETTLE_SECONDS)
            grown = service.memory() - before
            return Result(resident, grown, most, 0 if group is None else group.kills, done)
        finally:
            ended.set()
            server.__exit__(None, None, None)


def served_despite(siege: CompletedProcess[str], slots: int) -> None:
    """Check the responses: probes and callers are served, and besiegers get what the limits say."""
    assert siege.returncode == 0, siege.stdout + siege.stderr
    seen = json.loads(siege.stdout)
    readers = seen["besiegers"]["readers of the documentation"].get("200", 0)
    assert readers == 64 or (readers and slots > 64)  # 600 other requests in flight make these readers slower
    for kind, statuses in seen["besiegers"].items():
        assert set(statuses) <= {"200", "400", "408", "413", "422", "503", "reset", ""}, kind


@pytest.mark.parametrize(
    ("encrypted", "slots"), [(False, 64), (False, 600), (True, 64)], ids=["plain", "as many slots as callers", "TLS"]
)
def test_a_siege_takes_less_than_is_documented_and_probes_are_answered(encrypted: bool, slots: int, pem: Path) -> None:
    settings: dict[str, Any] = {"max_concurrent_requests": slots}
    if encrypted:
        settings |= {"tls_certificate": pem / "certificate", "tls_key": pem / "key"}
    limit, resident = (ENCRYPTED_LIMIT, ENCRYPTED_RESIDENT) if encrypted else (LIMIT, RESIDENT)
    results: list[Result] = []

    def claim(seconds: float) -> None:
        results.append(besiege(settings, limit, seconds))
        served_despite(results[-1].siege, slots)

    unhurried(claim, SECONDS)  # all requests and handshakes take longer on a busy machine
    for result in results:  # memory does not depend on the time, so a second try excuses nothing
        print(
            f"resident {result.resident / MiB:.0f} MiB, then +{result.grown / MiB:.0f}, group {result.group / MiB:.0f}"
        )
        assert result.kills == 0
        assert result.resident <= resident
        assert result.grown <= (ENCRYPTED_SETTLED_BYTES if encrypted else SETTLED_BYTES)
        assert result.group < limit
