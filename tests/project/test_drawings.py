"""The pictures in README.md and docs/ are current: `make pictures` draws them."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "docs/draw_pictures.py"))
PICTURES = dict(SCRIPT["pictures"]())


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_a_picture_shows_the_result_of_its_command(path: Path, tmp_path: Path) -> None:
    SCRIPT["draw"](PICTURES[path], tmp_path / "drawn.svg")
    assert path.read_text() == (tmp_path / "drawn.svg").read_text(), "run `make pictures`"


def test_each_picture_is_on_a_page() -> None:
    assert len(PICTURES) > 5
    assert sorted((ROOT / "docs/drawings").iterdir()) == sorted(PICTURES)
