"""Tests that all benchmarks run with tiny sizes and write complete results. They check no times.

`make bench-smoke` runs them. `make test` does not, because they test no part of the product.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import conftest
import msgpack
import numpy as np
import pytest

needs_wrk = pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def run(script: str, *arguments: object) -> None:
    done = conftest.run([sys.executable, str(BENCHMARKS / script), *map(str, arguments)])
    assert done.returncode == 0, done.stderr


def figures(value: Any) -> Iterator[float]:
    """Yield all numbers in the saved results."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from figures(part)
    elif not isinstance(value, str):
        yield value


def saved(path: Path, least: int) -> dict[str, Any]:
    """Return the groups of a file of results, after a check of their figures and of the machine."""
    results: dict[str, Any] = json.loads(path.read_text())
    assert set(results.pop("machine")) == {"commit", "cpu", "cores", "python", "numpy"}
    found = list(figures(results))
    assert len(found) >= least
    assert min(found) >= 0
    return results


def test_the_engine_is_measured(tmp_path: Path) -> None:
    run("engine.py", "--mib", 1, "--rounds", 1, "-o", tmp_path / "engine.json")
    results = saved(tmp_path / "engine.json", 500)
    assert list(results) == ["dense", "dtypes", "stream", "gradient", "sums", "tiny", "scale"]
    for cases in results.values():
        for contenders in cases.values():
            assert all(row["seconds"][0] > 0 < row["ratio"][0] for row in contenders.values())


def test_the_clients_are_measured(tmp_path: Path) -> None:
    groups = ["patterns", "up", "small"]  # down is asked by the same functions
    run("remote.py", *groups, "--mib", 1, "--rounds", 1, "-o", tmp_path / "remote.json")
    results = saved(tmp_path / "remote.json", 300)
    assert list(results) == groups
    for rows in results.values():
        assert all(row["seconds"][0] > 0 < row["times_raw_tcp"][0] for row in rows)


def test_growth_is_measured(tmp_path: Path) -> None:
    groups = ["up", "rank", "inputs", "batch", "streams"]  # streams sends the requests of down
    run("scale.py", *groups, "--mib", 1, "--rounds", 1, "--points", 2, "-o", tmp_path / "scale.json")
    results = saved(tmp_path / "scale.json", 100)
    assert list(results) == groups
    for group in groups:
        for points in results[group]["lines"].values():
            assert len(points) == 2
            assert all(point["seconds"][0] > 0 for point in points)


def test_time_estimates_are_measured() -> None:
    done = conftest.run([sys.executable, str(BENCHMARKS / "estimates.py"), "--rounds", "1"])
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"(?m)^[A-Z_]+.* ms, estimate +[0-9.]+ ms: +[0-9.]+x$", done.stdout)) > 15


def test_the_library_is_measured(tmp_path: Path) -> None:
    run("library.py", "--rounds", 1, "-o", tmp_path / "library.json")
    results = saved(tmp_path / "library.json", 10)
    assert list(results["library"]) == ["axiscast.check", "np.broadcast_shapes"]


def test_broadcasts_over_http_are_measured(tmp_path: Path) -> None:
    run("tensors.py", "--rounds", 1, "--seconds", 0.02, "-o", tmp_path / "tensors.json")
    results = saved(tmp_path / "tensors.json", 36)
    assert len(results["tensors"]) == 18


def test_fresh_connections_are_measured(tmp_path: Path) -> None:
    run("load/fresh.py", "--busy", 20, "--seconds", 1, "--rounds", 1, "-o", tmp_path / "fresh.json")
    results = saved(tmp_path / "fresh.json", 30)
    assert list(results["fresh"]["contenders"]) == ["axiscast", "uvicorn on uvloop", "uvicorn on asyncio"]


def asked(kind: str, start: int) -> list[tuple[bytes, bytes]]:
    """Return the requests that wrk sends: a thousand or more."""
    requests: list[tuple[bytes, bytes]] = []
    enough = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.findall(rb"Content-Length: (\d+)", head)
                requests.append((head, await reader.readexactly(int(length[0]) if length else 0)))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                if len(requests) >= 1000:
                    enough.set()
        writer.close()

    async def serve() -> None:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            command = "wrk", "-t1", "-c1", "-d1h", "-s", str(BENCHMARKS / "requests.lua"), url, "--", kind, str(start)
            process = await asyncio.create_subprocess_exec(*command)
            await enough.wait()
            process.kill()
            await process.wait()

    asyncio.run(serve())
    return requests


def shapes(kind: str, head: bytes, body: bytes) -> list[list[int]]:
    """Return the content of a request."""
    if kind.endswith("get"):
        return [[int(size) for size in text.split("x")] for text in re.findall(r"input=([\dx]+)", head.decode())]
    return (msgpack.unpackb if kind == "msgpack" else json.loads)(body)["inputs"]


@needs_wrk
@pytest.mark.parametrize("kind", ["post", "get", "msgpack", "wide", "wide-get", "conflict"])
def test_no_request_is_repeated_and_only_conflicts_do_not_broadcast(kind: str) -> None:
    found = [shapes(kind, *request) for start in (1, 20_000) for request in asked(kind, start)]
    assert len(set(map(str, found))) == len(found)
    assert {len(inputs) for inputs in found} == {3, 4}
    for inputs in found:
        with pytest.raises(ValueError, match="broadcast") if kind == "conflict" else nullcontext():
            assert len(np.broadcast_shapes(*map(tuple, inputs))) == 4


@needs_wrk
def test_a_tenth_of_zipf_is_one_request_and_no_two_header_blocks_are_equal() -> None:
    heads, bodies = zip(*asked("zipf", 7), strict=True)
    assert len(set(heads)) == len(heads)
    share = Counter(bodies).most_common(1)[0][1] / len(bodies)
    assert 0.102 / 2 < share < 0.102 * 2  # 1 / (1 + 1/2 + ... + 1/10,000) is 0.102


@pytest.mark.parametrize("proxy", ["nginx", "haproxy"])
def test_rolling(proxy: str) -> None:
    if shutil.which(proxy) is None:
        pytest.skip(f"{proxy} is not installed")
    run("load/rolling.py", proxy, "--restarts", 1)


@pytest.mark.parametrize(
    ("scenario", "processes", "outcome"),
    [
        ("attackers", {"service"}, "good"),
        ("reloads", {"supervisor", "worker 1", "worker 2", "haproxy"}, "reloaded"),
        ("restarts", {"one", "two", "haproxy"}, "restarted"),
    ],
)
def test_a_soak_is_measured_and_all_participants_run_until_its_end(
    scenario: str, processes: set[str], outcome: str, tmp_path: Path
) -> None:
    if "haproxy" in processes and shutil.which("haproxy") is None:
        pytest.skip("haproxy is not installed")
    small = ["--seconds", 2, "--pause", 0.05, "--interval", 0.5]
    run("load/soak.py", "--scenario", scenario, *small, "-o", tmp_path / "soak.json")
    results = saved(tmp_path / "soak.json", 5)[scenario]
    assert {"good", "attack answered", "abandoned", "slow", outcome} <= set(results["outcomes"])
    assert results["processes"].keys() == processes
    assert all(min(each["rss"]) > 0 < min(each["files"]) for each in results["processes"].values())
    assert min(results["latency"]["p50"]) > 0


def test_attacks_are_measured(tmp_path: Path) -> None:
    run("load/attacks.py", "--rounds", 1, "--callers", 1, "--kinds", "framing", "-o", tmp_path / "attacks.json")
    results = saved(tmp_path / "attacks.json", 8)
    assert results["wrong"] == []
    assert results["outcomes"]["as listed"] > 0


@needs_wrk
def test_checks_are_measured(tmp_path: Path) -> None:
    kinds = ("post", "op", "conflict")
    run("checks.py", "--rounds", 1, "--seconds", 0.3, "--kinds", *kinds, "batches", "-o", tmp_path / "checks.json")
    results = saved(tmp_path / "checks.json", 100)
    assert list(results) == ["requests", "batches"]
    assert len(results["requests"]) == len(kinds)
    assert all(len(rows) >= 2 for rows in results["requests"].values())
    assert {rows["bare uvicorn"]["x bare uvicorn"][0] for rows in results["requests"].values()} == {1}


PRINTED = """
    50%    1.02ms
    99%    2.50ms
  1000 requests in 1.00s, 1.00MB read
{more}Requests/sec:   1000.00
"""


@pytest.mark.parametrize(
    ("kind", "more", "ends"),
    [
        ("post", "", False),
        ("post", "  Non-2xx or 3xx responses: 1\n", True),
        ("post", "  Socket errors: connect 0, read 1, write 0, timeout 0\n", True),
        ("refusal", "  Non-2xx or 3xx responses: 1000\n", False),
        ("refusal", "  Non-2xx or 3xx responses: 999\n", True),
        ("refusal", "", True),
    ],
)
def test_one_response_with_another_status_ends_the_benchmark_of_checks(
    kind: str, more: str, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    checks = import_module("checks")
    monkeypatch.setattr(checks.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=PRINTED.format(more=more)))
    monkeypatch.setattr(checks, "cpu_of", lambda process: 0)
    with pytest.raises(SystemExit) if ends else nullcontext():
        checks.ask(1, 1, checks.KINDS[kind], 1, 1)


def test_the_document_shows_the_measurements(tmp_path: Path) -> None:
    """All plots and tables must be made from the current benchmarks/results."""
    run("draw.py", tmp_path)
    drawn = {path.stem: ElementTree.parse(path).getroot() for path in (tmp_path / "performance").iterdir()}
    document = (BENCHMARKS.parent / "docs" / "evidence" / "performance.md").read_text()
    assert set(drawn) == set(re.findall(r"\(performance/(.*)\.svg\)", document))
    assert all(len(root) >= 10 for root in drawn.values())
    assert (tmp_path / "performance.md").read_text() == document


def test_stalls_are_found_and_replayed(tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    small = ["--bytes", 2000, "--kinds", "hinted", "links", "text", "--repeats", 1]
    run("load/stalls.py", "--rounds", 5, "--top", 2, "--seconds", 2, *small, "-o", found)
    finds = json.loads(found.read_text())["finds"]
    assert 1 <= len(finds) <= 2
    run("load/stalls.py", "--replay", found, *small, "-o", tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text())
    bodies = [sorted(case["body"] for find in results for case in find["cases"]) for results in (finds, again["finds"])]
    assert bodies[0] == bodies[1]
    assert again["stop"]["seconds"] > 0
    run("load/stalls.py", "--runs", 1, "--run-seconds", 1, "--replay", found, *small, "-o", tmp_path / "runs.json")
    (row,) = json.loads((tmp_path / "runs.json").read_text())["runs"]
    assert min(row[name]["asked"] for name in ("idle", "mixes", "finds")) > 0


def test_the_cost_of_peers_is_measured() -> None:
    done = conftest.run(
        [
            *(sys.executable, str(BENCHMARKS / "load" / "peers.py"), "--seconds", "1", "--trials", "1"),
            *("--cases", "withheld", "refused uploads", "shutdown"),
        ]
    )
    assert done.returncode == 0, done.stderr
    lines = dict(re.findall(r"(?m)^([a-z ]+) (\{.*\})$", done.stdout))
    assert sum(json.loads(lines["withheld"])["statuses of other checks"].values()) == 40
    assert json.loads(lines["shutdown"])["responses"]["200"] > 0
