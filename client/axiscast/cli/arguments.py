"""Arguments that commands share: as options, as values, and what is wrong with them in words."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from ..messages import WarningKind
from ..messages.attribute_text import format_attribute, parse_assumptions, parse_attribute
from ..messages.notation import ArgumentNotation
from ..messages.validation import M, validate
from ..ops import ALIASES, OPS, op_class
from ..wire.problems import Problem
from ..wire.shapes import parse_shape
from ..wire.wording import close_matches, did_you_mean

if TYPE_CHECKING:
    from ..client.client import Client

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTES = sorted({name for op in OPS.values() for name in op.model_fields if name != "name"})


def complete_ops(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return the ops whose names begin with this text, for a shell. If there are none, return the aliases."""
    return [name for name in OPS if name.startswith(typed)] or [name for name in ALIASES if name.startswith(typed)]


def _complete_values(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """The values of an attribute that has few, such as a mode, for a shell: of the op before it, else of any."""
    name, op = str(parameter.name), str(context.params.get("op_name"))
    kind = op_class(op)
    fields = [taker.model_fields.get(name) for taker in (OPS.values() if kind is None else [kind])]
    values = dict.fromkeys(value for field in fields if field for value in get_args(field.annotation))
    return [value for value in values if isinstance(value, str) and value.startswith(typed)]


def op_options(command: F) -> F:
    """--op and an option for every attribute of every op."""
    for name in reversed(_ATTRIBUTES):
        takers = [wire for wire, op in OPS.items() if name in op.model_fields]
        flag, text = f"--{name.replace('_', '-')}", f"Attribute of {', '.join(takers)}."
        command = click.option(flag, name, metavar="VALUE", help=text, shell_complete=_complete_values)(command)
    return click.option(
        "--op",
        "op_name",
        metavar="NAME",
        shell_complete=complete_ops,
        help="The op; `axiscast ops` lists them. With --shape alone: numpy.broadcast_to.",
    )(command)


_API_KEY, _URL = "axiscast.api_key", "axiscast.url"


def url_option(command: F) -> F:
    """--url, and --api-key for `client_of`."""
    command = click.option(
        "--api-key",
        metavar="KEY",
        envvar="AXISCAST_API_KEY",
        expose_value=False,
        callback=lambda context, parameter, key: context.meta.update({_API_KEY: key}),
        help="The key that the service asks for; better in AXISCAST_API_KEY, where other users can't read it.",
    )(command)
    return click.option("--url", metavar="URL", help="Ask this service instead of working here.")(command)


def client_for(url: str, **options: Any) -> Client:
    """A client of this service, with the key of --api-key."""
    from ..client.client import Client

    meta = click.get_current_context().meta
    meta[_URL] = url
    try:
        return Client(url, api_key=meta[_API_KEY], **options)
    except ValueError as error:
        raise click.UsageError(str(error).replace("api_key", "--api-key")) from None


def _parse_assumptions(
    context: click.Context, parameter: click.Parameter, texts: Sequence[str]
) -> dict[str, int | str]:
    assumptions: dict[str, int | str] = parse_argument(parse_assumptions, ", ".join(texts), "--assume") if texts else {}
    return assumptions


assume_option = click.option(
    "--assume",
    multiple=True,
    metavar="NAME=SIZES",
    callback=_parse_assumptions,
    help="What is known of a name, such as N=2..; repeats.",
)

warn_option = click.option(
    "--warn",
    multiple=True,
    type=click.Choice(get_args(WarningKind)),
    help="Also give this warning, which correct code often has. May be repeated.",
)

OUTPUT_FAILED = 2
"""The exit status where there is an answer, and no room for it."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


class ShapeCommand(click.Command):
    """A command whose arguments are shapes, which may begin with a minus sign."""

    def parse_args(self, context: click.Context, words: list[str]) -> list[str]:
        return super().parse_args(context, [f" {word}" if re.match("-[0-9]", word) else word for word in words])


def op_from_options(name: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """The op of --op and the attribute options, as plain values."""
    attributes = {key: text for key, text in options.items() if text is not None}
    if name is not None and not name.strip():
        raise click.UsageError(f"--op is empty: write the name of an op, or leave it out{_UNSET}")
    if name is None:
        name = "numpy.broadcast_to" if "shape" in attributes else "numpy.broadcast_arrays"
    kind = op_class(name)
    if kind is None:
        return {"name": name}  # validation says that there is no such op, and which there are
    values: dict[str, Any] = {"name": name}
    for key, text in attributes.items():
        if not text.strip():
            raise click.UsageError(f"--{key.replace('_', '-')} is empty: write () for no sizes{_UNSET}")
        values[key] = parse_argument(partial(parse_attribute, kind, key), text, f"--{key.replace('_', '-')}")
    return values


def parse_shapes(texts: Sequence[str]) -> list[list[int | str]]:
    """The shapes that stand on the command line."""
    return [parse_shape_argument(text) for text in texts]


_UNSET = ". Is a variable of the shell not set?"


def parse_shape_argument(text: str, what: str = "a shape") -> list[int | str]:
    """The shape that is written on the command line; `what` says where."""
    if not text.strip():
        raise click.UsageError(f"{what} is empty: write () for a scalar{_UNSET}")
    if _FILE.search(text) or Path(text).is_file():
        with suppress(ValueError):
            return parse_shape(text)
        raise click.UsageError(_not_a_model(text))
    shape: list[int | str] = parse_argument(parse_shape, text, what)
    return shape


def _not_a_model(text: str) -> str:
    """Return the message for a file name in place of a shape."""
    path = Path(text)
    models = close_matches(path.stem, [found.stem for found in path.parent.glob("*.onnx")])
    close = did_you_mean([str(path.with_name(f"{name}.onnx")) for name in models])
    there = "" if path.is_file() else ", and there is no such file"
    return f"{text!r} is not a shape, and the name of a model ends in .onnx{there}{close}"


_FILE = re.compile(r"[A-Za-z0-9_-]\.[A-Za-z][A-Za-z0-9]*$|/")
"""Matches texts that look like file names."""


def parse_argument(parse: Callable[[str], Any], text: str, what: str) -> Any:
    """What `parse` reads from a text; `what` says where the text stands, if it is none."""
    try:
        return parse(text)
    except ValueError as error:
        raise click.UsageError(f"{what} {text.strip()!r}: {error}") from None


class CommandNotation(ArgumentNotation):
    """The notation of the command line: ``--name value``."""

    catalogue = "`axiscast ops` lists them"

    def location(self, steps: Sequence[int | str]) -> str:
        match list(steps):
            case ["inputs"]:
                return "the shapes"
            case ["inputs", number, *axes]:
                return super().location(["inputs", number, *axes])
            case ["assume" | "example" as option, name]:
                return f"--{option} {name}"
            case ["op"]:
                return "--op"
            case ["op", name, *_] | [name, *_]:
                return f"--{str(name).replace('_', '-')}"
        return "the question"

    def assignment(self, steps: Sequence[int | str], value: Any) -> str:
        return f"{self.location(['op', steps[-1]])} {shlex.quote(format_attribute(value))}"


def validated_request(model: type[M], value: Any) -> M:
    """A plain value as a message. Raises Problem in the command line's words."""
    return validate(model, value, CommandNotation())


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Say on stderr what is wrong, and exit with 2, where the service would answer with a problem; with 69 where it
    can't be result_shapes_text or can't answer now, with 77 where it refuses who asks."""
    try:
        yield
    except Problem as problem:
        raise click.UsageError(_in_command_line_words(problem.detail, problem.pointer)) from None
    except Exception as error:
        from .. import errors

        if not isinstance(error, errors.AxiscastError):
            raise
        status = getattr(error, "status", None) or 599  # there was no answer of a service
        request = f" (request {error.request_id})" if error.request_id else ""
        about = f"{click.get_current_context().meta.get(_URL)}: {error}{request}"
        if isinstance(error, errors.Unauthenticated):
            raise CommandFailure(f"{about}: name the key in AXISCAST_API_KEY, or --api-key", os.EX_NOPERM) from None
        is_unexpected = isinstance(error, errors.UnexpectedStatus)
        if isinstance(error, errors.MisdirectedRequest) or status == 403 or (is_unexpected and status in (401, 407)):
            raise CommandFailure(about, os.EX_NOPERM) from None
        if is_unexpected or status in (404, 405, 408, 429) or status >= 500:
            raise CommandFailure(about, os.EX_UNAVAILABLE) from None
        raise click.UsageError(_in_command_line_words(str(error), getattr(error, "pointer", None))) from None


def _in_command_line_words(detail: str, pointer: str | None) -> str:
    """A problem whose place is named as the command line does, also where a service has named it."""
    place = (pointer or "")[1:]
    steps = [int(step) if step.isdecimal() else step for step in place.split("/")]
    return (
        f"{CommandNotation().location(steps)}{detail[len(place) :]}"
        if place and detail.startswith(f"{place}: ")
        else detail
    )


class CommandFailure(click.ClickException):
    """What is no fault of the command's words: said without them, with an exit status as in sysexits.h."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.exit_code = status  # type: ignore[misc]  # click says nothing of instances
