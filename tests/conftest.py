"""Fixtures: a real service on a real socket, and clients of it."""

from __future__ import annotations

import gc
import os
import shutil
import socket
import ssl
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from tensorcast import Client
from tensorcast.schema.problems import Problem

Serve = Callable[..., "Served"]


class Served:
    """A running service: its URL and its process; once it has ended, what it wrote to stderr."""

    def __init__(self, url: str, process: subprocess.Popen[str]) -> None:
        self.url = url
        self.port = int(url.rpartition(":")[2])
        self.process = process
        self.log = ""

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
def served(absent: str = "", **settings: object) -> Iterator[Served]:
    """`tensorcast serve` in a process of its own, ready, with these settings in its environment. It runs as if the
    package `absent` were not installed."""
    port = free_port()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TENSORCAST_")}
    environment |= {
        f"TENSORCAST_{name.upper()}": str(value) for name, value in {"drain_seconds": 0, **settings}.items()
    }
    run = ["-m", "tensorcast"]
    if absent:
        run = ["-c", f"import sys; sys.modules[{absent!r}] = None; from tensorcast.cli import main; main()"]
    command = [sys.executable, *run, "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    certificate = settings.get("tls_certificate")
    url = f"{'https' if certificate else 'http'}://127.0.0.1:{port}"
    try:
        running = Served(url, process)
        _wait_until_ready(url, process, ssl.create_default_context(cafile=str(certificate)) if certificate else True)
        yield running
    finally:
        process.terminate()
        try:
            running.log = process.communicate(timeout=20)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise


def _wait_until_ready(url: str, process: subprocess.Popen[str], verify: ssl.SSLContext | bool) -> None:
    end = time.monotonic() + 30
    while True:
        try:
            if httpx.get(f"{url}/readyz", timeout=1, verify=verify).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        assert process.poll() is None, "the service ended: " + process.communicate()[1]
        assert time.monotonic() < end, "the service did not become ready in 30 s"
        time.sleep(0.05)


def taken(work: Callable[[], Any]) -> int:
    """Bytes that Python and NumPy allocate at the most while `work` runs, whatever comes of it."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
    except Problem:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


@contextmanager
def limited(module: ModuleType, limits: dict[str, int]) -> Iterator[None]:
    """A module with limits so low that a few hundred elements are cut to pieces; what it worked out is forgotten."""

    def forget() -> None:
        for cached in vars(module).values():
            if hasattr(cached, "cache_clear"):
                cached.cache_clear()

    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(module, name, value)
        forget()
        yield
    forget()


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


@pytest.fixture(scope="session")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for 127.0.0.1, its key, the key under a password, and another key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("pem")
    commands = """
        req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key -out certificate -days 2
            -subj /CN=tensorcast -addext subjectAltName=IP:127.0.0.1
        ec -in key -aes128 -passout pass:secret -out locked
        ecparam -name prime256v1 -genkey -noout -out another
    """
    for command in commands.strip().replace("\n            ", " ").splitlines():
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
    (folder / "both").write_bytes((folder / "certificate").read_bytes() + (folder / "key").read_bytes())
    (folder / "garbage").write_text("no PEM")
    return folder
