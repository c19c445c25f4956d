"""The table in docs/settings.md agrees with the settings of the service."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from axiscast.cli.arguments import option_name
from axiscast_service.settings import Settings, variable_of

PAGE = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
ROWS = [[cell.strip() for cell in row.split("|")[1:-1]] for row in re.findall(r"^\| `AXISCAST_.*$", PAGE, re.MULTILINE)]


def shown(default: object) -> str:
    if default == "":
        return "none"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def test_the_table_has_each_setting_with_its_option_default_and_meaning() -> None:
    assert [(variable, option, default, meaning) for variable, option, default, _, meaning, _ in ROWS] == [
        (f"`{variable_of(one.name)}`", f"`{option_name(one.name)}`", shown(one.default), one.metadata["help"])
        for one in fields(Settings)
    ]


def test_each_row_explains_when_to_change_the_setting() -> None:
    assert all(row[-1] for row in ROWS)
    assert len(ROWS) == 18
