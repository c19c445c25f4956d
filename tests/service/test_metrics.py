"""Metrics in the format of Prometheus, with one worker and with several."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
from cases import cases
from conftest import Served, run, served, wait_for

import axiscast
from axiscast_service import app as application
from axiscast_service import components
from axiscast_service.settings import Settings

pytest.importorskip("prometheus_client")

from prometheus_client.parser import text_string_to_metric_families

from axiscast_service.metrics import REASONS, Metrics

COUNT = "http_server_request_duration_seconds_count"
ACTIVE = "http_server_active_requests"
PROBLEMS = "axiscast_problems_total"


@pytest.fixture
def watched() -> Iterator[Served]:
    with served() as running:
        yield running


def read(url: str) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the values of each metric, keyed by the label values in order. The label `le` is ignored."""
    answer = httpx.get(f"{url}/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(value for _, value in sorted(sample.labels.items()))] = sample.value
    return found


def told(url: str, name: str) -> dict[tuple[str, ...], float]:
    """Return the nonzero values of a metric, except the values of probes."""
    values = read(url).get(name, {})
    return {labels: value for labels, value in values.items() if value and "/readyz" not in labels}


def test_each_request_is_counted_by_method_status_and_route(watched: Served) -> None:
    start = time.monotonic()
    for _ in range(3):
        httpx.get(f"{watched.url}/v1/check?input=3")
    httpx.post(f"{watched.url}/v1/check", json={"inputs": [[3], [4]]})
    httpx.post(f"{watched.url}/v1/check", json={"inputs": "3"})
    for name in ("numpy.broadcast_to", "torch.expand", "nothing"):
        httpx.get(f"{watched.url}/v1/ops/{name}")
    assert told(watched.url, COUNT) == {
        ("GET", "200", "/v1/check"): 3,
        ("POST", "200", "/v1/check"): 1,
        ("POST", "422", "/v1/check"): 1,
        ("GET", "200", "/v1/ops/{name}"): 2,
        ("GET", "404", "/v1/ops/{name}"): 1,
    }
    assert told(watched.url, PROBLEMS) == {("invalid-request",): 1, ("not-found",): 1}
    assert told(watched.url, ACTIVE) == {("GET",): 1}  # the one that asks
    total = sum(told(watched.url, "http_server_request_duration_seconds_sum").values())
    assert 0 < total < time.monotonic() - start  # a duration may end after the client has the response


def test_unknown_paths_and_unknown_methods_have_one_label_value_each(watched: Served) -> None:
    before = len(told(watched.url, COUNT))
    with httpx.Client(base_url=watched.url) as http:
        for number in range(20):
            assert http.get(f"/nothing/{number}").status_code == 404
            assert http.request("PROPFIND", f"/{number}").status_code in (404, 405)
            assert http.request("PURGE", f"/{number}").status_code in (404, 405)
    after = told(watched.url, COUNT)
    assert after["GET", "404", ""] == 20
    assert sum(value for (method, _, route), value in after.items() if (method, route) == ("_OTHER", "")) == 40
    assert len(after) <= before + 3


def stream(url: str, elements: int) -> Any:
    op = {"name": "numpy.broadcast_to", "shape": [elements]}
    body = msgpack.packb({"op": op, "inputs": [{"dtype": "uint8", "shape": [], "data": b"x"}]})
    return httpx.stream("POST", f"{url}/v1/broadcast", content=body, headers={"Content-Type": "application/msgpack"})


def test_a_stream_is_in_flight_until_its_last_byte(watched: Served) -> None:
    with stream(watched.url, 64 * 2**20) as answer:
        assert told(watched.url, ACTIVE) == {("GET",): 1, ("POST",): 1}
        assert ("POST", "200", "/v1/broadcast") not in told(watched.url, COUNT)
        time.sleep(0.5)
        length = sum(map(len, answer.iter_raw()))
    assert length == int(answer.headers["content-length"]) > 64 * 2**20
    strided = {"inputs": [{"shape": [3], "data": [1, 2, 3]}], "layout": "strided"}
    small = httpx.post(f"{watched.url}/v1/broadcast", json=strided).content
    assert wait_for(lambda: ("POST",) not in told(watched.url, ACTIVE))  # the client may be faster than the service
    found = read(watched.url)
    assert found["http_server_request_duration_seconds_sum"]["POST", "200", "/v1/broadcast"] > 0.5
    assert found["axiscast_output_bytes_total"] == {("dense",): length, ("strided",): len(small)}
    assert found["axiscast_unfinished_answers_total"] == {(): 0}
    assert found[ACTIVE]["POST",] == 0


def test_a_response_that_is_not_read_completely_is_counted(watched: Served) -> None:
    with stream(watched.url, 2**33) as answer:
        next(answer.iter_raw())
    assert wait_for(lambda: bool(told(watched.url, "axiscast_unfinished_answers_total")))
    found = read(watched.url)
    assert found[COUNT]["POST", "200", "/v1/broadcast"] == 1
    assert 0 < found["axiscast_output_bytes_total"]["dense",] < 2**33
    assert found[ACTIVE]["POST",] == 0


def test_the_versions_are_the_labels_of_one_metric(service: Served) -> None:
    text = httpx.get(f"{service.url}/metrics").text
    python = ".".join(map(str, sys.version_info[:3]))
    labels = f'{{numpy="{np.__version__}",python="{python}",version="{axiscast.__version__}"}}'
    assert re.findall(r"(?m)^axiscast_build_info.*$", text) == [f"axiscast_build_info{labels} 1.0"]


def test_a_route_adds_few_series_and_the_duration_of_a_check_is_not_below_all_buckets() -> None:
    metrics = Metrics(lambda: 0, 1)
    metrics.answered("POST", "/v1/check", 200, 0.00004)
    metrics.answered("POST", "/v1/check", 200, 0.00008)
    lines = re.findall(r"(?m)^http_server_request_duration_seconds_\w+\{.*", metrics.exposition().decode())
    assert len(lines) == 14
    counts = {le: value for line in lines for le, value in re.findall(r'le="(.+?)".* (\S+)$', line)}
    assert (counts["5e-05"], counts["0.0001"], counts["60.0"]) == ("1.0", "2.0", "2.0")


def test_the_reasons_for_refused_connections_are_those_in_the_code_of_the_connection() -> None:
    folder = Path(__file__).parents[2] / "service/axiscast_service/http"
    found = {"malformed-request"} if "malformed_request(" in (folder / "grammar.py").read_text() else set()
    for path in folder.glob("*.py"):
        found |= set(re.findall(r'(?:\bProblem|\bcut|\brefused)\(\s*"([a-z-]+)"', path.read_text()))
    assert set(REASONS) == found


def test_the_operations_page_lists_every_metric_with_its_help_text(service: Served) -> None:
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (gauge|counter|histogram) \|(.*)\| (.+) \|$", page, re.MULTILINE)
    listed = {(name, kind, tuple(re.findall(r"\w+", labels)), text) for name, kind, labels, text in rows}
    found = {
        (f"{family.name}_total" if family.type == "counter" else family.name, family.type, labels, family.documentation)
        for family in text_string_to_metric_families(httpx.get(f"{service.url}/metrics").text)
        for labels in {tuple(sorted(sample.labels.keys() - {"le"})) for sample in family.samples}
    }
    assert listed == {metric for metric in found if not metric[0].startswith(("process_", "python_"))}


# --- several workers ------------------------------------------------------------------------------


def workers_of(running: Served) -> list[int]:
    pid = running.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_each_worker_reports_all_workers_and_cleans_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with served(workers=2) as running:
        asked = 0

        def both_have_answered() -> bool:
            nonlocal asked
            for _ in range(40):  # a new connection each: the kernel gives them to one worker or the other
                httpx.get(f"{running.url}/v1/check?input=3")
            asked += 40
            return len(list(tmp_path.glob("axiscast-metrics-*/histogram_*.db"))) == 2

        assert wait_for(both_have_answered)  # the other may begin later

        def counted() -> float:
            return told(running.url, COUNT)["GET", "200", "/v1/check"]

        assert wait_for(lambda: counted() == asked)  # a busy worker counts its response after the client has read it
        assert {counted() for _ in range(8)} == {asked}

        # A worker that is killed in the middle of its work leaves nothing in work, and what it did counts on.
        streams = [stream(running.url, 2**33) for _ in range(4)]
        for one in streams:
            one.__enter__()
        assert told(running.url, ACTIVE)["POST",] == 4
        killed = workers_of(running)
        assert len(killed) == 2
        for pid in killed:
            os.kill(pid, signal.SIGKILL)

        def nothing_in_work() -> bool:
            try:
                return told(running.url, ACTIVE) == {("GET",): 1}
            except httpx.TransportError:
                return False  # no worker has come back yet

        assert wait_for(nothing_in_work)
        assert counted() == asked
    assert not list(tmp_path.glob("axiscast-metrics-*"))


# --- where they are not wanted --------------------------------------------------------------------


def ask(**settings: Any) -> httpx.Response:
    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(application.create_app(Settings(**settings)))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await client.get("/metrics")

    return asyncio.run(get())


def test_disabled_or_missing_metrics_respond_404(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask().status_code == 200
    answer = ask(metrics=False)
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    assert "the setting AXISCAST_METRICS disables them" in answer.json()["detail"]
    monkeypatch.setattr(components, "find_spec", lambda name: None)
    assert "pip install prometheus-client" in ask().json()["detail"]


def test_without_prometheus_client_the_service_warns() -> None:
    with served("prometheus_client", command=True) as running:
        assert httpx.get(f"{running.url}/metrics").status_code == 404
    (line,) = (line for line in running.log.splitlines() if "prometheus-client" in line)
    assert line.startswith("WARNING:  /metrics is unavailable: the package prometheus-client is missing")
    with served("prometheus_client", command=True, metrics="false") as running:
        pass
    assert "prometheus-client" not in running.log


def test_explicit_metrics_without_prometheus_client_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from axiscast_service import serve

    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    monkeypatch.delenv("AXISCAST_METRICS", raising=False)
    serve.verify_settings(Settings())
    monkeypatch.setenv("AXISCAST_METRICS", "true")
    expected = "AXISCAST_METRICS is true, but the package prometheus-client is missing: pip install prometheus-client"
    with pytest.raises(ValueError, match=expected):
        serve.verify_settings(Settings())
    monkeypatch.setenv("AXISCAST_METRICS", "false")
    serve.verify_settings(Settings(metrics=False))


@cases("word", ["yes", "1", "maybe"])
def test_a_switch_is_true_or_false(word: str) -> None:
    with pytest.raises(ValueError, match="AXISCAST_METRICS must be true or false, not"):
        Settings.from_environment({"AXISCAST_METRICS": word})
    assert Settings.from_environment({"AXISCAST_METRICS": "False"}).metrics is False


# --- the exposition -------------------------------------------------------------------------------


def test_the_reserved_memory_is_measured_when_prometheus_requests_it() -> None:
    held = [0.0]
    metrics = Metrics(lambda: held[0], 1000)
    held[0] = 640
    lines = metrics.exposition().decode().splitlines()
    assert {"axiscast_memory_bytes 640.0", "axiscast_memory_budget_bytes 1000.0"} <= set(lines)
    assert "axiscast_memory_held_ratio 0.64" in lines


def test_either_worker_reports_the_memory_ratio_of_the_fullest_worker() -> None:
    """The other worker is queried, because the full worker waits for its long body."""
    nbytes = 8 * 2**20  # of 16 MiB, of which requests have three quarters
    head = b"POST /v1/broadcast HTTP/1.1\r\nHost: x\r\nContent-Type: application/vnd.msgpack\r\n"
    head += b"Content-Length: %d\r\n\r\n"
    with served(workers=2, memory_budget_bytes=16 * 2**20) as service:

        def ratios() -> set[float]:
            return {value for _ in range(8) for value in read(service.url)["axiscast_memory_held_ratio"].values()}

        def reads_as_full() -> bool:  # tried again: on a busy machine uvicorn may replace a worker that begins slowly
            with socket.create_connection(("127.0.0.1", service.port)) as connection, suppress(OSError):
                connection.sendall(head % nbytes + bytes(nbytes - 1))
                return wait_for(lambda: min(ratios()) > 0.6, 10)

        assert wait_for(lambda: len(workers_of(service)) == 2)
        assert wait_for(reads_as_full)
        assert wait_for(lambda: max(ratios()) < 0.1)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_accepts_the_exposition(service: Served) -> None:
    text = httpx.get(f"{service.url}/metrics").text
    checked = run(["promtool", "check", "metrics"], input=text)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_on_a_read_only_file_system_the_error_names_the_missing_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    from axiscast_service import serve

    def nowhere() -> str:
        raise FileNotFoundError

    monkeypatch.setattr(serve.tempfile, "gettempdir", nowhere)
    serve.verify_settings(Settings())
    serve.verify_settings(Settings(workers=2, metrics=False))
    with pytest.raises(
        ValueError, match="mount one at /tmp, set PROMETHEUS_MULTIPROC_DIR to an empty directory, or set"
    ):
        serve.verify_settings(Settings(workers=2))


def test_a_connection_refused_before_its_request_is_counted(watched: Served) -> None:
    with socket.create_connection(("127.0.0.1", watched.port)) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
    refused = read(watched.url)["axiscast_connections_refused_total"]
    assert {labels: count for labels, count in refused.items() if count} == {("malformed-request",): 1}
