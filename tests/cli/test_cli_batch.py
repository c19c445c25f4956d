"""axiscast check --batch: one request per line, and one answer for each line."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE, started
from test_cli import process, run

GOOD = {"op": "numpy.add", "inputs": [[3, 1], [4]]}
CONFLICT = {"inputs": [[3], [4]]}
UNKNOWN = {"op": "torch.expnd", "inputs": [[3]]}


def asked(folder: Path, *lines: Any) -> tuple[int, list[Any]]:
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    (folder / "requests.jsonl").write_text(text)
    done = run("check", "--batch", "requests.jsonl", folder=folder)
    assert done.stderr == ""
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_each_line_of_a_batch_gets_the_answer_of_its_check(tmp_path: Path) -> None:
    symbolic = {"inputs": [["N"], ["M"]], "assume": {"N": "2.."}}
    more = {"op": {"name": "torch.expand", "size": [2, -1]}, "inputs": [[3]], "dtype": "int8", "explain": True}
    status, answers = asked(tmp_path, GOOD, symbolic, more)
    assert status == 0
    assert [answer["compatible"] for answer in answers] == [True, None, True]
    assert answers[0]["outputs"][0]["shape"] == [3, 4]
    assert (answers[2]["outputs"][0]["nbytes"], "diagram" in answers[2]) == (6, True)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ([], 0),
        ([GOOD], 0),
        ([GOOD, CONFLICT, GOOD], 1),
        ([GOOD, UNKNOWN], 2),
        ([UNKNOWN, CONFLICT], 1),
        ([CONFLICT, UNKNOWN], 1),
        (["", GOOD, "  "], 0),
    ],
)
def test_the_exit_status_of_a_batch_is_1_for_a_conflict_and_2_for_an_invalid_line(
    tmp_path: Path, lines: list[Any], status: int
) -> None:
    found, answers = asked(tmp_path, *lines)
    assert (found, len(answers)) == (status, sum(bool(line) and line != "  " for line in lines))


WRONG = [
    ("{", "line 2: this is not JSON"),
    ('{"inputs": [[3]],}', "line 2: this is not JSON: remove the comma before }"),
    ("3,4", 'line 2: this is not a request: write {"op": "numpy.add", "inputs": [[3, 1], [4]]}'),
    ("[[3], [4]]", "line 2: this is not a request"),
    ({"inputs": [[-1]]}, 'line 2: inputs/0/0: must not be negative: a size is 0 or more; write "?"'),
    ({"inputs": [[3.0]]}, "line 2: inputs/0/0: must be an integer, not a float: write 3"),
    (UNKNOWN, "line 2: there is no op 'torch.expnd': did you mean torch.expand or torch.expand_as? `axiscast ops`"),
    ({"op": "torch.expand", "inputs": [[3]]}, '"op": {"name": "torch.expand", "size": [3, -1]}'),
    ({"op": "numpy.add", "inputs": [[3]]}, "numpy.add takes 2 inputs, not 1"),
    ({"op": "torch.broadcast_tensors", "inputs": [[1] * 65]}, "a shape has 65 axes"),
    ("x" * (2**20 + 1), "line 2: the line is longer than 1048576 bytes"),
    (" " * (3 * 2**20) + "x", "line 2: the line is longer than 1048576 bytes"),
    ("\N{LATIN SMALL LETTER E WITH ACUTE}", "line 2: this is not a request"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG, ids=[message[:60] for _, message in WRONG])
def test_an_invalid_line_does_not_affect_the_others(tmp_path: Path, wrong: Any, message: str) -> None:
    status, answers = asked(tmp_path, GOOD, wrong, GOOD)
    assert status == 2
    assert [answer.get("compatible") for answer in answers] == [True, None, True]
    assert message in answers[1]["error"]["detail"]
    assert "/v1" not in answers[1]["error"]["detail"]


def test_a_batch_may_end_without_a_line_break_and_use_crlf(tmp_path: Path) -> None:
    (tmp_path / "requests.jsonl").write_bytes(b"\r\n".join([json.dumps(GOOD).encode()] * 3))
    done = run("check", "--batch", "requests.jsonl", folder=tmp_path)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 3)


def test_thousands_of_lines_are_answered_in_order(tmp_path: Path) -> None:
    lines = [{"inputs": [[size, 1], [7]]} for size in range(1, 3001)]
    _, answers = asked(tmp_path, *lines)
    assert [answer["outputs"][0]["shape"] for answer in answers] == [[size, 7] for size in range(1, 3001)]


def test_stdin_is_answered_line_by_line() -> None:
    command = [sys.executable, "-m", "axiscast", "check", "--batch", "-"]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for line, compatible in ((GOOD, True), (CONFLICT, False), (GOOD, True)):
            print(json.dumps(line), file=running.stdin, flush=True)
            assert json.loads(running.stdout.readline())["compatible"] is compatible  # the next line is not yet written
        running.communicate(timeout=PATIENCE)
        assert running.returncode == 1


def test_a_progress_bar_is_printed_only_to_a_terminal(tmp_path: Path) -> None:
    row = json.dumps({"inputs": [[1] * 60] * 100})
    (tmp_path / "requests.jsonl").write_text(f"{row}\n" * 60)  # more than 1 MiB
    ours, theirs = pty.openpty()
    done = process("check", "--batch", "requests.jsonl", cwd=tmp_path, stderr=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    shown = os.read(ours, 2**16).decode()
    os.close(ours)
    assert "checks" in shown
    assert len(done.stdout.splitlines()) == 60
    assert run("check", "--batch", "requests.jsonl", folder=tmp_path).stderr == ""


def test_the_answers_are_those_of_numpy(tmp_path: Path) -> None:
    chance = np.random.default_rng(7)
    shapes = [[chance.choice([1, 2, 3], chance.integers(0, 4)).tolist() for _ in range(3)] for _ in range(300)]
    _, answers = asked(tmp_path, *({"inputs": inputs} for inputs in shapes))
    for inputs, answer in zip(shapes, answers, strict=True):
        try:
            expected = list(np.broadcast_shapes(*map(tuple, inputs)))
        except ValueError:
            assert answer["compatible"] is False
        else:
            assert answer["outputs"][0]["shape"] == expected
