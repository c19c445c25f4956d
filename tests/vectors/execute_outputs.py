"""Write the number and the shapes of the arrays that the frameworks' functions return.

    python tests/vectors/execute_outputs.py torch /environments/torch/bin/python > tests/vectors/outputs/torch.jsonl

The arguments are a framework and a Python that has it. The script reads the names, the attributes and the example
requests of all ops and aliases from axiscast, and prints one vector for each request that the framework accepts. The
shapes are those of the returned arrays. The functions without a vector are listed on standard error.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

PAIRS = [[[2, 1], [3]], [[2, 3], [2, 3]]]
TRIPLES = [[[2, 1], [1, 3], []], [[2, 3], [2, 3], [2, 3]]]
PRODUCTS = [[[2, 3], [3, 4]], [[5, 2, 3], [5, 3, 4]]]


def requests(kind: Any) -> list[list[list[int]]]:
    """Return input shapes that broadcast: those of the op's example, and others if the op has no required attribute."""
    from axiscast.ops.families import Elementwise, MatrixProduct, Multidirectional

    example = [[*shape] for shape in kind.example()[1]]
    example += example[: max(0, kind.min_inputs - len(example))]
    others: list[Any] = []
    if issubclass(kind, MatrixProduct):
        others = PRODUCTS
    elif issubclass(kind, Elementwise | Multidirectional):
        others = [*PAIRS, *TRIPLES, [[3]]]
    chosen = [*([example] if kind.takes(len(example)) else []), *(other for other in others if kind.takes(len(other)))]
    return [shapes for number, shapes in enumerate(chosen) if shapes not in chosen[:number]]


def jobs(framework: str) -> Iterator[dict[str, Any]]:
    """Yield the name, the attributes and the input shapes for the calls of each op and each alias of a framework."""
    from axiscast.ops import ALIASES, OPS, op_class

    for name in [*OPS, *ALIASES]:
        kind = op_class(name) if name.startswith(f"{framework}.") else None
        if kind is not None:
            attributes = kind.example()[0].model_dump(mode="json", exclude={"name"}, exclude_unset=True)
            if "auto_broadcast" in attributes:  # the default is NumPy's rule
                attributes = {}
            if "dims" in attributes:  # one entry for each input
                attributes["dims"] += attributes["dims"][: max(0, kind.min_inputs - len(attributes["dims"]))]
            yield {"name": name, "attributes": attributes, "requests": requests(kind)}


def returned(call: Any, shapes: list[list[int]], attributes: dict[str, Any]) -> list[list[int]] | None:
    """Return the shape of each array that a function returns for arrays of ones, or None if it refuses all dtypes."""
    import alias_execution as execution
    import numpy as np

    dtypes = execution.dtypes_of(call, len(shapes), {}) if not attributes else "f" * len(shapes)
    if dtypes is None:
        return None
    arrays = [np.ones(shape, execution._DTYPES[key]) for shape, key in zip(shapes, dtypes, strict=True)]
    lists = {name: tuple(value) if isinstance(value, list) else value for name, value in attributes.items()}
    try:
        found = call(*arrays, **lists)
    except Exception:
        return None
    return [[*map(int, one.shape)] for one in (found if isinstance(found, (tuple, list)) else [found])]


def execute() -> None:
    """Run the jobs on standard input in the environment of their framework, and print their results."""
    import alias_execution as execution

    for line in sys.stdin:
        job = json.loads(line)
        try:
            call = execution.function_named(job["name"])
        except AttributeError as error:
            print("\n" + json.dumps({"missing": str(error)}))
            continue
        print("\n" + json.dumps({"results": [returned(call, s, job["attributes"]) for s in job["requests"]]}))


def vectors(framework: str, python: str) -> Iterator[dict[str, Any]]:
    """Yield the vectors of one framework."""
    from axiscast import check
    from axiscast.ops import FRAMEWORKS

    wanted = list(jobs(framework))
    lines = "".join(f"{json.dumps(job)}\n" for job in wanted)
    run = subprocess.run([python, __file__], input=lines, capture_output=True, text=True, timeout=1800)
    found = [json.loads(line) for line in run.stdout.splitlines() if line.startswith(('{"results"', '{"missing"'))]
    if len(found) != len(wanted):
        raise SystemExit(f"{framework}: {len(found)} of {len(wanted)} functions answered\n{run.stderr[-2000:]}")
    for job, answer in zip(wanted, found, strict=True):
        pairs = zip(job["requests"], answer.get("results", []), strict=False)
        accepted = [(shapes, outputs) for shapes, outputs in pairs if outputs is not None]
        if not accepted:
            print(f"{job['name']}: {answer}", file=sys.stderr)
        release = " ".join(FRAMEWORKS[framework].reference)
        op = {"name": job["name"], **job["attributes"]}
        for shapes, outputs in accepted:
            if any(warning.code == "release-differs" for warning in check(op, *shapes).warnings):
                continue  # the release deviates from its documentation
            yield {"op": op, "inputs": shapes, "outputs": outputs, "framework": release, "source": "executed"}


if __name__ == "__main__":
    if not sys.argv[1:]:
        execute()
    for vector in vectors(*sys.argv[1:]) if sys.argv[1:] else ():
        print(json.dumps(vector))
