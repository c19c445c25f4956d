"""Invalid and too long requests are refused once; valid ones may arrive in any parts."""

from __future__ import annotations

import json
import select
import socket
import time
from contextlib import suppress

from cases import cases
from conftest import PATIENCE, Served
from raw_http import BODY, CHUNKED, GET, LAST, POST, SECRET, answers, ask, assert_refused, at_most, connect, in_pieces

from axiscast_service.http import grammar

FIELD = b"X: " + SECRET + b"\r\n"
MALFORMED = {
    "no Host": b"GET /livez HTTP/1.1\r\n" + FIELD + b"\r\n",
    "no Host in HTTP/1.2": b"GET /livez HTTP/1.2\r\n\r\n",
    "two Hosts in HTTP/1.0": b"GET /livez HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n",
    "a list of Hosts in HTTP/1.0": b"GET /livez HTTP/1.0\r\nHost: x, y\r\n\r\n",
    "a minor version of two digits": GET.replace(b"1.1", b"1.10"),
    "an empty line of only a line feed": b"\n" + GET,
    "an empty line of only a carriage return": b"\r" + GET,
    "two Hosts": b"GET /livez HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
    "a list of Hosts": b"GET /livez HTTP/1.1\r\nHost: x, y\r\n\r\n",
    "both framings": CHUNKED[:-2] + b"Content-Length: 5\r\n\r\n0\r\n\r\n" + GET,
    "both framings, the other way": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + GET,
    "two lengths": POST + b"Content-Length: 16\r\nContent-Length: 17\r\n\r\n" + BODY,
    "a list of lengths": POST + b"Content-Length: 16, 16\r\n\r\n" + BODY,
    "a length with a sign": POST + b"Content-Length: +16\r\n\r\n" + BODY,
    "a negative length": POST + b"Content-Length: -16\r\n\r\n" + BODY,
    "an endless length": POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n" + BODY,
    "no length": POST + b"Content-Length: \r\n\r\n" + BODY,
    "another coding": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "an unknown coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked twice": CHUNKED[:-2] + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": CHUNKED.replace(b"HTTP/1.1", b"HTTP/1.0") + b"0\r\n\r\n",
    "a space before the colon": POST + b"Content-Length : 16\r\n\r\n" + BODY,
    "a folded field": b"GET /livez HTTP/1.1\r\nHost: x\r\nX: 1\r\n " + SECRET + b"\r\n\r\n",
    "bare line feeds": GET.replace(b"\r\n", b"\n"),
    "one bare line feed": b"GET /livez HTTP/1.1\r\nHost: x\r\nX: 1\nY: 2\r\n\r\n",
    "a bare carriage return": b"GET /livez HTTP/1.1\r\nHost: x\r\nX: 1\r2\r\n\r\n",
    "NUL": b"GET /livez HTTP/1.1\r\nHost: x\r\nX: \0" + SECRET + b"\r\n\r\n",
    "HTTP/0.9": b"GET /livez\r\n",
    "HTTP/9.9": GET.replace(b"1.1", b"9.9"),
    "no version that is known, and no more": b"GET /livez HTTP/2.0\r\n",
    "a URL and no Host": b"GET http://x/livez HTTP/1.1\r\n\r\n",
    "a URL and two Hosts": b"GET http://x/livez HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
    "a URL without a host": b"GET http:///livez HTTP/1.1\r\nHost: x\r\n\r\n",
    "a URL with only a port": b"GET http://:80/livez HTTP/1.1\r\nHost: x\r\n\r\n",
    "a URL with a user": b"GET http://x@y/livez HTTP/1.1\r\nHost: x\r\n\r\n",
    "a URL with a backslash": b"GET http://x\\y/livez HTTP/1.1\r\nHost: x\r\n\r\n",
    "a URL with a fragment": b"GET http://x/livez#there HTTP/1.1\r\nHost: x\r\n\r\n",
    "a URL with an endless host": b"GET http://" + b"a." * 132 + b"/livez HTTP/1.1\r\nHost: x\r\n\r\n",
    "a URL of another scheme": b"GET ftp://x/livez HTTP/1.1\r\nHost: x\r\n\r\n",
    "a URL with one slash": b"GET http:/x/livez HTTP/1.1\r\nHost: x\r\n\r\n",
    "a name instead of a path": b"GET x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
    "an asterisk": b"GET * HTTP/1.1\r\nHost: x\r\n\r\n",
    "a path that is not ASCII": "GET /v1/check?input=8\xd71 HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
    "a fragment": b"GET /livez#there HTTP/1.1\r\nHost: x\r\n\r\n",
    "an endless Host": b"GET /livez HTTP/1.1\r\nHost: " + b"a." * 132 + b"\r\n\r\n",
    "a tunnel": b"CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n",
    "the whole service": b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    "a tunnel without a Host": b"CONNECT x:443 HTTP/1.1\r\n\r\n",
    "a tunnel to a URL": b"CONNECT http://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "a tunnel to a path": b"CONNECT / HTTP/1.1\r\nHost: x\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
    "TLS": bytes.fromhex("16030100c8010000c40303") + SECRET,
    "garbage": bytes(range(256)) * 20 + SECRET,
    "a chunk without a size": CHUNKED + b";x\r\n",
    "a chunk of a strange size": CHUNKED + b"0x10\r\n" + BODY,
    "a chunk of an endless size": CHUNKED + b"1" * 17 + b"\r\n" + BODY,
    "a chunk that is longer than it says": CHUNKED + b"f\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk that ends in a line feed": CHUNKED + b"10\n" + BODY,
    "a chunk of endless extensions": CHUNKED + b"10;" + b"x" * 1100,
    "thousands of chunks of a byte": CHUNKED + b"1\r\n \r\n" * 4097,
    "a trailer that is no field": CHUNKED + b"0\r\nno field\r\n\r\n",
}


@cases("data", MALFORMED.values(), ids=MALFORMED)
def test_invalid_http_gets_one_response_before_the_close(gate: Served, data: bytes) -> None:
    (answer,) = ask(gate.port, data)
    assert_refused(answer, 400, "malformed-request")


def test_http_1_0_needs_no_host(gate: Served) -> None:
    """RFC 9112, 3.2. The health checks of load balancers have no Host."""
    for head in (b"GET /readyz HTTP/1.0\r\n\r\n", b"OPTIONS /readyz HTTP/1.0\r\n\r\n"):
        (answer,) = ask(gate.port, head)
        assert answer.status == (200 if head.startswith(b"GET") else 405)
        assert answer.headers["connection"] == "close"


def test_a_higher_minor_version_is_processed_like_1_1(gate: Served) -> None:
    """RFC 9110, 2.5."""
    newer = GET.replace(b"1.1", b"1.2")
    chunked = CHUNKED.replace(b"1.1", b"1.9") + b"10\r\n" + BODY + b"\r\n0\r\n\r\n"
    found = ask(gate.port, newer + chunked + LAST)
    assert [answer.status for answer in found] == [200, 200, 200]


def test_a_path_has_up_to_8000_bytes(gate: Served) -> None:
    """RFC 9112, 3 recommends to support request lines of 8000 octets."""
    path = b"/livez?" + b"x" * 7980
    line = b"GET %b HTTP/1.1" % path
    assert len(line) == 8000
    (answer,) = ask(gate.port, line + LAST[LAST.index(b"\r\n") :])
    assert answer.status == 200
    (answer,) = ask(gate.port, b"GET /" + b"x" * 7999 + LAST[LAST.index(b" HTTP/1.1\r\n") :])
    assert answer.status == 404
    (answer,) = ask(gate.port, b"GET /" + b"x" * 8000 + LAST[LAST.index(b" HTTP/1.1\r\n") :])
    assert_refused(answer, 431, "head-too-large")


def test_a_url_as_target_gets_the_response_of_its_path(gate: Served) -> None:
    """RFC 9112, 3.2.2: a server must accept the absolute form."""
    targets = [b"http://x/livez", b"HTTP://x:80/livez", b"http://[::1]:1/livez?a=/b", b"http://x", b"http://x?a"]
    requests = [b"GET %b HTTP/1.1\r\nHost: y\r\n\r\n" % target for target in targets]
    post = POST.replace(b"/v1/check", b"http://x/v1/check") + b"Content-Length: 16\r\n\r\n" + BODY
    for size in (1000, 60):  # whole, and in pieces
        *alive, page, query, checked, last = ask(gate.port, *in_pieces(b"".join([*requests, post, LAST]), size))
        assert [answer.body for answer in alive] == [last.body] * 3
        assert [page.status, query.status] == [200, 200]
        assert page.body == query.body
        assert page.headers["content-type"].startswith("text/html")
        assert json.loads(checked.body)["outputs"][0]["shape"] == [3]


def test_an_https_url_is_refused_without_tls(gate: Served) -> None:
    """RFC 9110, 7.4."""
    (answer,) = ask(gate.port, b"GET https://x/livez HTTP/1.1\r\nHost: x\r\n\r\n" + GET)
    assert_refused(answer, 421, "misdirected-request")


def test_a_refused_head_request_has_no_body(gate: Served) -> None:
    (answer,) = ask(gate.port, b"HEAD /livez HTTP/1.1\r\n\r\n")
    assert (answer.status, answer.body) == (400, b"")
    assert int(answer.headers["content-length"]) > 100


def head_of(size: int) -> bytes:
    return LAST[:-2] + b"X: " + b"x" * (size - len(LAST) - 5) + b"\r\n\r\n"


def test_a_header_block_has_up_to_32_kib_and_100_fields(gate: Served) -> None:
    for whole in (head_of(32 * 1024), LAST[:-2] + b"X: 1\r\n" * 98 + b"\r\n"):
        assert [answer.status for answer in ask(gate.port, whole)] == [200]
    for long in (head_of(32 * 1024 + 1), LAST[:-2] + b"X: 1\r\n" * 99 + b"\r\n"):
        (answer,) = ask(gate.port, long)
        assert_refused(answer, 431, "head-too-large")


UNENDING = {
    "a target": b"GET /",
    "a field": LAST[:-2] + b"X: ",
    "a name": LAST[:-2],
    "fields": LAST[:-2] + b"X: 1\r\n" * 101,
    "a trailer": CHUNKED + b"0\r\nX: ",
}


@cases("data", UNENDING.values(), ids=UNENDING)
def test_a_too_long_header_block_is_refused_before_its_end(gate: Served, data: bytes) -> None:
    with at_most(10 * 2**20, gate), connect(gate.port) as connection:
        connection.sendall(data)
        sent = 0
        try:
            while sent < 100 * 2**20:
                sent += connection.send(b"x" * 2**16)
                if select.select([connection], [], [], 0)[0]:
                    break
        except ConnectionError:
            pass  # the answer is here all the same
        (answer,) = answers(connection.recv(2**16))
    assert_refused(answer, 431, "head-too-large")


def test_a_request_may_arrive_in_any_parts(gate: Served) -> None:
    requests = (
        b"\r\n"
        + GET
        + (POST + b"Content-Length: 16\r\n\r\n" + BODY)
        + (CHUNKED + b'4;name="value"\r\n{"in\r\n0000C\r\nputs":[[3]]}\r\n0\r\nX: 1\r\nY: 2\r\n\r\n')
        + (CHUNKED + b"10\r\n" + BODY + b"\r\n00\r\n\r\n")
        + LAST
    )
    for size in (1, 2, 7, 50, len(requests)):
        for tries in range(9):  # a busy machine may send more slowly than the gate waits for
            with suppress(ConnectionError):
                alive, *checked, last = ask(gate.port, *in_pieces(requests, size), pause=0.0005 if size > 1 else 0)
                break
            assert tries < 8
        assert (alive.body, last.body) == (b'{"status":"alive"}', b'{"status":"alive"}')
        assert [json.loads(answer.body)["outputs"][0]["shape"] for answer in checked] == [[3]] * 3


def test_small_chunks_are_allowed_if_they_are_few_or_others_are_large(gate: Served) -> None:
    small, large = b"1\r\n \r\n", b"1000\r\n" + b" " * 4096 + b"\r\n"
    for chunks in (small * 4095, large + small * 4100):
        (answer,) = ask(gate.port, CHUNKED + chunks + b"10\r\n" + BODY + b"\r\n0\r\n\r\n" + LAST, pause=0)[:1]
        assert json.loads(answer.body)["outputs"][0]["shape"] == [3]


def test_trailer_fields_are_not_taken_for_header_fields(gate: Served) -> None:
    trailer = b"0\r\nAccept: application/vnd.msgpack\r\nConnection: close\r\n\r\n"
    answer, _ = ask(gate.port, CHUNKED + b"10\r\n" + BODY + b"\r\n" + trailer + LAST)
    assert answer.headers["content-type"] == "application/json"


@cases("protocol", ["websocket", "h2c"])
def test_an_upgrade_header_is_ignored(gate: Served, protocol: str) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: " + protocol.encode() + b"\r\n"
    post = POST + upgrade + b"Content-Length: 16\r\n\r\n" + BODY
    assert [answer.status for answer in ask(gate.port, GET[:-2] + upgrade + b"\r\n" + post + LAST)] == [200, 200, 200]


# --- how long the parts may be

CHECK = b'{"inputs": [[3]]}'


def status(service: Served, *pieces: bytes) -> int:
    """Return the status of the response to data that is sent in these pieces."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(0.1 if len(pieces) > 1 else 0)
        return int(connection.recv(2**16).split()[1])


def test_a_header_block_has_at_most_its_limits_of_bytes_and_fields(service: Served) -> None:
    line = b"GET /livez HTTP/1.1\r\nHost: x\r\n"
    padding = grammar.HEAD_BYTES - len(line) - len(b"A: \r\n\r\n")
    assert status(service, line + b"A: " + b"a" * padding + b"\r\n\r\n") == 200
    assert status(service, line + b"A: " + b"a" * (padding + 1) + b"\r\n\r\n") == 431
    fields = grammar.HEAD_FIELDS - 1  # beside Host
    assert status(service, line + b"A: a\r\n" * fields + b"\r\n") == 200
    assert status(service, line + b"A: a\r\n" * (fields + 1) + b"\r\n") == 431


def test_trailer_fields_have_the_same_limits(service: Served) -> None:
    head = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"%x\r\n%b\r\n0" % (len(CHECK), CHECK)
    padding = grammar.HEAD_BYTES - len(b"\r\nA: \r\n\r\n")
    assert status(service, head + body + b"\r\nA: " + b"a" * padding + b"\r\n\r\n") == 200
    assert status(service, head + body + b"\r\nA: " + b"a" * (padding + 1) + b"\r\n\r\n") == 431


def test_a_chunk_line_in_parts_has_its_limit_of_bytes(service: Served) -> None:
    head = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    first = head + b"1\r\n" + CHECK[:1]
    for length, expected in (grammar.CHUNK_LINE_BYTES, 200), (grammar.CHUNK_LINE_BYTES + 1, 400):
        line = (b"\r\n%x;" % (len(CHECK) - 1)).ljust(length, b"x")
        assert status(service, first + line, b"\r\n" + CHECK[1:] + b"\r\n0\r\n\r\n") == expected
