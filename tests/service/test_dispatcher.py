"""Tests of the fast path and the normal path, which must send the same bytes."""

from __future__ import annotations

import random
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from cases import cases
from conftest import PATIENCE, unhurried, wait_for
from fast_path_requests import FAST_PATH, JSON, QUERY, REQUESTS, SHAPES, get, post, request

from axiscast_service.app import create_app
from axiscast_service.http.grammar import header_fields, read_head, read_short_request
from axiscast_service.http.protocol import HTTPProtocol
from axiscast_service.settings import Settings

KEY = "0123456789abcdef0123"
TAG = re.compile(rb'\r\netag: ("[^"]+")')


class Running:
    """A service in a thread of this process, with the fast path or without."""

    def __init__(self, short: bool, settings: Settings) -> None:
        self.app = create_app(settings)
        if not short:
            self.app.state.hooks.fast_path = None
        config = uvicorn.Config(
            self.app, port=0, http=HTTPProtocol, ws="none", server_header=False, proxy_headers=False, log_level="error"
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run)

    def port(self) -> int:
        return int(self.server.servers[0].sockets[0].getsockname()[1])


@contextmanager
def running(short: bool = True, **settings: Any) -> Iterator[Running]:
    service = Running(short, Settings(**settings))
    service.thread.start()
    try:
        assert wait_for(lambda: service.server.started)
        yield service
    finally:
        service.server.should_exit = True
        service.thread.join(PATIENCE)


class Asking:
    """A connection on which each request is sent in one piece."""

    def __init__(self, service: Running) -> None:
        self.connection = socket.create_connection(("127.0.0.1", service.port()), timeout=PATIENCE)
        self.stream = self.connection.makefile("rb")

    def __enter__(self) -> Asking:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stream.close()
        self.connection.close()

    def ask(self, asked: bytes) -> bytes:
        """Return the whole response as received bytes."""
        self.connection.sendall(asked)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.stream.readline()
            assert line, f"the connection ended after {head!r}"
            head += line
        length = re.search(rb"(?i)\ncontent-length: ([0-9]+)\r", head)
        if length is None or asked.startswith(b"HEAD ") or head.startswith(b"HTTP/1.1 304 "):
            return head
        return head + self.stream.read(int(length[1]))


def without_its_own(answer: bytes) -> bytes:
    """Return a response without its date and its request id."""
    return re.sub(rb"(?m)^((?:date|x-request-id): )[^\r]+", rb"\1", answer)


def id_of(answer: bytes) -> bytes:
    (given,) = re.findall(rb"\r\nx-request-id: ([^\r]+)", answer)
    return bytes(given)


TIMES = 2


def answers(service: Running, asked: dict[str, bytes]) -> dict[str, list[bytes]]:
    said = {}
    for name, one in asked.items():
        with Asking(service) as connection:
            said[name] = [connection.ask(one) for _ in range(TIMES)]
    return said


@contextmanager
def both(**settings: Any) -> Iterator[tuple[Running, Running]]:
    with ExitStack() as stack:
        yield stack.enter_context(running(**settings)), stack.enter_context(running(short=False, **settings))


def counted(service: Running) -> list[str]:
    """Return the metrics that count requests, problems and bytes of broadcasts."""
    with Asking(service) as connection:
        text = connection.ask(request("GET /metrics")).decode()
    return [
        line
        for line in text.splitlines()
        if re.match(r"\w+_seconds_count|axiscast_(problems|output_bytes)_total", line)
    ]


def test_every_response_and_count_is_the_same_without_the_fast_path() -> None:
    with both() as (short, long):
        tag = TAG.findall(answers(short, {"": REQUESTS["GET"]})[""][0])[0].decode()
        assert TAG.findall(answers(long, {"": REQUESTS["GET"]})[""][0])[0].decode() == tag
        asked = REQUESTS | {"GET, its tag known": get(QUERY, f"If-None-Match: {tag}")}
        given, wanted = answers(short, asked), answers(long, asked)
        for name in asked:
            masked = {without_its_own(answer) for answer in given[name] + wanted[name]}
            assert len(masked) == 1, f"{name}: {masked}"
            ids = {id_of(answer) for answer in given[name]}
            if name != "GET, an id before spaces":
                assert len(ids) == (1 if name.endswith("its own id") else TIMES)
        assert given["GET, its tag known"][0].startswith(b"HTTP/1.1 304 ")
        assert given["GET, its own id"][0].count(b"\r\nx-request-id: mine\r\n") == 1
        assert counted(short) == counted(long) != []


def on_fast_path(service: Running, asked: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the names of the requests that take the fast path."""
    taken = []
    hooks = service.app.state.hooks
    ordinary = hooks.fast_path

    def answer(*arguments: Any) -> tuple[bytes, int] | None:
        answered = ordinary(*arguments)
        taken.append(answered is not None)
        return answered

    monkeypatch.setattr(hooks, "fast_path", answer)
    names = set()
    for name, one in asked.items():
        taken.clear()
        with Asking(service) as connection:
            connection.ask(one)
        if any(taken):
            names.add(name)
    return names


def test_short_requests_take_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    with running() as service:
        assert on_fast_path(service, REQUESTS, monkeypatch) == FAST_PATH


def test_a_plain_header_block_is_parsed_like_any_other() -> None:
    rng = random.Random(20261122)
    lines = [
        *(
            "Host: there",
            "host:there:80",
            "Host: ",
            "Host: a b",
            "HOST:\tthere",
            "Content-Length: 2",
            "content-length: 02",
        ),
        *(
            "Content-Length: 2 ",
            "Content-Length: +2",
            "Content-Length:",
            "Transfer-Encoding: chunked",
            "Te: x",
            "Upgrade: y",
        ),
        *(
            "Accept: */*",
            "accept:a",
            "Accept-Encoding: gzip",
            "X-Request-ID: Mine",
            "Connection: close",
            "X: \t",
            "X y: z",
        ),
        *("Authorization: Bearer KEY", "Connection: Keep-Alive", ": x", "A:\x7f", "A:\x80", " folded", "A: b\rHost: c"),
    ]
    plain = 0
    for _ in range(20_000):
        fields = rng.sample(lines, rng.randrange(5)) + ["Host: there"] * rng.choice([0, 1, 1, 1])
        rng.shuffle(fields)
        line = rng.choice(["GET /v1/check?input=3", "POST /v1/check", "GET /v1/check", "POST /v1/check?a"])
        ends = rng.choices(["\r\n", "\n", "\r\n\r\n"], [40, 1, 1], k=len(fields) + 1)
        head = "".join(map("".join, zip([f"{line} HTTP/1.1", *fields], ends, strict=True))) + "\r\n"
        data = head.encode("latin-1") + rng.choice([b"", b"[]", b"[]\r\n"])
        if (found := read_short_request(data)) is not None:
            plain += 1
            read, end, length, _ = read_head(data) or (b"", 0, None, False)
            assert (end + (length or 0), length) == (found.size, len(found.body)), data
            assert found.fields.items() <= dict(header_fields(read)).items(), data
    assert plain > 500


def test_no_traced_request_takes_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("axiscast_service.dispatcher.is_tracing", lambda: True)
    with running() as service:
        assert on_fast_path(service, REQUESTS, monkeypatch) == set()


def test_the_memory_of_a_response_on_the_fast_path_is_freed() -> None:
    with running() as service:
        answers(service, REQUESTS)
        assert service.app.state.budget.held == 0


HOSTS = {
    "there": 200,
    "THERE:80": 200,
    "there.": 200,
    "\tthere": 200,
    "there \t": 200,
    "elsewhere": 421,
    "[there]": 421,
    "there.er": 421,
}


def test_both_paths_accept_the_same_host_names() -> None:
    with both(allowed_hosts="there") as (short, long):
        for host, status in HOSTS.items():
            asked = get(QUERY).replace(b"Host: there", f"Host: {host}".encode())
            with Asking(short) as first, Asking(long) as second:
                given, wanted = first.ask(asked), second.ask(asked)
            assert without_its_own(given) == without_its_own(wanted)
            assert given.startswith(b"HTTP/1.1 %d " % status), host


def test_both_paths_refuse_an_unknown_key(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"one:{KEY}\n")
    asked = {
        "its key": get(QUERY, f"Authorization: Bearer {KEY}"),
        "no key": get(QUERY),
        "another key": get(QUERY, f"Authorization: Bearer {KEY[::-1]}"),
        "its key, POST": post(SHAPES, JSON, f"Authorization: Bearer {KEY}"),
    }
    statuses = {"its key": b"200", "its key, POST": b"200", "no key": b"401", "another key": b"401"}
    with both(api_keys_file=str(tmp_path / "keys")) as (short, long):
        for _ in range(TIMES):
            for name, one in asked.items():
                with Asking(short) as first, Asking(long) as second:
                    given, wanted = first.ask(one), second.ask(one)
                assert without_its_own(given) == without_its_own(wanted)
                assert given.split()[1] == statuses[name]


def test_pipelined_requests_are_answered_one_by_one() -> None:
    asked = REQUESTS["GET"]
    with running() as service:
        wanted = without_its_own(answers(service, {"": asked})[""][0])
        for _ in range(TIMES):
            with Asking(service) as connection:
                connection.connection.sendall(asked * 3 + asked[:40])
                given = [connection.ask(b""), connection.ask(b""), connection.ask(b"")]
                given += [connection.ask(asked[40:]), connection.ask(asked)]
            assert [without_its_own(answer) for answer in given] == [wanted] * 5


@cases("version", ["1.0", "1.1"])
def test_a_connection_closes_on_request(version: str) -> None:
    asked = get("input=3", "Connection: close").replace(b"HTTP/1.1", f"HTTP/{version}".encode())
    with running() as service:
        for _ in range(TIMES):
            with Asking(service) as connection:
                assert b"\r\nconnection: close\r\n" in connection.ask(asked).lower()  # h11 writes capitals
                assert connection.stream.read() == b""


def test_a_request_that_expects_100_continue_takes_the_normal_path() -> None:
    asked = post(SHAPES, JSON, "Expect: 100-continue")
    with running() as service, Asking(service) as connection:
        first = connection.ask(asked)
        assert first == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert connection.ask(b"").startswith(b"HTTP/1.1 200 ")
        for _ in range(TIMES):
            connection.connection.sendall(asked)
            assert b"200 OK" in connection.stream.readline() + connection.stream.readline() + connection.ask(b"")


def test_a_connection_whose_only_request_took_the_fast_path_may_idle() -> None:
    asked = REQUESTS["GET"]

    def claim(seconds: float) -> None:
        with running(request_seconds=int(seconds)) as service:
            answers(service, {"": asked})
            with Asking(service) as connection:
                wanted = connection.ask(asked)
                time.sleep(2.5 * seconds)  # one that had asked for nothing would be cut
                assert without_its_own(connection.ask(asked)) == without_its_own(wanted)

    unhurried(claim, 1)


@cases(("fields", "status"), [(["Content-Type: image/png"], 415), ([JSON, "Accept: image/png"], 406)])
def test_the_body_of_a_request_refused_by_its_headers_is_not_requested(fields: list[str], status: int) -> None:
    asked = request("POST /v1/check", *fields, "Expect: 100-continue", "Content-Length: 9")
    with running() as service, Asking(service) as connection:
        assert connection.ask(asked).startswith(b"HTTP/1.1 %d " % status)


LONG_FIELDS = {
    "one long": ["Accept: application/json;a=" + "x" * 1000],
    "many": ["Accept: */*"] * 50,
    "several": [f"If-None-Match: {'x' * 300}"] * 4,
}


@cases("fields", LONG_FIELDS.values(), ids=LONG_FIELDS)
def test_a_request_with_many_headers_is_answered(fields: list[str]) -> None:
    with running() as service, Asking(service) as connection:
        for _ in range(TIMES):
            assert connection.ask(get(QUERY, *fields)).startswith(b"HTTP/1.1 200 ")


def test_no_request_takes_the_fast_path_once_a_shutdown_has_begun() -> None:
    with running() as service:
        assert b"connection: close" not in answers(service, {"": REQUESTS["GET"]})[""][-1]
        service.app.state.drain.begun = True
        with Asking(service) as connection:
            assert b"\r\nconnection: close\r\n" in connection.ask(REQUESTS["GET"])
            assert connection.stream.read() == b""


def test_the_access_log_has_a_line_for_each_request(capfd: pytest.CaptureFixture[str]) -> None:
    with running(access_log=True) as service:
        answers(service, {"": REQUESTS["GET"]})
    assert capfd.readouterr().err.count("route=/v1/check") == TIMES
