"""axiscast why: it explains the text of an error, or a log on stdin."""

from __future__ import annotations

import json
import pty
import subprocess
import sys
from pathlib import Path

from cases import cases
from click.testing import CliRunner
from conftest import PATIENCE, run, started

import axiscast
from axiscast.cli import main

TEXT = "ValueError: operands could not be broadcast together with shapes (2,64,7,7) (64,)"
SIZES = "RuntimeError: The size of tensor a (7) must match the size of tensor b (64) at non-singleton dimension 3"
RESHAPE = "RuntimeError: shape '[4, 2]' is invalid for input of size 6"


def why(*words: str, log: str | bytes = "") -> tuple[int, str]:
    done = CliRunner().invoke(main, ["why", *words], input=log, prog_name="axiscast")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def test_a_message_is_explained_with_the_diagram_and_the_hint() -> None:
    status, out = why(TEXT)
    assert status == 0
    assert out.startswith(axiscast.why(TEXT).message)
    assert "\ninput 1  +    +   +   64\n" in out
    hint = out.splitlines()[-1]
    assert (hint[:6], "(64, 1, 1)" in hint, "[:, None, None]" in hint) == ("hint: ", True, True)


def test_the_log_in_a_file_is_explained(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(f"start\n{TEXT}\n{SIZES}\n")
    status, out = why(str(tmp_path / "train.log"))
    assert status == 0
    assert [out.count(axiscast.why(text).message) for text in (TEXT, SIZES)] == [1, 1]


def test_the_conditions_and_hints_of_named_sizes_are_printed() -> None:
    status, out = why("operands could not be broadcast together with shapes (N,3) (N,)")
    assert status == 0
    assert [part for part in ("(N, 3)", "N", "3", "1") if part not in out.splitlines()[0]] == []
    assert [part for part in ("hint: ", "(N, 1)", "[:, None]") if part not in out.splitlines()[-1]] == []


def test_each_error_of_a_log_is_explained_once() -> None:
    status, out = why(log=f"start\n{TEXT}\n{SIZES}\nepoch\n{TEXT}\n")
    assert status == 0
    assert [out.count(axiscast.why(text).message) for text in (TEXT, SIZES)] == [1, 1]


def test_json_has_a_line_for_each_error() -> None:
    status, out = why("--json", log=f"{TEXT}\n{SIZES}\n")
    first, second = map(json.loads, out.splitlines())
    assert (first["op"], first["inputs"], first["sizes"]) == ({"name": "numpy.add"}, [[2, 64, 7, 7], [64]], [7, 64])
    assert first["check"]["conflict"]["axis"] == 3
    assert (second.keys(), second["sizes"]) == ({"sizes", "message"}, [7, 64])
    assert status == 0


@cases("text", [RESHAPE, "all is well"])
def test_the_status_is_1_if_no_error_is_about_broadcasting(text: str) -> None:
    assert why(text) == (1, f"{axiscast.why(text).message}\n")
    assert why(log=f"{text}\n")[0] == 1


def test_bytes_that_are_not_utf8_are_skipped() -> None:
    assert why(log=b"\xff\xfe\n" + TEXT.encode() + b"\n")[0] == 0


def test_an_explanation_is_printed_while_the_log_continues() -> None:
    command = [sys.executable, "-m", "axiscast", "why"]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{TEXT}\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith("numpy.add can't broadcast")
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_a_missing_text_on_a_terminal_is_reported() -> None:
    terminal, end = pty.openpty()
    done = run([sys.executable, "-m", "axiscast", "why"], stdin=end)
    assert done.returncode == 2
    assert "no text is given" in done.stderr
    assert terminal
