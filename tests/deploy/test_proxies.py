"""The configurations of nginx and HAProxy, in front of services that are slow, busy or gone."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import PATIENCE, free_port, served, wait_for
from proxies import PROXIES, proxied


def directives(proxy: str, name: str) -> list[str]:
    """What the proxy's file says with the directives of this name."""
    return re.findall(rf"(?m)^\s*{name}\s+([^#;\n]*[^#;\s])", PROXIES[proxy])


class Backend(ThreadingHTTPServer):
    """A service whose /readyz responds after `seconds`. /busy always returns 503, and /late returns 408 once."""

    daemon_threads = True

    def __init__(self, seconds: float = 0) -> None:
        late = iter([408])

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path == "/readyz":
                    time.sleep(seconds)
                self.send_response(503 if self.path == "/busy" else next(late, 200) if self.path == "/late" else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self.shutdown()  # else it would spin to the end of the suite, on a socket that is closed
        super().__exit__()


def test_no_proxy_takes_a_busy_service_for_a_dead_one() -> None:
    assert directives("nginx", r"server 127\.0\.0\.1:\d+") == ["max_fails=0"] * 2
    assert directives("nginx", "proxy_connect_timeout") == ["1s"]
    assert directives("haproxy", "timeout check") == ["3s"]
    assert directives("haproxy", "default-server") == ["check inter 500ms fall 2 rise 1"]
    assert directives("haproxy", "balance") == ["leastconn"]


def test_every_proxy_sends_a_request_that_was_refused_for_now_to_the_other_service() -> None:
    assert "http_503" in directives("nginx", "proxy_next_upstream")[0].split()
    assert "non_idempotent" in directives("nginx", "proxy_next_upstream")[0].split()
    assert {"408", "503"} <= {*directives("haproxy", "retry-on")[0].split()}
    assert directives("haproxy", "option redispatch") == ["1"]


@pytest.mark.parametrize("proxy", PROXIES)
def test_an_honest_503_of_both_services_harms_nobody_else(proxy: str, tmp_path: Path) -> None:
    with Backend() as one, Backend() as other, proxied(proxy, tmp_path, [one.server_port, other.server_port]) as client:
        assert [client.get("/busy").status_code for _ in range(4)] == [503] * 4
        assert {client.get("/v1/ops").status_code for _ in range(20)} == {200}


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_service_that_is_slow_to_say_so_is_ready_all_the_same(proxy: str, tmp_path: Path) -> None:
    with (
        Backend(1) as one,
        Backend(1) as other,
        proxied(proxy, tmp_path, [one.server_port, other.server_port]) as client,
    ):
        end = time.monotonic() + 4  # several checks of each
        codes = set()
        while time.monotonic() < end:
            codes.add(client.get("/v1/ops").status_code)
            time.sleep(0.05)
    assert codes == {200}


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_service_that_is_gone_costs_nobody_an_answer(proxy: str, tmp_path: Path) -> None:
    with Backend() as one, proxied(proxy, tmp_path, [one.server_port, free_port()]) as client:
        assert {client.get("/v1/ops").status_code for _ in range(20)} == {200}


def test_haproxy_sends_a_request_that_timed_out_in_a_stall_to_the_other_service(tmp_path: Path) -> None:
    with (
        Backend() as one,
        Backend() as other,
        proxied("haproxy", tmp_path, [one.server_port, other.server_port]) as client,
    ):
        assert [client.get("/late").status_code for _ in range(4)] == [200] * 4


def test_haproxy_closes_connections_whose_header_block_arrives_slowly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert directives("haproxy", "timeout http-request") == ["10s"]
    shorter = PROXIES["haproxy"].replace("timeout http-request 10s", "timeout http-request 1s")
    monkeypatch.setitem(PROXIES, "haproxy", shorter)
    with (
        Backend() as one,
        Backend() as other,
        proxied("haproxy", tmp_path, [one.server_port, other.server_port]) as client,
        socket.create_connection((client.base_url.host, client.base_url.port or 80)) as slow,
    ):
        slow.settimeout(0.1)
        slow.sendall(b"GET /livez HTTP/1.1\r\nHost: ")
        received, end = b"", time.monotonic() + PATIENCE
        while not received and time.monotonic() < end:
            slow.sendall(b"a")
            with suppress(TimeoutError):
                received = slow.recv(2**16)
    assert received.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("proxy", PROXIES)
def test_requests_wait_for_two_services_that_stall(proxy: str, tmp_path: Path) -> None:
    """The stall is longer than the two checks with which HAProxy removes a service: 2 x 3 s, and 0.5 s between them."""
    checked, streamed = {"inputs": [[8, 1, 6], [7, 1]]}, {"inputs": [{"shape": [1], "dtype": "uint8", "data": [7]}]}
    streamed |= {"op": {"name": "numpy.broadcast_to", "shape": [2**22]}}
    headers = {"Accept": "application/vnd.msgpack"}
    with served() as one, served() as other, proxied(proxy, tmp_path, [one.port, other.port]) as front:
        seen: Counter[str] = Counter()
        stop = threading.Event()

        def ask(name: str, path: str, body: object) -> None:
            with httpx.Client(base_url=front.base_url, timeout=PATIENCE) as client:
                while not stop.is_set():
                    answer = client.post(path, json=body, headers=headers)
                    right = len(answer.content) > 2**22 if name == "streamed" else b"shape" in answer.content
                    seen[f"{name} {answer.status_code} {right}"] += 1
                    stop.wait(0.02)

        requests = [("checked", "/v1/check", checked), ("streamed", "/v1/broadcast", streamed)]
        askers = [threading.Thread(target=ask, args=each) for each in requests * 3]
        for asker in askers:
            asker.start()
        assert wait_for(lambda: seen.total() > 20)
        for service in (one, other):
            os.kill(service.process.pid, signal.SIGSTOP)
        try:
            for _ in range(18):  # new connections in the stall, beside those that wait
                time.sleep(0.5)
                askers.append(threading.Thread(target=ask, args=requests[0]))
                askers[-1].start()
        finally:
            for service in (one, other):
                os.kill(service.process.pid, signal.SIGCONT)
            before = seen.total()
            wait_for(lambda: seen.total() > before + 50)
            stop.set()
            for asker in askers:
                asker.join()
    assert seen.keys() == {"checked 200 True", "streamed 200 True"}
