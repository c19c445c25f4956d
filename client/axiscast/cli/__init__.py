"""The command line: a file for each command, and what they share in arguments.py.

Libraries that a command may not need (httpx, the service) are imported by the command that does:
`axiscast check` answers in a fraction of a second.

What a service would refuse, every command says in one line on stderr, and exits with 2.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from .arguments import OUTPUT_FAILED, CommandFailure, errors_as_messages
from .broadcast import broadcast_command
from .check import check_command
from .compare import compare_command
from .ops import ops_command
from .serve import serve_command
from .translate import translate_command
from .why import why_command


class Commands(click.Group):
    """All commands. An answer that can't be told, or is interrupted, has a status of its own: click's says no."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with _exit_statuses():
            return super().make_context(*arguments, **options)

    def invoke(self, context: click.Context) -> Any:
        with _exit_statuses():
            return super().invoke(context)


@contextmanager
def _exit_statuses() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise CommandFailure("interrupted", 128 + signal.SIGINT) from None
    except OSError as error:
        sys.stdout = None  # else Python tries again what could not be written
        if isinstance(error, BrokenPipeError):
            sys.exit(128 + signal.SIGPIPE)  # as all do that write to a reader who has enough
        where = error.filename or "the answer can't be written"
        raise CommandFailure(f"{where}: {error.strerror or error}", OUTPUT_FAILED) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="axiscast")
def main() -> None:
    """Tensor broadcasting: the exact answer of every framework's rule, from here or from a service.

    A shell completes commands, options, ops and modes after eval "$(_AXISCAST_COMPLETE=bash_source axiscast)"; zsh
    with zsh_source there, and fish with _AXISCAST_COMPLETE=fish_source axiscast | source.
    """


for command in (
    serve_command,
    check_command,
    broadcast_command,
    compare_command,
    translate_command,
    why_command,
    ops_command,
):
    assert command.callback is not None
    command.callback = errors_as_messages()(command.callback)
    main.add_command(command)
