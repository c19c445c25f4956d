"""Measure how much longer training code takes under axiscast.watch, and single operations of torch.

    python benchmarks/training.py [--rounds 20] [-o benchmarks/results/training.json]

Needs torch, torchvision, transformers and torchmetrics. The programs (`training_programs.py`) run on one core: in turn
unwatched, under a mode that does nothing, and watched. Figures are CPU time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from harness import Row, destination, pin, save, spread
from torch.overrides import TorchFunctionMode
from training_programs import PROGRAMS

import axiscast


class Empty(TorchFunctionMode):
    """A mode that does nothing, to measure torch's own cost of calling a mode."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **kwargs) if kwargs else func(*args)


CONTENDERS: Mapping[str, Callable[[], AbstractContextManager[Any]]] = {
    "no watch": nullcontext,
    "empty mode": Empty,
    "watch": axiscast.watch,
}


def cpu(call: Callable[[], object], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - start) / times


def interleaved(call: Callable[[], object], rounds: int, times: int) -> dict[str, Row]:
    """Return the CPU seconds of a call for each contender, and the ratio to an unwatched call in the same round."""
    taken: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    cpu(call, times)
    for _ in range(rounds):
        for name, context in CONTENDERS.items():
            with context():
                taken[name].append(cpu(call, times))
    base = taken["no watch"]
    return {
        name: {
            "CPU seconds": spread(seconds),
            "ratio": spread([own / other for own, other in zip(seconds, base, strict=True)]),
            "ratio of medians": float(f"{statistics.median(seconds) / statistics.median(base):.4g}"),
        }
        for name, seconds in taken.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="", help="the programs and operations with this in their names")
    parser.add_argument("--seconds", type=float, default=0.1, help="how long a program runs in a round")
    parser.add_argument("-o", type=destination, help="write the figures there, as JSON")
    options = parser.parse_args()
    pin(0)
    torch.set_num_threads(1)
    one, column, matrix = torch.ones(8), torch.ones(8, 1), torch.ones(8, 8)
    operations: dict[str, Callable[[], object]] = {
        "x + x": lambda: one + one,
        "x + 1": lambda: one + 1,
        "x.sum()": lambda: one.sum(),
        "x.relu()": lambda: one.relu(),
        "relu(x)": lambda: torch.nn.functional.relu(one),
        "x.softmax(0)": lambda: one.softmax(0),
        "column + scalar": lambda: column + one[0],
        "matrix + row": lambda: matrix + one,
    }
    made = {name: make() for name, make in PROGRAMS.items() if options.only in name}
    made |= {name: call for name, call in operations.items() if options.only in name}
    figures = {}
    for name, call in made.items():
        call()
        figures[name] = interleaved(call, options.rounds, max(int(options.seconds / cpu(call, 1)), 1))
        print(name, *[f"{who} {row['ratio of medians']}" for who, row in figures[name].items()], sep="   ", flush=True)
    if options.o:
        save(options.o, {"training": figures})


if __name__ == "__main__":
    main()
