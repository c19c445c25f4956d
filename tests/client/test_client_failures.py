"""Clients of a service that fails, stalls, is missing or responds wrongly: retries and exceptions."""

from __future__ import annotations

import copy
import json
import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
from cases import cases
from conftest import PATIENCE, free_port, served, unhurried
from peer import FITS
from test_client import BROADCAST, ROW, Sync

import axiscast
from axiscast import AsyncClient, Client


def test_an_unknown_problem_code_raises_service_problem_with_the_code() -> None:
    document = {"code": "not-acceptable", "detail": "neither JSON nor MessagePack", "supported": ["application/json"]}
    transport, _ = answers(httpx.Response(406, json=document))
    with Client(transport=transport, retries=0) as client, pytest.raises(axiscast.ServiceProblem) as caught:
        client.ops()
    problem = caught.value
    assert (type(problem), problem.code, problem.status) == (axiscast.ServiceProblem, "not-acceptable", 406)
    assert (str(problem), problem.facts) == ("neither JSON nor MessagePack", {"supported": ["application/json"]})


CONFLICT = {"axis": 0, "sizes": [3, 4], "inputs": [0, 1], "code": "size-mismatch", "message": "m", "hints": []}
DOCUMENT = {"detail": "d", "pointer": "/op", "limit": 1, "conflict": CONFLICT}
EXCEPTIONS = [
    *(axiscast.errors.problem_from(DOCUMENT | {"code": code}, 422) for code in ("", *axiscast.errors.BY_CODE)),
    axiscast.UnexpectedStatus("status 502", 502),
    axiscast.ConnectionFailed("no route", True),
    axiscast.DeadlineExceeded("no response within 1 s"),
    axiscast.InvalidAnswer("not MessagePack"),
    axiscast.UnusableModel("not ONNX", "a.onnx"),
]


@cases("error", EXCEPTIONS, ids=lambda error: type(error).__name__)
@cases("send", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy], ids=["pickled", "copied"])
def test_every_exception_arrives_from_another_process_with_its_attributes(
    error: axiscast.AxiscastError, send: Callable[[Any], Any]
) -> None:
    error.request_id = "a1"
    error.add_note("a note")
    received = send(error)
    assert (type(received), str(received), received.args) == (type(error), str(error), error.args)
    assert vars(received) == vars(error)
    assert received.request_id == "a1"


OLD = {
    "version": "0.0.9",
    "code": "unknown-op",
    "message": "no such op (the service is axiscast 0.0.9, older than this client)",
}


VERSIONS = [
    OLD,
    {**OLD, "version": "0.1.0", "message": "no such op"},
    {**OLD, "version": "12.3", "message": "no such op"},
    {**OLD, "version": "a proxy's own", "message": "no such op"},
    {**OLD, "code": "work-too-large", "message": "no such op"},  # an older service sends nothing else
]


@cases("case", VERSIONS, ids=str)
def test_an_error_of_an_older_service_names_its_version(case: dict[str, str]) -> None:
    headers = {"Axiscast-Version": case["version"]}
    transport, _ = answers(httpx.Response(422, json={"code": case["code"], "detail": "no such op"}, headers=headers))
    with Client(transport=transport) as client, pytest.raises(axiscast.ServiceProblem) as caught:
        client.ops()
    assert (str(caught.value), caught.value.detail) == (case["message"], "no such op")


def answers(*responses: httpx.Response | Exception) -> tuple[httpx.MockTransport, list[httpx.Request]]:
    """Return a transport that returns these responses in turn, and then the last one again."""
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        response = responses[min(len(seen), len(responses)) - 1]
        if isinstance(response, Exception):
            raise response
        return httpx.Response(response.status_code, headers=response.headers, content=response.content)

    return httpx.MockTransport(handle), seen


def packed(value: Any, status: int = 200) -> httpx.Response:
    return httpx.Response(status, content=msgpack.packb(value), headers={"content-type": "application/vnd.msgpack"})


GOOD = packed(FITS)


BUSY = httpx.Response(503, json={"code": "overloaded", "detail": "busy"}, headers={"retry-after": "0"})


@cases("first", [BUSY, httpx.ConnectError("refused"), httpx.ReadError("reset"), httpx.Response(502)])
def test_a_temporary_failure_is_retried(first: Any) -> None:
    transport, seen = answers(first, GOOD)
    with Client(transport=transport) as client:
        assert client.can_broadcast((3,))
    assert len(seen) == 2


def test_retry_after_is_honoured() -> None:
    transport, _ = answers(httpx.Response(503, headers={"retry-after": "1"}), GOOD)
    start = time.monotonic()
    with Client(transport=transport) as client:
        assert client.can_broadcast((3,))
    assert time.monotonic() - start >= 1


def test_a_retry_after_beyond_the_deadline_ends_the_call() -> None:
    busy = httpx.Response(503, json={"code": "overloaded"}, headers={"retry-after": "3600"})
    transport, seen = answers(busy)
    with Client(transport=transport) as client, pytest.raises(axiscast.Overloaded):
        client.can_broadcast((3,))
    assert len(seen) == 1


def test_the_number_of_retries_is_limited() -> None:
    transport, seen = answers(BUSY)
    with Client(transport=transport, retries=3) as client, pytest.raises(axiscast.Overloaded):
        client.can_broadcast((3,))
    assert len(seen) == 4


def test_a_permanent_failure_is_not_retried() -> None:
    transport, seen = answers(httpx.Response(422, json={"code": "invalid-request", "detail": "no"}))
    with Client(transport=transport) as client, pytest.raises(axiscast.InvalidRequest, match="no"):
        client.can_broadcast((3,))
    assert len(seen) == 1


def test_a_timeout_is_not_retried() -> None:
    transport, seen = answers(httpx.ReadTimeout("the transport's own"), GOOD)
    with Client(transport=transport) as client, pytest.raises(axiscast.DeadlineExceeded, match="ReadTimeout"):
        client.can_broadcast((3,))
    assert len(seen) == 1


def tensor(**fields: Any) -> httpx.Response:
    return packed({"broadcast_inputs": [{"dtype": "float32", "shape": [2], "data": bytes(8)} | fields]})


LIES = {
    "a page": httpx.Response(200, html="<p>hello"),
    "too few bytes": tensor(data=bytes(4)),
    "too many bytes": tensor(data=bytes(12)),
    "an impossible bool": tensor(dtype="bool", data=b"\x01\x02"),
    "an unknown dtype": tensor(dtype="float99"),
    "a petabyte": tensor(shape=[2**50]),
    "a negative size": tensor(shape=[-2]),
    "reach beyond the data": tensor(shape=[2, 3], strides=[1, 1], data=bytes(8)),
    "no data": packed({"broadcast_inputs": [{"dtype": "float32", "shape": [2]}]}),
    "data that is a list of numbers": tensor(data=[1, 2]),
    "another field": packed({"results": []}),
    "truncated": httpx.Response(
        200, content=b"\x81\xb0broadcast_inputs\x91", headers={"content-type": "application/msgpack"}
    ),
    "a length of many digits": httpx.Response(
        200, content=b"\x80", headers={"content-type": "application/vnd.msgpack", "content-length": "9" * 5000}
    ),
    "an empty body": httpx.Response(200, headers={"content-type": "application/vnd.msgpack"}),
}


@cases("lie", LIES.values(), ids=LIES)
def test_a_response_in_another_format_raises_invalid_answer(lie: httpx.Response) -> None:
    if lie.headers.get("content-type") == "application/msgpack":
        lie.headers["content-type"] = "application/vnd.msgpack"
    transport, _ = answers(lie)
    with Client(transport=transport, retries=0) as client, pytest.raises(axiscast.InvalidAnswer):
        client.broadcast_to(ROW, (2,))


STATUSES = {
    "a redirect": httpx.Response(302, headers={"location": "https://example.org"}),
    "no problem document": httpx.Response(418, text="teapot"),
    "a problem that is a list": httpx.Response(422, json=[1]),
}


@cases("response", STATUSES.values(), ids=STATUSES)
def test_a_status_without_a_problem_document_raises_unexpected_status(response: httpx.Response) -> None:
    transport, _ = answers(response)
    with Client(transport=transport) as client, pytest.raises(axiscast.UnexpectedStatus) as caught:
        client.broadcast_to(ROW, (2,))
    assert caught.value.status == response.status_code


@contextmanager
def scripted(*answers: bytes, then: Callable[[socket.socket], None] = lambda connection: None) -> Iterator[str]:
    """Run a server that reads a request on each connection, sends these bytes, and then calls `then` or closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)
                    then(connection)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(timeout=PATIENCE)
        assert not thread.is_alive()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.msgpack\r\nContent-Length: %d\r\n\r\n"


BODY = bytes(msgpack.packb({"broadcast_inputs": [{"dtype": "uint8", "shape": [100], "data": bytes(100)}]}))


@cases("sent", [b"", b"HTTP/1.1 200", b"nonsense\r\n\r\n", HEAD % len(BODY), HEAD % len(BODY) + BODY[:-50]])
@cases("make", [Client, lambda *a, **k: Sync(lambda: AsyncClient(*a, **k))], ids=["sync", "async"])
def test_a_truncated_response_raises_an_axiscast_error(make: Any, sent: bytes) -> None:
    with scripted(sent) as url:
        client = make(url, retries=0)
        with pytest.raises((axiscast.InvalidAnswer, axiscast.ConnectionFailed)):
            client.broadcast_to(np.zeros(1, np.uint8), (100,))
        client.close()


def test_a_truncated_response_is_requested_again_and_fills_out() -> None:
    full = bytes(msgpack.packb({"broadcast_inputs": [{"dtype": "uint8", "shape": [100], "data": bytes(range(100))}]}))
    out = np.full(100, 255, np.uint8)
    with scripted(HEAD % len(full) + full[:-50], HEAD % len(full) + full) as url, Client(url) as client:
        client.broadcast(axiscast.numpy.broadcast_to(shape=(100,)), np.zeros(1, np.uint8), out=out)
    assert out.tolist() == list(range(100))


@cases("make", [Client, lambda *a, **k: Sync(lambda: AsyncClient(*a, **k))], ids=["sync", "async"])
@cases("sent", [b"", HEAD % 1000 + b"\x81"], ids=["no head", "no body"])
def test_a_stalled_response_ends_at_the_deadline(make: Any, sent: bytes) -> None:
    def claim(seconds: float) -> None:
        released = threading.Event()
        with scripted(sent, then=lambda connection: released.wait(PATIENCE) and None) as url:
            client = make(url, timeout=seconds)
            with pytest.raises(axiscast.DeadlineExceeded, match=rf"{seconds:g} s"):
                client.broadcast_to(ROW, (3,))
            released.set()
            client.close()

    unhurried(claim, 0.5)


def test_a_trickling_response_ends_at_the_deadline() -> None:
    def trickle(connection: socket.socket) -> None:
        with suppress(OSError):  # the client closes the connection, as expected
            for _ in range(900):
                connection.sendall(b"\0")
                time.sleep(0.05)
            pytest.fail("the client did not leave")

    with (
        scripted(HEAD % 1000 + b"\x81\xb0broadcast_inputs\x91", then=trickle) as url,
        Client(url, timeout=0.5, retries=0) as client,
        pytest.raises((axiscast.DeadlineExceeded, axiscast.InvalidAnswer)),
    ):
        client.check(BROADCAST, (3,))


def test_a_missing_service_raises_connection_failed() -> None:
    with (
        Client(f"http://127.0.0.1:{free_port()}", retries=1) as client,
        pytest.raises(axiscast.ConnectionFailed, match="is the service running"),
    ):
        client.ops()


def test_after_a_service_dies_in_a_response_the_next_call_works() -> None:
    with served() as doomed, Client(doomed.url, retries=0) as client:

        def kill(transfer: axiscast.Transfer) -> None:
            if transfer.direction == "download":
                doomed.process.kill()

        with pytest.raises((axiscast.InvalidAnswer, axiscast.ConnectionFailed)):
            client.with_options(progress=kill).broadcast(axiscast.numpy.broadcast_to(shape=(2**28, 3)), ROW)
        with pytest.raises(axiscast.ConnectionFailed):
            client.ops()


def test_problems_in_json_are_read_although_only_messagepack_is_requested() -> None:
    transport, seen = answers(httpx.Response(500, content=json.dumps({"code": "internal", "detail": "x"}).encode(),
                                             headers={"content-type": "application/problem+json"}))  # fmt: skip
    with Client(transport=transport) as client, pytest.raises(axiscast.InternalError):
        client.ops()
    assert seen[0].headers["accept"] == "application/vnd.msgpack"


def test_a_compressed_response_is_rejected_before_decompression() -> None:
    transport, _ = answers(httpx.Response(200, content=b"", headers={"content-encoding": "gzip"}))
    with Client(transport=transport, retries=0) as client, pytest.raises(axiscast.InvalidAnswer, match="compressed"):
        client.ops()
