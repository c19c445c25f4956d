"""Programs give the same results, errors and warnings under a watch and the pytest plugin (`make models`)."""

from __future__ import annotations

import importlib.util
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from conftest import started

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="no torch")

OF_PLACES = {
    "saying.warning_once_for_each_place",
    "saying.warnings_filtered_by_module",
    "saying.kernel_warnings_filtered_by_module",
    "saying.shown_by_an_own_function",
    "saying.where_errors_are_raised",
}
"""The programs whose result contains a source line: it is the same as unwatched, and differs under a mode."""
SECONDS = 900
"""The time limit of all programs in one way, in seconds. Many of them are compiled."""
DIFFERENT = {"tensors.swap": "swap_tensors refuses a tensor with a weak reference, which a watch needs"}
"""The programs that fail under a watch, and why (docs/evidence/training.md)."""
ELSEWHERE = {"saying.softmax_without_a_dimension"}
"""The programs whose warning names a frame far above the call of torch, and another frame under a watch."""
NAMES = [
    f"{file.stem}.{name}"
    for file in sorted((Path(__file__).parents[1] / "watched").glob("*.py"))
    if file.stem in ("compiling", "gradients", "tensors", "saying")
    for name in re.findall(r"^def ([a-z]\w*)", file.read_text(), re.MULTILINE)
]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the outcomes by way. Each way has its own process, since torch gives some warnings only once."""
    folder = tmp_path_factory.mktemp("outcomes")
    tests = Path(__file__).parents[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment |= {"PYTHONPATH": os.pathsep.join([str(tests), *sys.path]), "WATCHED_OUTCOMES": str(folder / "plugin")}
    pytest_options = ["--axiscast-broadcast=warn", "-p", "no:cacheprovider", "-q"]
    commands = {way: ["watched", way, str(folder / way)] for way in ("alone", "mode", "watch")}
    commands["plugin"] = ["pytest", *pytest_options, "--noconftest", str(tests / "watched" / "under_pytest.py")]
    for command in commands.values():
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with started([sys.executable, "-m", *command], env=environment, cwd=folder, **pipes) as process:
            written = process.communicate(timeout=SECONDS)[0]
        assert process.returncode == 0, (command, written[-2000:])
    return {way: pickle.loads((folder / way).read_bytes()) for way in commands}


def without_stacks(value: Any) -> Any:
    """Return texts without quoted stacks, which contain the frames of a mode."""
    if isinstance(value, str):
        return value.partition('File "')[0]
    return [without_stacks(each) for each in value] if isinstance(value, list | tuple) else value


@cases("way", ["watch", "plugin"])
@cases("name", NAMES)
def test_a_program_is_the_same(outcomes: dict[str, dict[str, Any]], name: str, way: str) -> None:
    result, said = outcomes[way][name]
    as_before = outcomes["alone" if name in OF_PLACES else "mode"][name][0]
    own = [warning for warning in said if warning[0] != "SuspiciousBroadcast"]
    parts = 2 if name in ELSEWHERE else None
    alone = [warning[:parts] for warning in outcomes["alone"][name][1]]
    assert without_stacks([warning[:parts] for warning in own]) == without_stacks(alone)
    if name in DIFFERENT:
        assert result != as_before, DIFFERENT[name]
    else:
        assert without_stacks(result) == without_stacks(as_before)


def test_the_programs_do_what_their_names_say(outcomes: dict[str, dict[str, Any]]) -> None:
    assert [*outcomes["watch"]] == sorted(NAMES, key=[*outcomes["watch"]].index)
    assert len(NAMES) >= 60
    assert sum(bool(said) for _, said in outcomes["alone"].values()) > 20
    squares = [said for _, said in outcomes["watch"].values() if any(each[0] == "SuspiciousBroadcast" for each in said)]
    assert len(squares) > 3
