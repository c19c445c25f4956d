"""Terminal output of the commands: colors, tables and progress bars."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from .failures import OUTPUT_FAILED, CommandFailure

COLORS = {"yes": "green", "if": "yellow", "no": "red", "hint": "cyan", "warning": "yellow"}
"""The color for each verdict and each kind of output line."""


def write_svg(answer: Any, path: Path | None) -> None:
    """If a path is given, write an answer as an SVG picture to this file."""
    if path is not None:
        try:
            path.write_text(answer._repr_svg_(), encoding="utf-8")
        except OSError as error:
            raise CommandFailure(f"the picture can't be written: {error}", OUTPUT_FAILED) from None


def paint(text: str, kind: str) -> str:
    """Return text in the color of its kind. In a diagram, only the marks of a conflict have a color."""
    if kind == "diagram":
        lines = text.splitlines()
        return "\n".join(paint(line, "no") if {*line.split()} == {"^"} else line for line in lines)
    return click.style(text, fg=COLORS[kind]) if kind in COLORS else text


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of cells as a table. All rows must have the same number of cells, and the cells may be styled.

    If stdout is a terminal, the columns are aligned and the last column is wrapped. Otherwise each row is printed as
    one line with tabs between the cells, so that grep and cut can process the rows.
    """
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(row))
        return
    widths = [max(len(click.unstyle(cell)) for cell in column) for column in zip(*rows, strict=True)][:-1]
    indent = sum(widths) + 2 * len(widths)
    last_width = max(20, shutil.get_terminal_size().columns - indent)
    for *cells, last in rows:
        pairs = zip(cells, widths, strict=True)
        padded = "".join(cell + " " * (width + 2 - len(click.unstyle(cell))) for cell, width in pairs)
        click.echo((padded + f"\n{' ' * indent}".join(textwrap.wrap(last, last_width))).rstrip())


def terminal_width() -> int:
    """Return the number of columns of the terminal, or 100 if stdout is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 100


@contextmanager
def byte_progress(total: int, min_total: int, label: str) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on stderr, and yield a function that adds a number of bytes to the bar.

    No bar is shown if `total` is less than `min_total`, or if stderr is not a terminal.
    """
    if total < min_total or not sys.stderr.isatty():
        yield lambda nbytes: None
        return
    start = time.monotonic()

    def speed(_: object) -> str:
        return f"{bar.pos / (time.monotonic() - start) / 2**20:.0f} MiB/s"

    bar = click.progressbar(
        length=total, label=label, file=sys.stderr, update_min_steps=total // 100, item_show_func=speed
    )
    with bar:
        yield bar.update
