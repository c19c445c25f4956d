"""No test can fail because the machine is busy: none compares a real clock with an upper bound or an exact value.

A test may measure processor time by `least_seconds`, or make its claim in a function that `unhurried` repeats with a
longer time. For timers, `Unhurried` in conversation.py is an event loop with its own clock.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "cpu", "seconds_worked", "total_seconds"}
"""The functions whose differences are durations."""
REPEATING = {"least_seconds", "min", "unhurried", "wait_for"}
"""The functions that try several times, or return the least of several durations."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def called(node: ast.AST) -> set[str]:
    """Return the names of the functions and methods that are called in a node."""
    calls = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    return {each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in calls}


def names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def timed_names(function: Function) -> set[str]:
    """Return the variables whose values depend on a clock."""
    found: set[str] = set()
    before = -1
    while len(found) > before:
        before = len(found)
        for node in ast.walk(function):
            targets: list[ast.expr] = []
            if isinstance(node, ast.Assign):
                targets, value = node.targets, node.value
            elif isinstance(node, ast.AugAssign):
                targets, value = [node.target], node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
                targets, value = [node.func.value], node.args[0]
            if targets and depends_on_clock(value, found):
                found |= set().union(*map(names, targets))
    return found


def depends_on_clock(value: ast.AST, timed: set[str]) -> bool:
    return bool((called(value) & CLOCKS or names(value) & timed) and not called(value) & REPEATING)


def repeated(tree: ast.Module) -> set[str]:
    """Return the functions of a module that `unhurried` repeats."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and names(node.func) == {"unhurried"}]
    return set().union(*(names(argument) for call in calls for argument in call.args))


def claims(function: Function) -> list[ast.Assert]:
    return [node for node in ast.walk(function) if isinstance(node, ast.Assert)]


def hurried(tree: ast.Module) -> Iterator[str]:
    """Yield each comparison of a duration with an upper bound or an exact value, as its line and source."""
    exempt = repeated(tree)
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    seen = {claim for function in functions if function.name in exempt for claim in claims(function)}
    for function in functions:
        if not called(function) & CLOCKS:
            continue
        timed = timed_names(function)
        for claim in claims(function):
            compared = [node for node in ast.walk(claim.test) if isinstance(node, ast.Compare)]
            bounds = [part for each in compared for part in parts(each) if is_bound(*part, timed)]
            if bounds and claim not in seen:
                seen.add(claim)
                yield f"{claim.lineno}: {ast.unparse(claim)}"


def parts(compared: ast.Compare) -> Iterator[tuple[ast.expr, ast.cmpop, ast.expr]]:
    left = compared.left
    for operator, right in zip(compared.ops, compared.comparators, strict=True):
        yield left, operator, right
        left = right


def is_bound(left: ast.expr, operator: ast.cmpop, right: ast.expr, timed: set[str]) -> bool:
    """Return whether a comparison fails if the value that depends on a clock is too large."""
    first, second = depends_on_clock(left, timed), depends_on_clock(right, timed)
    if isinstance(operator, ast.Lt | ast.LtE):
        return first
    if isinstance(operator, ast.Gt | ast.GtE):
        return second
    return isinstance(operator, ast.Eq) and ((first and is_number(right)) or (second and is_number(left)))


def is_number(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float)


def approximated(tree: ast.Module) -> Iterator[str]:
    """Yield each function that sleeps or reads a clock, and compares a number by `approx`."""
    for function in (node for node in tree.body if isinstance(node, Function)):
        calls = called(function)
        if "approx" in calls and calls & (CLOCKS | {"sleep"}) and "Unhurried" not in names(function):
            yield f"{function.lineno}: {function.name}"


@pytest.mark.parametrize(
    "claim",
    [
        "    start = time.monotonic()\n    work()\n    assert time.monotonic() - start < 2\n",
        "    start = process_time()\n    work()\n    took = process_time() - start\n    assert 0 < took <= 2\n",
        "    waits = []\n    waits.append(time.perf_counter() - start)\n    assert 2 > sorted(waits)[10]\n",
        "    before = service.cpu()\n    assert service.cpu() - before == 0\n",
    ],
)
def test_an_upper_bound_of_a_clock_is_found(claim: str) -> None:
    assert len(list(hurried(ast.parse(f"def test():\n{claim}")))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "def test():\n    start = time.monotonic()\n    assert time.monotonic() - start >= 0.5\n",
        "def test():\n    assert least_seconds(work, 0.2) < 0.2\n",
        "def test():\n    taken.append(time.thread_time() - start)\n    assert min(taken) < 0.2\n",
        "def test():\n    end = time.monotonic()\n    assert [start for start in starts if start < end] == []\n",
        "def t():\n    def claim(s):\n        assert time.monotonic() - start < s\n    unhurried(claim, 1)\n",
        "def t():\n    end = time.monotonic() + 4\n    while time.monotonic() < end:\n        assert work() == 200\n",
    ],
)
def test_a_claim_that_holds_on_a_busy_machine_is_accepted(source: str) -> None:
    assert list(hurried(ast.parse(source))) == []


def test_an_approximate_value_of_a_real_clock_is_found() -> None:
    claim = "def test():\n    asyncio.run(asyncio.sleep(1))\n    assert rate() == pytest.approx(100)\n"
    assert list(approximated(ast.parse(claim))) == ["1: test"]
    assert list(approximated(ast.parse(claim.replace("asyncio.run", "Runner(Unhurried)")))) == []


def test_no_test_depends_on_the_speed_of_the_machine() -> None:
    found = []
    reads_clock = re.compile(rf"\b({'|'.join(CLOCKS)}|sleep)\b")
    for path in sorted(TESTS.rglob("*.py")):
        source = path.read_text()
        tree = ast.parse(source if reads_clock.search(source) else "")
        found += [f"{path.relative_to(TESTS)}:{place}" for part in (hurried, approximated) for place in part(tree)]
    assert found == []
