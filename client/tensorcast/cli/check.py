"""tensorcast check"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from ..messages import CheckRequest
from ..models.report import FailOn
from .answers import ask, colored
from .arguments import assume_option, json_option, op_options, op_values, question, shapes_in, url_option, warn_option
from .models import model_options, report


@click.command()
@click.argument("shapes", nargs=-1, required=True, metavar="SHAPE... | MODEL.onnx...")
@op_options
@click.option("--dtype", help="Adds the bytes of each output, such as float32.")
@assume_option
@warn_option
@model_options
@url_option
@json_option
def check(
    shapes: Sequence[str],
    op_name: str | None,
    dtype: str | None,
    assume: dict[str, int | str],
    warn: Sequence[str],
    url: str | None,
    as_json: bool,
    all_nodes: bool,
    output_format: str | None,
    fail_on: FailOn | None,
    **attributes: Any,
) -> None:
    """Do these shapes broadcast, and to what? Write a shape as 8,1,6,1 or 8x1x6x1, a scalar as ().

    A size that is not known is a name (everywhere the same size), a range such as 2.. or 1..8, or ?.

    \b
    tensorcast check 8,1,6,1 7,1,5
    tensorcast check 3 --op ngraph.Broadcast --shape 2,3 --broadcast-axes 0
    tensorcast check N,1 1,M --assume N=2..
    tensorcast check model.onnx

    Of an ONNX model each node that broadcasts is checked, and those are listed that do not, that make a square of two
    inputs, or that broadcast for some sizes only.

    Exits with 0 where all fits; 1 where shapes do not broadcast, or a node is as grave as --fail-on; 2 for a mistake in
    the question; 3 where a node of a model could not be judged; 69 where a service can't be reached, 77 where it
    refuses.
    """
    models = [text for text in shapes if text.endswith(".onnx")]
    of_models = {"--all": all_nodes, "--format": output_format, "--fail-on": fail_on}
    if models:
        options = {"op": op_name, "dtype": dtype, **attributes}
        others = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
        others += [text for text in shapes if text not in models]
        if others:
            raise click.UsageError(f"{others[0]} can't stand beside a model: its nodes say their ops and shapes")
        if as_json and output_format not in (None, "json"):
            raise click.UsageError(f"--json is --format json, and can't stand beside --format {output_format}")
        if warn:
            raise click.UsageError("--warn is for shapes: of the warnings the report of a model lists square alone")
        sys.exit(report(models, assume, url, "json" if as_json else output_format, all_nodes, fail_on))
    for option, value in of_models.items():
        if value:
            raise click.UsageError(f"{option} is for a model")
    asked: dict[str, Any] = {
        "op": op_values(op_name, attributes),
        "inputs": shapes_in(shapes),
        "explain": True,
    }
    if dtype is not None:
        asked["dtype"] = dtype
    if assume:
        asked["assume"] = assume
    if warn:
        asked["warn"] = warn
    answer = ask(question(CheckRequest, asked), url)
    if as_json:
        click.echo(json.dumps(answer.model_dump(exclude_unset=True)))
    else:
        click.echo(colored(answer))
    sys.exit(1 if answer.conflict else 0)
