"""Tests that `outputs` and `shape` of a check are the arrays that the framework's function returns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cases import cases

import axiscast
from axiscast.ops import ALIASES, OPS

FOLDER = Path(__file__).parents[1] / "vectors" / "outputs"
VECTORS: dict[str, list[dict[str, Any]]] = {
    path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in sorted(FOLDER.glob("*.jsonl"))
}

LEFT_OUT: dict[str, str] = {}
"""The functions without a vector in a framework that was executed, each with the reason."""


@cases("framework", VECTORS)
def test_the_outputs_are_the_arrays_that_the_framework_returns(framework: str) -> None:
    wrong = []
    for vector in VECTORS[framework]:
        answer = axiscast.check(vector["op"], *vector["inputs"])
        found = [list(output.shape) for output in answer.outputs]
        first = list(answer.shape) if found else None
        if (answer.compatible, found, first) != (True, vector["outputs"], vector["outputs"][0]):
            wrong.append((vector["op"], vector["inputs"], found))
    assert wrong == []


@cases("framework", VECTORS)
def test_every_function_of_an_executed_framework_has_a_vector(framework: str) -> None:
    names = {name for name in [*OPS, *ALIASES] if name.startswith(f"{framework}.")}
    assert names - {vector["op"]["name"] for vector in VECTORS[framework]} == LEFT_OUT.keys() & names


def test_the_vectors_hold_every_number_of_outputs_that_an_executed_op_has() -> None:
    counts = {len(vector["outputs"]) for vectors in VECTORS.values() for vector in vectors}
    assert {1, 2, 3} <= counts
