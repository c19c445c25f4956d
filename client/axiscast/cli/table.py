"""Rows in columns, as text."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence

import click


def echo_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of equally many cells, styled or not. On a terminal they stand in columns, the last one folded to its
    width; elsewhere each row is one line, with a tab between its cells, so that it can be searched and cut."""
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(row))
        return
    widths = [max(len(click.unstyle(cell)) for cell in column) for column in zip(*rows, strict=True)][:-1]
    left = sum(widths) + 2 * len(widths)
    room = max(20, shutil.get_terminal_size().columns - left)
    for *cells, last in rows:
        padded = "".join(
            cell + " " * (width + 2 - len(click.unstyle(cell))) for cell, width in zip(cells, widths, strict=True)
        )
        click.echo((padded + f"\n{' ' * left}".join(textwrap.wrap(last, room))).rstrip())
