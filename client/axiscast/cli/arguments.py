"""The arguments and options that several commands share, and the functions that parse them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from click.shell_completion import CompletionItem

from ..messages.attribute_text import format_attribute, parse_assumptions, parse_attribute
from ..messages.check_request import WarningKind
from ..messages.notation import ArgumentNotation
from ..messages.validation import M, validate
from ..ops import ALIASES, OPS, op_class
from ..wire.shapes import parse_shape
from ..wire.wording import close_matches, did_you_mean

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

FILE_NAME = re.compile(r"[A-Za-z0-9_-]\.[A-Za-z][A-Za-z0-9]*$|/")
"""The pattern of command-line arguments that look like file names."""
UNSET_VARIABLE_HINT = ". Is a shell variable unset?"

# --- options ---------------------------------------------------------------------------------------


def complete_ops(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return the op names that begin with the typed text, for shell completion.

    If no name begins with the typed text, return the aliases that begin with it.
    """
    return [name for name in OPS if name.startswith(typed)] or [name for name in ALIASES if name.startswith(typed)]


def _complete_values(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return the values of an op attribute for shell completion.

    If --op is not given, the list contains the values for all ops that have the attribute.
    """
    name = str(parameter.name)
    kind = op_class(str(context.params.get("op_name")))
    fields = [op.model_fields.get(name) for op in (OPS.values() if kind is None else [kind])]
    values = dict.fromkeys(value for field in fields if field for value in get_args(field.annotation))
    return [value for value in values if isinstance(value, str) and value.startswith(typed)]


def option_name(attribute: str) -> str:
    """Return the name of the command-line option for an op attribute, such as --broadcast-axes."""
    return f"--{attribute.replace('_', '-')}"


class AttributeOption(click.Option):
    """An option for an attribute of ops. The help of a command does not list it."""

    def get_help_record(self, context: click.Context) -> None:
        return None


def _parse_assume_option(context: click.Context, option: click.Parameter, texts: Sequence[str]) -> Any:
    return parse_argument(parse_assumptions, ", ".join(texts), "--assume") if texts else {}


op_option = click.option(
    "--op", "op_name", metavar="NAME", shell_complete=complete_ops, help="The op. Its options: `axiscast ops NAME`."
)

assume_option = click.option(
    "--assume",
    multiple=True,
    metavar="NAME=SIZES",
    callback=_parse_assume_option,
    help="The sizes of a name, such as N=1..8.",
)

warn_option = click.option(
    "--warn", multiple=True, type=click.Choice(get_args(WarningKind)), help="Also print this warning."
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")

svg_option = click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write the drawing to an SVG file.",
)


# --- parsing ---------------------------------------------------------------------------------------


class ShapeCommand(click.Command):
    """A command whose arguments are shapes. Such a shape may begin with a minus sign, as in -1,3."""

    def parse_args(self, context: click.Context, words: list[str]) -> list[str]:
        """Put a space before shapes such as -1,3, so that click does not parse such shapes as options."""
        return super().parse_args(context, [f" {word}" if re.match("-[0-9]", word) else word for word in words])


class OpCommand(ShapeCommand):
    """A command that takes shapes, an op, and an option for each attribute of the op."""

    def add_attribute_options(self) -> None:
        """Add an option for each attribute of any op. This loads the files of all frameworks."""
        if any(isinstance(option, AttributeOption) for option in self.params):
            return
        for attribute in sorted({name for op in OPS.values() for name in op.model_fields} - {"name"}):
            option = [option_name(attribute), attribute]
            self.params.append(AttributeOption(option, metavar="VALUE", shell_complete=_complete_values))

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the options of attributes too."""
        self.add_attribute_options()
        return super().shell_complete(context, incomplete)

    def parse_args(self, context: click.Context, words: list[str]) -> list[str]:
        """Add the options of attributes only if a word may be one, because adding them is slow."""
        known = {name for option in self.params for name in (*option.opts, *option.secondary_opts)}
        if any(word.startswith("--") and word.partition("=")[0] not in known for word in words):
            self.add_attribute_options()
        return super().parse_args(context, words)


def op_from_options(
    name: str | None, options: dict[str, Any], default: str = "numpy.broadcast_arrays"
) -> dict[str, Any]:
    """Return the op that --op and the attribute options specify, as a plain map."""
    attributes = {key: text for key, text in options.items() if text is not None}
    if name is not None and not name.strip():
        raise click.UsageError(f"--op is empty: write the name of an op, or omit it{UNSET_VARIABLE_HINT}")
    if name is None:
        name = "numpy.broadcast_to" if "shape" in attributes else default
    kind = op_class(name)
    if kind is None:
        return {"name": name}  # validation will report that this op is unknown
    values: dict[str, Any] = {"name": name}
    for key, text in attributes.items():
        if not text.strip():
            raise click.UsageError(f"{option_name(key)} is empty: write () for no sizes{UNSET_VARIABLE_HINT}")
        values[key] = parse_argument(partial(parse_attribute, kind, key), text, option_name(key))
    return values


def parse_shapes(texts: Sequence[str]) -> list[list[int | str]]:
    """Return the shapes that these arguments specify. Raises UsageError if an argument is not a shape."""
    for text in texts:
        words = text.split()
        with suppress(ValueError):
            if len(words) > 1 and all("," in word and parse_shape(word) for word in words):
                written = " ".join(words)
                raise click.UsageError(f"{text!r} is {len(words)} shapes: write them without quotes, as {written}")
    return [parse_shape_argument(text) for text in texts]


def parse_shape_argument(text: str, name: str = "a shape") -> list[int | str]:
    """Return the shape that an argument specifies. Raises UsageError if the argument is not a shape.

    `name` is the name of the argument in the error message.
    """
    if not text.strip():
        raise click.UsageError(f"{name} is empty: write () for a scalar{UNSET_VARIABLE_HINT}")
    if FILE_NAME.search(text) or Path(text).is_file():
        with suppress(ValueError):
            return parse_shape(text)
        raise click.UsageError(_file_message(text))
    return parse_argument(parse_shape, text, name)


def _file_message(text: str) -> str:
    """Return the error message for an argument that looks like a file name but does not end in .onnx."""
    path = Path(text)
    if path.is_file():
        problem = f"{text!r} is not a shape, and the name of an ONNX model must end in .onnx"
    else:
        problem = f"{text!r} is neither a shape nor an existing file, and the name of an ONNX model must end in .onnx"
    models = close_matches(path.stem, [found.stem for found in path.parent.glob("*.onnx")])
    return problem + did_you_mean([str(path.with_name(f"{name}.onnx")) for name in models])


def parse_argument(parse: Callable[[str], T], text: str, name: str) -> T:
    """Parse an argument with the function `parse`, and return the value. Raises UsageError if parsing fails.

    The error message contains `name`, which is the name of the argument.
    """
    try:
        return parse(text)
    except ValueError as error:
        raise click.UsageError(f"{name} {text.strip()!r}: {error}") from None


class CommandNotation(ArgumentNotation):
    """The notation that messages use for command-line arguments, such as `--shape 2,3`."""

    catalogue = "`axiscast ops` lists them"

    def location(self, steps: Sequence[int | str]) -> str:
        match list(steps):
            case ["inputs"]:
                return "the shapes"
            case ["inputs", *_]:
                return super().location(steps)
            case ["assume" | "example" as option, name]:
                return f"--{option} {name}"
            case ["op"]:
                return "--op"
            case ["op", name, *_] | [name, *_]:
                return option_name(str(name))
        return "the arguments"

    def assignment(self, steps: Sequence[int | str], value: Any) -> str:
        return f"{self.location(['op', steps[-1]])} {shlex.quote(format_attribute(value))}"


def validated_request(model: type[M], value: Any) -> M:
    """Validate a plain value, and return it as a request. Raises Problem if it is invalid.

    The problem's message uses the names of command-line arguments and options.
    """
    return validate(model, value, CommandNotation())
