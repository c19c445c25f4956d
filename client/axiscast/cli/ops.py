"""axiscast ops: lists all ops, or shows one op."""

from __future__ import annotations

import json
import shlex

import click

from ..catalogue import list_ops
from ..messages import OpEntry
from ..messages.attribute_text import format_attribute
from ..messages.validation import unknown_op_problem
from ..ops import OPS, op_class
from ..ops.help import as_call
from .arguments import CommandNotation, complete_ops, json_option, option_name
from .terminal import print_table


@click.command("ops")
@click.argument("name", required=False, shell_complete=complete_ops)
@json_option
def ops_command(name: str | None, as_json: bool) -> None:
    """List the ops, or show one op.

    Without NAME, all ops are listed. If NAME is a framework, its ops are listed. If NAME is an op, its definition, its
    attributes and an example are shown.
    """
    entries = list_ops().ops
    if name is not None:
        kind = op_class(name)
        full_name = name if kind is None else kind.model_fields["name"].default
        listed = [entry for entry in entries if entry.name.startswith(f"{name}.")]
        entries = listed or [entry for entry in entries if entry.name == full_name or name in entry.aliases]
        if not entries:
            raise unknown_op_problem(name, "", CommandNotation())
        name = None if listed else name
    if as_json:
        click.echo(json.dumps([entry.model_dump() for entry in entries]))
    elif name is not None:
        _print_op(entries[0], name)
    else:
        print_table([("op", "inputs", "definition"), *map(_row, entries)])


def _row(entry: OpEntry) -> tuple[str, str, str]:
    low, high = entry.inputs.min, entry.inputs.max
    return entry.name, f"{low}+" if high is None else str(low) if low == high else f"{low} to {high}", entry.doc


def _print_op(entry: OpEntry, name: str) -> None:
    """Print an op with its attributes. `name` is the name that the user typed: the op's name or one of its aliases."""
    click.echo(f"{click.style(entry.name, bold=True)}  {entry.doc}")
    if name != entry.name:
        click.echo(f"  {name} is an alias of {entry.name}")
    for attribute, schema in entry.attributes["properties"].items():
        click.echo(f"  {attribute}  {schema.get('description', '')}")
    click.echo(f"  {entry.link} ({entry.reference.package} {entry.reference.version})")
    click.echo(f"  {_example_command(entry)}")
    if entry.name in OPS:
        click.echo(f"  {as_call(OPS[entry.name], entry.example['op'])}")


def _example_command(entry: OpEntry) -> str:
    """Return the example of an op as an `axiscast check` command."""
    shapes = [shlex.quote(format_attribute(shape)) for shape in entry.example["inputs"]]
    words = ["axiscast check", *shapes, f"--op {entry.name}"]
    for key, value in entry.example["op"].items():
        if key != "name":
            words.append(f"{option_name(key)} {shlex.quote(format_attribute(value))}")
    return " ".join(words)
