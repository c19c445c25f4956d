"""The conversion of exceptions into messages on stderr and exit statuses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ..wire.problems import Problem
from .exit_statuses import SERVICE_URL, CommandFailure


@contextmanager
def report_failures() -> Iterator[None]:
    """Return a context manager that converts exceptions into a message on stderr and an exit status.

    The exit status is 2 if the arguments are wrong, 69 if the service is unavailable, and 77 if it denies access.
    """
    try:
        yield
    except Problem as problem:
        raise click.UsageError(_in_command_line_notation(str(problem), problem.pointer)) from None
    except Exception as error:
        from .. import errors

        if not isinstance(error, errors.AxiscastError):
            raise
        status = getattr(error, "status", None) or 599  # status 599 means that no service has responded
        request_id = f" (request {error.request_id})" if error.request_id else ""
        message = f"{click.get_current_context().meta.get(SERVICE_URL)}: {error}{request_id}"
        if isinstance(error, errors.Unauthenticated):
            raise CommandFailure(f"{message}: set AXISCAST_API_KEY, or use --api-key", os.EX_NOPERM) from None
        is_unexpected = isinstance(error, errors.UnexpectedStatus)
        if isinstance(error, errors.MisdirectedRequest) or status == 403 or (is_unexpected and status in (401, 407)):
            raise CommandFailure(message, os.EX_NOPERM) from None
        if is_unexpected or status in (404, 405, 408, 429) or status >= 500:
            raise CommandFailure(message, os.EX_UNAVAILABLE) from None
        raise click.UsageError(_in_command_line_notation(str(error), getattr(error, "pointer", None))) from None


def _in_command_line_notation(detail: str, pointer: str | None) -> str:
    """Replace a field name at the start of a message by the name of the corresponding command-line option.

    A message begins with a field name if, for example, a service has sent the message.
    """
    from .arguments import CommandNotation

    location = (pointer or "")[1:]
    if not location or not detail.startswith(f"{location}: "):
        return detail
    steps = [int(step) if step.isdecimal() else step for step in location.split("/")]
    return f"{CommandNotation().location(steps)}{detail[len(location) :]}"
