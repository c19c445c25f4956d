"""tensorcast check"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..messages import CheckRequest
from ..messages.questions import assumption_from_text
from ..messages.validation import validated
from .answers import ask, colored
from .arguments import json_option, op_options, op_values, parsed, shapes_in, url_option


@click.command()
@click.argument("shapes", nargs=-1, required=True, metavar="SHAPE... | MODEL.onnx")
@op_options
@click.option("--dtype", help="Adds the bytes of each output, such as float32.")
@click.option("--assume", multiple=True, metavar="NAME=SIZES", help="What is known of a name, such as N=2..; repeats.")
@click.option("--all", "all_nodes", is_flag=True, help="Of a model: list every node that is to broadcast.")
@url_option
@json_option
def check(
    shapes: Sequence[str],
    op_name: str | None,
    dtype: str | None,
    assume: Sequence[str],
    all_nodes: bool,
    url: str | None,
    as_json: bool,
    **attributes: Any,
) -> None:
    """Do these shapes broadcast, and to what? Write a shape as 8,1,6,1 or 8x1x6x1, a scalar as ().

    A size that is not known is a name (everywhere the same size), a range such as 2.. or 1..8, or ?.

    \b
    tensorcast check 8,1,6,1 7,1,5
    tensorcast check 3 --op ngraph.Broadcast --shape 2,3 --broadcast-axes 0
    tensorcast check N,1 1,M --assume N=2..
    tensorcast check model.onnx

    Of an ONNX model each node that broadcasts is checked, and those are listed that do not, or only for some sizes.

    Exits with 1 where shapes, or a node, do not broadcast, whatever the sizes.
    """
    models = [text for text in shapes if text.endswith(".onnx")]
    assumptions = dict(parsed(assumption_from_text, text, "--assume") for text in assume)
    if models:
        options = {"op": op_name, "dtype": dtype, **attributes}
        others = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
        others += [text for number, text in enumerate(shapes) if number != shapes.index(models[0])]
        if others:
            raise click.UsageError(f"{others[0]} can't stand beside a model: its nodes say their ops and shapes")
        sys.exit(0 if _report(models[0], assumptions, url, as_json, all_nodes) else 1)
    if all_nodes:
        raise click.UsageError("--all is for a model")
    question: dict[str, Any] = {
        "op": op_values(op_name, attributes),
        "inputs": shapes_in(shapes),
        "explain": True,
    }
    if dtype is not None:
        question["dtype"] = dtype
    if assumptions:
        question["assume"] = assumptions
    answer = ask(validated(CheckRequest, question), url)
    if as_json:
        click.echo(json.dumps(answer.model_dump(exclude_unset=True)))
    else:
        click.echo(colored(answer))
    sys.exit(1 if answer.conflict else 0)


def _report(model: str, assume: dict[str, int | str], url: str | None, as_json: bool, all_nodes: bool) -> bool:
    try:
        from .report import report
    except ImportError:
        raise click.UsageError("reading a model takes the package onnx: pip install 'tensorcast[onnx]'") from None
    validated(CheckRequest, {"inputs": [], "assume": assume})
    return report(Path(model), assume, url, as_json, all_nodes)
