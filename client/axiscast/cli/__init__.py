"""The command-line interface, with one file for each command.

A command imports slow libraries (onnx, the service) only if the command needs them. `axiscast check` therefore runs in
a fraction of a second. If a request is invalid, the command prints one line on stderr and exits with status 2.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from .failures import OUTPUT_FAILED, CommandFailure, report_failures

COMMANDS = {
    "Explain an error": {
        "run": "Run a Python script, and explain an error about shapes.",
        "why": "Explain the text of an error.",
    },
    "Check shapes": {
        "check": "Check whether shapes broadcast, and print the output shapes.",
        "compare": "Show what every framework does with these shapes.",
    },
    "Write or run an operation": {
        "translate": "Translate an operation to another framework.",
        "broadcast": "Broadcast .npy files to .npy files, or print small outputs.",
        "ops": "List the ops, or show one op.",
    },
    "Serve others": {"serve": "Run the service."},
}
"""The commands with their summaries, grouped by tasks. The module of a command has its name."""


class CommandGroup(click.Group):
    """The group of all commands. Unlike in click, interrupts and write errors have their own exit statuses."""

    def list_commands(self, context: click.Context) -> list[str]:
        return [name for group in COMMANDS.values() for name in group]

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summaries of the commands, without importing their modules."""
        for title, group in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(9), summary) for name, summary in group.items()])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(context):
            return None
        command: click.Command = getattr(import_module(f".{name}", __name__), f"{name}_command")
        assert command.callback is not None
        if not hasattr(command.callback, "__wrapped__"):  # click may get a command twice
            command.callback = report_failures()(command.callback)
        return command

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with _exit_statuses():
            return super().make_context(*arguments, **options)

    def invoke(self, context: click.Context) -> Any:
        if os.environ.get("NO_COLOR"):
            context.color = False
        with _exit_statuses():
            return super().invoke(context)


@contextmanager
def _exit_statuses() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise CommandFailure("interrupted", 128 + signal.SIGINT) from None
    except OSError as error:
        sys.stdout = None  # otherwise Python would try to write the remaining output at exit
        if isinstance(error, BrokenPipeError):
            sys.exit(128 + signal.SIGPIPE)  # the usual exit status if a program such as `head` closes the pipe
        subject = error.filename or "the output can't be written"
        raise CommandFailure(f"{subject}: {error.strerror or error}", OUTPUT_FAILED) from None


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="axiscast")
def main() -> None:
    """Check, explain and compute tensor broadcasting by the rules of many frameworks.

    For completion in bash, run eval "$(_AXISCAST_COMPLETE=bash_source axiscast)". For zsh, use zsh_source. For fish,
    run _AXISCAST_COMPLETE=fish_source axiscast | source.
    """
