"""Arguments that commands share: as options, as values, and what is wrong with them in words."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..messages.questions import assumptions_from_text, attribute_from_text
from ..ops import OPS
from ..schema.problems import Problem
from ..schema.shapes import parse_shape

if TYPE_CHECKING:
    from ..client.client import Client

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTES = sorted({name for op in OPS.values() for name in op.model_fields if name != "name"})


def op_options(command: F) -> F:
    """--op and an option for every attribute of every op."""
    for name in reversed(_ATTRIBUTES):
        takers = [wire for wire, op in OPS.items() if name in op.model_fields]
        flag = f"--{name.replace('_', '-')}"
        command = click.option(flag, name, metavar="VALUE", help=f"Attribute of {', '.join(takers)}.")(command)
    return click.option(
        "--op",
        "op_name",
        metavar="NAME",
        help="The op; `tensorcast ops` lists them. With --shape alone: numpy.broadcast_to.",
    )(command)


_API_KEY, _URL = "tensorcast.api_key", "tensorcast.url"


def url_option(command: F) -> F:
    """--url, and --api-key for `client_of`."""
    command = click.option(
        "--api-key",
        metavar="KEY",
        envvar="TENSORCAST_API_KEY",
        expose_value=False,
        callback=lambda context, parameter, key: context.meta.update({_API_KEY: key}),
        help="The key that the service asks for; better in TENSORCAST_API_KEY, where other users can't read it.",
    )(command)
    return click.option("--url", metavar="URL", help="Ask this service instead of working here.")(command)


def client_of(url: str, **options: Any) -> Client:
    """A client of this service, with the key of --api-key."""
    from ..client.client import Client

    meta = click.get_current_context().meta
    meta[_URL] = url
    try:
        return Client(url, api_key=meta[_API_KEY], **options)
    except ValueError as error:
        raise click.UsageError(str(error).replace("api_key", "--api-key")) from None


def _assumptions(context: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> dict[str, int | str]:
    return {name: size for text in texts for name, size in parsed(assumptions_from_text, text, "--assume").items()}


assume_option = click.option(
    "--assume",
    multiple=True,
    metavar="NAME=SIZES",
    callback=_assumptions,
    help="What is known of a name, such as N=2..; repeats.",
)

CANT_WRITE = 2
"""The exit status where there is an answer, and no room for it."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


def op_values(name: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """The op of --op and the attribute options, as plain values."""
    attributes = {key: text for key, text in options.items() if text is not None}
    if name is None:
        name = "numpy.broadcast_to" if "shape" in attributes else "numpy.broadcast_arrays"
    if name not in OPS:
        return {"name": name}  # validation says that there is no such op, and which there are
    values: dict[str, Any] = {"name": name}
    for key, text in attributes.items():
        values[key] = parsed(partial(attribute_from_text, OPS[name], key), text, f"--{key.replace('_', '-')}")
    return values


def shapes_in(texts: Sequence[str]) -> list[list[int | str]]:
    """The shapes that stand on the command line."""
    return [parsed(parse_shape, text, "a shape") for text in texts]


def parsed(parse: Callable[[str], Any], text: str, what: str) -> Any:
    """What `parse` reads from a text; `what` says where the text stands, if it is none."""
    try:
        return parse(text)
    except ValueError as error:
        raise click.UsageError(f"{what} {text!r}: {error}") from None


@contextmanager
def problems_in_words() -> Iterator[None]:
    """Say on stderr what is wrong, and exit with 2, where the service would answer with a problem; with 69 where it
    can't be reached or can't answer now, with 77 where it refuses who asks."""
    try:
        yield
    except Problem as problem:
        raise click.UsageError(problem.detail) from None
    except Exception as error:
        from .. import errors

        if not isinstance(error, errors.TensorcastError):
            raise
        status = getattr(error, "status", None) or 599
        request = f" (request {error.request_id})" if error.request_id else ""
        about = f"{click.get_current_context().meta.get(_URL)}: {error}{request}"
        if isinstance(error, errors.Unauthenticated):
            raise Failure(f"{about}: name the key in TENSORCAST_API_KEY, or --api-key", os.EX_NOPERM) from None
        if isinstance(error, errors.MisdirectedRequest) or status == 403:
            raise Failure(about, os.EX_NOPERM) from None
        if status in (404, 405, 408, 429) or status >= 500:
            raise Failure(about, os.EX_UNAVAILABLE) from None
        raise click.UsageError(str(error)) from None


class Failure(click.ClickException):
    """What is no fault of the command's words: said without them, with an exit status as in sysexits.h."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.exit_code = status  # type: ignore[misc]  # click says nothing of instances
