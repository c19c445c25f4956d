"""HTTP as bytes on a socket, for requests that no client sends."""

from __future__ import annotations

import json
import re
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack
from conftest import PATIENCE, Served

LONGEST = 60
"""The time in seconds after which a connection counts as kept open. The machine may be busy."""
KEPT = 0.4
BODY = b'{"inputs":[[3]]}'
GET = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
POST = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
SECRET = b"not-to-be-repeated"
DUE = 10**10
LARGE = {"dtype": "float32", "shape": [1024], "data": bytes(4096)}
LARGE_BODY = msgpack.packb({"op": {"name": "numpy.broadcast_to", "shape": [2**14, 1024]}, "inputs": [LARGE]})
BROADCAST = b"POST /v1/broadcast HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\nConnection: close\r\n"
BROADCAST += b"Content-Length: %d\r\n\r\n" % len(LARGE_BODY) + LARGE_BODY  # 64 MiB come back


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def problem(self) -> dict[str, Any]:
        packed = self.headers["content-type"] == "application/vnd.msgpack"
        document: dict[str, Any] = msgpack.unpackb(self.body) if packed else json.loads(self.body)
        return document


def answers(raw: bytes, headless: bool = False) -> list[Answer]:
    """Return the responses in the bytes of a connection. Each must have the length in its headers."""
    found = []
    while raw:
        head, separator, rest = raw.partition(b"\r\n\r\n")
        assert separator
        line, *fields = head.decode("ascii").split("\r\n")
        headers = {name.lower(): value for name, value in (field.split(": ", 1) for field in fields)}
        length = 0 if headless or " 100 " in line else int(headers["content-length"])
        assert len(rest) >= length
        found.append(Answer(int(line.split()[1]), headers, rest[:length]))
        raw = rest[length:]
    return found


def connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def read_all(connection: socket.socket) -> bytes:
    """Return all bytes until the service closes the connection."""
    parts = []
    while part := connection.recv(2**16):
        parts.append(part)
    return b"".join(parts)


def ask(port: int, *pieces: bytes, pause: float = 0) -> list[Answer]:
    """Return the responses to bytes after which the service closes the connection."""
    with connect(port) as connection:
        for number, piece in enumerate(pieces):
            time.sleep(pause if number else 0)
            connection.sendall(piece)
        return answers(read_all(connection), headless=pieces[0].startswith(b"HEAD"))


@contextmanager
def at_most(nbytes: int, service: Served) -> Iterator[None]:
    """Assert that the peak memory of the service grows by at most a number of bytes."""
    Path(f"/proc/{service.process.pid}/clear_refs").write_text("5")  # the peak is counted from now
    before = service.memory()
    yield
    assert service.memory("VmHWM") - before < nbytes


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def assert_refused(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.problem["status"], answer.problem["code"]) == (status, status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["connection"] == "close"
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])
    assert "date" in answer.headers
    assert SECRET not in answer.body


def receive(protocol: Any, data: bytes) -> None:
    """Pass bytes to a protocol, like an event loop."""
    while data:
        view = protocol.get_buffer(-1)
        part, data = data[: len(view)], data[len(view) :]
        view[: len(part)] = part
        protocol.buffer_updated(len(part))


def trickle(port: int, first: bytes, more: bytes = b"") -> tuple[bytes, float]:
    """Return the response and the seconds until the service closes, while `more` is sent every 0.1 s."""
    with connect(port) as connection:
        start, raw = time.monotonic(), b""
        connection.sendall(first)
        while time.monotonic() - start < LONGEST:
            if select.select([connection], [], [], 0.1)[0]:
                part = connection.recv(2**16)
                if not part:
                    return raw, time.monotonic() - start
                raw += part
            elif more:
                connection.sendall(more)
    raise TimeoutError
