"""The command line: a file for each command, and what they share in arguments.py.

Libraries that a command may not need (rich, httpx, the service) are imported by the command that does:
`tensorcast check` answers in a fraction of a second.
"""

from __future__ import annotations

import click

from .broadcast import broadcast
from .check import check
from .compare import compare
from .ops import ops
from .serve import serve
from .translate import translate


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tensorcast")
def main() -> None:
    """Tensor broadcasting: the exact answer of every framework's rule, from here or from a service."""


for command in (serve, check, broadcast, compare, translate, ops):
    main.add_command(command)
