"""Requests of one turn of the event loop: each is answered once, in order, before its connection ends."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
from typing import Any

import pytest
import uvicorn
from conftest import PATIENCE
from raw_http import BODY, POST, receive
from uvicorn.server import ServerState

from axiscast.wire.codec import Encoding, encode
from axiscast_service.app import create_app
from axiscast_service.http.hooks import HOOKS
from axiscast_service.http.limits import MAX_CONNECTIONS
from axiscast_service.http.parser import CHUNKS_AT_ONCE, Event, Parser
from axiscast_service.http.protocol import HTTPProtocol
from axiscast_service.http.scheduler import MAX_FAST_RESPONSES

MADE, END, SHUTDOWN, LOST = b"made", b"end", b"shutdown", b"lost"


def short(number: int) -> bytes:
    return POST + b"X-Request-ID: %d\r\nContent-Length: %d\r\n\r\n%b" % (number, len(BODY), BODY)


LONG = b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Request-ID: 9\r\n\r\n"
NEXT = short(4)
CHUNKED = POST + b"X-Request-ID: 7\r\nTransfer-Encoding: chunked\r\n\r\n"
SMALL = [CHUNKED, *[b"1\r\n \r\n" * 1000] * 3, b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)]
"""A request whose chunks are read in several turns."""
TURNS: dict[str, tuple[list[bytes], list[bytes]]] = {
    # what comes to one connection in one turn, and the ids of the requests that are answered
    "one": ([short(1)], [b"1"]),
    "one, and the end": ([short(1), END], [b"1"]),
    "one that takes the ordinary way, and the end": ([LONG, END], [b"9"]),
    "three of both ways, and the end": ([LONG, short(1), LONG, END], [b"9", b"1", b"9"]),
    "two": ([short(1), short(2)], [b"1", b"2"]),
    "three": ([short(1), short(2), short(3)], [b"1", b"2", b"3"]),
    "two halves": ([short(1)[:90], short(1)[90:]], [b"1"]),
    "one and a half": ([short(1), short(2)[:90]], [b"1"]),
    "one and two halves": ([short(1), short(2)[:90], short(2)[90:]], [b"1", b"2"]),
    "one that takes the ordinary way, and a short one": ([LONG, short(1)], [b"9", b"1"]),
    "a short one, and one that takes the ordinary way": ([short(1), LONG], [b"1", b"9"]),
    "one, and the end of the service": ([short(1), SHUTDOWN], [b"1"]),
    "half of one, and the end of the service": ([short(1)[:90], SHUTDOWN], []),
    "nothing but the end": ([END], []),
    "small chunks": (SMALL, [b"7"]),
    "small chunks in one piece, and a short one": ([b"".join([*SMALL, short(1)])], [b"7", b"1"]),
    "small chunks, a short one, and the end of the service": ([*SMALL, short(1), SHUTDOWN], [b"7"]),
    "small chunks that do not end": ([*SMALL[:-1], END], []),
    "small chunks, and the caller has gone": ([*SMALL, LOST], []),
}
FOLLOWED = ("one", "two", "two halves", "small chunks")
"""The connections on which another request arrives later."""


class Wire(asyncio.Transport):
    """A transport that accepts all data until it is closed, and no data afterwards."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__({"socket": connection, "sockname": None, "peername": None})
        self.written = b""
        self.closed = False
        self.limit = 2**16  # asyncio's and uvloop's own
        self.protocol: HTTPProtocol | None = None

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high is not None
        self.limit = high

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.closed:
            self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def is_reading(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return False

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...

    def close(self) -> None:
        self.closed = True

    abort = close


class Full(Wire):
    """A transport whose client reads no data."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        super().write(data)
        if len(self.written) > self.limit and self.protocol is not None:
            self.protocol.pause_writing()


async def responses(wires: dict[str, Wire], counts: dict[str, int]) -> None:
    """Wait until each connection has sent its number of responses, and then for further data."""
    async with asyncio.timeout(PATIENCE):
        while any(wires[name].written.count(b"HTTP/1.1 ") < count for name, count in counts.items()):
            await asyncio.sleep(0)
    for _ in range(100):
        await asyncio.sleep(0)


async def in_one_turn(
    turns: dict[str, list[bytes]],
    kind: type[Wire] = Wire,
    counts: dict[str, int] | None = None,
    limit: int = MAX_CONNECTIONS,
) -> dict[str, bytes]:
    """Return the data that is sent on each connection, if all these requests arrive in one turn.

    `counts` has the number of responses of each connection.
    """
    counts = dict.fromkeys(turns, 1) if counts is None else counts
    app: Any = create_app()
    app.state.connections.limit = limit
    config = uvicorn.Config(app, log_config=None, access_log=False)
    config.load()
    config.loaded_app = app
    async with app.router.lifespan_context(app) as state:
        state[HOOKS].turns.clock = lambda: 0.0  # no turn ends because of its time
        with socket.socket(socket.AF_UNIX) as sock:
            wires = {name: kind(sock) for name in turns}
            protocols = {name: HTTPProtocol(config, ServerState(), state) for name in turns}
            for name, protocol in protocols.items():
                wires[name].protocol = protocol
                if MADE not in turns[name]:
                    protocol.connection_made(wires[name])
            for name, pieces in turns.items():
                for piece in pieces:
                    if piece is MADE:
                        protocols[name].connection_made(wires[name])
                    elif piece is SHUTDOWN:
                        protocols[name].shutdown()
                    elif piece is LOST:
                        wires[name].close()
                        protocols.pop(name).connection_lost(None)
                    elif piece is END:
                        if not protocols[name].eof_received():
                            wires[name].close()
                    else:
                        receive(protocols[name], piece)
            await responses(wires, counts)
            for name, protocol in protocols.items():
                receive(protocol, NEXT if name in FOLLOWED else b"")
            await responses(wires, {name: count + (name in FOLLOWED) for name, count in counts.items()})
            for protocol in protocols.values():
                protocol.connection_lost(None)
            return {name: wire.written for name, wire in wires.items()}


@pytest.fixture(scope="module")
def written() -> dict[str, bytes]:
    counts = {name: len(ids) for name, (_, ids) in TURNS.items()}
    return asyncio.run(in_one_turn({name: pieces for name, (pieces, _) in TURNS.items()}, counts=counts))


@pytest.mark.parametrize("name", TURNS)
def test_each_request_of_a_turn_is_answered_once_and_in_order(written: dict[str, bytes], name: str) -> None:
    ids = TURNS[name][1] + [b"4"] * (name in FOLLOWED)
    assert re.findall(rb"HTTP/1.1 (\d+) ", written[name]) == [b"200"] * len(ids)
    assert re.findall(rb"x-request-id: (\d+)\r\n", written[name]) == ids


def test_small_chunks_of_several_connections_are_read_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[int] = []
    feed = Parser.feed

    def note(parser: Parser, data: bytes) -> list[Event]:
        order.append(id(parser))
        return feed(parser, data)

    monkeypatch.setattr(Parser, "feed", note)
    written = asyncio.run(in_one_turn({name: [b"".join(SMALL)] for name in "abc"}))
    assert all(sent.count(b"HTTP/1.1 200 ") == 1 for sent in written.values())
    steps = -(-3000 // CHUNKS_AT_ONCE)
    assert len(order) >= 3 * steps
    assert all(len(set(order[start : start + 3])) == 3 for start in range(3, 3 * steps, 3))


def test_a_long_body_of_small_chunks_reaches_an_application_that_waits_for_it() -> None:
    body = b'{"inputs":' + b" " * 70_000 + b"[[3]]}"
    pieces = [CHUNKED, b"%x\r\n%b\r\n" % (len(body) - 300, body[:-300])]
    pieces += [b"".join(b"1\r\n%c\r\n" % byte for byte in body[-300:]), b"0\r\n", b"\r\n"]
    assert b"HTTP/1.1 200 " in asyncio.run(in_one_turn({"long": pieces}))["long"]


def test_a_client_that_disconnects_before_its_response_causes_no_log_line(caplog: pytest.LogCaptureFixture) -> None:
    waiting = short(1).replace(b"\r\n", b"\r\nExpect: 100-continue\r\n", 1).removesuffix(BODY)
    asyncio.run(in_one_turn({"waiting": [waiting[:20], waiting[20:], LOST]}, counts={}))
    assert "failed" not in caplog.text


def test_a_connection_that_was_reset_may_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def write_eof(wire: Wire) -> None:
        raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")

    monkeypatch.setattr(Wire, "can_write_eof", lambda wire: True)
    monkeypatch.setattr(Wire, "write_eof", write_eof)
    assert b" 400 " in asyncio.run(in_one_turn({"no HTTP": [b"no", b" HTTP\r\n"]}))["no HTTP"]


def test_no_connection_with_a_received_request_is_closed_for_another() -> None:
    pieces = {"asks": [short(1)], "idle": [], "new": [MADE, short(2)]}
    written = asyncio.run(in_one_turn(pieces, counts={"asks": 1, "new": 1}, limit=2))
    assert [re.findall(rb"x-request-id: (\d+)", written[name]) for name in pieces] == [[b"1"], [], [b"2"]]


def test_responses_of_a_long_turn_are_sent_before_all_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    made, most = 0, 0
    answer_fast, send_fast = HTTPProtocol.answer_fast, HTTPProtocol.send_fast

    def make(protocol: HTTPProtocol) -> bytes | None:
        nonlocal made, most
        answer = answer_fast(protocol)
        made += answer is not None
        most = max(most, made)
        return answer

    def send(protocol: HTTPProtocol, answer: bytes) -> None:
        nonlocal made
        made -= 1
        send_fast(protocol, answer)

    monkeypatch.setattr(HTTPProtocol, "answer_fast", make)
    monkeypatch.setattr(HTTPProtocol, "send_fast", send)
    written = asyncio.run(in_one_turn({str(number): [short(number)] for number in range(3 * MAX_FAST_RESPONSES)}))
    assert most == MAX_FAST_RESPONSES
    for name, sent in written.items():
        assert re.findall(rb"x-request-id: (\d+)", sent) == [name.encode()]


def test_a_client_that_reads_nothing_gets_one_response_from_the_application() -> None:
    value = {
        "op": {"name": "numpy.broadcast_to", "shape": [20_000]},
        "inputs": [{"dtype": "int8", "shape": [], "data": b"1"}],
    }
    body = encode(value, Encoding.MSGPACK)
    head = b"POST /v1/broadcast HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\nContent-Length: %d\r\n\r\n"
    written = asyncio.run(in_one_turn({"full": [head % len(body) + body] * 5}, Full))["full"]
    assert 20_000 < len(written) < 2 * 20_000
