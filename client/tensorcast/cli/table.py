"""Rows in columns, as text."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence

import click


def echo_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of equally many cells, styled or not. On a terminal the last column is folded to its width; elsewhere
    each row is one line, so that it can be searched and cut."""
    widths = [max(len(click.unstyle(cell)) for cell in column) for column in zip(*rows, strict=True)][:-1]
    left = sum(widths) + 2 * len(widths)
    room = max(20, shutil.get_terminal_size().columns - left) if sys.stdout.isatty() else None
    for *cells, last in rows:
        padded = "".join(
            cell + " " * (width + 2 - len(click.unstyle(cell))) for cell, width in zip(cells, widths, strict=True)
        )
        lines = textwrap.wrap(last, room) if room else [last]
        click.echo((padded + f"\n{' ' * left}".join(lines)).rstrip())
