"""axiscast run: runs a Python script, and explains the script's error if it is about shapes."""

from __future__ import annotations

import builtins
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import click


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--watch", is_flag=True, help="Also report suspicious broadcasts of torch, with axiscast.watch.")
@click.argument("script", type=click.Path(dir_okay=False))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run_command(script: str, arguments: tuple[str, ...], watch: bool) -> None:
    """Run a Python script, and explain an error about shapes.

    The explanation follows the traceback. It contains the names of the operands, their shapes, and the fix. With
    --watch, a silent broadcast of (N,) with (N, 1) is reported too. Write options before the script.

    \b
    axiscast run train.py --epochs 3
    axiscast run --watch train.py

    The exit status is that of the script. The word python before the script is skipped.
    """
    if script in ("python", "python3") and arguments:
        script, arguments = arguments[0], arguments[1:]
    path = Path(script).absolute()
    if not path.is_file():
        raise click.BadParameter(f"File {script!r} does not exist.", param_hint="SCRIPT")
    module = ModuleType("__main__")
    module.__dict__.update(
        __annotations__={},
        __builtins__=builtins,
        __cached__=None,
        __file__=str(path),
        __loader__=SourceFileLoader("__main__", str(path)),
    )
    sys.modules["__main__"] = module
    sys.argv = [script, *arguments]
    sys.path[0] = str(path.resolve().parent)
    print_thread_error = threading.excepthook

    def explain_thread_error(error: threading.ExceptHookArgs) -> None:
        _explain(error.exc_value)
        print_thread_error(error)

    threading.excepthook = explain_thread_error
    with _watching(watch):
        try:
            exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), module.__dict__)
        except SystemExit:
            raise
        except BaseException as error:
            own = error.__traceback__
            error.__traceback__ = own.tb_next if own is not None else None  # leave out the frame of this file
            _explain(error)
            sys.excepthook(type(error), error, error.__traceback__)
            sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


def _explain(error: BaseException | None) -> None:
    """Add the explanation to an exception. It is loaded here, because most scripts do not fail."""
    from ..explanation.exceptions import add_why

    if isinstance(error, Exception):
        add_why(error)


def _watching(watch: bool) -> AbstractContextManager[object]:
    """Return the context in which the script runs. Raises ClickException if torch is missing or too old."""
    if not watch:
        return nullcontext()
    from ..training.watching import load_mode
    from ..training.watching import watch as create_watch

    try:
        load_mode()
    except ImportError as error:
        raise click.ClickException(f"--watch reports broadcasts of torch only. {error}") from None
    return create_watch()
