"""Test that the former name of the project, which is another package, does not occur in the tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import run

ROOT = Path(__file__).parents[2]
FORMER = b"tensor" + b"cast"


def test_no_file_has_the_former_name() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("the list of files is git's")
    paths = run(["git", "ls-files", "-z"], cwd=ROOT).stdout.rstrip("\0").split("\0")
    named = [path for path in paths if FORMER in path.encode().lower()]
    holding = [path for path in paths if FORMER in (ROOT / path).read_bytes().lower()]
    assert (named, holding) == ([], [])
