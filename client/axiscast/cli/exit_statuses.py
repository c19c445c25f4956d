"""The exit statuses of failures that wrong arguments did not cause."""

from __future__ import annotations

import click

SERVICE_URL = "axiscast.url"
"""The key under which click's context stores the URL of the service."""
OUTPUT_FAILED = 2
"""The exit status of a command whose output can't be written."""


class CommandFailure(click.ClickException):
    """A failure that wrong arguments did not cause. It has its own exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.exit_code = status  # type: ignore[misc]  # click declares `exit_code` as a class variable
