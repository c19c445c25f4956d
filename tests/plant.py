"""Plant faults chosen by a seed, and list those that no test notices. Not part of the gate.

python tests/plant.py --seed 1 --faults 100 [--workers 2] [--map plant.json] [--suite]

Works on copies of the tree, which are removed. First it records which test files call which functions (kept in --map).
Each fault is met by the test files that call its function, the most specific first; with --suite what survives them is
met by the whole suite. Test files that fail without a fault, or take too long, are left out.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from conftest import run, started

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = [f"client/tensorcast/{name}" for name in ("plan", "ops", "answers", "client")]
FOLDERS += ["service/tensorcast_service/engine"]
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
import atexit, json, os, sys, threading
called = set()
def trace(frame, event, argument):
    code = frame.f_code
    called.add((code.co_filename, code.co_firstlineno))
threading.settrace(trace)
sys.settrace(trace)
def write():
    sys.settrace(None)
    root = os.environ["PLANT_ROOT"] + "/"
    found = [[name[len(root):], line] for name, line in list(called) if name.startswith(root)]
    with open(os.environ["PLANT_CALLS"], "w") as file:
        json.dump(found, file)
atexit.register(write)
"""


class Fault(NamedTuple):
    """A part of a file, by its first and last byte, and what replaces it; `function` is the line of its function."""

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
    """Expressions in a node, each with a wrong one in its place."""
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
        case ast.Return(value=ast.expr() as value):
            yield value, ast.Constant(None)


def faults_in(root: Path, path: Path) -> Iterator[Fault]:
    """Every fault that can be planted in the functions of a file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(True):
        starts.append(starts[-1] + len(line))

    def walk(node: ast.AST, function: int) -> Iterator[Fault]:
        if isinstance(node, ast.JoinedStr | ast.arguments | ast.AnnAssign):
            return  # messages, defaults and annotations
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
    """A copy of what git has of the tree, with what is changed and not committed."""
    files = run(["git", "ls-files", "-z"], cwd=ROOT).stdout
    for name in filter(None, files.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def pytest(root: Path, *arguments: str, seconds: float, **environment: str) -> int | None:
    """The exit status of pytest on a copy of the tree; None if it took longer. All its processes have ended then."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    paths = [environment.pop("first", ""), str(root / "client"), str(root / "service")]
    merged = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONDONTWRITEBYTECODE": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with started(command, cwd=root, env=merged | environment, **quiet) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None


def recorded(root: Path, seconds: float) -> dict[str, list[list[Any]]]:
    """The functions that each test file calls, for those that pass."""
    calls: dict[str, list[list[Any]]] = {}
    with TemporaryDirectory() as folder:
        (Path(folder) / "plant_recorder.py").write_text(RECORDER)
        output = Path(folder) / "calls.json"
        for path in sorted((root / "tests").glob("test_*.py")):
            output.unlink(missing_ok=True)
            name = str(path.relative_to(root))
            options = {"first": folder, "PLANT_ROOT": str(root), "PLANT_CALLS": str(output)}
            if pytest(root, "-p", "plant_recorder", name, seconds=seconds, **options) == 0 and output.exists():
                calls[name] = [place for place in json.loads(output.read_text()) if place[0].startswith(tuple(FOLDERS))]
    return calls


def survives(root: Path, fault: Fault, tests: list[str], seconds: float) -> bool:
    """Whether the tests pass with the fault in the copy, which is then as it was."""
    path = root / fault.path
    source = path.read_bytes()
    try:
        path.write_bytes(fault.planted(source))
        return pytest(root, *tests, seconds=seconds) in (0, 5)
    finally:
        path.write_bytes(source)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--only", default="", help="plant in files whose path has this in it")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--files", type=int, default=12, help="test files that are run on each fault, at most")
    parser.add_argument(
        "--seconds", type=float, default=300, help="for the test files of a fault, or one to be recorded"
    )
    parser.add_argument("--map", type=Path, help="where the calls are kept; recorded if it is not there")
    parser.add_argument("--suite", action="store_true", help="run the whole suite on what survives")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="plant-") as folder:
        roots = [copied(Path(folder) / str(number)) for number in range(options.workers)]
        if options.map and options.map.exists():
            calls = json.loads(options.map.read_text())
        else:
            calls = recorded(roots[0], options.seconds)
            if options.map:
                options.map.write_text(json.dumps(calls))
        free: Queue[Path] = Queue()
        for root in roots:
            free.put(root)
        paths = sorted(path for name in FOLDERS for path in (ROOT / name).rglob("*.py") if options.only in str(path))
        found = [fault for path in paths for fault in faults_in(ROOT, path)]
        chosen = random.Random(options.seed).sample(found, min(options.faults, len(found)))

        def survived(fault: Fault) -> bool:
            place = [fault.path, fault.function]
            tests = sorted((name for name in calls if place in calls[name]), key=lambda name: len(calls[name]))
            root = free.get()
            try:
                if tests and not survives(root, fault, tests[: options.files], options.seconds):
                    return False
                suite = ["-n", "auto", "--dist", "worksteal"]
                return not options.suite or survives(root, fault, suite, 10 * options.seconds)
            finally:
                free.put(root)

        with ThreadPoolExecutor(options.workers) as pool:
            alive = [fault for fault, is_alive in zip(chosen, pool.map(survived, chosen), strict=True) if is_alive]
    for fault in alive:
        print(fault.hunk((ROOT / fault.path).read_bytes()))
    print(f"{len(alive)} of {len(chosen)} faults survived, of {len(found)} that can be planted")


if __name__ == "__main__":
    main()
