"""Measure axiscast in process: the import, the first check and later checks, beside NumPy's function.

    python benchmarks/library.py [--rounds 15] [-o benchmarks/results/library.json]

Imports and first calls are taken in fresh interpreters, in turn: CPU time from before the import until after it, and
until after the first call. A further call is a check of two shapes of rank 4, never the same twice.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys

import numpy as np
from harness import Row, destination, interleave, pin, save, spread

import axiscast

SHAPES = "(8, 1, 6, 1), (7, 1, 5)"
FRESH = {
    "axiscast.check": ("import axiscast", f"axiscast.check('numpy.broadcast_arrays', {SHAPES})"),
    "np.broadcast_shapes": ("import numpy", f"numpy.broadcast_shapes({SHAPES})"),
}
"""The import and the first call of each contender."""
CHILD = """
import time
start = time.process_time()
{}
imported = time.process_time()
{}
called = time.process_time()
import json, sys
loaded = [name for name in ("numpy", "httpx", "click") if name in sys.modules]
print(json.dumps([imported - start, called - start, loaded]))
"""


def fresh(rounds: int) -> dict[str, Row]:
    """Return the CPU time in milliseconds of the import and of a first call, and the loaded modules."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in FRESH}
    loaded: dict[str, str] = {}
    for _, (name, lines) in itertools.product(range(rounds), FRESH.items()):
        done = subprocess.run([sys.executable, "-c", CHILD.format(*lines)], capture_output=True, check=True)
        imported, called, modules = json.loads(done.stdout)
        taken[name].append((imported * 1e3, called * 1e3))
        loaded[name] = ", ".join(modules) or "none"
    return {
        name: {"import CPU ms": spread(imports), "import and first call CPU ms": spread(calls), "loads": loaded[name]}
        for name, (imports, calls) in ((name, zip(*rows, strict=True)) for name, rows in taken.items())
    }


def further(rounds: int) -> dict[str, Row]:
    """Measure the time of a call in microseconds."""
    size = itertools.count(2)
    calls = {
        "axiscast.check": lambda: axiscast.check("numpy.broadcast_arrays", (8, 1, 6, 1), (1, next(size), 1, 5)),
        "np.broadcast_shapes": lambda: np.broadcast_shapes((8, 1, 6, 1), (1, next(size), 1, 5)),
    }
    return {
        name: {"call us": [float(f"{seconds * 1e6:.4g}") for seconds in row["seconds"]]}
        for name, row in interleave(calls, rounds).items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("-o", type=destination, help="write the figures there, as JSON")
    options = parser.parse_args()
    pin(1)
    first, then = fresh(options.rounds), further(options.rounds)
    figures = {name: first[name] | then[name] for name in FRESH}
    for name, row in figures.items():
        print(f"{name:20}", "; ".join(f"{figure} {value}" for figure, value in row.items()))
    if options.o:
        save(options.o, {"library": figures})


if __name__ == "__main__":
    main()
