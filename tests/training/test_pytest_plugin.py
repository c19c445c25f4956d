"""The pytest plugin, which watches tests."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import run

TESTS = """
import pytest, torch

@pytest.fixture
def made():
    return torch.ones(5) - torch.ones(5, 1)

def test_square():
    torch.ones(5) - torch.ones(5, 1)

def test_fixture(made): pass

@pytest.mark.axiscast("allow")
def test_allowed():
    torch.ones(5) - torch.ones(5, 1)

def test_fine():
    torch.ones(5) - torch.ones(5)
"""


def pytest_of(folder: Path, *options: str, tests: str = TESTS, **environment: str) -> tuple[int, str]:
    """Return the exit status and the output of pytest in a project with the fake torch."""
    (folder / "conftest.py").write_text("import fake_torch; fake_torch.install()\n")
    (folder / "test_it.py").write_text(tests)
    (folder / ".git").mkdir(exist_ok=True)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB", "PYTEST"))}
    variables |= {"PYTHONPATH": os.pathsep.join(sys.path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment}
    command = [sys.executable, "-m", "pytest", "-p", "axiscast.training.plugin", "--strict-markers", *options]
    done = run(command, cwd=folder, env=variables)
    return done.returncode, done.stdout + done.stderr


def test_the_plugin_is_off_by_default_and_imports_nothing(tmp_path: Path) -> None:
    tests = TESTS + "\ndef test_light():\n    import sys; assert 'axiscast.training.watching' not in sys.modules\n"
    status, output = pytest_of(tmp_path, tests=tests)
    assert (status, "5 passed" in output, "warning" in output) == (0, True, False), output


def test_the_plugin_warns(tmp_path: Path) -> None:
    status, output = pytest_of(tmp_path, "--axiscast-broadcast=warn")
    assert (status, "4 passed, 2 warnings" in output) == (0, True), output
    assert "test_it.py:6: SuspiciousBroadcast: torch.sub" in output
    assert "test_it.py:9: SuspiciousBroadcast: torch.sub" in output


def test_the_plugin_explains_a_failed_test(tmp_path: Path) -> None:
    tests = "import numpy as np\ndef test_it():\n    x, bias = np.zeros((2, 3)), np.zeros(4)\n    x + bias\n"
    status, output = pytest_of(tmp_path, "--axiscast-broadcast=warn", tests=tests)
    assert status == 1
    assert "axiscast: x + bias: x (2, 3) float64, bias (4,) float64. " in output, output


def test_the_plugin_fails_tests_at_their_line_and_shows_nothing_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naxiscast_broadcast = error\n")
    status, output = pytest_of(tmp_path)
    assert (status, "1 failed, 2 passed, 1 error" in output) == (1, True), output
    assert "test_it.py:9: SuspiciousBroadcast" in output
    assert "watching.py" not in output
    assert pytest_of(tmp_path, "--axiscast-broadcast=off")[0] == 0


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "2"]], ids=["here", "xdist"])
def test_on_github_each_finding_is_an_annotation(tmp_path: Path, workers: list[str]) -> None:
    status, output = pytest_of(tmp_path, "--axiscast-broadcast=warn", *workers, GITHUB_ACTIONS="true")
    commands = [line for line in output.splitlines() if line.startswith("::")]
    assert status == 0, output
    assert sorted(command.partition("::Inputs")[0].partition(",title")[0] for command in commands) == [
        "::warning file=test_it.py,line=6",
        "::warning file=test_it.py,line=9",
    ], output


@pytest.mark.parametrize(
    ("options", "tests", "said"),
    [
        (["-o", "axiscast_broadcast=on"], TESTS, "axiscast_broadcast must be off, warn or error, not 'on'"),
        (
            ["--axiscast-broadcast=warn"],
            TESTS.replace("allow", "alow"),
            'the marker axiscast takes exactly one argument, "allow"',
        ),
        (["--axiscast-broadcast=warn", "--noconftest"], "", "needs torch 2.4"),
    ],
)
def test_invalid_use_of_the_plugin_is_a_usage_error(tmp_path: Path, options: list[str], tests: str, said: str) -> None:
    if "--noconftest" in options and find_spec("torch"):
        pytest.skip("torch is there")
    status, output = pytest_of(tmp_path, *options, tests=tests)
    assert (status, said in output) == (4, True), output
