"""axiscast serve: runs the service."""

from __future__ import annotations

import os
from typing import Any

import click

from .arguments import F, option_name
from .failures import CommandFailure


def _settings_options(command: F) -> F:
    """Add one command-line option for each setting of the service to a command."""
    from dataclasses import fields

    from axiscast_service.settings import Settings, is_size, size_text, variable_of

    for setting in reversed(fields(Settings)):
        size = is_size(setting.name)
        default = size_text(setting.default) if size else "none" if setting.default == "" else setting.default
        help_text = f"{setting.metadata['help']} [{variable_of(setting.name)}; default {default}]"
        kind = str if size else type(setting.default)
        command = click.option(option_name(setting.name), type=kind, metavar="SIZE" if size else None, help=help_text)(
            command
        )
    return command


@click.command("serve")
@_settings_options
def serve_command(**options: Any) -> None:
    """Run the service. Each option can also be set by the environment variable in brackets."""
    from axiscast_service.settings import Settings, variable_of

    os.environ.update({variable_of(name): str(value) for name, value in options.items() if value is not None})
    try:
        from axiscast_service.serve import serve as run
        from axiscast_service.serve import verify_address, verify_settings
    except ImportError:
        from ..client.in_process import NO_SERVICE

        raise CommandFailure(NO_SERVICE, os.EX_UNAVAILABLE) from None
    try:
        settings = Settings.from_environment()  # worker processes read their settings from the environment
        verify_settings(settings)
        verify_address(settings)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    run(settings)
