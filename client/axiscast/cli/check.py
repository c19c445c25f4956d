"""axiscast check"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from ..answers.intent import FindingKind
from ..errors import ServiceProblem
from ..messages import CheckAnswer, CheckRequest
from ..models.report import FailOn
from ..wire.problems import Problem
from .arguments import (
    ShapeCommand,
    assume_option,
    json_option,
    op_from_options,
    op_options,
    parse_shapes,
    url_option,
    validated_request,
    warn_option,
)
from .backend import colored_answer, in_color, run_check
from .model_report import model_options, report_models


@click.command("check", cls=ShapeCommand)
@click.argument("shapes", nargs=-1, metavar="SHAPE... | MODEL.onnx...")
@op_options
@click.option("--dtype", help="Adds the bytes of each output, such as float32.")
@assume_option
@warn_option
@click.option(
    "--batch",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Answer a file of requests in JSON, one a line; - reads stdin.",
)
@model_options
@url_option
@json_option
def check_command(
    shapes: Sequence[str],
    op_name: str | None,
    dtype: str | None,
    assume: dict[str, int | str],
    warn: Sequence[str],
    batch: str | None,
    url: str | None,
    as_json: bool,
    all_nodes: bool,
    output_format: str | None,
    fail_on: FailOn | None,
    example: dict[str, int],
    probe: bool,
    kinds: tuple[FindingKind, ...],
    **attributes: Any,
) -> None:
    """Do these shapes broadcast, and to what? Write a shape as 8,1,6,1 or 8x1x6x1, a scalar as ().

    A size that is not known is a name (everywhere the same size), a range such as 2.. or 1..8, or ?.

    \b
    axiscast check 8,1,6,1 7,1,5
    axiscast check 3 --op ngraph.Broadcast --shape 2,3 --broadcast-axes 0
    axiscast check N,1 1,M --assume N=2..
    axiscast check --batch requests.jsonl
    axiscast check model.onnx

    Each line of a batch is a request such as {"op": "numpy.add", "inputs": [[3, 1], [4]]}, and one line of JSON is
    printed for it. For an invalid line this is {"error": ...}, and the next lines are still checked.

    Each node of an ONNX model is checked by the names of its sizes, and then tried with numbers for them. The report
    lists the nodes that fail at every set of sizes, that make a square of two inputs, that need one number for a size
    that is free, or that broadcast for some sizes only.

    Exits with 0 where all fits; 1 where shapes do not broadcast, or a node is as grave as --fail-on; 2 for a mistake in
    the question, or in a line of a batch whose other lines fit; 3 where a node of a model could not be judged; 69 where
    a service can't be result_shapes_text, 77 where it refuses.
    """
    models = [text for text in shapes if text.endswith(".onnx")]
    of_shapes = {"op": op_name, "dtype": dtype, "warn": warn or None, **attributes}
    given = [f"--{name.replace('_', '-')}" for name, value in of_shapes.items() if value is not None]
    of_models = {
        "--all": all_nodes,
        "--format": output_format,
        "--fail-on": fail_on,
        "--example": example,
        "--no-probe": not probe,
        "--kinds": kinds,
    }
    given_of_models = [option for option, value in of_models.items() if value]
    if batch is not None:
        from .batch import check_lines

        assumed = ["--assume"] if assume else []
        _refuse_with("--batch: each line is a whole request", [*shapes, *given, *assumed, *given_of_models])
        sys.exit(check_lines(batch, url))
    if models:
        if warn:
            raise click.UsageError("--warn is for shapes: the report of a model lists only the warning square")
        _refuse_with("a model: its nodes say their ops and shapes", [*given, *(set(shapes) - set(models))])
        if as_json and output_format not in (None, "json"):
            raise click.UsageError(f"--json is --format json, and can't stand beside --format {output_format}")
        output_format = "json" if as_json else output_format
        sys.exit(report_models(models, assume, example, probe, kinds, url, output_format, all_nodes, fail_on))
    for option in given_of_models:
        raise click.UsageError(f"{option} is for a model")
    if not shapes:
        raise click.UsageError("no shape is given: write one or more, such as 8,1,6,1 7,1,5, or () for a scalar")
    options = {"dtype": dtype, "assume": assume or None, "warn": warn or None}
    asked: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    asked |= {"op": op_from_options(op_name, attributes), "inputs": parse_shapes(shapes), "explain": True}
    sys.exit(_check_shapes(validated_request(CheckRequest, asked), url, as_json))


def _refuse_with(what: str, others: Sequence[str]) -> None:
    """Raise UsageError for arguments that can't be combined with `what`."""
    for other in others:
        raise click.UsageError(f"{other.strip()} can't stand beside {what}")


def _check_shapes(request: CheckRequest, url: str | None, as_json: bool) -> int:
    """Print the response. Return the exit status."""
    answer = _answer(request, url)
    if as_json:
        click.echo(json.dumps(answer.model_dump(exclude_unset=True)))
    else:
        click.echo(colored_answer(answer))
        if answer.conflict and (whole := _as_one_shape(request.inputs)):
            click.echo(in_color(f"hint: each word is a shape; one shape of these sizes is written {whole}"))
    return 1 if answer.conflict else 0


def _answer(request: CheckRequest, url: str | None) -> CheckAnswer:
    """Return the response. Raises UsageError if the sizes of one shape were given as several shapes."""
    try:
        return run_check(request, url)
    except (Problem, ServiceProblem) as problem:
        whole = _as_one_shape(request.inputs)
        if problem.pointer != "/inputs" or whole is None:
            raise
        raise click.UsageError(f"{problem.detail}: did you mean {whole}?") from None


def _as_one_shape(shapes: Sequence[Sequence[int | str]]) -> str | None:
    """Return the shape with the sizes of these shapes, if each has one size. Otherwise return None."""
    if len(shapes) < 2 or any(len(shape) != 1 for shape in shapes):
        return None
    return ",".join(str(size) for shape in shapes for size in shape)
