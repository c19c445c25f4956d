"""Draws the pictures in README.md and docs/: `make pictures`.

A picture shows the result of the command above it. The command is in a console block or in a comment.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner

from axiscast.cli import main

ROOT = Path(__file__).parent.parent
_COMMAND_OR_PICTURE = re.compile(
    r"^(?:\$|<!--) axiscast (?P<command>.*?)(?: -->)?$|\]\((?P<picture>[^()\s]*\bdrawings/[^()\s]+\.svg)\)",
    re.MULTILINE,
)


def pictures() -> Iterator[tuple[Path, list[str]]]:
    """Yield the path of each picture in the documentation, with the arguments of its command."""
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]:
        command: list[str] = []
        for found in _COMMAND_OR_PICTURE.finditer(page.read_text()):
            if found["command"] is not None:
                command = shlex.split(found["command"])
            else:
                yield (page.parent / found["picture"]).resolve(), command


def draw(command: list[str], path: Path) -> None:
    """Write the picture of a command to a file."""
    result = CliRunner().invoke(main, [*command, "--svg", str(path)])
    if not path.exists():
        sys.exit(f"axiscast {shlex.join(command)} draws no picture: {result.output}")


if __name__ == "__main__":
    for picture, arguments in pictures():
        picture.parent.mkdir(exist_ok=True)
        draw(arguments, picture)
        print(picture.relative_to(ROOT))
