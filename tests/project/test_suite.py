"""Tests of the suite itself: it leaves no process running, and no test depends on a fast machine."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from conftest import PATIENCE, started, wait_for
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parents[1]
INTERRUPTED = """
from pathlib import Path
from conftest import run, served

def test_that_takes_long():
    with served() as service:
        Path("running").write_text(f"{service.process.pid}\\n")
        run(["sh", "-c", "sleep 0.5; sleep 1000 & echo $! >>running; wait"])
"""
"""It runs a service and a command that has started another, once the command itself has been noted: a suite that is
killed in the microseconds before leaves it."""


def runs(pid: int) -> bool:
    """Return whether a process is running. A process that has ended but was not waited for is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_suite_that_is_interrupted_leaves_nothing_running(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "test_interrupted.py").write_text(INTERRUPTED)
    running = tmp_path / "running"
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", tmp_path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    attended = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell lets what it runs behind it ignore it
    with started(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, preexec_fn=attended) as suite:
        assert wait_for(lambda: running.exists() and running.read_text().count("\n") == 2)
        left = [int(line) for line in running.read_text().splitlines()]
        assert all(map(runs, left))
        suite.send_signal(number)
        suite.communicate(timeout=PATIENCE)
        assert wait_for(lambda: not any(map(runs, left)), PATIENCE / 5)


def test_no_example_of_hypothesis_has_a_deadline() -> None:
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings().suppress_health_check


def test_processes_are_started_where_they_are_ended() -> None:
    """Processes that tests start directly would have other timeouts, or be left when a test fails."""
    starting = {"Popen", "run", "call", "check_call", "check_output"}
    found = []
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in starting and ast.unparse(node.value) == "subprocess":
                found.append(f"{path.name}:{node.lineno}")
    assert found == []


def test_no_two_test_modules_have_the_same_name() -> None:
    """Pytest imports them by their names alone, and collects only one of two, but only if it collects both folders."""
    names = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
