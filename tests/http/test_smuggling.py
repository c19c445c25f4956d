"""Randomly distorted requests are refused, or parsed as h11 and httptools parse them, in any parts."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import h11
import pytest
from cases import cases

from axiscast.wire.problems import Problem
from axiscast_service.http.parser import BodyData, EndOfRequest, Parser, RequestHead

Requests = list[tuple[bytes, bytes, bytes]]
"""Return the method, the target and the body of each request."""
BODIES = (b"", b"a", b"abc", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"0\r\n\r\n")
LENGTHS = (b"+%d", b"0%d", b" %d", b"\t%d", b"%d ", b"%d,1", b"0x%x", b"-%d", b"%d\x0b", b"%d_0", b"1%d")
CODINGS = (
    b"Chunked",
    b"chunked ",
    b"\tchunked",
    b"gzip, chunked",
    b"identity",
    b"chunked;a=b",
    b"\x0bchunked",
    b",chunked",
)
SIZES = (
    b"%X",
    b"0%x",
    b"%x;a=b",
    b"%x ;a",
    b"%x\t;a",
    b"%x ",
    b" %x",
    b"0x%x",
    b"+%x",
    b'%x;"',
    b"%x;\n",
    b"%x;a\rb",
    b"%x=a",
)
FIELDS = (b"X: 1", b"X:", b" X: 1", b"\tfold", b"X : 1", b": 1", b"X", b"X: \xff", b"X: a\x0bb", b"Host: x", b"X: 1\r")
FIELDS += (b"Connection: close", b"Connection: content-length", b"Expect: 100-continue", b"Trailer: X", b"X\x00: 1")
BREAKS = (b"\n", b"\r", b"\r\r\n", b"\n\r\n", b" \r\n")


URL = b"http://x/a?b"
"""Return a target in the form in which the service reads its path and query."""


class Writer:
    """A generator of requests whose parts are mostly valid."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def one(self, usual: bytes, others: tuple[bytes, ...], share: float = 0.05) -> bytes:
        return self.random.choice(others) if self.random.random() < share else usual

    def line(self) -> bytes:
        return self.one(b"\r\n", BREAKS, 0.01)

    def chunks(self, body: bytes) -> bytes:
        parts = []
        while body:
            nbytes = self.random.randint(1, len(body))
            size = self.one(b"%x", SIZES, 0.15) % nbytes
            parts += [size, self.line(), body[:nbytes], self.line()]
            body = body[nbytes:]
        end = self.one(b"0", (b"00", b"0;a", b"-0", b"")) + self.line()
        return b"".join([*parts, end, self.one(b"", (b"X: 1\r\n", b"Content-Length: 3\r\n", b" X\r\n")), self.line()])

    def request(self) -> bytes:
        body, fields, sent = self.random.choice(BODIES), [self.one(b"Host: x", (b"Host:", b"host : x", b"X: 1"))], b""
        framing = self.random.random()
        if framing < 0.5:
            fields.append(b"Content-Length:" + self.one(b" %d", LENGTHS, 0.15) % len(body))
            sent = body
        if framing > 0.46:
            fields.append(b"Transfer-Encoding:" + self.one(b" chunked", CODINGS, 0.15))
            sent = self.chunks(body)
        fields += self.random.sample(FIELDS, self.random.choice([0, 0, 0, 1, 2]))
        self.random.shuffle(fields)
        line = b" ".join(
            [self.one(b"POST", (b"GET", b"FOO")), self.one(b"/a?b", (b"*", b"/#", URL, URL[:-1] + b"#")), b"HTTP/1.1"]
        )
        head = b"".join(part + self.line() for part in (line, *fields))
        return self.one(b"", (b"\r\n", b"\n"), 0.02) + head + self.line() + sent


def by_core(data: bytes, cuts: list[int]) -> tuple[Requests, bool]:
    """Return the complete requests in data that is cut at these places, and whether any data was refused."""
    parser, found, body = Parser(), [], b""
    for start, stop in zip([0, *cuts], [*cuts, len(data)], strict=True):
        piece = data[start:stop]
        try:
            while events := parser.feed(piece):
                for event in events:
                    if isinstance(event, RequestHead):
                        body = b""
                    elif isinstance(event, BodyData):
                        body += event.data
                    elif isinstance(event, EndOfRequest):
                        found.append((*parser.head.line()[:2], body))
                        parser.next_request()
                piece = b""
        except Problem:
            return found, True
    return found, False


def by_h11(data: bytes) -> Requests:
    connection, found = h11.Connection(h11.SERVER), []
    connection.receive_data(data)
    try:
        while isinstance(event := connection.next_event(), h11.Request):
            body = b""
            while isinstance(part := connection.next_event(), h11.Data):
                body += part.data
            if not isinstance(part, h11.EndOfMessage):
                break
            found.append((event.method, event.target.removeprefix(b"http://x"), body))
            connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
            connection.send(h11.EndOfMessage())
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                break
            connection.start_next_cycle()
    except h11.RemoteProtocolError:
        pass  # what it read before
    return found


def by_httptools(data: bytes) -> Requests:
    httptools = pytest.importorskip("httptools")
    found: Requests = []

    class Callbacks:
        target = body = b""

        def on_message_begin(self) -> None:
            self.target = self.body = b""

        def on_url(self, url: bytes) -> None:
            self.target += url

        def on_body(self, body: bytes) -> None:
            self.body += body

        def on_message_complete(self) -> None:
            found.append((parser.get_method(), self.target.removeprefix(b"http://x"), self.body))

    parser = httptools.HttpRequestParser(Callbacks())
    with suppress(httptools.HttpParserError, httptools.HttpParserUpgrade):  # what it read before counts
        parser.feed_data(data)
    return found


@cases("seed", range(4))
def test_accepted_requests_are_parsed_alike_by_others_and_in_any_parts(seed: int) -> None:
    writer, accepted = Writer(seed), 0
    for _ in range(400):
        data = writer.request() + writer.request()
        found, refused = by_core(data, [])
        accepted += len(found)
        for others in (by_h11(data), by_httptools(data)):
            common = min(len(found), len(others))
            assert found[:common] == others[:common], data
        for cuts in (list(range(1, len(data))), [writer.random.randrange(len(data))], [len(data) - 1]):
            assert by_core(data, cuts) == (found, refused), (data, cuts)
    assert accepted > 150
