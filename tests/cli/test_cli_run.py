"""axiscast run: it runs a script like Python, and explains an error about shapes after its traceback."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import run

SCRIPT = """
import sys
from pathlib import Path
import numpy as np
import beside
print(__name__, Path(__file__).name, sys.argv[1:], beside.SIZE)
if "fail" in sys.argv:
    images, bias = np.zeros((2, 64, 7, 7)), np.zeros(beside.SIZE)
    images + bias
if "other" in sys.argv:
    {}["key"]
sys.exit(5)
"""


def axiscast(folder: Path, *arguments: str) -> tuple[int, str, str]:
    (folder / "script.py").write_text(SCRIPT)
    (folder / "beside.py").write_text("SIZE = 64\n")
    done = run([sys.executable, "-m", "axiscast", "run", *arguments], cwd=folder)
    return done.returncode, done.stdout, done.stderr


def test_a_script_runs_as_python_runs_it(tmp_path: Path) -> None:
    assert axiscast(tmp_path, "script.py", "--epochs", "3") == (5, "__main__ script.py ['--epochs', '3'] 64\n", "")


def test_an_error_about_shapes_is_explained_under_its_traceback(tmp_path: Path) -> None:
    status, _, printed = axiscast(tmp_path, "script.py", "fail")
    lines = printed.splitlines()
    assert status == 1
    assert lines[0] == "Traceback (most recent call last):"
    assert 'script.py", line 9, in <module>' in lines[1]
    assert lines[-2].startswith("ValueError: operands could not be broadcast together")
    assert lines[-1].startswith("axiscast: images + bias: images (2, 64, 7, 7) float64, bias (64,) float64. ")
    assert "`bias[:, None, None]`" in lines[-1]


def test_an_unrelated_error_is_unchanged(tmp_path: Path) -> None:
    status, _, printed = axiscast(tmp_path, "script.py", "other")
    assert (status, printed.splitlines()[-1]) == (1, "KeyError: 'key'")


def test_an_error_in_a_thread_is_explained(tmp_path: Path) -> None:
    code = "import threading, numpy as np\nx, y = np.ones((4, 6)), np.ones(4)\n"
    code += "threading.Thread(target=lambda: x * y).start()\n"
    (tmp_path / "script.py").write_text(code)
    status, _, printed = axiscast_run_of(tmp_path)
    assert status == 0
    assert "axiscast: x * y: x (4, 6) float64, y (4,) float64. " in printed


def test_a_missing_script_exits_with_2(tmp_path: Path) -> None:
    status, _, printed = axiscast(tmp_path, "missing.py")
    assert status == 2
    assert "missing.py" in printed


def test_watch_needs_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('not here')")  # this folder precedes installed packages
    (tmp_path / "script.py").write_text("print('ran')")
    status, printed, error = axiscast_run_of(tmp_path, "--watch")
    assert (status, printed) == (1, "")
    assert "--watch reports broadcasts of torch only" in error
    assert "pip install 'torch>=2.4' (not here)" in error


@pytest.mark.skipif(not find_spec("torch"), reason="torch is not installed")
def test_watch_reports_silent_broadcasts_of_the_script(tmp_path: Path) -> None:
    code = "import torch\nx, y = torch.ones(8, 1), torch.ones(8)\nfor _ in range(3):\n    loss = (x - y).mean()\n"
    (tmp_path / "script.py").write_text(code)
    assert axiscast_run_of(tmp_path)[2] == ""
    status, _, printed = axiscast_run_of(tmp_path, "--watch")
    assert status == 0
    assert printed.count("SuspiciousBroadcast") == 1
    assert "script.py:4: SuspiciousBroadcast: torch.sub: x (8, 1) - y (8,) gives (8, 8)" in printed


def axiscast_run_of(folder: Path, *options: str) -> tuple[int, str, str]:
    done = run([sys.executable, "-m", "axiscast", "run", *options, "script.py"], cwd=folder)
    return done.returncode, done.stdout, done.stderr
