"""A server for tests of clients: it runs a script for each connection."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
from conftest import PATIENCE

from axiscast import AsyncClient

MSGPACK = b"Content-Type: application/vnd.msgpack\r\n"
FITS = {
    "compatible": True,
    "op": {"name": "numpy.broadcast_shapes"},
    "shape": [3],
    "outputs": [{"shape": [3], "elements": 3}],
    "broadcast_inputs": [{"input": 0, "shape": [3], "axes": [0], "broadcast_axes": []}],
    "warnings": [],
}
"""The response to a check of the shape (3,)."""
CHECKED = bytes(msgpack.packb(FITS))
GOOD = b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"Content-Length: %d\r\n\r\n" % len(CHECKED) + CHECKED
TOO_LARGE = json.dumps({"code": "body-too-large", "detail": "no more than a byte", "limit": 1}).encode()
REFUSED = (
    b"HTTP/1.1 413 Content Too Large\r\nContent-Type: application/problem+json\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(TOO_LARGE) + TOO_LARGE
)
LARGE = np.zeros(32 * 2**20, np.uint8)
"""A number of bytes that exceeds the buffers of the kernel."""

STAYS = 60.0
"""The timeout in seconds for a client that must disconnect."""

Script = Callable[[socket.socket], None]


def request_on(connection: socket.socket) -> bytes:
    """Return the next request on a connection: its header block and its body."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(1) or pytest.fail("the client left before its request was whole")
    length = int(httpx.Headers(received_headers(received)).get("content-length", 0))
    body = b""
    while len(body) < length:
        body += connection.recv(length - len(body)) or pytest.fail("the client left before its request was whole")
    return received + body


def received_headers(head: bytes) -> list[tuple[bytes, bytes]]:
    lines = head.split(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    return [(name, value.strip()) for name, _, value in (line.partition(b":") for line in lines)]


def answering(*answers: bytes, bytewise: bool = False) -> Script:
    """Return a script that sends responses in order, and closes the connection."""

    def run(connection: socket.socket) -> None:
        for answer in answers:
            request_on(connection)
            if bytewise:
                for byte in answer:
                    connection.sendall(bytes([byte]))
            else:
                connection.sendall(answer)

    return run


def until_left(connection: socket.socket) -> None:
    """Read until the client closes the connection."""
    with suppress(ConnectionError):  # it may close in the middle of something
        while connection.recv(65536):
            pass


left = threading.Semaphore(0)


def stay(connection: socket.socket) -> None:
    """Neither read nor send until the client has disconnected."""
    assert left.acquire(timeout=STAYS), "the client did not leave"


@contextmanager
def peer(*scripts: Script, family: int = socket.AF_INET, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Run a server with a script for each connection. At the end, all scripts must have been run."""
    failures: list[BaseException] = []
    host = "::1" if family == socket.AF_INET6 else "127.0.0.1"
    with socket.create_server((host, 0), family=family) as listener:

        def run() -> None:
            for script in scripts:
                connection, _ = listener.accept()
                connection.settimeout(PATIENCE)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                try:
                    with tls.wrap_socket(connection, server_side=True) if tls else connection as talking:
                        script(talking)
                except BaseException as error:
                    failures.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        name = f"[{host}]" if ":" in host else host
        yield f"{'https' if tls else 'http'}://{name}:{listener.getsockname()[1]}"
        thread.join(timeout=PATIENCE)
        assert not thread.is_alive(), "the client made fewer connections than it should have"
    for failure in failures:
        raise failure


class Sync:
    """An AsyncClient with the methods of Client, so that both pass the same tests."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._client = AsyncClient(*arguments, **named)
        self._loop = asyncio.SelectorEventLoop()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments, **named: self._loop.run_until_complete(
            getattr(self._client, name)(*arguments, **named)
        )

    def with_options(self, **options: Any) -> Sync:
        changed = Sync.__new__(Sync)
        changed._client, changed._loop = self._client.with_options(**options), self._loop
        return changed

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._client.aclose())
        self._loop.close()


def refuse_and_stay(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(REFUSED[:30])
    time.sleep(0.1)
    connection.sendall(REFUSED[30:])
    stay(connection)


TENSOR = bytes(msgpack.packb({"broadcast_inputs": [{"dtype": "uint8", "shape": [4, 50], "data": bytes(range(200))}]}))
CHUNKED = b"".join(b"%x;x=y\r\n%s\r\n" % (len(TENSOR[at : at + 70]), TENSOR[at : at + 70]) for at in (0, 70, 140, 210))
FRAMINGS = {
    "a length": b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"Content-Length: %d\r\n\r\n" % len(TENSOR) + TENSOR,
    "chunks": b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED + b"0\r\nA: b\r\n\r\n",
    "the end of the connection": b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"\r\n" + TENSOR,
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n" + MSGPACK + b"\r\n" + TENSOR,
    "heads before it": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n"
    b"HTTP/1.1 200 \r\n" + MSGPACK + b"content-LENGTH:%d  \r\n\r\n" % len(TENSOR) + TENSOR,
}
