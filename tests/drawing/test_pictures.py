"""Answers print as a drawing and sentences, and nothing is drawn before that."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from facts import formulas

import axiscast
from axiscast import Client
from axiscast.drawing import drawing

BIAS = """\
axis     0    1   2    3
input 0  2   64   7    7
input 1  +    +   +   64
                       ^
+ new axis   ^ conflict

incompatible (size-mismatch): {conflict}
hint: {hint}"""
OUTER = """\
axis     0   1
input 0  3   1*
input 1  +   4
         ------
output   3   4
* stretched   + new axis

compatible: (3, 4)"""
MAPPED = """\
axis     0   1
input 0  +   3
target   2   3
         ------
output   2   3
+ new axis

1. torch.expand(size=(2, 3))

# x has shape (3,)
import torch

y = x.expand((2, 3))"""


@pytest.fixture(params=["library", "client"])
def backend(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "library":
        yield axiscast
    else:
        with Client.in_process() as client:
            yield client


def test_a_check_prints_its_drawing_and_its_result(backend: Any) -> None:
    answer = backend.check("torch.add", (2, 64, 7, 7), (64,))
    assert str(answer) == BIAS.format(conflict=answer.conflict.message, hint=answer.conflict.hints[0].message)
    assert str(backend.check("numpy.add", (3, 1), (4,))) == OUTER
    assert str(backend.check("numpy.add", (3, 1), (4,), explain=True)) == OUTER
    assert f"{backend.check('numpy.add', (3, 1), (4,))}" == OUTER


def test_a_symbolic_check_prints_with_its_assumptions(backend: Any) -> None:
    answer = backend.check("numpy.add", ("N", 3), ("M", 1), assume={"M": "2.."})
    assert str(answer).splitlines()[1:3] == ["input 0  N~  3", "input 1  M   1*"]
    (condition,) = answer.conditions
    assert formulas([condition]) == ["N == M or N == 1"]
    assert str(answer).splitlines()[-1] == f"compatible if {condition.message}: (M, 3)"


def test_a_high_rank_prints_its_result(backend: Any) -> None:
    assert str(backend.check("numpy.add", (1,) * 60, (3,))).endswith("compatible: (" + "1, " * 59 + "3)")


def test_a_translation_prints_its_drawing_its_steps_and_its_code(backend: Any) -> None:
    op = {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [0]}
    assert str(backend.translate(op, (3,), to="torch.expand")) == MAPPED


def test_a_comparison_prints_its_verdicts_and_each_result_its_drawing(backend: Any) -> None:
    results = backend.compare((3, 1), (4,))
    assert isinstance(results, list)
    lines = str(results).splitlines()
    assert lines[0] == "yes  (3, 4)"
    assert lines[1].startswith("     numpy.broadcast_arrays, broadcast_shapes, add; ")
    assert str(results[0]) == OUTER.replace("output  ", "outputs ")  # broadcast_arrays returns two arrays
    symbolic = str(backend.compare((3,), shape=("N", 3))).splitlines()
    assert "-    skipped, because they support integer sizes only" in symbolic


def test_an_explanation_of_an_error_prints_its_sentence_and_its_drawing(backend: Any) -> None:
    answer = backend.why("The size of tensor a (7) must match the size of tensor b (64) at non-singleton dimension 3")
    assert (str(answer), answer.sizes) == (answer.message, (7, 64))
    answer = backend.why("operands could not be broadcast together with shapes (2,3) (2,)")
    text = str(answer)
    assert text.startswith(f"{answer.message}\n\naxis")
    assert "input 1  +   2\n             ^\n" in text


def test_a_batch_prints_a_line_for_each_check(backend: Any) -> None:
    rows = [{"inputs": [(3, 1), (4,)]}, {"inputs": [(3,), (4,)]}, {"op": "numpy.ad", "inputs": [(3,)]}]
    answers = backend.check_batch(rows * 10)
    lines = str(answers).splitlines()
    assert lines[0] == "0: compatible: (3, 4)"
    assert lines[1].startswith(f"1: incompatible (size-mismatch): {answers[1].conflict.message}")
    assert lines[2].startswith("2: invalid: ")
    assert "numpy.add" in lines[2]
    assert len(lines) == 21
    assert lines[-1] == "and 10 more"
    assert str(answers[0]) == OUTER
    assert str(backend.check_batch([])) == "[]"


def test_an_exception_prints_its_explanation() -> None:
    answer = axiscast.why(TypeError("unsupported operand"))
    assert str(answer) == answer.message


def test_the_drawing_is_no_part_of_the_answer(backend: Any) -> None:
    answer = backend.check("numpy.add", (3, 1), (4,))
    plain = axiscast.CheckAnswer.model_validate(answer.model_dump())
    assert answer == plain
    assert repr(answer) == repr(plain)
    assert answer.model_dump() == plain.model_dump()
    assert answer.model_dump_json() == plain.model_dump_json()
    assert str(plain).startswith("compatible=True")  # without its request, an answer has no drawing
    assert str(pickle.loads(pickle.dumps(answer))) == OUTER


def test_nothing_is_drawn_before_it_is_printed(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    describe: Callable[..., Any] = drawing.describe_drawing
    monkeypatch.setattr(
        "axiscast.drawing.pictures.describe_drawing", lambda *given: calls.append(given) or describe(*given)
    )
    answers = [
        backend.check("numpy.add", (3, 1), (4,)),
        backend.translate("numpy.broadcast_to", (3,), to="torch.expand", shape=(2, 3))
        if backend is axiscast
        else backend.translate({"name": "numpy.broadcast_to", "shape": [2, 3]}, (3,), to="torch.expand"),
        *backend.check_batch([{"inputs": [(3, 1), (4,)]}]),
        *backend.compare((3, 1), (4,))[:1],
    ]
    assert calls == []
    assert all(map(str, answers))
    assert len(calls) == len(answers)
