"""Plant random faults in a copy of the tree, and list those that no test finds. Not part of the gate.

python tests/plant.py --seed 1 --faults 100 [--workers 2] [--map map.json] [--log log.jsonl] [--suite]

It works on copies of the tree, which are removed. First, it records which tests call which functions (kept in --map).
For each fault, it runs the tests that call the function, the most specific first. With --suite, it runs the whole suite
for the remaining faults. With --log, it writes each result, and a later run with the same seed continues there.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from compileall import compile_dir
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from py_compile import PycInvalidationMode
from queue import Queue
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NamedTuple

from conftest import run, started

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    *("wire", "plan", "ops", "engine", "messages", "words", "checks", "comparison", "translation", "explanation"),
    *("drawing", "arrays", "client"),
)
FOLDERS = [f"client/axiscast/{name}" for name in PACKAGES]
FOLDERS += [f"service/axiscast_service/{name}" for name in ("http", "middleware", "endpoints", "runtime")]
HOUR = 3600.0
OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}
RECORDER = """
import json, os, sys, threading, time
import pytest
root = os.environ["PLANT_ROOT"] + "/"
tests, called, failed = {}, set(), set()
def trace(frame, event, argument):
    code = frame.f_code
    called.add((code.co_filename, code.co_firstlineno))
@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    called.clear()
    threading.settrace(trace)
    sys.settrace(trace)
    began = time.process_time()
    result = yield
    sys.settrace(None)
    test = tests.setdefault(item.nodeid.partition("[")[0], {"seconds": 0, "calls": set()})
    test["seconds"] += time.process_time() - began
    test["calls"] |= {(name[len(root):], line) for name, line in called.copy() if name.startswith(root)}
    return result
def pytest_runtest_logreport(report):
    if report.failed:
        failed.add(report.nodeid.partition("[")[0])
def pytest_sessionfinish():
    found = {name: test | {"calls": sorted(test["calls"])} for name, test in tests.items() if name not in failed}
    with open(os.environ["PLANT_CALLS"], "w") as file:
        json.dump(found, file)
"""


class Fault(NamedTuple):
    """A replacement of a part of a file, by its first and last byte. `function` is the line of its function."""

    path: str
    start: int
    stop: int
    text: str
    function: int

    def planted(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.stop :]

    def hunk(self, source: bytes) -> str:
        before, after = source.decode().splitlines(True), self.planted(source).decode().splitlines(True)
        return "".join(difflib.unified_diff(before, after, self.path, self.path, n=1))


def mutants(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield expressions of a node with wrong replacements."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in OPPOSITES:
            changed = copy.copy(node)
            changed.ops = [OPPOSITES[type(op)]()]  # type: ignore[list-item]
            yield node, changed
        case ast.BinOp(op=op) if type(op) in OPPOSITES:
            yield node, ast.BinOp(node.left, OPPOSITES[type(op)](), node.right)  # type: ignore[arg-type]
        case ast.BoolOp(op=op, values=values):
            for number in range(len(values)):
                kept = values[:number] + values[number + 1 :]
                yield node, kept[0] if len(kept) == 1 else ast.BoolOp(op, kept)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, operand
        case ast.Constant(value=bool(value)):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield node, ast.Constant(value + 1)
        case ast.If(test=test) | ast.IfExp(test=test):
            yield test, ast.Constant(True)
            yield test, ast.Constant(False)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, ast.Constant(None)


def faults_in(root: Path, path: Path) -> Iterator[Fault]:
    """Return all faults for the functions of a file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(True):
        starts.append(starts[-1] + len(line))

    def walk(node: ast.AST, function: int) -> Iterator[Fault]:
        if isinstance(node, ast.JoinedStr | ast.arguments | ast.AnnAssign):
            return  # messages, defaults and annotations
        if isinstance(node, ast.keyword) and node.arg == "strict":
            return  # zip of sequences that are equally long
        if function:
            for old, new in mutants(node):
                start = starts[old.lineno - 1] + old.col_offset
                stop = starts[(old.end_lineno or 0) - 1] + (old.end_col_offset or 0)
                text = ast.unparse(ast.fix_missing_locations(new))
                text = text if isinstance(new, ast.Constant | ast.Name) else f"({text})"
                yield Fault(str(path.relative_to(root)), start, stop, text, function)
        for field, value in ast.iter_fields(node):
            if field in ("decorator_list", "returns", "annotation"):
                continue
            inner = (
                min([node.lineno, *(each.lineno for each in node.decorator_list)]) if is_function(node) else function
            )
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child, inner)

    yield from walk(ast.parse(source), 0)


def is_function(node: Any) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def copied(folder: Path) -> Path:
    """Copy the files that git lists, with uncommitted changes."""
    files = run(["git", "ls-files", "-z"], cwd=ROOT).stdout
    for name in filter(None, files.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    # By its time and size, a file with a fault could be taken for the one without.
    for name in ("client", "service"):
        compile_dir(folder / name, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    return folder


def pytest(root: Path, *arguments: str, seconds: float, **environment: str) -> tuple[int | None, str]:
    """Run pytest on a copy of the tree. Return its exit status (None after a timeout) and its output."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-rfE", *arguments]
    paths = [environment.pop("first", ""), str(root / "client"), str(root / "service")]
    merged = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with TemporaryFile("w+") as output:
        quiet = {"stdout": output, "stderr": subprocess.STDOUT}
        with started(command, cwd=root, env=merged | environment, **quiet) as process:
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                status = None
        output.seek(0)
        return status, output.read()


def recorded(root: Path, paths: list[str], seconds: float) -> dict[str, Any]:
    """Return the processor time and the called functions of each test that passes."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "plant_recorder.py").write_text(RECORDER)
        output = Path(folder) / "calls.json"
        options = {"first": folder, "PLANT_ROOT": str(root), "PLANT_CALLS": str(output)}
        status, text = pytest(root, "-p", "plant_recorder", *paths, seconds=seconds, **options)
        if not output.exists():
            raise SystemExit(f"no calls were recorded: pytest ended with {status}\n{text}")
        tests: dict[str, Any] = json.loads(output.read_text())
    for test in tests.values():
        test["calls"] = [place for place in test["calls"] if place[0].startswith(tuple(FOLDERS))]
    return tests


def covering(tests: dict[str, Any], fault: Fault, seconds: float) -> list[str]:
    """Return the tests that call the function of a fault, the most specific first, up to a total time."""
    place = [fault.path, fault.function]
    found = sorted(
        (name for name in tests if place in tests[name]["calls"]), key=lambda name: len(tests[name]["calls"])
    )
    times = itertools.accumulate(tests[name]["seconds"] for name in found)
    return [name for number, (name, time) in enumerate(zip(found, times, strict=True)) if time < seconds or not number]


def noticed(root: Path, fault: Fault, tests: list[str], seconds: float) -> str:
    """Return what finds the fault in the copy: a test, "time" or "". The copy is restored."""
    path = root / fault.path
    source = path.read_bytes()
    try:
        path.write_bytes(fault.planted(source))
        status, text = pytest(root, "-x", *tests, seconds=seconds)
    finally:
        path.write_bytes(source)
    if status in (0, 5):
        return ""
    lines = [line for line in text.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return "time" if status is None else lines[0] if lines else f"exit status {status}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--only", default="", help="plant in files whose path has this in it")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60, help="processor time of the tests of a fault, at most")
    parser.add_argument("--map", type=Path, help="where the calls are kept; recorded if it is not there")
    parser.add_argument("--log", type=Path, help="where the verdicts are kept, a line of JSON each")
    parser.add_argument("--suite", action="store_true", help="run the whole suite on what survives")
    parser.add_argument("tests", nargs="*", help="the test files to record; all if none is named")
    options = parser.parse_args()
    assert all((ROOT / name).is_dir() for name in FOLDERS)
    paths = sorted(path for name in FOLDERS for path in (ROOT / name).rglob("*.py") if options.only in str(path))
    found = [fault for path in paths for fault in faults_in(ROOT, path)]
    chosen = random.Random(options.seed).sample(found, min(options.faults, len(found)))
    log: Path | None = options.log
    verdicts = {}
    if log and log.exists():
        verdicts = {each["number"]: each for each in map(json.loads, log.read_text().splitlines())}
    with TemporaryDirectory(prefix="plant-") as folder:
        roots = [copied(Path(folder) / str(number)) for number in range(options.workers)]
        if options.map and options.map.exists():
            tests = json.loads(options.map.read_text())
        else:
            tests = recorded(roots[0], options.tests, HOUR)
            if options.map:
                options.map.write_text(json.dumps(tests))
        free: Queue[Path] = Queue()
        for root in roots:
            free.put(root)

        def plant(number: int) -> None:
            fault = chosen[number]
            root = free.get()
            near = covering(tests, fault, options.seconds)
            by = noticed(root, fault, near, 10 * options.seconds) if near else ""
            if options.suite and not by:
                by = noticed(root, fault, ["-n", "auto", "--dist", "worksteal"], HOUR)
            free.put(root)
            hunk = fault.hunk((ROOT / fault.path).read_bytes())
            verdicts[number] = {"seed": options.seed, "number": number, "tests": len(near), "by": by, "hunk": hunk}
            if log:
                with log.open("a") as file:
                    file.write(json.dumps(verdicts[number]) + "\n")

        with ThreadPoolExecutor(options.workers) as pool:
            list(pool.map(plant, [number for number in range(len(chosen)) if number not in verdicts]))
    alive = [verdict for number, verdict in sorted(verdicts.items()) if not verdict["by"]]
    for verdict in alive:
        print(f"fault {verdict['number']}, {verdict['tests']} tests\n{verdict['hunk']}")
    print(f"{len(alive)} of {len(verdicts)} faults survived, of {len(found)} that can be planted")


if __name__ == "__main__":
    main()
