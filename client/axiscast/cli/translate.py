"""axiscast translate: translates an operation into an op of another framework."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..drawing.answer_picture import Picture
from ..messages import TranslateAnswer, TranslateRequest
from ..messages.base import drawn_by
from ..translation.translate import answer_translate
from ..wire.problems import Problem
from .arguments import (
    CommandNotation,
    OpCommand,
    complete_ops,
    json_option,
    op_from_options,
    op_option,
    parse_shapes,
    svg_option,
    validated_request,
)
from .terminal import paint, write_svg


@click.command("translate", cls=OpCommand)
@click.argument("shapes", nargs=-1, required=True, metavar="SHAPE...")
@op_option
@click.option(
    "--to",
    metavar="NAME",
    shell_complete=complete_ops,
    help="The op to translate to, or a framework such as torch, to choose its op with the fewest steps. `axiscast ops` "
    "lists the ops.",
)
@svg_option
@json_option
def translate_command(
    shapes: Sequence[str], op_name: str | None, to: str | None, svg: Path | None, as_json: bool, **attributes: Any
) -> None:
    """Translate an operation to another framework.

    This prints the steps, and source code to paste.

    \b
    axiscast translate 3 --op ngraph.Broadcast --shape 2,3 --broadcast-axes 0 --to stablehlo.broadcast_in_dim

    The exit status is 1 if the shapes do not broadcast, or if the other op can't express the operation.
    """
    if to is None:
        words = [*map(shlex.quote, shapes), *([] if op_name is None else [f"--op {op_name} ..."])]
        example = f"axiscast translate {' '.join(words)} --to torch"
        raise click.UsageError(f"--to is missing: name the other op or its framework, as in `{example}`")
    fields = {"op": op_from_options(op_name, attributes), "inputs": parse_shapes(shapes), "to": to}
    answer = _translate(validated_request(TranslateRequest, fields))
    write_svg(answer, svg)
    if as_json:
        click.echo(json.dumps(answer.model_dump(exclude_none=True)))
        return
    from ..drawing.terminal_text import translation_as_text

    click.echo(translation_as_text(answer, paint))


def _translate(request: TranslateRequest) -> TranslateAnswer:
    """Return the translation. If the operation can't be translated, print the reason and exit with status 1."""
    try:
        answer = answer_translate(request, CommandNotation())
        return drawn_by(Picture({"op": request.op, "inputs": request.inputs}), answer)
    except Problem as problem:
        if problem.code not in ("incompatible-shapes", "untranslatable"):
            raise
        click.echo(f"{problem.code}: {problem.detail}")
        sys.exit(1)
