"""Run requests in a framework's environment.

If the framework ends the process, that is the result of the request, and another process runs the remaining ones.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .claims import Result

PROGRAMS = Path(__file__).with_name("programs.py")


def run(framework: str, python: Path, requests: Sequence[Any]) -> list[Result]:
    """The result of each request, in order."""
    results: list[Result] = []
    while len(results) < len(requests):
        results += _batch(framework, python, requests[len(results) :])
    return results


def _batch(framework: str, python: Path, requests: Sequence[Any]) -> Iterator[Result]:
    """The results of one process: of all requests, or up to the one that ended it."""
    process = subprocess.run(
        [python, PROGRAMS, framework],
        input="".join(json.dumps(request) + "\n" for request in requests),
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, Any] = {}
    done = 0
    for line in process.stdout.splitlines():
        read = json.loads(line)
        found |= read
        if "ended" in read:
            yield _result(found)
            found, done = {}, done + 1
    if done < len(requests):
        if not found and done == 0 and process.returncode == 1:
            raise RuntimeError(f"{framework} does not start: {process.stderr[-2000:]}")
        yield _result(found | {"ended": process.returncode or -1})


def _result(found: dict[str, Any]) -> Result:
    shapes = {name: [tuple(shape) for shape in found[name]] for name in ("inferred", "shapes") if name in found}
    return Result(**{**found, **shapes})
