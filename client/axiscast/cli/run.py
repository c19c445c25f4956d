"""axiscast run: runs a Python script, and explains the script's error if it is about shapes."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType

import click


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--watch", is_flag=True, help="Also report suspicious broadcasts of torch, with axiscast.watch.")
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run_command(script: str, arguments: tuple[str, ...], watch: bool) -> None:
    """Run a Python script, and explain an error about shapes.

    The explanation follows the traceback. It contains the names of the operands, their shapes, and the fix. With
    --watch, a silent broadcast of (N,) with (N, 1) is reported too. Write options before the script.

    \b
    axiscast run train.py --epochs 3
    axiscast run --watch train.py

    The exit status is that of the script.
    """
    module = ModuleType("__main__")
    module.__file__ = script
    sys.modules["__main__"] = module
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    with open(script, "rb") as file:
        source = file.read()
    watching = _watching(watch)
    try:
        with watching:
            exec(compile(source, script, "exec"), module.__dict__)
    except Exception as error:
        from ..explanation.exceptions import add_why

        own = error.__traceback__
        error.__traceback__ = own.tb_next if own is not None else None  # leave out the frame of this file
        add_why(error)
        traceback.print_exception(error)
        sys.exit(1)


def _watching(watch: bool) -> AbstractContextManager[object]:
    """Return the context in which the script runs. Raises ClickException if torch is missing or too old."""
    if not watch:
        return nullcontext()
    from ..training.watching import load_mode
    from ..training.watching import watch as create_watch

    try:
        load_mode()
    except ImportError as error:
        raise click.ClickException(str(error)) from None
    return create_watch()
