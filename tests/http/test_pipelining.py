"""Tests of pipelined requests, which get their responses in order, some before the request is complete."""

from __future__ import annotations

import re
import time

from cases import cases
from conftest import SECONDS, Served
from raw_http import BODY, BROADCAST, DUE, GET, LAST, POST, answers, ask, at_most, connect, read_all


def test_pipelined_requests_are_answered_in_order(gate: Served) -> None:
    requests = [b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Request-ID: %d\r\n\r\n" % number for number in range(1000)]
    found = ask(gate.port, b"".join(requests) + LAST)
    assert [answer.headers["x-request-id"] for answer in found[:-1]] == [str(number) for number in range(1000)]


def test_a_repeated_request_gets_the_same_response_between_others(gate: Served) -> None:
    once = POST + b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
    said = ask(gate.port, *[once, GET] * 6, LAST, pause=0.02)[:-1:2]
    assert [answer.status for answer in said] == [200] * 6
    assert {answer.body for answer in said} == {said[0].body}
    assert len({answer.headers["x-request-id"] for answer in said}) == 6


def test_requests_with_unread_responses_are_not_queued(gate: Served) -> None:
    with at_most(16 * 2**20, gate), connect(gate.port) as connection:
        connection.sendall(BROADCAST)
        connection.setblocking(False)
        sent, flood, end = 0, GET * 2000, time.monotonic() + SECONDS / 2
        while time.monotonic() < end:
            try:
                sent += connection.send(flood)
            except BlockingIOError:
                time.sleep(0.01)
            except ConnectionError:  # on a busy machine, the time for the reader may end first
                break
    assert sent > 2**20


EARLY = {
    "too long": (POST + b"Content-Length: %d\r\n" % DUE, 413),
    "not there": (b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % DUE, 404),
    "not there, chunked": (b"POST /nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n", 404),
    "not for this method": (b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % DUE, 405),
    "of another type": (POST.replace(b"json", b"xml") + b"Content-Length: %d\r\n" % DUE, 415),
}


@cases(("head", "status"), EARLY.values(), ids=EARLY)
def test_an_early_response_closes_without_100_continue(gate: Served, head: bytes, status: int) -> None:
    (answer,) = ask(gate.port, head + b"Expect: 100-continue\r\n\r\n")
    assert (answer.status, answer.headers["connection"]) == (status, "close")


def test_a_response_after_the_complete_body_keeps_the_connection(gate: Served) -> None:
    missing = b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
    assert [answer.status for answer in ask(gate.port, missing + LAST)] == [404, 200]


def test_a_client_that_expects_100_continue_gets_it_once(gate: Served) -> None:
    with connect(gate.port) as connection:
        connection.sendall(POST + b"Connection: close\r\nExpect: 100-continue\r\nContent-Length: 16\r\n\r\n")
        assert re.fullmatch(rb"HTTP/1.1 100 Continue ?\r\n\r\n", connection.recv(2**16))
        connection.sendall(BODY)
        (answer,) = answers(read_all(connection))
    assert answer.status == 200
