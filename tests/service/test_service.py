"""A whole service: limits, request ids, readiness and drain."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
import time

import httpx
import msgpack
from conftest import PATIENCE, free_port, served, started, unhurried, wait_for
from http_requests import JSON
from raw_http import BROADCAST

from axiscast_service.http.timeouts import PARTIAL_REQUEST_SECONDS


def test_a_body_above_the_limit_is_refused_and_the_connection_closed() -> None:
    with served(max_body_bytes=1000) as small, httpx.Client(base_url=small.url) as http:
        assert http.post("/v1/check", json={"inputs": [[1] * 300]}).status_code in (200, 422)
        valid = b'{"inputs": [[3]]}'.ljust(1001)
        for content in (b"x" * 1001, valid, iter([b"x" * 600, b"x" * 600])):  # announced, and chunked
            answer = http.post("/v1/check", content=content, headers={"Content-Type": JSON})
            assert (answer.status_code, answer.json()["code"], answer.json()["limit"]) == (413, "body-too-large", 1000)
            assert answer.headers["connection"] == "close"


def test_requests_above_the_limit_get_a_retry_after_header() -> None:
    rows = {"requests": [{"inputs": [[8, 1, 6, 1], [7, 1, 5]]}] * 3000}
    ended = threading.Event()

    def keep_busy(url: str) -> None:
        while not ended.is_set():
            httpx.post(f"{url}/v1/check/batch", json=rows, timeout=PATIENCE)

    with served(max_concurrent_requests=1) as small, httpx.Client(base_url=small.url) as http:
        other = threading.Thread(target=keep_busy, args=[small.url])
        other.start()
        assert wait_for(lambda: http.get("/v1/ops").status_code == 503)
        while (answer := http.get("/v1/ops")).status_code == 200:
            pass
        assert http.get("/livez").status_code == 200
        assert http.get("/v1/check?input=3").status_code == 200  # the fast path needs no slot
        ended.set()
        other.join()
    assert (answer.status_code, answer.json()["code"]) == (503, "overloaded")
    assert answer.headers["retry-after"] == "1"


def test_a_response_that_is_being_sent_takes_no_slot() -> None:
    with served(max_concurrent_requests=1) as small, socket.create_connection(("127.0.0.1", small.port)) as held:
        held.sendall(BROADCAST)
        assert held.recv(12) == b"HTTP/1.1 200"
        with httpx.Client(base_url=small.url) as http:
            for path in ["/v1/ops", "/docs/swagger-ui-bundle.js", "/v1/check?input=N"] * 5:
                assert http.get(path).status_code == 200


def test_every_response_has_a_request_id(http: httpx.Client) -> None:
    assert http.get("/livez", headers={"X-Request-ID": "abc-123"}).headers["x-request-id"] == "abc-123"
    for given in ({}, {"X-Request-ID": "a b"}, {"X-Request-ID": "x" * 200}):
        made = http.get("/nothing", headers=given).headers["x-request-id"]
        assert len(made) == 32


def test_the_service_is_alive_and_ready(http: httpx.Client) -> None:
    assert http.get("/livez").json() == {"status": "alive"}
    assert http.get("/readyz").json() == {"status": "ready"}


def test_after_sigterm_it_is_not_ready_but_answers_until_the_drain_ends() -> None:
    def drain(seconds: float) -> None:
        with served(drain_seconds=int(seconds)) as draining, httpx.Client(base_url=draining.url) as http:
            assert "connection" not in http.get("/v1/check?input=3").headers
            draining.process.terminate()
            refused = http.get("/readyz")
            assert (refused.status_code, refused.json()["code"]) == (503, "shutting-down")
            answer = http.get("/v1/check?input=3")
            assert (answer.status_code, answer.headers["connection"]) == (200, "close")
            time.sleep(seconds / 2)
            assert httpx.get(f"{draining.url}/v1/check?input=3").status_code == 200
            assert draining.process.wait(timeout=PATIENCE) in (0, -15)

    unhurried(drain, 2)


def test_an_upload_may_end_until_the_finish_time_after_sigterm() -> None:
    """A short request has PARTIAL_REQUEST_SECONDS for its rest, a body above 64 KiB has finish_seconds."""
    body = msgpack.packb({"inputs": [{"dtype": "uint8", "shape": [300_000], "data": bytes(300_000)}]})
    head = b"POST /v1/broadcast HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\nContent-Length: %d\r\n\r\n"
    with served(finish_seconds=60) as ending, socket.create_connection(("127.0.0.1", ending.port)) as upload:
        upload.sendall(head % len(body) + body[:100_000])
        assert httpx.get(f"{ending.url}/readyz").status_code == 200
        ending.process.terminate()
        time.sleep(PARTIAL_REQUEST_SECONDS + 1)
        upload.sendall(body[100_000:])
        assert upload.recv(12) == b"HTTP/1.1 200"


def test_several_workers_report_that_they_run_only_when_they_answer() -> None:
    port = free_port()
    command = [sys.executable, "-m", "axiscast", "serve", "--workers", "2", "--port", str(port)]
    with started(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        seen = []
        for line in process.stderr:
            seen.append(line)
            if re.search(r"(?i)running", line):
                break
        assert re.fullmatch(rf"INFO: +running on http://127.0.0.1:{port} \(worker \d+\)\n", seen[-1])
        assert httpx.get(f"http://127.0.0.1:{port}/livez").status_code == 200
