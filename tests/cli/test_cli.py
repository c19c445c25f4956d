"""The output and the exit statuses of the command line."""

from __future__ import annotations

import json
import os
import pty
import re
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import click
import conftest
import numpy as np
import pytest
from cases import cases
from click.testing import CliRunner

import axiscast
from axiscast.cli import main
from axiscast.ops import FRAMEWORKS, OPS


def run(*arguments: str, folder: Path | None = None) -> CompletedProcess[str]:
    """Run a command in this process, which is twenty times as fast as a new process."""
    out, err, status = StringIO(), StringIO(), 0
    with chdir(folder or Path.cwd()), redirect_stdout(out), redirect_stderr(err):
        try:
            main(arguments, prog_name="axiscast")
        except SystemExit as end:
            status = int(end.code or 0)
    return CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


def process(*arguments: str, **options: Any) -> CompletedProcess[str]:
    return conftest.run([sys.executable, "-m", "axiscast", *arguments], **options)


@cases(("shapes", "status"), [(["3", "1"], 0), (["3", "4"], 1), (["3", "?!"], 2)])
def test_a_command_in_its_own_process_prints_the_same(shapes: list[str], status: int) -> None:
    alone, here = process("check", *shapes), run("check", *shapes)
    assert (alone.returncode, alone.stdout, alone.stderr) == (status, here.stdout, here.stderr)
    assert here.returncode == status


def test_check_prints_the_diagram_and_the_output_shapes() -> None:
    done = run("check", "8,1,6,1", "7x1x5")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("axis     0   1   2   3\ninput 0  8   1*  6   1*\n")
    assert "\ncompatible: (8, 7, 6, 5)\n" in done.stdout


def test_check_exits_with_1_if_shapes_do_not_broadcast() -> None:
    done = run("check", "3", "4")
    assert (done.returncode, done.stderr) == (1, "")
    assert "incompatible (size-mismatch): " in done.stdout


def test_check_accepts_op_attributes_and_prints_json() -> None:
    done = run("check", "3", "--op", "ngraph.Broadcast", "--shape", "2,3", "--broadcast-axes", "0", "--json")
    answer = json.loads(done.stdout)
    assert answer["outputs"] == [{"shape": [2, 3], "elements": 6}]
    assert answer["broadcast_inputs"] == [{"input": 0, "shape": [2, 3], "axes": [1], "broadcast_axes": [0]}]


def test_shape_without_op_means_broadcast_to_and_dtype_adds_bytes() -> None:
    done = run("check", "()", "--shape", "4,3", "--dtype", "bfloat16", "--json")
    assert json.loads(done.stdout)["outputs"][0]["nbytes"] == 24


TRANSLATE = ["translate", "3", "--op", "ngraph.Broadcast", "--shape", "2,3", "--broadcast-axes", "0", "--to"]
MISTAKES = [
    (["check", "3,a!"], "a shape '3,a!': write a shape as 8,1,6,1 or 8x1x6x1"),
    (["check", "3", "--op", "ngraph.broadcast"], "did you mean ngraph.Broadcast?"),
    (["check", "3", "--op", "ngraph.Broadcast", "--shape", "2,3"], ": write for instance --broadcast-axes 0"),
    (["check", "3", "--op", "ngraph.Broadcast", "--shape", "2,3", "--axis", "0"], "attributes: shape, broadcast_axes"),
    (["check", "3", "--dtype", "floaty"], "the dtype is unknown: did you mean float64"),
    ([*TRANSLATE, "torch.expnd"], "there is no op 'torch.expnd': did you mean torch.expand"),
    (["check", "3", "--op", "openvino.Broadcast-1", "--mode", "explict", "--target-shape", "3"], "mean explicit?"),
    (["check", "3,-1"], "input 0, axis 1: must not be negative"),
    (["translate", "3", "--to", "tf"], "tensorflow.add? `axiscast ops` lists them"),
    (["ops", "nothing"], "there is no op 'nothing': `axiscast ops` lists them"),
    (["ops", "expand"], "did you mean onnx.Expand or torch.expand or paddle"),
    (["broadcast", "README.md", "--shape", "3", "-o", "x.npy"], "README.md is not a usable .npy file"),
    (["broadcast", "absent.npy", "--shape", "3", "-o", "x.npy"], "does not exist"),
    (["serve", "--port", "99999"], "AXISCAST_PORT must be at most 65535"),
    (["serve", "--workers", "0"], "AXISCAST_WORKERS must be a whole number of at least 1"),
]


@cases(("arguments", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_a_mistake_exits_with_2_and_suggests_the_fix(arguments: list[str], message: str) -> None:
    serves = arguments[0] == "serve"  # `serve` changes the environment of its process
    done = process(*arguments) if serves else run(*arguments, folder=Path(__file__).parents[2])
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_broadcast_writes_files_that_numpy_reads(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.arange(3, dtype=np.int16))
    done = run("broadcast", "in.npy", "--shape", "2,3", "-o", "out.npy", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "out.npy: int16 (2, 3), 12 bytes\n")
    written = np.load(tmp_path / "out.npy")
    assert (written.dtype, written.tolist()) == (np.int16, [[0, 1, 2], [0, 1, 2]])
    assert {path.name for path in tmp_path.iterdir()} == {"in.npy", "out.npy"}


def test_broadcast_reads_several_files_and_may_replace_them(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(2).reshape(2, 1))
    np.save(tmp_path / "b.npy", np.arange(3.0))
    done = run("broadcast", "a.npy", "b.npy", "-o", "a.npy", "-o", "b.npy", folder=tmp_path)
    assert done.returncode == 0
    assert np.load(tmp_path / "a.npy").tolist() == [[0, 0, 0], [1, 1, 1]]
    assert np.load(tmp_path / "b.npy").tolist() == [[0, 1, 2], [0, 1, 2]]


def test_broadcast_without_an_output_file_prints_small_outputs(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(2, dtype=np.int16).reshape(2, 1))
    np.save(tmp_path / "b.npy", np.array([0.5, 2.0, 3.0]))
    done = run("broadcast", "a.npy", "b.npy", folder=tmp_path)
    first, second = "output 0: int16 (2, 3)\n[[0 0 0]\n [1 1 1]]\n", "[[0.5 2.  3. ]\n [0.5 2.  3. ]]\n"
    assert (done.returncode, done.stdout) == (0, f"{first}output 1: float64 (2, 3)\n{second}")
    assert {path.name for path in tmp_path.iterdir()} == {"a.npy", "b.npy"}


def test_broadcast_without_an_output_file_refuses_large_outputs(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.arange(3))
    assert run("broadcast", "in.npy", "--shape", "333,3", folder=tmp_path).stdout.count("[0 1 2]") == 333
    for words in (["--shape", "334,3"], ["--shape", "9000000000000000,3"]):
        done = run("broadcast", "in.npy", *words, folder=tmp_path)
        assert done.returncode == 2
        assert "too many to print: name an output file with -o" in done.stderr
    done = run("broadcast", "in.npy", "--shape", "2,3", "--json", folder=tmp_path)
    assert (done.returncode, "--json describes files: name an output file with -o" in done.stderr) == (2, True)


def test_broadcast_handles_empty_inputs_and_outputs(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.ones((1, 3)))
    done = run("broadcast", "in.npy", "--shape", "0,3", "-o", "out.npy", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "out.npy").shape == (0, 3)


def test_a_failed_broadcast_prints_the_conflict_and_writes_no_file(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.arange(3))
    done = run("broadcast", "in.npy", "--shape", "2,4", "-o", "out.npy", folder=tmp_path)
    assert done.returncode == 1
    assert "incompatible (size-mismatch)" in done.stdout
    assert not (tmp_path / "out.npy").exists()


def test_pickled_arrays_are_rejected(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.array([{}], object), allow_pickle=True)
    done = run("broadcast", "in.npy", "--shape", "3", "-o", "out.npy", folder=tmp_path)
    assert done.returncode == 2
    assert "is not a usable .npy file" in done.stderr


def test_a_large_broadcast_shows_a_progress_bar_on_a_terminal(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.zeros((1, 1024), np.uint8))
    ours, theirs = pty.openpty()
    done = process("broadcast", "in.npy", "--shape", "131072,1024", "-o", "out.npy", stderr=theirs, cwd=tmp_path)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.returncode == 0
    assert re.search(r"128 MiB  \[#+-+\]  +\d\d%.*  \d+ MiB/s", shown)


def test_a_table_is_wrapped_on_a_terminal_and_tab_separated_elsewhere() -> None:
    whole = run("ops").stdout.splitlines()
    assert len(whole) == 1 + len(OPS)
    assert {line.count("\t") for line in whole} == {2}
    assert "  " not in "".join(whole)
    assert max(map(len, in_terminal("ops", "numpy").splitlines())) <= 60


def test_a_comparison_is_wrapped_and_colored_on_a_terminal() -> None:
    assert "\x1b" not in run("compare", "2", "3").stdout
    shown = in_terminal("compare", "2", "3", "--ops", "numpy,poputil")
    conflict = axiscast.check("numpy.add", (2,), (3,)).conflict
    assert conflict is not None
    yes, first, *lines = click.unstyle(shown).splitlines()
    assert (yes, first) == ("yes  (2,), (3,)", "     poputil.expandToMatchRanks")
    ops = "numpy.broadcast_arrays, broadcast_shapes, add; poputil.broadcastToMatch, canBroadcastToMatch"
    assert " ".join(" ".join(lines).split()) == f"no {conflict.message} {ops}"
    assert max(map(len, lines)) <= 60
    assert {line[:5] for line in lines} == {"no   ", "     "}
    assert "\x1b[31mno   \x1b[0m" in shown


def in_terminal(*arguments: str) -> str:
    """Return what a command writes to a terminal of 60 columns."""
    ours, theirs = pty.openpty()
    done = process(*arguments, stdout=theirs, env=os.environ | {"COLUMNS": "60"})
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert (done.returncode, done.stderr) == (0, "")
    return shown


COMPLETIONS = {
    "check 3 --op torch.ex": ["torch.expand", "torch.expand_as"],
    "check 3 --broadcast-a": ["--broadcast-axes"],
    "check 3 --op openvino.Broadcast-1 --mode ": ["numpy", "explicit", "pdpd"],
    "check 3 --mode bi": ["bidirectional"],
    "translate 3 --to keras": ["keras.ops.broadcast_to", "keras.ops.add", "keras.ops.where", "keras.ops.matmul"],
    "check 3 --op torch.mas": ["torch.masked_fill"],
    "check 3 --op torch.logical_x": ["torch.logical_xor"],
    "ops julia": ["julia.broadcast"],
}


@cases(("typed", "completed"), COMPLETIONS.items())
def test_a_shell_completes_ops_attributes_and_modes(typed: str, completed: list[str]) -> None:
    environment = {"COMP_WORDS": f"axiscast {typed}", "COMP_CWORD": str(len(typed.split(" ")))}
    done = CliRunner().invoke(main, [], prog_name="axiscast", env=environment | {"_AXISCAST_COMPLETE": "bash_complete"})
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == completed


def test_translate_prints_the_steps_and_the_code() -> None:
    done = run(*TRANSLATE, "numpy.broadcast_to")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "1. numpy.broadcast_to(shape=(2, 3))\n\n"
        "# x has shape (3,)\nimport numpy as np\n\ny = np.broadcast_to(x, (2, 3))\n"
    )
    answer = json.loads(run(*TRANSLATE, "stablehlo.broadcast_in_dim", "--json").stdout)
    assert answer["steps"] == [
        {"op": {"name": "stablehlo.broadcast_in_dim", "shape": [2, 3], "broadcast_dimensions": [1]}}
    ]


def test_translate_exits_with_1_if_there_is_no_translation() -> None:
    done = run(*TRANSLATE, "numpy.broadcast_arrays")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("untranslatable: ")
    assert "numpy.broadcast_arrays" in done.stdout
    done = run("translate", "3", "4", "--to", "torch.broadcast_tensors")
    assert (done.returncode, done.stdout[:19]) == (1, "incompatible-shapes")


def test_ops_lists_all_ops_or_those_of_a_framework_and_shows_one() -> None:
    assert len(json.loads(run("ops", "--json").stdout)) == len(OPS)
    assert "poputil.expandToMatchRanks" in run("ops").stdout
    of_poputil = [line.split()[0] for line in run("ops", "poputil").stdout.splitlines()[1:]]
    assert of_poputil == ["poputil.expandToMatchRanks", "poputil.broadcastToMatch", "poputil.canBroadcastToMatch"]
    shown = run("ops", "openvino.Broadcast-1").stdout
    command = next(line.strip() for line in shown.splitlines() if line.strip().startswith("axiscast check"))
    assert run(*command.split()[1:]).returncode == 0


def test_a_named_pipe_is_rejected_and_kept(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.arange(3))
    os.mkfifo(tmp_path / "pipe")
    done = run("broadcast", "in.npy", "--shape", "2,3", "-o", "pipe", folder=tmp_path)
    assert (done.returncode, "-o pipe is not a regular file" in done.stderr) == (2, True)
    assert (tmp_path / "pipe").is_fifo()
    done = run("broadcast", "pipe", "--shape", "2,3", "-o", "out.npy", folder=tmp_path)  # no program writes to the pipe
    assert (done.returncode, "pipe is not a regular file" in done.stderr) == (2, True)


def test_no_other_file_is_changed(tmp_path: Path) -> None:
    np.save(tmp_path / "out.npy.part.npy", np.arange(3))
    (tmp_path / "out.npy.part.npy").rename(tmp_path / "out.npy.part")
    assert run("broadcast", "out.npy.part", "--shape", "2,3", "-o", "out.npy", folder=tmp_path).returncode == 0
    assert np.load(tmp_path / "out.npy").tolist() == [[0, 1, 2], [0, 1, 2]]
    assert np.load(tmp_path / "out.npy.part").tolist() == [0, 1, 2]
    assert {path.name for path in tmp_path.iterdir()} == {"out.npy", "out.npy.part"}


WRONG_FILES = [
    (["in.npy", "--shape", "2,3", "-o", "nowhere/out.npy"], "can't be written"),
    (["in.npy", "--shape", "9223372036854775807,3", "-o", "out.npy"], "can't be written"),
    (["in.npy", "in.npy", "-o", "out.npy", "-o", "out.npy"], "is given twice"),
    (["in.npz", "--shape", "2,3", "-o", "out.npy"], "is not a usable .npy file"),
    (["short.npy", "--shape", "2,3", "-o", "out.npy"], "is not a usable .npy file"),
]


@pytest.mark.parametrize(
    ("arguments", "message"), WRONG_FILES, ids=[" ".join(arguments) for arguments, _ in WRONG_FILES]
)
def test_unreadable_and_unwritable_files_exit_with_2(tmp_path: Path, arguments: list[str], message: str) -> None:
    np.save(tmp_path / "in.npy", np.arange(3))
    np.savez(tmp_path / "in.npz", np.arange(3))
    (tmp_path / "short.npy").write_bytes((tmp_path / "in.npy").read_bytes()[:100])
    done = run("broadcast", *arguments, folder=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert message in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"in.npy", "in.npz", "short.npy"}


def test_a_big_endian_file_is_broadcast(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.array([1, 256], ">i4"))
    assert run("broadcast", "in.npy", "--shape", "2,2", "-o", "out.npy", folder=tmp_path).returncode == 0
    assert np.load(tmp_path / "out.npy").tolist() == [[1, 256], [1, 256]]


def test_the_help_lists_each_command_with_the_summary_of_its_own_help() -> None:
    lines = run("--help").stdout.splitlines()
    names = main.list_commands(context := click.Context(main))
    assert len(names) == 8
    for name in names:
        command = main.get_command(context, name)
        assert command is not None
        assert f"  {name:9}  {command.get_short_help_str(100)}" in lines


def loaded_modules(*arguments: str) -> set[str]:
    done = conftest.run([sys.executable, "-X", "importtime", "-m", "axiscast", *arguments])
    return set(re.findall(r"(?m)^import time:.*\| +(\S+)$", done.stderr))


def test_a_check_loads_only_what_a_check_needs() -> None:
    loaded = loaded_modules("check", "3,1", "1,4")
    assert not loaded & {"numpy", "httpx", "onnx", "asyncio", "ssl", "rich", "fastapi", "axiscast_service"}
    of_ops = {name for name in loaded if name.startswith("axiscast.ops.")}
    assert of_ops & {f"axiscast.ops.{name}" for name in FRAMEWORKS} == {"axiscast.ops.numpy"}
    own = {name.split(".")[1] for name in loaded if name.startswith("axiscast.")}
    assert not own & {"client", "arrays", "engine", "explanation", "translation", "comparison", "training"}
    assert {name for name in loaded if name.startswith("axiscast.cli.")} == {
        f"axiscast.cli.{name}" for name in ("arguments", "failures", "model_report", "terminal")
    }


def test_the_help_loads_no_command() -> None:
    loaded = loaded_modules("--help")
    own = {name for name in loaded if name.startswith("axiscast.cli")}
    assert own == {"axiscast.cli", "axiscast.cli.failures"}
    assert not loaded & {"pydantic", "numpy", "axiscast.messages", "axiscast.ops"}


@pytest.mark.parametrize(("variables", "colored"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_the_conflict_and_the_fix_are_colored_on_a_terminal(variables: dict[str, str], colored: bool) -> None:
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | variables
    process("check", "2,64,7,7", "64", stdout=theirs, env=environment)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert ("\x1b[31mincompatible (size-mismatch)" in shown, "\x1b[36mhint: " in shown) == (colored, colored)
    assert ("\x1b" in shown) is colored


def test_an_interrupt_during_the_imports_leaves_no_traceback() -> None:
    program = """
import sys
class Interrupted:
    def find_spec(self, name, path, target=None):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from axiscast.__main__ import run
run()
"""
    done = conftest.run([sys.executable, "-c", program])
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Error: interrupted\n")
