"""No client locks out the others: short versions of benchmarks/load/lockouts.py, each beside its control."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import unhurried

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks/load"))

from lockouts import measured, stalled_log, symbolic

TIMES, ROOM_MS = 3, 50
"""How much longer a response may take than in the control: this many times, and this many milliseconds."""
LIMIT_MIB = 256


def claim(rows: dict[str, Any]) -> None:
    for name, row in rows["attack"].items():
        assert row["answered"] >= 0.99, (name, row)
        assert row["p99_ms"] <= TIMES * rows["control"][name]["p99_ms"] + ROOM_MS, (name, row, rows["control"][name])


@pytest.mark.parametrize("kind", ["slow-readers", "many-slow-readers", "churn", "abandoned", "pipelines"])
def test_other_clients_are_served_during_an_attack(kind: str) -> None:
    unhurried(lambda seconds: claim(measured(kind, seconds)), 4)


def test_grown_receive_buffers_stay_below_the_limit_of_a_container() -> None:
    rows = measured("windows", 4)
    assert rows["attack: MiB with socket buffers"] < LIMIT_MIB
    assert rows["attack"]["livez"]["answered"] == 1


def test_a_stalled_reader_of_the_log_stops_nothing() -> None:
    found = stalled_log(requests=6000)
    assert (found["answered"], found["readyz"]) == (6000, 200)


def test_symbolic_sizes_take_a_bounded_time() -> None:
    found = symbolic()
    assert max(found.values()) < 1000  # the limit is 250 ms of a quiet machine
    assert found["compare, 20 names"] < 20 * found["compare, 2 names"]
