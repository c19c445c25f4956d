"""Clients that keep their connections busy are answered for as long as they like."""

from __future__ import annotations

import re
import selectors
import socket
import time

import httpx
from conftest import served
from raw_http import BODY, GET, POST, ask, connect

CONNECTIONS, SECONDS = 64, 1
CHECK = POST + b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


def statuses_of(port: int, seconds: float) -> list[bytes]:
    """Return the status of each response, and b"closed" for each connection that the service closed.

    Each connection sends the next request as soon as the response to the previous one arrives.
    """
    found: list[bytes] = []
    end = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for _ in range(CONNECTIONS):
            connection = connect(port)
            connection.sendall(CHECK)
            selector.register(connection, selectors.EVENT_READ)
        while time.monotonic() < end:
            for key, _ in selector.select(1):
                assert isinstance(key.fileobj, socket.socket)
                response = key.fileobj.recv(2**16)
                found += re.findall(rb"HTTP/1.1 (\d+) ", response) or [b"closed"]
                if response:
                    key.fileobj.sendall(CHECK)
                else:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
        for key in list(selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
    return found


def test_steady_clients_are_not_timed_out(absent: str) -> None:
    with served(absent, request_seconds=SECONDS) as running:
        found = statuses_of(running.port, 6 * SECONDS)
    assert set(found) == {b"200"}


def test_each_problem_document_is_counted(absent: str) -> None:
    with served(absent, request_seconds=SECONDS) as running:
        ask(running.port, b"GET / HTTP/1.1\r\n\r\n")  # no Host
        ask(running.port, GET[:-2] + b"X: 1\r\n" * 200 + b"\r\n")
        ask(running.port, GET[:9])  # a head that does not end
        httpx.get(f"{running.url}/nothing")
        metrics = httpx.get(f"{running.url}/metrics").text
    counted = dict(re.findall(r'^axiscast_problems_total\{code="(.*)"\} (.*)$', metrics, re.MULTILINE))
    assert {code: float(count) for code, count in counted.items() if float(count)} == {
        "malformed-request": 1,
        "head-too-large": 1,
        "request-timeout": 1,
        "not-found": 1,
    }
