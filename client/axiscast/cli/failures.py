"""The failures of commands: their messages on stderr, and their exit statuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from ..wire.errors import ServiceProblem
from ..wire.problems import Problem

OUTPUT_FAILED = 2
"""The exit status of a command whose output can't be written."""


class CommandFailure(click.ClickException):
    """A failure that wrong arguments did not cause. It has its own exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.exit_code = status  # type: ignore[misc]  # click declares `exit_code` as a class variable


@contextmanager
def report_failures() -> Iterator[None]:
    """Return a context manager that converts the problem of a request into a message on stderr and exit status 2."""
    try:
        yield
    except (Problem, ServiceProblem) as problem:
        raise click.UsageError(_in_command_line_notation(str(problem), problem.pointer)) from None


def _in_command_line_notation(detail: str, pointer: str | None) -> str:
    """Replace the field name at the start of a message, if any, by the name of the command-line option."""
    from .arguments import CommandNotation

    location = (pointer or "")[1:]
    if not location or not detail.startswith(f"{location}: "):
        return detail
    steps = [int(step) if step.isdecimal() else step for step in location.split("/")]
    return f"{CommandNotation().location(steps)}{detail[len(location) :]}"
