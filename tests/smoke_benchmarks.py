"""The benchmarks run: each script in a tiny size, and every figure that it writes is one. Nothing about time.

`make bench-smoke` runs them, and `make test` does not: they test no part of the product, and take a sixth of its time.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import conftest
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def run(script: str, *arguments: object) -> None:
    done = conftest.run([sys.executable, str(BENCHMARKS / script), *map(str, arguments)])
    assert done.returncode == 0, done.stderr


def figures(value: Any) -> Iterator[float]:
    """Every number in what was saved."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from figures(part)
    elif not isinstance(value, str):
        yield value


def saved(path: Path, least: int) -> dict[str, Any]:
    """The groups of a file of results: at least so many figures, all of them positive, and what they were taken on."""
    results: dict[str, Any] = json.loads(path.read_text())
    assert set(results.pop("machine")) == {"commit", "cpu", "cores", "python", "numpy"}
    found = list(figures(results))
    assert len(found) >= least
    assert min(found) >= 0
    return results


def test_the_engine_is_measured(tmp_path: Path) -> None:
    run("engine.py", "--mib", 1, "--rounds", 1, "-o", tmp_path / "engine.json")
    results = saved(tmp_path / "engine.json", 500)
    assert list(results) == ["dense", "dtypes", "stream", "gradient", "tiny", "scale"]
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
    groups = ["down", "up", "rank", "inputs", "batch", "streams"]
    run("scale.py", *groups, "--mib", 1, "--rounds", 1, "--points", 2, "-o", tmp_path / "scale.json")
    results = saved(tmp_path / "scale.json", 100)
    assert list(results) == groups
    for group in groups:
        for points in results[group]["lines"].values():
            assert len(points) == 2
            assert all(point["seconds"][0] > 0 for point in points)


def test_fresh_connections_are_measured(tmp_path: Path) -> None:
    run("load/fresh.py", "--busy", 20, "--seconds", 1, "--rounds", 1, "-o", tmp_path / "fresh.json")
    results = saved(tmp_path / "fresh.json", 30)
    assert list(results["fresh"]["contenders"]) == ["tensorcast", "uvicorn on uvloop", "uvicorn on asyncio"]


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
def test_checks_are_measured(tmp_path: Path) -> None:
    run("checks.py", "--rounds", 1, "--seconds", 1, "-o", tmp_path / "checks.json")
    results = saved(tmp_path / "checks.json", 100)
    assert list(results) == ["requests", "batches"]
    assert all(rate > 0 for rate in figures(results))


def test_what_was_measured_is_drawn(tmp_path: Path) -> None:
    run("draw.py", tmp_path)
    drawn = {path.stem: ElementTree.parse(path).getroot() for path in tmp_path.iterdir()}
    shown = re.findall(r"\(performance/(.*)\.svg\)", (BENCHMARKS.parent / "docs" / "performance.md").read_text())
    assert set(drawn) == set(shown)
    assert all(len(root) >= 10 for root in drawn.values())


def test_stalls_are_searched_for_and_replayed(tmp_path: Path) -> None:
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
