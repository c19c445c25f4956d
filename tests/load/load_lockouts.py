"""No client locks out the others: short versions of benchmarks/load/lockouts.py, each beside its control."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import unhurried

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks/load"))

from lockouts import KINDS, measured

TIMES, ROOM_MS = 3, 50
"""How much longer a response may take than in the control: this many times, and this many milliseconds."""
LIMIT_MIB = 256


def claim(rows: dict[str, Any]) -> None:
    assert rows["attack: MiB with socket buffers"] < LIMIT_MIB
    for name, row in rows["attack"].items():
        assert row["answered"] >= 0.99, (name, row)
        assert row["p99_ms"] <= TIMES * rows["control"][name]["p99_ms"] + ROOM_MS, (name, row, rows["control"][name])


@pytest.mark.parametrize("kind", KINDS)
def test_other_clients_are_served_during_an_attack(kind: str) -> None:
    unhurried(lambda seconds: claim(measured(kind, seconds)), 4)
