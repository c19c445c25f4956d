"""axiscast check model.onnx: checks ONNX models, and prints the reports in one of several formats."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, get_args

import click

from ..models.intent import FailOn, FindingKind
from .arguments import F

if TYPE_CHECKING:
    from ..models.report import Report


def model_options(command: F) -> F:
    """Add the command-line options for ONNX models to a command."""
    command = click.option(
        "--fail-on", type=click.Choice(get_args(FailOn)), help="Models: the finding with exit status 1."
    )(command)
    command = click.option(
        "--example",
        multiple=True,
        metavar="NAME=SIZE",
        callback=_parse_examples,
        help="Models: sizes to try first, like batch=7.",
    )(command)
    command = click.option(
        "--kinds",
        multiple=True,
        metavar="KIND",
        callback=_parse_kinds,
        help="Models: kinds of findings (docs/models.md).",
    )(command)
    command = click.option(
        "--no-probe",
        "probe",
        is_flag=True,
        flag_value=False,
        default=True,
        help="Models: try no numbers for dynamic sizes.",
    )(command)
    command = click.option(
        "--format",
        "output_format",
        type=click.Choice(["text", "json", "github", "sarif"]),
        help="Models: the format of the report.",
    )(command)
    return click.option("--all", "all_nodes", is_flag=True, help="Models: list each node that broadcasts.")(command)


def _parse_examples(context: click.Context, option: click.Parameter, texts: Sequence[str]) -> dict[str, int]:
    """Return the sizes that --example specifies. Raises BadParameter if a value is invalid."""
    sizes: dict[str, int] = {}
    for word in (part for text in texts for part in text.split(",")):
        name, _, size = word.rpartition("=")
        if not name or not size.isdecimal() or name in sizes:
            reason = "is given twice" if name in sizes else "must be a name and a size, such as batch=7"
            raise click.BadParameter(f"{word[:60]!r} {reason}", context, option)
        sizes[name] = int(size)
    return sizes


def _parse_kinds(context: click.Context, option: click.Parameter, texts: Sequence[str]) -> tuple[FindingKind, ...]:
    """Return the kinds of findings that --kinds specifies. Raises BadParameter if a kind is unknown."""
    all_kinds: tuple[FindingKind, ...] = get_args(FindingKind)
    kinds = [kind for text in texts for kind in text.split(",")]
    for kind in kinds:
        if kind not in all_kinds:
            raise click.BadParameter(f"{kind[:60]!r} must be one of {', '.join(all_kinds)}", context, option)
    return tuple(kind for kind in all_kinds if kind in kinds)


def report_models(
    paths: Sequence[str],
    assume: Mapping[str, int | str],
    example: Mapping[str, int],
    probe: bool,
    kinds: Sequence[FindingKind],
    output_format: str | None,
    all_nodes: bool,
    fail_on: FailOn | None,
) -> int:
    """Check models, print the reports, and return the exit status."""
    from ..errors import UnusableModel
    from ..models.check import check_model
    from ..models.report import Report

    statuses = []
    reports = []
    for path in dict.fromkeys(paths):
        try:
            report = check_model(path, assume=assume, example=example, probe=probe, kinds=kinds or ("square",))
            statuses.append(report.exit_status(fail_on or "square"))
        except UnusableModel as error:
            report = Report(path, errors=(error.reason,), is_read=False)
            statuses.append(2)
        except ImportError as error:
            raise click.UsageError(str(error)) from None
        reports.append(report)
        if output_format in (None, "text"):
            click.echo(report.text(all_nodes))
    _print_documents(reports, output_format)
    return min(statuses, key=(1, 2, 3, 0).index)


def _print_documents(reports: Sequence[Report], output_format: str | None) -> None:
    """Print reports in a machine-readable format."""
    if output_format == "json":
        click.echo(json.dumps({"models": [report.as_json() for report in reports]}))
    elif output_format == "github":
        from ..models.formats.github import workflow_commands
        from ..models.formats.repository import Repository

        for line in workflow_commands(reports, Repository()):
            click.echo(line)
    elif output_format == "sarif":
        from ..models.formats.repository import Repository
        from ..models.formats.sarif import sarif

        click.echo(json.dumps(sarif(reports, Repository()), indent=2))
