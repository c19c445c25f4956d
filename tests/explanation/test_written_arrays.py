"""Errors of operations that write into an array, whose shape they can't change: the advice is executed."""

from __future__ import annotations

import linecache
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import cases

import axiscast
from axiscast.messages.why import WhyAnswer

ADDED = [
    ((5,), (3, 5)),
    ((1, 5), (3, 1)),
    ((2, 1, 5), (2, 3, 5)),
    ((2, 1, 1), (2, 3, 5)),
    ((4, 1), (6, 4, 1)),
    ((5,), (2, 3, 5)),
    ((3,), (3, 1)),
    ((2, 1), (3, 2, 4)),
    ((5,), (3, 1)),
    ((3, 1), (3,)),
    ((3, 1), (1, 3)),
]
"""Shapes of an array and of a value that can't be added to it in place."""
CODE = re.compile(r"`([^`]+=[^`]+)`")


def explained(statement: str, names: dict[str, Any], path: Path) -> WhyAnswer:
    """Return the explanation of the error that a statement raises."""
    path.write_text(f"{statement}\n")
    linecache.checkcache(str(path))
    with pytest.raises((ValueError, RuntimeError)) as caught:
        exec(compile(path.read_text(), path, "exec"), names)
    return axiscast.why(caught.value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "program.py"


@cases("framework", [name for name in ("numpy", "torch") if find_spec(name)])
@cases(("shape", "value"), ADDED, ids=str)
def test_the_code_that_reduces_a_value_first_runs(framework: str, shape: Any, value: Any, path: Path) -> None:
    ones = import_module(framework).ones
    answer = explained("acc += x", {"acc": ones(shape), "x": ones(value)}, path)
    assert answer.inputs == [value]
    for code in CODE.findall(answer.message):
        names = {"acc": ones(shape), "x": ones(value)}
        if "+=" in code:
            assert eval(code.partition("+= ")[2], names).shape == shape, code
        exec(code, names)
        assert (tuple(names["acc"].shape) == shape) == ("+=" in code), code


WRITTEN = {
    "a part of an array": "acc[:] += x",
    "operands that do not fit": "acc += y",
    "an assignment to a part": "acc[:] = x",
}


@cases("name", WRITTEN)
def test_no_advice_changes_the_shape_of_a_part(name: str, path: Path) -> None:
    arrays = {"x": np.ones((3, 5)), "y": np.ones((3, 4))}
    answer = explained(WRITTEN[name], {"acc": np.ones(5), **arrays}, path)
    assert answer.check is not None
    assert answer.check.conflict is not None
    assert answer.check.conflict.hints == []
    for code in CODE.findall(answer.message):
        exec(code, {"acc": np.ones(5), **arrays})
