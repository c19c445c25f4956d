"""The shared code of benchmarks: contenders in alternating rounds, and results in files."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import axiscast

Row = dict[str, Any]
RESULTS = Path(__file__).parent / "results"


def interleave(calls: Mapping[str, Callable[[], object]], rounds: int, least_seconds: float = 0.02) -> dict[str, Row]:
    """Return for each contender the seconds of a call, and the ratio to the first contender in the same round.

    Both are (median, least, most). Short calls are repeated until a round takes `least_seconds`.
    """
    many = {name: repeats(call, least_seconds) for name, call in calls.items()}
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(many[name]):
                call()
            taken[name].append((time.perf_counter() - start) / many[name])
    base = next(iter(taken.values()))
    return {
        name: {
            "seconds": spread(seconds),
            "ratio": spread([own / other for own, other in zip(seconds, base, strict=True)]),
        }
        for name, seconds in taken.items()
    }


def repeats(call: Callable[[], object], least_seconds: float) -> int:
    """Return how often to call a function for `least_seconds`, after a warm-up."""
    call()
    start = time.perf_counter()
    call()
    return max(int(least_seconds / (time.perf_counter() - start)), 1)


def spread(values: Sequence[float]) -> list[float]:
    """Return the median, the smallest and the largest value with four digits."""
    return [float(f"{value:.4g}") for value in (statistics.median(values), min(values), max(values))]


def pin(core: int) -> None:
    os.sched_setaffinity(0, {core})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def memory_of(process: int, field: str = "VmRSS") -> int:
    """Return the memory of a process in bytes, now (VmRSS) or at its peak (VmHWM)."""
    return int(re.findall(rf"{field}:\s+(\d+)", Path(f"/proc/{process}/status").read_text())[0]) * 1024


def cpu_of(process: int) -> float:
    """Return the CPU time of a process in seconds, in steps of 0.01."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def forget_peak(process: int) -> None:
    """Reset the peak of the memory to the current memory."""
    Path(f"/proc/{process}/clear_refs").write_text("5")


def machine() -> Row:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())
    return {
        "commit": commit(),
        "cpu": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def commit() -> str:
    """Return the commit of the imported axiscast.

    It ends with `-dirty` if the code or the benchmarks have changed. It is `unknown` without a repository or git.
    """
    package = Path(axiscast.__file__).parent
    git = partial(subprocess.run, cwd=package, capture_output=True)
    if not shutil.which("git") or git(["git", "ls-files", "--error-unmatch", "__init__.py"]).returncode:
        return "unknown"
    found = git(["git", "rev-parse", "--short", "HEAD"]).stdout.decode().strip()
    measured = [f":/{folder}" for folder in ("client", "service", "benchmarks")]
    changed = git(["git", "status", "--porcelain", "--", *measured, ":/!benchmarks/results"]).stdout
    return f"{found}-dirty" if changed else found


def destination(text: str) -> Path:
    """Return the path for results, as the type of an argument. benchmarks/results only takes those of a commit."""
    path = Path(text)
    if path.absolute().parent == RESULTS and not re.fullmatch("[0-9a-f]+", commit()):
        raise argparse.ArgumentTypeError(f"figures in {RESULTS.name} are of a commit, and the code is {commit()}")
    return path


def save(path: Path, groups: Mapping[str, Any]) -> None:
    """Write results with the environment. Results of other groups stay if their environment is the same."""
    old = json.loads(path.read_text()) if path.exists() else {}
    kept = old if old.get("machine") == machine() else {}
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(kept | {"machine": machine()} | dict(groups), indent=1)
    path.write_text(re.sub(r"\[\s+([^][{}]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n")
