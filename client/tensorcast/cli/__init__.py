"""The command line: a file for each command, and what they share in arguments.py.

Libraries that a command may not need (httpx, the service) are imported by the command that does:
`tensorcast check` answers in a fraction of a second.

What a service would refuse, every command says in one line on stderr, and exits with 2.
"""

from __future__ import annotations

import click

from .arguments import problems_in_words
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
    assert command.callback is not None
    command.callback = problems_in_words()(command.callback)
    main.add_command(command)
