"""The parser without IO: the same events for any parts, and only the transitions of its table."""

from __future__ import annotations

import sys
from itertools import pairwise

import h11
import pytest
from cases import cases
from conftest import run
from raw_http import BODY, CHUNKED, GET, LAST, POST
from test_heads import MALFORMED

from axiscast.wire.problems import Problem
from axiscast_service.http.grammar import ACCEPT_BYTES, ACCEPT_RANGES, PATH_BYTES, QUERY_PAIRS
from axiscast_service.http.parser import CHUNKS_AT_ONCE, BodyData, EndOfRequest, Event, Parser, RequestHead

SHORT = POST + b"Content-Length: 16\r\n\r\n"
NOTHING = POST + b"Content-Length: 0\r\n\r\n"
CHUNKS = b'4;name="value"\r\n{"in\r\n0000C\r\nputs":[[3]]}\r\n0\r\nX: 1\r\n\r\n'
UNKNOWN = b"FOO / HTTP/1.1\r\nHost: x\r\n\r\n"
REQUESTS: dict[str, tuple[bytes, bytes, int | None, bytes]] = {
    # its bytes, and its head, length and body
    "no body": (GET, GET, 0, b""),
    "an empty line before it": (b"\r\n" + GET, GET, 0, b""),
    "empty lines before it": (b"\r\n" * 5 + GET, GET, 0, b""),
    "an empty body": (NOTHING, NOTHING, 0, b""),
    "a body": (SHORT + BODY, SHORT, 16, BODY),
    "chunks": (CHUNKED + CHUNKS, CHUNKED, None, BODY),
    "no chunk": (CHUNKED + b"0\r\n\r\n", CHUNKED, None, b""),
    "an unknown method": (UNKNOWN, UNKNOWN, 0, b""),
    # RFC 9112, 3.2.2: the target's authority is the Host, whatever that field says
    "a URL": (
        b"GET http://x:1/livez?a HTTP/1.1\r\nA: 1\r\nhOST:\ty \r\nB: 2\r\n\r\n",
        b"GET /livez?a HTTP/1.1\r\nA: 1\r\nHost: x:1\r\nB: 2\r\n\r\n",
        0,
        b"",
    ),
    "HTTP/1.0 without a Host": (b"GET /livez HTTP/1.0\r\nA: 1\r\n\r\n",) * 2 + (0, b""),
    "a URL in HTTP/1.0 without a Host": (
        b"GET http://x/livez HTTP/1.0\r\nA: 1\r\n\r\n",
        b"GET /livez HTTP/1.0\r\nHost: x\r\nA: 1\r\n\r\n",
        0,
        b"",
    ),
    "a URL without a path": (
        b"POST HTTP://[::1]?a/b HTTP/1.1\r\nHost:\r\nContent-Length: 16\r\n\r\n" + BODY,
        b"POST /?a/b HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 16\r\n\r\n",
        16,
        BODY,
    ),
}
URLS = {"a URL", "a URL without a path", "a URL in HTTP/1.0 without a Host"}
"""The request targets that are changed to the origin-form."""
SIZES = [1, 2, 3, 7, 50, 100_000]


def test_many_small_chunks_are_read_in_several_steps() -> None:
    parser, data, steps, body = Parser(), CHUNKED + b"1\r\na\r\n" * 2000 + b"0\r\n\r\n", 0, b""
    while parser.phase != "complete":
        events = parser.feed(data if not steps else b"")
        body += b"".join(event.data for event in events if isinstance(event, BodyData))
        steps += 1
        assert parser.is_behind == (parser.phase != "complete")
        assert len(body) <= steps * CHUNKS_AT_ONCE
    assert (body, steps) == (b"a" * 2000, -(-2001 // CHUNKS_AT_ONCE))


def read(data: bytes, size: int) -> tuple[list[tuple[RequestHead, bytes]], bytes]:
    """Return the requests in the data, each with its body, and the unparsed rest. The data is fed in pieces."""
    parser = Parser()
    found: list[tuple[RequestHead, bytes]] = []
    body: list[bytes] = []
    for start in range(0, len(data), size):
        events: list[Event] = parser.feed(data[start : start + size])
        while parser.is_behind:
            events += parser.feed(b"")
        while events:
            for event in events:
                if isinstance(event, BodyData):
                    body.append(event.data)
                elif isinstance(event, EndOfRequest):
                    assert parser.feed(b"") == []
                    found.append((parser.head, b"".join(body)))
                    body = []
            if parser.phase != "complete":
                break
            parser.next_request()
            events = parser.feed(b"")
    return found, parser.rest


@cases("size", SIZES)
@cases("name", REQUESTS)
def test_a_request_in_any_parts_is_the_same_request(name: str, size: int) -> None:
    data, head, length, body = REQUESTS[name]
    assert read(data, size) == ([(RequestHead(head, length), body)], b"")


@cases("size", SIZES)
def test_pipelined_requests_are_parsed_one_by_one(size: int) -> None:
    data = b"".join(request for request, *_ in REQUESTS.values())
    found, rest = read(data + GET[:9], size)
    assert [(head.data, head.length, body) for head, body in found] == [(*said,) for _, *said in REQUESTS.values()]
    assert rest == GET[:9]


@cases("size", SIZES)
@cases("data", MALFORMED.values(), ids=MALFORMED)
def test_malformed_requests_are_refused_in_any_parts(data: bytes, size: int) -> None:
    with pytest.raises(Problem) as refused:
        read(data, size)
    assert refused.value.code == "malformed-request"


def test_each_phase_is_followed_only_by_phases_in_the_table() -> None:
    seen = set()
    for data, *_ in REQUESTS.values():
        parser = Parser()
        phases = [parser.phase]
        for byte in data:
            parser.feed(bytes([byte]))
            phases.append(parser.phase)
        parser.next_request()
        seen |= {pair for pair in pairwise([*phases, parser.phase]) if pair[0] != pair[1]}
    assert seen == {
        *(("head", "body"), ("head", "chunks"), ("head", "complete"), ("body", "complete"), ("chunks", "trailer")),
        *(("trailer", "complete"), ("complete", "head")),
    }


def target(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def accepting(*values: str) -> bytes:
    return GET[:-2] + b"".join(f"Accept:{value}\r\n".encode() for value in values) + b"\r\n"


HALF = "a" * (ACCEPT_BYTES // 2)
BOUNDED = {
    "the path": (target("/" * PATH_BYTES), target("/" * (PATH_BYTES + 1))),
    "the parameters": (target("/?" + "a&" * (QUERY_PAIRS - 1)), target("/?" + "a&" * QUERY_PAIRS)),
    "Accept": (accepting(HALF, HALF), accepting(HALF, HALF + "a")),
    "media ranges": (accepting("," * (ACCEPT_RANGES - 1)), accepting(*["a"] * (ACCEPT_RANGES // 2), "," * 32)),
}


@cases(("whole", "long"), BOUNDED.values(), ids=BOUNDED)
def test_each_expensive_part_of_a_header_block_has_a_limit(whole: bytes, long: bytes) -> None:
    assert len(read(whole, len(whole))[0]) == 1
    with pytest.raises(Problem) as refused:
        read(long, len(long))
    assert refused.value.code == "head-too-large"


@cases("name", [name for name in REQUESTS if "line" not in name and name not in URLS])
def test_h11_reads_the_same(name: str) -> None:
    data, *_ = REQUESTS[name]
    ((head, body),) = read(data, len(data))[0]
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    request = connection.next_event()
    assert isinstance(request, h11.Request)
    assert (request.method, request.target) == head.line()[:2]
    assert [*request.headers] == head.fields()
    parts = b""
    while isinstance(event := connection.next_event(), h11.Data):
        parts += bytes(event.data)
    assert isinstance(event, h11.EndOfMessage)
    assert parts == body


@pytest.mark.parametrize("name", [name for name in REQUESTS if name not in ("an unknown method", *URLS)])
def test_httptools_reads_the_same(name: str) -> None:
    httptools = pytest.importorskip("httptools")
    data, *_ = REQUESTS[name]
    ((head, body),) = read(data, len(data))[0]
    found: list[bytes] = []
    fields: list[tuple[bytes, bytes]] = []

    class Callbacks:
        def on_url(self, url: bytes) -> None:
            found.append(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            fields.append((name.lower(), value))

        def on_body(self, data: bytes) -> None:
            found.append(data)

    parser = httptools.HttpRequestParser(Callbacks())
    parser.feed_data(data)
    assert (parser.get_method(), found[0], b"".join(found[1:])) == (*head.line()[:2], body)
    assert fields[: len(head.fields())] == head.fields()


def test_the_parser_does_no_io() -> None:
    statement = "import axiscast_service.http.parser, sys; print(*sys.modules)"
    done = run([sys.executable, "-c", statement])
    loaded = set(done.stdout.split())
    assert "axiscast_service.http.grammar" in loaded
    assert loaded.isdisjoint({"asyncio", "socket", "ssl", "uvicorn", "starlette", "httptools", "h11"})


def test_skipped_bytes_are_not_parsed() -> None:
    parser = Parser()
    parser.hold(GET)
    parser.hold(LAST)
    parser.drop(len(GET))
    assert parser.feed(b"") == [RequestHead(LAST, 0), EndOfRequest()]
    parser.next_request()
    assert parser.feed(POST + b"Content-Length: 9\r\n\r\nab")[1:] == [BodyData(b"ab")]
    parser.skip(6)
    assert parser.phase == "body"
    parser.skip(1)
    assert parser.phase == "complete"
