"""Fixtures: a real service on a real socket, and clients of it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest

from tensorcast import Client

Serve = Callable[..., "Served"]


class Served:
    """A running service: its URL and its process."""

    def __init__(self, url: str, process: subprocess.Popen[str]) -> None:
        self.url = url
        self.process = process

    def memory(self, field: str = "VmRSS") -> int:
        """Bytes of memory: VmRSS now, VmHWM at the most."""
        with open(f"/proc/{self.process.pid}/status") as status:
            (line,) = (line for line in status if line.startswith(field))
        return int(line.split()[1]) * 1024

    def forget_peak(self) -> None:
        """Let VmHWM begin anew from what is held now."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as references:
            references.write("5")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(**settings: object) -> Iterator[Served]:
    """`tensorcast serve` in a process of its own, ready, with these settings in its environment."""
    port = free_port()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TENSORCAST_")}
    environment |= {
        f"TENSORCAST_{name.upper()}": str(value) for name, value in {"drain_seconds": 0, **settings}.items()
    }
    command = [sys.executable, "-m", "tensorcast", "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_ready(url, process)
        yield Served(url, process)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise


def _wait_until_ready(url: str, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 30
    while True:
        try:
            if httpx.get(f"{url}/readyz", timeout=1).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        assert process.poll() is None, "the service ended: " + process.communicate()[1]
        assert time.monotonic() < end, "the service did not become ready in 30 s"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def service() -> Iterator[Served]:
    with served() as running:
        yield running


@pytest.fixture
def http(service: Served) -> Iterator[httpx.Client]:
    """Plain HTTP to the service, as any program would speak it."""
    with httpx.Client(base_url=service.url, timeout=30) as client:
        yield client


@pytest.fixture
def client(service: Served) -> Iterator[Client]:
    with Client(service.url) as client:
        yield client
