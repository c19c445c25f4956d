"""axiscast compare: shows how each framework broadcasts the same shapes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from ..messages import CompareRequest, Comparison
from .arguments import (
    ShapeCommand,
    assume_option,
    json_option,
    parse_shape_argument,
    parse_shapes,
    url_option,
    validated_request,
    warn_option,
)
from .backend import backend_for
from .terminal import color_lines, print_table


def _reject_op(context: click.Context, parameter: click.Parameter, name: str | None) -> None:
    if name is not None:
        raise click.UsageError("compare has no --op, because it checks every op: omit it, or use `axiscast check`")


@click.command("compare", cls=ShapeCommand)
@click.argument("shapes", nargs=-1, required=True, metavar="SHAPE...")
@click.option("--shape", "target", help="Broadcast one SHAPE to this target shape, by the ops that take a target.")
@click.option("--op", hidden=True, expose_value=False, callback=_reject_op)
@assume_option
@warn_option
@url_option
@json_option
def compare_command(
    shapes: Sequence[str],
    target: str | None,
    assume: dict[str, int | str],
    warn: Sequence[str],
    url: str | None,
    as_json: bool,
) -> None:
    """Show what every framework does with these shapes.

    \b
    axiscast compare 3 2,1
    axiscast compare 1,3 --shape 2,-1
    """
    fields: dict[str, Any] = {"inputs": parse_shapes(shapes), "assume": assume or None, "warn": warn}
    if target is not None:
        fields["shape"] = parse_shape_argument(target, "--shape")
    request = validated_request(CompareRequest, fields)
    with backend_for(url) as backend:
        options = {"shape": request.shape, "assume": request.assume, "warn": request.warn}
        results: list[Comparison] = backend.compare(*request.inputs, **options)
    if as_json:
        click.echo(json.dumps([result.model_dump(exclude_unset=True) for result in results]))
        return
    from ..answers.compare import skipped_ops
    from ..answers.terminal_text import warning_lines

    rows = [("op", "", "output or conflict"), *map(_row, results)]
    rows += [(name, "-", "skipped: it supports integer sizes only") for name in skipped_ops(request)]
    print_table(rows)
    warnings = {warning.message: warning for result in results for warning in result.warnings}
    if warnings:
        click.echo("\n" + color_lines("\n".join(warning_lines(warnings.values()))))


def _row(result: Comparison) -> tuple[str, str, str]:
    """Return the table row for a comparison result: the op, whether the shapes broadcast, and the details."""
    from ..answers.terminal_text import join_conditions, result_shapes_text

    name, *others = map(_op_text, [result.op, *result.also])
    also = f" (also {', '.join(other.split('.', 1)[1] for other in others)})" if others else ""
    if result.conflict is not None:
        return name, click.style("no", fg="red"), result.conflict.message + also
    shapes = result_shapes_text(result)
    if result.compatible:
        return name, click.style("yes", fg="green"), shapes + also
    details = ": ".join(filter(None, (join_conditions(result.conditions), shapes)))
    return name, click.style("if", fg="yellow"), details + also


def _op_text(op: dict[str, Any]) -> str:
    return f"{op['name']} ({op['mode']})" if "mode" in op else str(op["name"])
