"""axiscast check model.onnx: the report of each model, in the format that is asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, get_args

import click

from ..answers.intent import FindingKind
from ..errors import UnusableModel
from ..models import Report, check_model
from ..models.report import FailOn
from .backend import backend_for, in_color

F = TypeVar("F", bound=Callable[..., Any])

_SHOWN_NODES = 2000
"""Questions fewer than which are answered before a progress bar could be read."""


def model_options(command: F) -> F:
    """Add the options of a model to a command."""
    command = click.option(
        "--fail-on", type=click.Choice(get_args(FailOn)), help="Of a model: the mildest finding to exit with 1 for; "
        "incompatible, square (the default: two inputs that become a square), pinned (a free size that must have one "
        "number), or depends (on sizes)."
    )(command)  # fmt: skip
    command = click.option(
        "--example", multiple=True, metavar="NAME=SIZE", callback=_parse_examples,
        help="Of a model: a size at which it runs, such as batch=7; repeats, or batch=7,seq=13.",
    )(command)  # fmt: skip
    command = click.option(
        "--kinds", multiple=True, metavar="KIND", callback=_parse_kinds,
        help="Of a model: the suspicious broadcasts to report; square (the default), every-square, mutual-stretch or "
        "rank-promotion; repeats, or square,rank-promotion.",
    )(command)  # fmt: skip
    command = click.option(
        "--no-probe", "probe", is_flag=True, flag_value=False, default=True,
        help="Of a model: do not try it with numbers for the sizes that are free.",
    )(command)  # fmt: skip
    command = click.option(
        "--format", "output_format", type=click.Choice(["text", "json", "github", "sarif"]),
        help="Of models: how they are reported.",
    )(command)  # fmt: skip
    return click.option("--all", "all_nodes", is_flag=True, help="Of a model: list every node that is to broadcast.")(
        command
    )


def _parse_examples(context: click.Context, option: click.Parameter, words: Sequence[str]) -> dict[str, int]:
    """Return the sizes of some NAME=SIZE. Raises BadParameter."""
    sizes: dict[str, int] = {}
    for word in (part for text in words for part in text.split(",")):
        name, _, size = word.rpartition("=")
        if not name or not size.isdecimal() or name in sizes:
            reason = "is given twice" if name in sizes else "must be a name and a size, such as batch=7"
            raise click.BadParameter(f"{word[:60]!r} {reason}", context, option)
        sizes[name] = int(size)
    return sizes


def _parse_kinds(context: click.Context, option: click.Parameter, words: Sequence[str]) -> tuple[FindingKind, ...]:
    """Return some kinds. Raises BadParameter."""
    kinds = [kind for text in words for kind in text.split(",")]
    for kind in kinds:
        if kind not in get_args(FindingKind):
            raise click.BadParameter(
                f"{kind[:60]!r} must be one of {', '.join(get_args(FindingKind))}", context, option
            )
    return tuple(kind for kind in get_args(FindingKind) if kind in kinds)


def report_models(
    paths: Sequence[str],
    assume: Mapping[str, int | str],
    example: Mapping[str, int],
    probe: bool,
    kinds: Sequence[FindingKind],
    url: str | None,
    output_format: str | None,
    all_nodes: bool,
    fail_on: FailOn | None,
) -> int:
    """Print what is to be said of some models; the exit status."""
    statuses = []
    reports = []
    with backend_for(url) as way:
        for path in dict.fromkeys(paths):
            with _Progress(path) as progress:
                try:
                    one = check_model(
                        path, assume=assume, example=example, probe=probe, kinds=kinds or ("square",),
                        check_batch=way.check_batch, progress=progress,
                    )  # fmt: skip
                    statuses.append(one.exit_status(fail_on or "square"))
                except UnusableModel as why:
                    one = Report(path, errors=(why.reason,), is_read=False)
                    statuses.append(2)
                except ImportError as error:
                    raise click.UsageError(str(error)) from None
            reports.append(one)
            if output_format in (None, "text"):
                click.echo(in_color(one.text(all_nodes)))
    if output_format == "json":
        click.echo(json.dumps({"models": [one.as_json() for one in reports]}))
    elif output_format == "github":
        from ..models.formats.github import workflow_commands
        from ..models.formats.repository import Repository

        for line in workflow_commands(reports, Repository()):
            click.echo(line)
    elif output_format == "sarif":
        from ..models.formats.repository import Repository
        from ..models.formats.sarif import sarif

        click.echo(json.dumps(sarif(reports, Repository()), indent=2))
    return min(statuses, key=(1, 2, 3, 0).index)


class _Progress:
    """A bar on stderr, shown once there are many questions and somebody looks."""

    def __init__(self, path: str) -> None:
        self._label = f"{path[-40:]}"
        self._bar: Any = None

    def __enter__(self) -> _Progress:
        return self

    def __call__(self, done: int, total: int) -> None:
        if total < _SHOWN_NODES or not sys.stderr.isatty():
            return
        if self._bar is not None and self._bar.length != total:
            self._bar.render_finish()
            self._bar = None
        if self._bar is None:
            self._bar = click.progressbar(length=total, label=self._label, file=sys.stderr).__enter__()
        self._bar.update(done - self._bar.pos)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.render_finish()
