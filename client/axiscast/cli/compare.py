"""axiscast compare"""

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
from .backend import backend_for, in_color
from .table import echo_table


def _reject_op(context: click.Context, parameter: click.Parameter, name: str | None) -> None:
    if name is not None:
        raise click.UsageError("compare checks every op, so it has no --op: leave it out, or use `axiscast check`")


@click.command("compare", cls=ShapeCommand)
@click.argument("shapes", nargs=-1, required=True, metavar="SHAPE...")
@click.option("--shape", "target", help="The target: of the ops that take one, with one SHAPE.")
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
    """What does every framework answer to these shapes?

    \b
    axiscast compare 3 2,1
    axiscast compare 1,3 --shape 2,-1
    """
    asked: dict[str, Any] = {"inputs": parse_shapes(shapes), "assume": assume or None, "warn": warn}
    if target is not None:
        asked["shape"] = parse_shape_argument(target, "--shape")
    request = validated_request(CompareRequest, asked)
    with backend_for(url) as way:
        results: list[Comparison] = way.compare(
            *request.inputs, shape=request.shape, assume=request.assume, warn=request.warn
        )
    if as_json:
        click.echo(json.dumps([result.model_dump(exclude_unset=True) for result in results]))
        return
    from ..answers.check import join_conditions, result_shapes_text, warning_lines
    from ..answers.compare import skipped_ops

    rows = [("op", "", "output, or why not")]
    for result in results:
        name, *others = map(_name, [result.op, *result.also])
        also = f" (also {', '.join(other.split('.', 1)[1] for other in others)})" if others else ""
        if result.conflict is not None:
            rows.append((name, click.style("no", fg="red"), result.conflict.message + also))
        else:
            shapes_out = result_shapes_text(result)
            if result.compatible:
                rows.append((name, click.style("yes", fg="green"), shapes_out + also))
            else:
                told = ": ".join(filter(None, (join_conditions(result.conditions), shapes_out)))
                rows.append((name, click.style("if", fg="yellow"), told + also))
    rows += [(name, "-", "left out: it takes known sizes only") for name in skipped_ops(request)]
    echo_table(rows)
    warnings = {warning.message: warning for result in results for warning in result.warnings}
    if warnings:
        click.echo("\n" + in_color("\n".join(warning_lines(warnings.values()))))


def _name(op: dict[str, Any]) -> str:
    return f"{op['name']} ({op['mode']})" if "mode" in op else str(op["name"])
