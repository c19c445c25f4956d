"""Runs all aliases in their frameworks, and compares acceptance and the shape of the result with the rule.

    python tests/aliases.py numpy=/environments/numpy/bin/python torch=/environments/torch/bin/python

Each argument is a framework and a Python that has it. Prints a line for each alias that differs, and the counts.
Requests with which the release differs from its own rule (`known_deviation`) are left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from axiscast.ops import ALIASES, OPS, Op, align, op_class
from axiscast.ops.families import Elementwise, MatrixProduct, Multidirectional
from axiscast.plan.alignment import ShapeMismatch
from axiscast.plan.resolution import resolve

Shapes = tuple[tuple[int, ...], ...]
POOL: list[tuple[int, ...]] = [
    (), (1,), (2,), (3,), (0,), (1, 1), (2, 1), (1, 3), (2, 3), (3, 2), (0, 1), (1, 0), (2, 0), (4, 2, 1), (4, 1, 3),
    (0, 2, 1), (2, 1, 1, 3), (5, 1, 2, 1),
]  # fmt: skip
PAIRS: list[Shapes] = [
    ((), ()), ((), (3,)), ((2, 3), ()), ((3,), (2, 1)), ((8, 1, 6, 1), (7, 1, 5)), ((2, 3), (3, 2)), ((2,), (3,)),
    ((0,), (1,)), ((0,), (2,)), ((2, 3), (2,)), ((2,), (2, 3)), ((3, 1), (1, 4)), ((0, 3), (0, 1)), ((2, 1), (0,)),
    *Random(5).sample(list(product(POOL, repeat=2)), 30),
]  # fmt: skip
TRIPLES: list[Shapes] = [
    ((), (), ()), ((2, 3), (3,), ()), ((2, 1), (1, 3), ()), ((2,), (3,), (1,)), ((2, 3), (2, 3), (2,)),
    ((1,), (3,), (2, 1)), ((3,), (1,), (2, 1)), ((2, 1), (3,), (1,)), ((), (), (3,)), ((), (2, 1), (3,)),
    ((0,), (1,), (1,)), ((1,), (1,), (0,)), ((0,), (1,), (2,)), ((2, 1, 3), (4, 1), ()), ((3, 2), (2, 3), (1,)),
    *[tuple(Random(number).sample(POOL, 3)) for number in range(27)],
]  # fmt: skip
PRODUCTS: list[Shapes] = [
    ((2, 3), (3, 4)), ((2, 3), (4, 5)), ((3,), (3,)), ((3,), (4,)), ((3,), (3, 4)), ((2, 3), (3,)), ((), (3,)),
    ((3,), ()), ((), ()), ((2, 3), ()), ((1, 2, 3), (5, 3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
    ((6, 1, 2, 3), (5, 3, 4)), ((2, 2, 3), (5, 3, 4)), ((2, 2, 3), (2, 3, 4)), ((0, 3), (3, 4)), ((2, 0), (0, 4)),
    ((2, 3), (3, 0)), ((1,), (1, 1)), ((2, 0), (1, 4)), ((2, 1), (3, 4)), ((2, 3), (1, 4)), ((0,), (0,)),
    ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((5, 2, 3), (4,)), ((0, 2, 3), (1, 3, 4)), ((0, 2, 3), (2, 3, 4)),
    ((4, 5), (2, 3)), ((1, 1), (1, 1)), ((1, 3), (3, 1)), ((2, 2), (2, 2)), ((2, 1, 2, 3), (1, 4, 3, 2)),
    ((3, 2), (3, 2)), ((1, 1, 2, 3), (3, 4)), ((2,), (3, 2)), ((3, 3), (2, 3)), ((4, 2, 3), (4, 3)),
    ((2, 1, 1), (1, 1)),
]  # fmt: skip
NAMES = [
    [["x", "y"], ["y"]],
    [["x"], ["x"]],
    [["x"], ["y"]],
    [["y", "x"], ["x", "y"]],
    [["x", "y"], ["z"]],
    [[], ["x"]],
]
"""The dimension names of arrays of xarray, which aligns axes by name. A third array has those of the first."""

XARRAY = ("xarray.apply_ufunc", "xarray.where")
SKIPPED = ("onnx.Sum", "onnx.Max", "onnx.Min", "onnx.Mean", "onnx.PRelu")
"""The ops without aliases, or with aliases that other vectors cover."""


class Request(NamedTuple):
    shapes: Shapes
    attributes: dict[str, Any]


def requests(kind: type[Op]) -> Iterator[Request]:
    """Return the shapes and the attributes of the calls of a function."""
    if "dims" in kind.model_fields:
        sizes = [(2, 3), (3, 3), (1, 3), (0, 2)]
        for dims, (one, other) in product(NAMES, sizes):
            pools = [[(one, other)[axis % 2] for axis in range(len(names))] for names in dims]
            three = [*dims, dims[0]][: kind.min_inputs if kind.max_inputs else 2]
            shapes = [*pools, pools[0]][: len(three)]
            yield Request(tuple(map(tuple, shapes)), {"dims": three})
            yield Request(
                (*map(tuple, shapes[:1]), *[tuple(size + 1 for size in s) for s in shapes[1:]]), {"dims": three}
            )
        return
    shapes = PRODUCTS if kind.outputs == "2" else TRIPLES if kind.min_inputs == 3 else PAIRS
    yield from (Request(each, {}) for each in shapes)
    if kind.max_rank:
        for rank in (kind.max_rank - 1, kind.max_rank, kind.max_rank + 1):
            long = (2, *(1,) * (rank - 3), 2, 2)
            yield Request((long, (2, 2), (2, 2))[: len(shapes[0])], {})
    if "auto_broadcast" in kind.model_fields:
        yield from (Request(each, {"auto_broadcast": "none"}) for each in PAIRS[:20])
    if "broadcast_dimensions" in kind.model_fields:
        yield from (Request(each, {"broadcast_dimensions": [axis]}) for each in PAIRS for axis in (0, 1))


def expected(kind: type[Op], request: Request) -> list[int] | str | None:
    """Return the shape by the rule of the alias, None for a refusal, or a text for a known difference."""
    op = kind.model_validate(request.attributes)
    try:
        plan = resolve(align(op, request.shapes))
    except ShapeMismatch as incompatible:
        return op.known_deviation(request.shapes, incompatible.conflict)
    if differs := op.known_deviation(request.shapes, None):
        return differs
    if kind.outputs != "2":
        return list(plan.outputs[0].shape)
    left, right = (output.shape for output in plan.outputs)
    ones = [len(shape) for shape in request.shapes]
    return [*left[:-2], *left[-2:-1] * (ones[0] > 1), *right[-1:] * (ones[1] > 1)]


def executed(framework: str, python: str, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results of the framework for all jobs."""
    script = Path(__file__).with_name("alias_execution.py")
    lines = "".join(f"{json.dumps(job)}\n" for job in jobs)
    run = subprocess.run([python, script], input=lines, capture_output=True, text=True, timeout=1800)
    found = [json.loads(line) for line in run.stdout.splitlines() if line.startswith('{"name"')]
    if len(found) != len(jobs):
        raise SystemExit(f"{framework}: {len(found)} of {len(jobs)} functions answered\n{run.stderr[-2000:]}")
    return found


def functions(framework: str) -> dict[str, type[Op]]:
    """Return the aliases of a framework with their ops."""
    named = [
        name
        for name, alias in ALIASES.items()
        if issubclass(alias.rule, Elementwise | MatrixProduct | Multidirectional)
    ]
    rules = [name for name, op in OPS.items() if issubclass(op, Elementwise | MatrixProduct) and name not in SKIPPED]
    kinds = {name: op_class(name) for name in (*named, *rules, *XARRAY) if name.startswith(f"{framework}.")}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def compare(framework: str, python: str) -> tuple[int, int, int]:
    """Print the differences, and return the numbers of functions, requests and differences."""
    jobs, wanted = [], []
    known = functions(framework)
    for name, kind in known.items():
        by_attributes: dict[str, list[Request]] = {}
        for request in requests(kind):
            by_attributes.setdefault(json.dumps(request.attributes), []).append(request)
        for attributes, some in by_attributes.items():
            cases = [(request, want) for request in some if type(want := expected(kind, request)) is not str]
            shapes = [request.shapes for request, _ in cases]
            jobs.append({"name": name, "attributes": json.loads(attributes), "requests": shapes})
            wanted.append(cases)
    count = differences = 0
    for answer, cases in zip(executed(framework, python, jobs), wanted, strict=True):
        results = answer.get("results", [answer.get("error")] * len(cases))
        found = [(request, want, got) for (request, want), got in zip(cases, results, strict=True)]
        wrong = [f"{request} is {got}, not {want}" for request, want, got in found if want != got]
        if wrong:
            print(f"{answer['name']}: {len(wrong)} differ: {'; '.join(wrong[:3])}")
        count += len(found)
        differences += len(wrong)
    return len(known), count, differences


if __name__ == "__main__":
    total = 0
    for argument in sys.argv[1:]:
        framework, _, python = argument.partition("=")
        names, count, differences = compare(framework, python)
        total += differences
        print(f"{framework}: {names} names, {count} requests, {differences} differences", flush=True)
    sys.exit(1 if total else 0)
