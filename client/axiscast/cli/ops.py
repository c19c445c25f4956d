"""axiscast ops"""

from __future__ import annotations

import json
import shlex

import click

from ..messages import OpEntry
from ..messages.attribute_text import format_attribute
from ..messages.validation import unknown_op_problem
from ..ops import OPS, op_class
from ..ops.help import as_call
from .arguments import CommandNotation, client_for, complete_ops, json_option, url_option
from .table import echo_table


@click.command("ops")
@click.argument("name", required=False, shell_complete=complete_ops)
@url_option
@json_option
def ops_command(name: str | None, url: str | None, as_json: bool) -> None:
    """List the ops, or show one of them with its attributes, its definition and an example."""
    entries = _catalogue(url)
    if name is not None:
        kind = op_class(name)
        own_name = name if kind is None else kind.model_fields["name"].default
        entries = [entry for entry in entries if entry.name == own_name or name in entry.aliases]
        if not entries:
            raise unknown_op_problem(name, "", CommandNotation())
    if as_json:
        click.echo(json.dumps([entry.model_dump() for entry in entries]))
        return
    if name is not None:
        (entry,) = entries
        click.echo(f"{click.style(entry.name, bold=True)}  {entry.doc}")
        if name != entry.name:
            click.echo(f"  {name} is an alias of {entry.name}")
        for attribute, schema in entry.attributes["properties"].items():
            click.echo(f"  {attribute}  {schema.get('description', '')}")
        click.echo(f"  {entry.link} ({entry.reference.package} {entry.reference.version})")
        click.echo(f"  {_command_of(entry)}")
        if entry.name in OPS:
            click.echo(f"  {as_call(OPS[entry.name], entry.example['op'])}")
        return
    rows = [("op", "inputs", "what it does")]
    for entry in entries:
        low, high = entry.inputs.min, entry.inputs.max
        number = f"{low}+" if high is None else str(low) if low == high else f"{low} to {high}"
        rows.append((entry.name, number, entry.doc))
    echo_table(rows)


def _catalogue(url: str | None) -> list[OpEntry]:
    if url is None:
        from ..answers.catalogue import list_ops

        return list_ops().ops
    with client_for(url) as client:
        return client.ops()


def _command_of(entry: OpEntry) -> str:
    """The op's example as a command."""
    words = [
        "axiscast check",
        *(shlex.quote(format_attribute(shape)) for shape in entry.example["inputs"]),
        f"--op {entry.name}",
    ]
    attributes = entry.example["op"].items()
    words += [
        f"--{key.replace('_', '-')} {shlex.quote(format_attribute(value))}"
        for key, value in attributes
        if key != "name"
    ]
    return " ".join(words)
