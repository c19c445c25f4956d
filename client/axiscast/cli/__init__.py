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

from .arguments import CANT_WRITE, Failure, problems_in_words
from .broadcast import broadcast
from .check import check
from .compare import compare
from .ops import ops
from .serve import serve
from .translate import translate
from .why import why


class Commands(click.Group):
    """All commands. An answer that can't be told, or is interrupted, has a status of its own: click's says no."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with _own_statuses():
            return super().make_context(*arguments, **options)

    def invoke(self, context: click.Context) -> Any:
        with _own_statuses():
            return super().invoke(context)


@contextmanager
def _own_statuses() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Failure("interrupted", 128 + signal.SIGINT) from None
    except OSError as error:
        sys.stdout = None  # else Python tries again what could not be written
        if isinstance(error, BrokenPipeError):
            sys.exit(128 + signal.SIGPIPE)  # as all do that write to a reader who has enough
        where = error.filename or "the answer can't be written"
        raise Failure(f"{where}: {error.strerror or error}", CANT_WRITE) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="axiscast")
def main() -> None:
    """Tensor broadcasting: the exact answer of every framework's rule, from here or from a service.

    A shell completes commands, options, ops and modes after eval "$(_AXISCAST_COMPLETE=bash_source axiscast)"; zsh
    with zsh_source there, and fish with _AXISCAST_COMPLETE=fish_source axiscast | source.
    """


for command in (serve, check, broadcast, compare, translate, why, ops):
    assert command.callback is not None
    command.callback = problems_in_words()(command.callback)
    main.add_command(command)
