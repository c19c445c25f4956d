"""axiscast check: checks shapes, a batch of requests, or ONNX models."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..errors import ServiceProblem
from ..library import check
from ..messages import CheckAnswer, CheckRequest
from ..models.intent import FailOn, FindingKind
from .arguments import (
    OpCommand,
    assume_option,
    json_option,
    op_from_options,
    op_option,
    option_name,
    parse_shapes,
    svg_option,
    validated_request,
    warn_option,
)
from .model_report import model_options, report_models
from .terminal import paint, write_svg


@click.command("check", cls=OpCommand)
@click.argument("shapes", nargs=-1, metavar="SHAPE... | MODEL.onnx...")
@op_option
@click.option("--dtype", help="Print the bytes for a dtype like float32.")
@assume_option
@warn_option
@click.option(
    "--batch",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="JSON requests, one per line; - for stdin.",
)
@model_options
@svg_option
@json_option
def check_command(
    shapes: Sequence[str],
    op_name: str | None,
    dtype: str | None,
    assume: dict[str, int | str],
    warn: Sequence[str],
    batch: str | None,
    svg: Path | None,
    as_json: bool,
    all_nodes: bool,
    output_format: str | None,
    fail_on: FailOn | None,
    example: dict[str, int],
    probe: bool,
    kinds: tuple[FindingKind, ...],
    **attributes: Any,
) -> None:
    """Check whether shapes broadcast, and print the output shapes.

    Write a shape as 8,1,6,1 or 8x1x6x1, and a scalar as (). A size may be a name, a range such as 2.. or 1..8, or ?.

    \b
    axiscast check 8,1,6,1 7,1,5
    axiscast check 3 --op ngraph.Broadcast --shape 2,3 --broadcast-axes 0
    axiscast check N,1 1,M --assume N=2..
    axiscast check --batch requests.jsonl
    axiscast check model.onnx

    The exit status is 0 if everything broadcasts, 1 if it does not or a model has a finding, 2 for invalid arguments,
    and 3 if a node of a model was not checked.
    """
    models = [text for text in shapes if text.endswith(".onnx")]
    shape_values = {"op": op_name, "dtype": dtype, "warn": warn or None, "svg": svg, **attributes}
    shape_options = [option_name(name) for name, value in shape_values.items() if value is not None]
    model_values: dict[str, Any] = {"--all": all_nodes, "--format": output_format, "--fail-on": fail_on}
    model_values |= {"--example": example, "--no-probe": not probe, "--kinds": kinds}
    given_model_options = [option for option, value in model_values.items() if value]
    if batch is not None:
        from .batch import check_lines

        assume_options = ["--assume"] if assume else []
        others = [*shapes, *shape_options, *assume_options, *given_model_options]
        _reject_others("--batch, because each line is a complete request", others)
        sys.exit(check_lines(batch))
    if models:
        if warn:
            raise click.UsageError("--warn can't be combined with a model: use --kinds to select the findings")
        _reject_others("a model, because its nodes have ops and shapes", [*shape_options, *(set(shapes) - set(models))])
        if as_json and output_format not in (None, "json"):
            raise click.UsageError(f"--json means --format json, so it can't be combined with --format {output_format}")
        output_format = "json" if as_json else output_format
        sys.exit(report_models(models, assume, example, probe, kinds, output_format, all_nodes, fail_on))
    for option in given_model_options:
        raise click.UsageError(f"{option} needs a model: write the name of an .onnx file")
    if not shapes:
        raise click.UsageError(
            "no shape is given: write shapes separated by spaces, such as 8,1,6,1 7,1,5, or () for a scalar"
        )
    options = {"dtype": dtype, "assume": assume or None, "warn": warn or None}
    fields: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    fields |= {
        "op": op_from_options(op_name, attributes, "numpy.broadcast_shapes"),
        "inputs": parse_shapes(shapes),
        "explain": True,
    }
    sys.exit(_check_shapes(validated_request(CheckRequest, fields), as_json, svg))


def _reject_others(argument: str, others: Sequence[str]) -> None:
    """Raise UsageError if `others` is not empty, because these arguments can't be combined with `argument`."""
    for other in others:
        raise click.UsageError(f"{other.strip()} can't be combined with {argument}")


def _check_shapes(request: CheckRequest, as_json: bool, svg: Path | None) -> int:
    """Perform a check, print the answer, and return the exit status."""
    answer = _answer(request)
    write_svg(answer, svg)
    if as_json:
        click.echo(json.dumps(answer.model_dump(exclude_unset=True)))
    else:
        from ..drawing.terminal_text import check_as_text

        click.echo(check_as_text(answer, paint=paint))
        if answer.conflict and (shape := _as_one_shape(request.inputs)):
            hint = f"hint: each argument is one shape; to check a single shape with these sizes, write {shape}"
            click.echo(paint(hint, "hint"))
    return 1 if answer.conflict else 0


def _answer(request: CheckRequest) -> CheckAnswer[Any]:
    """Perform a check, and return the answer.

    Raises UsageError if the user has probably written the sizes of one shape as several shapes.
    """
    try:
        return check(request)
    except ServiceProblem as problem:
        shape = _as_one_shape(request.inputs)
        if problem.pointer != "/inputs" or shape is None:
            raise
        raise click.UsageError(f"{problem.detail}: did you mean {shape}?") from None


def _as_one_shape(shapes: Sequence[Sequence[int | str]]) -> str | None:
    """Join several shapes of one size each into one shape.

    Return None if there are fewer than two shapes, or if a shape does not have exactly one size.
    """
    if len(shapes) < 2 or any(len(shape) != 1 for shape in shapes):
        return None
    return ",".join(str(size) for shape in shapes for size in shape)
