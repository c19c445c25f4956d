"""Functions for tests of listening sockets: connections, their counts and TLS handshakes."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE, served, wait_for

LIVEZ = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
LOOP = "axiscast_service.http.listener:Loop"


def sockets_of(pid: int) -> int:
    links = [link for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()]
    return sum(os.readlink(link).startswith("socket:") for link in links)


def listening(port: int) -> int:
    """Return the number of sockets that listen on a port."""
    return states_of(port).count("0A")


def accepted(port: int) -> int:
    """Return the number of connections to a port that its service has not closed."""
    return sum(states_of(port).count(state) for state in ("01", "08"))


def states_of(port: int) -> list[str]:
    """Return the states of the TCP sockets with a local port, as Linux writes them in hexadecimal."""
    rows = [line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/net/{table}").read_text().splitlines()]
    return [row[3] for row in rows if row[1].endswith(f":{port:04X}")]


def wait_until(reached: Callable[[], bool]) -> None:
    assert wait_for(reached)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def encrypted(pem: Path, **settings: object) -> Any:
    return served(tls_certificate=pem / "certificate", tls_key=pem / "key", **settings)


def trusting(pem: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(pem / "certificate"))


def hello(pem: Path) -> bytes:
    """The first bytes that a client sends in a handshake."""
    sent = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        trusting(pem).wrap_bio(ssl.MemoryBIO(), sent, server_hostname="127.0.0.1").do_handshake()
    return sent.read()
