"""The note of check_torch about sizes that torch.export made equal, for a recorded program and torch itself."""

from __future__ import annotations

import io
import json
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import axiscast
from axiscast.models.programs import specialization

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # torch's warning about the loss, and Dynamo's own
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
NOTE = "the exported program does not accept a batch of 1: it requires x.size(0) == y.size(0)"


def recorded(least: int | None = None) -> Any:
    """Return the recorded program of x + y. `least` replaces the smallest size of each symbol."""
    program = json.loads((Path(__file__).parents[1] / "programs" / "torch_guarded.json").read_text())
    nodes = [
        SimpleNamespace(name=node["name"], meta={"val": SimpleNamespace(shape=node["shape"])} if node["shape"] else {})
        for node in program["graphs"][""]
    ]
    return SimpleNamespace(
        range_constraints={
            name: SimpleNamespace(lower=lower if least is None else least)
            for name, (lower, _) in program["ranges"].items()
        },
        graph_signature=SimpleNamespace(user_inputs=program["inputs"]),
        graph_module=SimpleNamespace(graph=SimpleNamespace(nodes=nodes)),
    )


def test_inputs_that_share_a_symbol_of_torch_are_tried_with_size_1() -> None:
    tried: list[specialization.Axis] = []

    def runs(program: Any, axis: specialization.Axis) -> bool:
        tried.append(axis)
        return axis[0] == "y"

    (note,) = specialization.notes(recorded(), runs)
    assert tried == [("x", 0), ("y", 0)]
    assert note.startswith(NOTE)
    assert "broadcasts a size 1 of y." in note


def test_a_size_that_must_be_equal_in_eager_mode_has_no_note() -> None:
    assert [*specialization.notes(recorded(), lambda program, axis: False)] == []


def test_a_size_with_a_name_from_the_user_has_no_note() -> None:
    assert [*specialization.notes(recorded(least=0), lambda program, axis: True)] == []


def test_notes_do_not_change_the_exit_status_and_are_printed() -> None:
    report = axiscast.Report("program", notes=(NOTE,))
    assert (report.exit_status("needs"), report.as_json()["notes"]) == (0, [NOTE])
    assert f"program: {NOTE}\n" in str(report)


@needs_torch
@pytest.mark.parametrize("is_strict", [False, True])
def test_a_size_that_only_eager_mode_broadcasts_has_a_note(is_strict: bool) -> None:
    import torch
    from programs import torch_guarded

    functions = torch_guarded.BROADCASTING + torch_guarded.EQUAL
    for function in functions:
        one_of = [name for name, takes in zip("xy", torch_guarded.eager_takes_one(function), strict=True) if takes]
        program = torch_guarded.exported(function, is_strict)
        file = io.BytesIO()
        torch.export.save(program, file)
        file.seek(0)
        for each in (program, program.run_decompositions(), torch.export.load(file)):
            report = axiscast.check_torch(each)
            expected = function in torch_guarded.BROADCASTING
            assert (function.__name__, len(report.notes)) == (function.__name__, expected)
            assert (report.exit_status(), report.findings) == (0, [])
            if expected:
                assert report.notes[0].startswith(NOTE)
                assert f"broadcasts a 1 of {' or '.join(one_of)}." in report.notes[0]
        assert not axiscast.check_torch(torch_guarded.exported(function, is_strict, torch.export.Dim("n"))).notes
