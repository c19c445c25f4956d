"""Each attack of the list on one worker has its expected response, at limited cost."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgpack
import pytest
from cases import cases
from conftest import PATIENCE, Served, served, warm

from attacks.attack import MIB, REQUEST_SECONDS, SENDS_ON, Attack
from attacks.cases import ATTACKS
from axiscast.wire.problems import PROBLEM_KINDS

SLOW = {attack.name: attack for attack in ATTACKS if any(isinstance(piece, float) for piece in attack.pieces)}


@pytest.fixture(scope="module")
def attacked() -> Iterator[Served]:
    with served(request_seconds=REQUEST_SECONDS) as running:
        warm(running)
        yield running


@pytest.fixture(scope="module")
def slow_replies(attacked: Served) -> dict[str, Reply]:
    """Run all slow attacks at the same time, and return their outcomes."""
    attacked.forget_peak()
    before = attacked.memory()
    with ThreadPoolExecutor(len(SLOW)) as pool:
        replies = dict(zip(SLOW, pool.map(partial(strike, attacked.url), SLOW.values()), strict=True))
    assert attacked.memory("VmHWM") - before < sum(attack.growth for attack in SLOW.values()) * MIB
    return replies


class Reply:
    """The status (0 if there is no response), headers and body, whether the connection was closed, and the time."""

    def __init__(self, raw: bytes, closed: bool, seconds: float) -> None:
        self.closed = closed
        self.seconds = seconds
        head, _, rest = raw.partition(b"\r\n\r\n")
        while head.startswith(b"HTTP/1.1 100"):
            head, _, rest = rest.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if raw else 0
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        self.body = rest[: int(self.headers.get("content-length", len(rest)))]

    @property
    def document(self) -> Any:
        if "json" in self.headers.get("content-type", ""):
            return json.loads(self.body)
        return msgpack.unpackb(self.body)


def strike(url: str, attack: Attack) -> Reply:
    """Send the pieces of an attack, and return the response."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), PATIENCE) as connection:
        start, over = time.monotonic(), threading.Event()
        sender = threading.Thread(target=_send, args=(connection, attack, over), daemon=True)
        sender.start()
        raw, closed = bytearray(), False
        try:
            while not _is_whole(raw):
                chunk = connection.recv(2**16)
                if not chunk:
                    closed = True
                    break
                raw += chunk
            if attack.closes and not closed:
                while connection.recv(2**16):
                    pass
                closed = True
        except ConnectionError:
            closed = True
        over.set()
        if closed:
            sender.join()
        return Reply(bytes(raw), closed, time.monotonic() - start)


def _send(connection: socket.socket, attack: Attack, over: threading.Event) -> None:
    try:
        for piece in attack.pieces:
            if isinstance(piece, bytes):
                connection.sendall(piece)
            elif piece == "end":
                connection.shutdown(socket.SHUT_WR)
            elif over.wait(piece):
                break
    except OSError:
        pass  # refused before the end: what came back says so


def _is_whole(raw: bytearray) -> bool:
    head, found, rest = bytes(raw).partition(b"\r\n\r\n")
    if not found or head.startswith(b"HTTP/1.1 100"):
        return False
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return bool(lengths) and len(rest) >= int(lengths[0].split(b":")[1])


@cases("attack", ATTACKS, ids=lambda attack: f"{attack.kind}: {attack.name}")
def test_an_attack_gets_its_response_at_little_cost(
    attack: Attack, attacked: Served, slow_replies: dict[str, Reply]
) -> None:
    for _ in range(3):  # a busy machine is late once, and a real error costs too much each time
        attacked.forget_peak()
        before, worked = attacked.memory(), attacked.cpu()
        reply = slow_replies[attack.name] if attack.name in SLOW else strike(attacked.url, attack)
        seconds, nbytes = attacked.cpu() - worked, attacked.memory("VmHWM") - before
        cheap = seconds < attack.seconds and nbytes < attack.growth * MIB
        if cheap and reply.status in attack.statuses:
            break
    assert reply.status in attack.statuses, (attack.invariant, reply.status, reply.body[:300])
    if attack.code is not None:
        assert reply.document["code"] == attack.code, attack.invariant
    if reply.status >= 400:
        document = reply.document
        assert PROBLEM_KINDS[document["code"]][0] == reply.status
        assert 20 < len(document["detail"]) < 1500
        assert "Traceback" not in document["detail"]
    assert cheap, (seconds, nbytes)
    assert reply.seconds < SENDS_ON / 2
    if attack.closes:
        assert reply.closed
    assert httpx.get(f"{attacked.url}/livez").status_code == 200


def test_the_list_has_every_class_of_attack() -> None:
    counts = Counter(attack.kind for attack in ATTACKS)
    assert len(counts) == 8
    assert len({(attack.kind, attack.name) for attack in ATTACKS}) == len(ATTACKS) > 195
