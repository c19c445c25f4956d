"""The exit status of each command, and its message and its files after a failure."""

from __future__ import annotations

import os
import sys
from inspect import signature
from pathlib import Path

import conftest
import numpy as np
import pytest
from click.testing import CliRunner, Result

from axiscast.cli import main

TRANSLATE = "translate 3 --op numpy.broadcast_to --shape 2,3 --to"
BROADCAST = "broadcast in.npy -o out.npy --shape"
STATUSES = {
    "check 3 1": 0,
    "check N M": 0,  # compatible for some sizes
    "check 3 4": 1,
    "check 3,a!": 2,
    "check 3 --dtype floaty": 2,
    "check": 2,
    "compare 3 4": 0,  # the answers of the ops differ
    "compare 3,a!": 2,
    "ops": 0,
    "ops nothing": 2,
    f"{TRANSLATE} torch.expand": 0,
    f"{TRANSLATE} numpy.broadcast_arrays": 1,
    f"{TRANSLATE} nothing": 2,
    f"{BROADCAST} 2,3": 0,
    f"{BROADCAST} 2,4": 1,
    "broadcast in.npy -o there/out.npy --shape 2,3": 2,
    "check model.onnx": 2,  # not a model
    "serve --port none": 2,
    "nothing": 2,
    "--help": 0,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("in.npy", np.arange(3.0))
    return tmp_path


RUNNER = CliRunner(**{"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {})
"""Return a runner that separates stderr from stdout. Older releases of click need an option for it."""


def run(line: str) -> Result:
    return RUNNER.invoke(main, line.split())


@pytest.mark.parametrize(("line", "status"), STATUSES.items())
def test_the_exit_status_is_0_for_yes_1_for_no_and_2_for_a_mistake(folder: Path, line: str, status: int) -> None:
    Path("model.onnx").write_text("none")
    done = run(line)
    assert (done.exit_code, bool(done.stderr)) == (status, status == 2 and "onnx" not in line)


def model() -> None:
    onnx = pytest.importorskip("onnx")
    graph = "(float[3] x, float[4] y, float[2,3] m) => (float[] o) {a = Add(x, x) o = my.Magic(m, y) b = Add(o, x)}"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21, "my": 1]> g {graph}'), "model.onnx")


def test_an_unchecked_node_exits_with_3(folder: Path) -> None:
    model()
    assert run("check model.onnx").exit_code == 3


def test_unwritable_output_exits_with_neither_0_nor_1() -> None:
    command = [sys.executable, "-m", "axiscast", "check", "3", "4"]
    with open("/dev/full", "w") as full:
        done = conftest.run(command, stdout=full)
    assert (done.returncode, done.stderr) == (2, "Error: the output can't be written: No space left on device\n")
    theirs, ours = os.pipe()
    os.close(theirs)
    done = conftest.run(command, stdout=ours)
    os.close(ours)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_interrupted_command_exits_with_neither_0_nor_1(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt  # not by a signal, because a process in the background ignores SIGINT

    monkeypatch.setattr("axiscast.cli.check.check", interrupted)
    assert run("check 3 4").exit_code == 130


def test_an_output_keeps_the_mode_and_the_symbolic_link_of_the_file_that_it_replaces(folder: Path) -> None:
    (folder / "there").mkdir()
    target, link = folder / "there/target.npy", folder / "link.npy"
    target.touch(0o600)
    link.symlink_to(target)
    assert run("broadcast in.npy -o link.npy --shape 2,3").exit_code == 0
    assert (link.is_symlink(), target.stat().st_mode & 0o777) == (True, 0o600)
    assert np.load(target).shape == (2, 3)
    assert [path.name for path in target.parent.iterdir()] == ["target.npy"]
    assert run("broadcast in.npy in.npy -o link.npy -o there/target.npy").exit_code == 2  # both paths are the same file
    assert run("broadcast in.npy -o new.npy --shape 2,3").exit_code == 0
    os.umask(mask := os.umask(0))
    assert Path("new.npy").stat().st_mode & 0o777 == 0o666 & ~mask
