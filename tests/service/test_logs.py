"""The log: its formats, the access log, and no content of requests."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import socket
from pathlib import Path
from typing import Any

import httpx
import msgpack
import pytest
from cases import cases
from conftest import PATIENCE, Served, served, wait_for

from axiscast_service.app import create_app
from axiscast_service.endpoints import check
from axiscast_service.logs import Formatter, RateLimitedLog, text_line, trace_ids_of
from axiscast_service.middleware.client_facts import ClientFacts, joined_fields
from axiscast_service.serve import verify_settings
from axiscast_service.settings import Settings

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
KEY = "sentinel-0123456789abcdef"


def log_of(running: Served) -> str:
    """Return the stderr output of a service that has ended."""
    return running.end()


def lines(log: str, message: str = "answered") -> list[dict[str, Any]]:
    every = [json.loads(line) for line in log.splitlines()]
    assert all(set(line) >= {"time", "level", "message"} for line in every)
    return [line for line in every if line["message"] == message]


def test_a_request_is_one_json_line_in_the_log(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"alice:{KEY}\n")
    with served(access_log="true", log_format="json", api_keys_file=keys) as running:
        with httpx.Client(base_url=running.url, headers={"Authorization": f"Bearer {KEY}"}) as http:
            headers = {"X-Request-ID": "mine-1", "traceparent": PARENT, "User-Agent": "mine/1 (\xe9)".encode("latin-1")}
            answer = http.post("/v1/check", json={"inputs": [[3], [1]]}, headers=headers)
            http.get("/v1/ops/torch.expnd", headers={"X-Request-ID": "mine-2"})
            http.head("/v1/check?input=3", headers={"X-Request-ID": "mine-3"})
            http.get("/v1/ops", headers={"X-Request-ID": "mine-4", "Authorization": "Bearer wrong"})
        found = lines(log_of(running))
    assert [line.pop("seconds") < PATIENCE for line in found] == [True] * 4
    assert [line.pop("client") for line in found] == ["127.0.0.1"] * 4
    agent = f"python-httpx/{httpx.__version__}"
    assert [line.pop("user_agent") for line in found] == ["mine/1 (\xe9)", agent, agent, agent]
    assert all(line.pop("time").startswith("20") for line in found)
    assert found == [
        {"level": "info", "message": "answered", "method": "POST", "route": "/v1/check", "status": 200,
         "bytes": len(answer.content), "request_id": "mine-1", "trace_id": TRACE, "key": "alice"},
        {"level": "info", "message": "answered", "method": "GET", "route": "/v1/ops/{name}", "status": 404,
         "code": "not-found", "bytes": found[1]["bytes"], "request_id": "mine-2", "key": "alice"},
        {"level": "info", "message": "answered", "method": "HEAD", "route": "/v1/check", "status": 200,
         "bytes": 0, "request_id": "mine-3", "key": "alice"},
        {"level": "info", "message": "answered", "method": "GET", "status": 401,
         "code": "unauthenticated", "bytes": found[3]["bytes"], "request_id": "mine-4"},
    ]  # fmt: skip


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_the_log_contains_no_data_from_clients(log_format: str, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"alice:{KEY}\n")
    with served(access_log="true", log_format=log_format, api_keys_file=keys) as running:
        with httpx.Client(base_url=running.url, headers={"Authorization": f"Bearer {KEY}"}) as http:
            http.get("/v1/check?input=sentinel&assume=sentinel")
            http.get("/v1/ops/sentinel%0Asentinel")
            http.get("/sentinel%0d%0aINFO:%20sentinel")
            http.request("PURGE", "/sentinel")
            http.post("/v1/check", json={"inputs": "sentinel", "sentinel": 1})
            http.post("/v1/check", content=b"sentinel", headers={"Content-Type": "sentinel/sentinel"})
            http.get(
                "/v1/ops",
                headers={"X-Request-ID": "senti\tnel", "traceparent": "sentinel", "X-Forwarded-For": "sentinel"},
            )
            http.get("/v1/ops", headers={"Authorization": "Bearer sentinel"})
        log = log_of(running)
    assert log.count("answered") == 8
    assert "sentinel" not in log
    assert "senti" not in log
    if log_format == "text":
        assert all(
            line.startswith(("INFO:     ", "axiscast on", "  curl ", "    -d ")) for line in log.splitlines() if line
        )


def test_probes_are_logged_only_if_they_fail() -> None:
    with served(access_log="true", log_format="json", drain_seconds=600) as running:
        for path in ("/livez", "/readyz", "/metrics"):
            assert httpx.get(running.url + path).status_code == 200
        running.process.terminate()
        assert wait_for(lambda: httpx.get(f"{running.url}/readyz").status_code != 200)
        found = lines(running.end())
    assert {(line["route"], line["status"], line["code"], line["level"]) for line in found} == {
        ("/readyz", 503, "shutting-down", "warning")
    }


def test_an_incomplete_response_is_logged() -> None:
    op = {"name": "numpy.broadcast_to", "shape": [2**33]}
    body = msgpack.packb({"op": op, "inputs": [{"dtype": "uint8", "shape": [], "data": b"x"}]})
    headers = {"Content-Type": "application/msgpack"}
    with served(access_log="true", log_format="json") as running:
        with httpx.stream("POST", f"{running.url}/v1/broadcast", content=body, headers=headers) as answer:
            next(answer.iter_raw())
        (line,) = lines(log_of(running), "incomplete response")
    assert (line["route"], line["status"]) == ("/v1/broadcast", 200)
    assert 0 < line["bytes"] < 2**33


HEAD = b"POST /v1/broadcast HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\nContent-Length: %d\r\n\r\n"


def test_an_upload_that_the_connection_refuses_is_logged_with_the_status_that_the_client_received() -> None:
    """The shutdown cancels the application, so the connection sends the response."""
    with served(access_log="true", log_format="json", finish_seconds=1, request_seconds=600) as running:
        with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as upload:
            upload.sendall(HEAD % 10**7 + bytes(300_000))
            assert wait_for(lambda: in_flight(running) == 2)  # the upload, and GET /metrics
            running.process.terminate()
            assert upload.recv(12) == b"HTTP/1.1 503"
        (line,) = lines(log_of(running))[-1:]
    assert (line["route"], line["status"], line["code"]) == ("/v1/broadcast", 503, "shutting-down")
    assert (line["level"], "bytes" in line) == ("warning", False)


def test_an_upload_that_is_too_slow_is_logged_with_the_status_408() -> None:
    with served(access_log="true", log_format="json", request_seconds=1) as running:
        with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as upload:
            upload.sendall(HEAD % 10**7 + bytes(300_000))
            assert upload.recv(12) == b"HTTP/1.1 408"
        (line,) = lines(log_of(running))
    assert (line["route"], line["status"], line["code"]) == ("/v1/broadcast", 408, "request-timeout")


def in_flight(running: Served) -> float:
    """Return the number of requests in flight."""
    text = httpx.get(f"{running.url}/metrics").text
    values = re.findall(r"(?m)^http_server_active_requests\{.*\} (\S+)$", text)
    return sum(map(float, values))


def test_without_an_access_log_requests_are_not_logged() -> None:
    with served() as running:
        httpx.get(f"{running.url}/v1/check?input=3")
        log = log_of(running)
    assert "/v1/check?input=8x1x6x1" in log  # what it greets with
    assert "answered" not in log


def ask(settings: Settings) -> httpx.Response:
    """Send a check to the application in this process. Exceptions of the application are raised here."""

    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(settings))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as http:
            return await http.get("/v1/check?input=3", headers={"traceparent": PARENT, "X-Request-ID": "mine"})

    return asyncio.run(get())


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_the_cause_of_a_failure_is_only_in_the_log(log_format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise RuntimeError("the cause\nINFO: not a line of its own")

    monkeypatch.setattr(check, "answer_fields", fail)
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(Formatter(log_format))
    logger = logging.getLogger("axiscast")
    logger.addHandler(handler)

    try:
        answer = ask(Settings())
    finally:
        logger.removeHandler(handler)
    assert (answer.status_code, answer.json()["code"], answer.json()["request_id"]) == (500, "internal", "mine")
    assert "the cause" not in answer.text.replace("has the cause", "")
    log = handler.stream.getvalue()
    if log_format == "json":
        (line,) = lines(log, "request mine failed")
        assert (line["level"], line["request_id"], line["trace_id"]) == ("error", "mine", TRACE)
        assert line["exception"].startswith("Traceback (most recent call last):\n")
        assert "RuntimeError: the cause\nINFO: not a line" in line["exception"]
    else:
        assert log.startswith(f"ERROR:    request mine failed request_id=mine trace_id={TRACE}\nTraceback (most recent")
        assert "RuntimeError: the cause\n" in log


TRACEPARENTS = {
    PARENT: TRACE,
    f"01-{TRACE}-00f067aa0ba902b7-00": TRACE,
    f"ff-{TRACE}-00f067aa0ba902b7-01": None,
    f"00-{TRACE.upper()}-00f067aa0ba902b7-01": None,
    f"00-{'0' * 32}-00f067aa0ba902b7-01": None,
    f"00-{TRACE}-{'0' * 16}-01": None,
    f"00-{TRACE}-00f067aa0ba902b7": None,
    f"00-{TRACE}-00f067aa0ba902b7-01-more": None,
    f"00-{TRACE}0-00f067aa0ba902b7-01": None,
    f"{PARENT}\n": None,
    "": None,
    "x" * 10_000: None,
}


@cases(("header", "trace_id"), TRACEPARENTS.items())
def test_a_trace_id_is_read_only_from_a_valid_traceparent(header: str, trace_id: str | None) -> None:
    headers = [(b"host", b"x"), (b"traceparent", header.encode())]
    assert trace_ids_of(joined_fields(headers)) == ({"trace_id": trace_id} if trace_id else {})
    assert trace_ids_of(joined_fields([*headers, headers[1]])) == {}
    assert trace_ids_of({}) == {}


def test_the_log_has_one_of_two_formats() -> None:
    with pytest.raises(ValueError, match="AXISCAST_LOG_FORMAT must be text or json, not 'xml'"):
        Settings.from_environment({"AXISCAST_LOG_FORMAT": "xml"})


# --- the client ---


@cases(
    ("trusted", "peer", "forwarded", "address"),
    [
        ("", "192.0.2.1", "203.0.113.9", "192.0.2.1"),  # no proxy is trusted
        ("10.0.0.0/8", "192.0.2.1", "203.0.113.9", "192.0.2.1"),  # this one is not
        ("10.0.0.0/8", "10.0.0.1", "203.0.113.9", "203.0.113.9"),
        # The client has sent 203.0.113.9 itself. The trusted proxy has added 198.51.100.7.
        ("10.0.0.0/8", "10.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        ("10.0.0.0/8", "10.0.0.1", "203.0.113.9,198.51.100.7 , 10.0.0.2", "198.51.100.7"),
        ("10.0.0.0/8, 198.51.100.7", "10.0.0.1", "203.0.113.9,198.51.100.7", "203.0.113.9"),
        ("10.0.0.0/8", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),  # all are proxies
        ("10.0.0.0/8", "10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.0/8", "10.0.0.1", "203.0.113.9, unknown", "10.0.0.1"),
        ("10.0.0.0/8", "10.0.0.1", "203.0.113.9:4711", "203.0.113.9"),
        ("10.0.0.0/8", "10.0.0.1", "[2001:db8::9]:4711", "2001:db8::9"),
        ("10.0.0.0/8", "10.0.0.1", "2001:DB8::9", "2001:db8::9"),
        ("10.0.0.0/8", "::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("fe80::/10", "fe80::1%eth0", "203.0.113.9", "203.0.113.9"),
    ],
)
def test_a_forwarded_address_counts_only_if_a_trusted_proxy_has_added_it(
    trusted: str, peer: str, forwarded: str, address: str
) -> None:
    facts = ClientFacts(with_address=True, trusted_proxies=trusted)
    assert facts((peer, 1234), {b"x-forwarded-for": forwarded.encode()})["client"] == address


def test_the_address_can_be_left_out_and_a_unix_socket_has_none() -> None:
    fields = {b"x-forwarded-for": b"203.0.113.9", b"user-agent": b"a" * 1000}
    assert ClientFacts(False, "192.0.2.1")(("192.0.2.1", 1), fields) == {"client": None, "user_agent": "a" * 200}
    assert ClientFacts(True, "192.0.2.1")(None, fields)["client"] is None


def test_trusted_proxies_that_are_not_addresses_are_an_error() -> None:
    with pytest.raises(
        ValueError, match=r"AXISCAST_TRUSTED_PROXIES must list addresses and networks: 'proxy' does not"
    ):
        verify_settings(Settings(trusted_proxies="10.0.0.0/8,proxy"))


@cases("path", ["/v1/check?input=3", "/v1/ops"], ids=["fast path", "normal path"])
def test_the_log_has_the_client_behind_a_trusted_proxy(path: str) -> None:
    with served(access_log="true", log_format="json", trusted_proxies="127.0.0.1") as running:
        httpx.get(running.url + path, headers={"X-Forwarded-For": "203.0.113.9", "User-Agent": "curl/8"})
        two = [("X-Forwarded-For", "203.0.113.9"), ("X-Forwarded-For", "198.51.100.7"), ("User-Agent", "curl/9")]
        httpx.get(running.url + path, headers=two)
        found = lines(log_of(running))
    assert [(line["client"], line["user_agent"]) for line in found] == [
        ("203.0.113.9", "curl/8"),
        ("198.51.100.7", "curl/9"),
    ]


def test_a_user_agent_cannot_imitate_a_field_of_a_text_line() -> None:
    assert text_line(0, "INFO", "answered", {"status": 200, "user_agent": "x status=500\n"}) == (
        'INFO:     answered status=200 user_agent="x status=500\\n"'
    )


# --- refused requests ---


def refused(running: Served, data: bytes) -> str:
    """Send data that is refused, and return the request id in the response."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as connection:
        connection.sendall(data)
        response = connection.recv(4096).decode("latin-1")
    (request_id,) = re.findall(r"x-request-id: (\S+)\r", response)
    return request_id


def test_a_refused_request_is_logged_with_the_id_in_its_response() -> None:
    with served(log_format="json") as running:
        malformed = refused(running, b"GET /livez HTTP/1.1\r\nUser-Agent: odd/1\r\nbad line\r\n\r\n")
        long = refused(running, b"GET / HTTP/1.1\r\nHost: x\r\nX-Request-ID: mine\r\n" + b"X: " + b"x" * 2**15)
        found = lines(log_of(running), "refused")
    assert long == "mine"
    assert [(line["code"], line["request_id"], line["client"]) for line in found] == [
        ("malformed-request", malformed, "127.0.0.1"),
        ("head-too-large", "mine", "127.0.0.1"),
    ]
    assert found[0]["user_agent"] == "odd/1"
    assert found[0]["detail"].startswith("the header block is not valid HTTP/1.1: ")


def test_refused_requests_are_logged_once_per_second_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = [100.0]
    log = RateLimitedLog(lambda: now[0])
    for now[0] in (100.0, 100.1, 100.9, 101.0, 101.5, 102.5):
        log.log("refused", {"request_id": now[0]})
    assert [record.__dict__["facts"] for record in caplog.records] == [
        {"request_id": 100.0},
        {"request_id": 101.0, "left_out": 2},
        {"request_id": 102.5, "left_out": 1},
    ]


def test_the_response_to_a_refused_upload_has_the_id_of_its_log_line() -> None:
    with served(access_log="true", log_format="json", request_seconds=1) as running:
        request_id = refused(running, HEAD % 10**7 + bytes(300_000))
        found = [json.loads(line) for line in log_of(running).splitlines()]
    named = [line for line in found if line.get("request_id") == request_id]
    assert [(line["message"], line["status"]) for line in named] == [("answered", 408)]
