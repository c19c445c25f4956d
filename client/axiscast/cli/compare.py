"""axiscast compare: shows how each framework broadcasts the same shapes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..comparison.compare import answer_compare
from ..drawing.answer_lists import Comparisons
from ..messages import CompareRequest
from .arguments import (
    ShapeCommand,
    assume_option,
    json_option,
    parse_shape_argument,
    parse_shapes,
    svg_option,
    validated_request,
    warn_option,
)
from .terminal import COLORS, paint, terminal_width, write_svg


@click.command("compare", cls=ShapeCommand)
@click.argument("shapes", nargs=-1, required=True, metavar="SHAPE...")
@click.option(
    "--shape", "target", help="Broadcast a single SHAPE to this target shape. Only ops that take a target are compared."
)
@click.option("--ops", help="Compare only these ops or frameworks, such as torch,onnx.Add.")
@assume_option
@warn_option
@svg_option
@json_option
def compare_command(
    shapes: Sequence[str],
    target: str | None,
    ops: str | None,
    assume: dict[str, int | str],
    warn: Sequence[str],
    svg: Path | None,
    as_json: bool,
) -> None:
    """Show what every framework does with these shapes. Ops with the same result are listed together.

    \b
    axiscast compare 3 2,1
    axiscast compare 1,3 --shape 2,-1
    axiscast compare 3 2,1 --ops torch,jax
    """
    fields: dict[str, Any] = {"inputs": parse_shapes(shapes), "assume": assume or None, "warn": warn}
    if ops is not None:
        fields["ops"] = [name.strip() for name in ops.split(",")]
    if target is not None:
        fields["shape"] = parse_shape_argument(target, "--shape")
    results = Comparisons.of(answer_compare(validated_request(CompareRequest, fields)), fields)
    write_svg(results, svg)
    if as_json:
        click.echo(json.dumps([result.model_dump(exclude_unset=True) for result in results]))
        for group in results.groups():
            if group.verdict == "-":
                click.echo(f"{group.ops}: {group.details}", err=True)
        return
    from ..drawing.terminal_text import distinct_warnings, warning_lines

    for group in results.groups():
        text = group.as_text(terminal_width())
        click.echo(click.style(text[:5], fg=COLORS.get(group.verdict)) + text[5:])
    if warnings := distinct_warnings(results):
        click.echo("\n" + "\n".join(warning_lines(warnings, paint)))
