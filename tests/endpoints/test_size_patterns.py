"""Answers from the template of a pattern have the bytes that the code for all checks writes."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

from cases import cases

from axiscast.checks.check import check_to_dict
from axiscast.messages import CheckRequest
from axiscast.messages.validation import validate
from axiscast.ops import op_class
from axiscast.wire.codec import Encoding, encode
from axiscast_service.endpoints.plain_checks import answer_fields
from axiscast_service.endpoints.size_patterns import answer_by_pattern

VECTORS = Path(__file__).parent.parent / "vectors"
COUNT = 20_000 if os.environ.get("AXISCAST_FULL") else 2_500
BROADCAST = {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [0]}


def requests() -> list[dict[str, Any]]:
    """Return the request of each vector, with its op as a map."""
    lines = [line for path in sorted(VECTORS.glob("*.jsonl")) for line in path.read_text().splitlines()]
    rows = [json.loads(line) for line in lines]
    maps = [{"name": row["op"]} if isinstance(row["op"], str) else row["op"] for row in rows]
    return [{"op": op, "inputs": row["inputs"]} for op, row in zip(maps, rows, strict=True)]


def renamed(rng: random.Random, request: dict[str, Any]) -> dict[str, Any]:
    """Return the request with other sizes in the inputs and the target. Equal sizes stay equal, and 0 and 1 stay."""
    op, inputs = request["op"], request["inputs"]
    target = getattr(op_class(op["name"]), "target", None)
    lists = [*inputs, *([op[target]] if isinstance(op.get(target), list) else [])]
    sizes = sorted({size for values in lists for size in values if type(size) is int and size > 1})
    others = rng.sample(range(2, len(sizes) + 7), len(sizes)) if rng.random() < 0.7 else [2**40 + n for n in sizes]
    new = dict(zip(sizes, others, strict=True))

    def read(values: list[Any]) -> list[Any]:
        return [new.get(size, size) if type(size) is int else size for size in values]

    changed = {target: read(op[target])} if len(lists) > len(inputs) else {}
    return {"op": op | changed, "inputs": list(map(read, inputs))}


def test_the_vectors_and_requests_of_their_patterns_have_the_bytes_of_the_general_way() -> None:
    rng = random.Random(2026)
    found: Counter[str] = Counter()
    every = requests()
    for request in rng.sample(every, min(COUNT, len(every))):
        for fields in (request, request, renamed(rng, request), renamed(rng, request)):
            content = answer_fields(fields, Encoding.JSON)
            if content is not None:
                assert content == encode(check_to_dict(validate(CheckRequest, fields)), Encoding.JSON), fields
                found[fields["op"]["name"]] += 1
    assert len(found) > 90
    assert {"ngraph.Broadcast", "numpy.matmul", "stablehlo.broadcast_in_dim", "torch.expand"} <= found.keys()


@cases(
    "op, inputs",
    [
        (BROADCAST, [[3]]),
        ({"name": "numpy.add"}, [[4, 3], [4]]),  # with a hint
        ({"name": "numpy.add"}, [[5], [5, 1]]),  # with a warning
    ],
)
def test_a_pattern_gets_a_template_when_it_occurs_again(op: dict[str, Any], inputs: list[list[int]]) -> None:
    longer = [[*shape, 17] for shape in inputs]  # a pattern of this test alone
    request = {**op, "shape": [2, 3, 17]} if "shape" in op else op
    assert answer_by_pattern(request, longer) is None
    assert answer_by_pattern(request, longer) is not None


@cases(
    "op, inputs",
    [
        ({"name": "einops.repeat", "pattern": "a -> a b", "axes_lengths": {"b": 2}}, [[3]]),
        ({"name": "numpy.tile", "reps": [3, 2]}, [[3]]),
        ({"name": "ngraph.BroadcastLike", "initial_broadcast_axes": []}, [[1, 4], [1, 4]]),
        ({"name": "octave.plus"}, [[3, 4], [1, 4]]),
        ({"name": "ggml.add"}, [[6, 4], [3, 4]]),
        ({"name": "numpy.broadcast_to", "shape": ["N"]}, [[1]]),
        ({"name": "einops.repeat", "pattern": "a190370119911073001 b -> b a190370119911073001"}, [[2, 3]]),
        ({"name": "numpy.add"}, [[190370119911073001], [1]]),
        ({"name": "numpy.add"}, [[True], [1]]),
        ({"name": "numpy.add"}, [[-2], [-2]]),
        ({"name": "unknown"}, [[2], [3]]),
        ({"name": ["numpy.add"]}, [[2], [3]]),
    ],
)
def test_a_check_that_may_compute_with_its_sizes_has_no_template(op: dict[str, Any], inputs: list[list[Any]]) -> None:
    for _ in range(3):
        assert answer_by_pattern(op, inputs) is None


def test_an_output_with_more_elements_than_int64_has_no_template() -> None:
    op = {**BROADCAST, "shape": [2**40, 2**40]}
    assert answer_by_pattern(op, [[2**40]]) is None
    assert answer_by_pattern(op, [[2**40]]) is None
    assert answer_by_pattern({**BROADCAST, "shape": [2**20, 2**20]}, [[2**20]]) is not None
