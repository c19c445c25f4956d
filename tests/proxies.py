"""nginx and HAProxy with the configurations in deploy/proxies, on free ports."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from conftest import PATIENCE, free_port, started, wait_for
from deployment import DEPLOY

PROXIES = {path.stem: path.read_text() for path in (DEPLOY / "proxies").iterdir()}


@contextmanager
def proxied(proxy: str, folder: Path, backends: list[int]) -> Iterator[httpx.Client]:
    """A client of the proxy with its file's configuration, in front of these ports."""
    if shutil.which(proxy) is None:
        pytest.skip(f"{proxy} is not installed")
    front, text = free_port(), PROXIES[proxy]
    for shown, ours in zip((8080, 8001, 8002), (front, *backends), strict=True):
        text = text.replace(f":{shown}", f":{ours}")
    configuration = folder / "proxy.conf"
    configuration.write_text(text)
    command = {
        "nginx": ["nginx", "-p", str(folder), "-c", str(configuration), "-g", "daemon off; pid nginx.pid;"],
        "haproxy": ["haproxy", "-db", "-f", str(configuration)],
    }[proxy]
    with (
        started(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL),
        httpx.Client(base_url=f"http://127.0.0.1:{front}", timeout=PATIENCE) as client,
    ):

        def answers() -> bool:
            with suppress(httpx.TransportError):
                return client.get("/livez").status_code > 0
            return False

        assert wait_for(answers)
        yield client
