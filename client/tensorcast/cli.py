"""The command line: tensorcast serve, check, broadcast, ops.

Libraries that a command may not need (rich, httpx, the service) are imported by the command that does:
`tensorcast check` answers in a fraction of a second.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .schema.messages import (
    CheckAnswer,
    CheckRequest,
    CompareRequest,
    Comparison,
    OpEntry,
    TranslateAnswer,
    TranslateRequest,
)
from .schema.ops import OPS, Op
from .schema.problems import Problem
from .schema.questions import assumption_from_text, attribute_from_text
from .schema.shapes import format_shape, parse_shape
from .schema.validation import validated

if TYPE_CHECKING:
    from .calls import Progress, Transfer
    from .client import Client
    from .schema.tensors import Array

F = TypeVar("F", bound=Callable[..., Any])

BAR_BYTES = 64 * 2**20
"""Work on fewer bytes is done before a progress bar could be read."""
_API_KEY = "tensorcast.api_key"
ATTRIBUTES = sorted({name for op in OPS.values() for name in op.model_fields if name != "name"})


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tensorcast")
def main() -> None:
    """Tensor broadcasting: the exact answer of every framework's rule, from here or from a service."""


def _op_options(command: F) -> F:
    """--op and an option for every attribute of every op."""
    for name in reversed(ATTRIBUTES):
        takers = [wire for wire, op in OPS.items() if name in op.model_fields]
        flag = f"--{name.replace('_', '-')}"
        command = click.option(flag, name, metavar="VALUE", help=f"Attribute of {', '.join(takers)}.")(command)
    return click.option(
        "--op",
        "op_name",
        metavar="NAME",
        help="The op; `tensorcast ops` lists them. With --shape alone: numpy.broadcast_to.",
    )(command)


def _url_option(command: F) -> F:
    """--url, and --api-key for `_client`."""
    command = click.option(
        "--api-key",
        metavar="KEY",
        envvar="TENSORCAST_API_KEY",
        expose_value=False,
        callback=lambda context, parameter, key: context.meta.update({_API_KEY: key}),
        help="The key that the service asks for; better in TENSORCAST_API_KEY, where other users can't read it.",
    )(command)
    return click.option("--url", metavar="URL", help="Ask this service instead of working here.")(command)


def _client(url: str, **options: Any) -> Client:
    """A client of this service, with the key of --api-key."""
    from .client import Client

    try:
        return Client(url, api_key=click.get_current_context().meta[_API_KEY], **options)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


@main.command()
@click.argument("shapes", nargs=-1, required=True, metavar="SHAPE...")
@_op_options
@click.option("--dtype", help="Adds the bytes of each output, such as float32.")
@click.option("--assume", multiple=True, metavar="NAME=SIZES", help="What is known of a name, such as N=2..; repeats.")
@_url_option
@_json_option
def check(
    shapes: Sequence[str],
    op_name: str | None,
    dtype: str | None,
    assume: Sequence[str],
    url: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Do these shapes broadcast, and to what? Write a shape as 8,1,6,1 or 8x1x6x1, a scalar as ().

    A size that is not known is a name (everywhere the same size), a range such as 2.. or 1..8, or ?.

    \b
    tensorcast check 8,1,6,1 7,1,5
    tensorcast check 3 --op ngraph.Broadcast --shape 2,3 --broadcast-axes 0
    tensorcast check N,1 1,M --assume N=2..

    Exits with 1 where they do not broadcast, whatever the sizes.
    """
    with _problems_in_words():
        question: dict[str, Any] = {
            "op": _op_values(op_name, given),
            "inputs": [_parsed(parse_shape, text, "a shape") for text in shapes],
            "explain": True,
        }
        if dtype is not None:
            question["dtype"] = dtype
        if assume:
            question["assume"] = dict(_parsed(assumption_from_text, text, "--assume") for text in assume)
        answer = _ask(validated(CheckRequest, question), url)
    if as_json:
        click.echo(json.dumps(answer.model_dump(exclude_unset=True)))
    else:
        click.echo(_colored(answer))
    sys.exit(1 if answer.conflict else 0)


def _ask(request: CheckRequest, url: str | None) -> CheckAnswer:
    if url is None:
        from tensorcast_service.check import check as answer_here

        return answer_here(request)
    with _client(url) as client:
        return client.check(
            request.op, *request.inputs, dtype=request.dtype, explain=request.explain, assume=request.assume
        )


def _colored(answer: CheckAnswer) -> str:
    from tensorcast_service.check import as_text

    colors = {
        "compatible": "green" if answer.compatible else "yellow",
        "incompatible": "red",
        "hint": "cyan",
        "warning": "yellow",
    }
    lines = []
    for line in as_text(answer).splitlines():
        color = colors.get(line.replace(":", " ").split(" ")[0])
        lines.append(click.style(line, fg="red" if line.strip() == "^" else color))
    return "\n".join(lines)


@main.command()
@click.argument(
    "inputs",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="IN.npy...",
)
@_op_options
@click.option(
    "-o", "--output", "outputs", multiple=True, required=True, type=click.Path(dir_okay=False, path_type=Path),
    help="Where an output goes; once for each output of the op.",
)  # fmt: skip
@_url_option
@_json_option
def broadcast(
    inputs: Sequence[Path],
    op_name: str | None,
    outputs: Sequence[Path],
    url: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Broadcast .npy files to .npy files, which may be larger than memory.

    \b
    tensorcast broadcast in.npy --shape 4,3 -o out.npy
    tensorcast broadcast a.npy b.npy -o a_out.npy -o b_out.npy
    """
    from .schema.tensors import to_wire

    with _problems_in_words():
        arrays = [_loaded(path) for path in inputs]
        request = validated(
            CheckRequest, {"op": _op_values(op_name, given), "inputs": [array.shape for array in arrays]}
        )
        for attribute, _, symbol in request.op.symbols():
            raise click.UsageError(f"--{attribute.replace('_', '-')} holds {symbol}: only check takes such sizes")
        answer = _ask(request, url)
        if answer.conflict is not None:
            click.echo(_colored(answer))
            sys.exit(1)
        if len(outputs) != len(answer.outputs):
            raise click.UsageError(
                f"{request.op.name} gives {len(answer.outputs)} outputs here: write -o once for each"
            )
        arrays = [array if url is None else to_wire(array) for array in arrays]
        filled = _written(request.op, arrays, answer, outputs, url)
    for path, array in zip(outputs, filled, strict=True):
        facts = {
            "path": str(path),
            "dtype": str(array.dtype),
            "shape": list(array.shape),
            "nbytes": array.nbytes,
        }
        click.echo(
            json.dumps(facts) if as_json else f"{path}: {array.dtype} {format_shape(array.shape)}, {array.nbytes} bytes"
        )


def _written(
    op: Op, arrays: Sequence[Array], answer: CheckAnswer, outputs: Sequence[Path], url: str | None
) -> list[Array]:
    """The outputs, each filled in a file beside its place and then moved there: an output is whole or absent,
    and may replace an input."""
    import numpy as np

    for path in outputs:
        if outputs.count(path) > 1 or (path.exists() and not path.is_file()):
            raise click.UsageError(f"{path} is given twice, or is no ordinary file")
    parts: list[Path] = []
    try:
        filled: list[Array] = []
        for path, output in zip(outputs, answer.outputs, strict=True):
            dtype, shape = arrays[output.input].dtype, tuple(map(int, output.shape))
            handle, name = tempfile.mkstemp(suffix=".npy", prefix=f".{path.name}.", dir=path.parent)
            parts.append(Path(name))
            # All of it is claimed now: a disk that fills up later would end a write to mapped memory with a signal.
            os.posix_fallocate(handle, 0, prod(shape) * dtype.itemsize + 4096)
            os.close(handle)
            filled.append(np.lib.format.open_memmap(parts[-1], "w+", dtype, shape))
        with _progress_bar(sum(array.nbytes for array in filled)) as progress:
            if url:
                _fill_remotely(op, arrays, filled, url, progress)
            else:
                _fill_here(op, arrays, filled, progress)
        for array, part, path in zip(filled, parts, outputs, strict=True):
            array.flush()  # type: ignore[attr-defined]  # it is a memmap
            part.chmod(0o666 & ~_umask())
            os.replace(part, path)
    except (OSError, ValueError, OverflowError) as error:
        raise click.UsageError(f"the output can't be written: {error}") from None
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
    return filled


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _loaded(path: Path) -> Array:
    import numpy as np

    from .schema.dtypes import name_of

    try:
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
        name_of(array.dtype)
    except Exception as error:  # NumPy raises whatever its parsers do: what matters is that the file is none
        raise click.UsageError(f"{path} is no .npy file that can be used: {error}") from None
    return array


def _fill_here(op: Op, arrays: Sequence[Array], filled: Sequence[Array], progress: Callable[[int], None]) -> None:
    import numpy as np

    from tensorcast_service.engine import chunks, place
    from tensorcast_service.ops import lower

    for placement, target in zip(lower(op, tuple(array.shape for array in arrays)).outputs, filled, strict=True):
        if not target.size:
            continue
        flat, start = target.reshape(-1).view(np.uint8), 0
        for chunk in chunks(place(placement, arrays[placement.input])):
            flat[start : start + len(chunk)] = chunk
            start += len(chunk)
            progress(len(chunk))


def _fill_remotely(
    op: Op, arrays: Sequence[Array], filled: Sequence[Array], url: str, progress: Callable[[int], None]
) -> None:
    before = 0

    def on_transfer(transfer: Transfer) -> None:
        nonlocal before
        if transfer.direction == "download":
            progress(transfer.done - before)
            before = transfer.done

    report: Progress = on_transfer
    with _client(url, timeout=None) as client:
        client.broadcast(op, *arrays, out=filled, progress=report)


@contextmanager
def _progress_bar(total: int) -> Iterator[Callable[[int], None]]:
    """A function that takes how many bytes more are done; shows a bar on stderr where there is much to do."""
    if total < BAR_BYTES or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.advance(task, done)


@main.command()
@click.argument("shapes", nargs=-1, required=True, metavar="SHAPE...")
@click.option("--shape", "target", help="The target: of the ops that take one, with one SHAPE.")
@_url_option
@_json_option
def compare(shapes: Sequence[str], target: str | None, url: str | None, as_json: bool) -> None:
    """What does every framework answer to these shapes?

    \b
    tensorcast compare 3 2,1
    tensorcast compare 1,3 --shape 2,-1
    """
    with _problems_in_words():
        question: dict[str, Any] = {"inputs": [_parsed(parse_shape, text, "a shape") for text in shapes]}
        if target is not None:
            question["shape"] = _parsed(parse_shape, target, "--shape")
        request = validated(CompareRequest, question)
        results = _comparisons(request, url)
    if as_json:
        click.echo(json.dumps([result.model_dump(exclude_unset=True) for result in results]))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("op", "", "output, or why not", box=None, pad_edge=False)
    for result in results:
        name = f"{result.op['name']} ({result.op['mode']})" if "mode" in result.op else result.op["name"]
        if result.conflict is not None:
            table.add_row(name, "[red]no[/]", result.conflict.message)
        else:
            shapes_out = dict.fromkeys(format_shape(output.shape) for output in result.outputs)
            table.add_row(name, "[green]yes[/]", ", ".join(shapes_out))
    Console(highlight=False, width=None if sys.stdout.isatty() else 1000).print(table)


@main.command()
@click.argument("shapes", nargs=-1, required=True, metavar="SHAPE...")
@_op_options
@click.option("--to", required=True, metavar="NAME", help="The op to say it with; `tensorcast ops` lists them.")
@_url_option
@_json_option
def translate(
    shapes: Sequence[str],
    op_name: str | None,
    to: str,
    url: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Say the same in another framework's words: steps, and source text to paste.

    \b
    tensorcast translate 3 --op ngraph.Broadcast --shape 2,3 --broadcast-axes 0 --to stablehlo.broadcast_in_dim

    Exits with 1 where the shapes do not broadcast, or the other op can't say it.
    """
    with _problems_in_words():
        question = {
            "op": _op_values(op_name, given),
            "inputs": [_parsed(parse_shape, text, "a shape") for text in shapes],
            "to": to,
        }
        answer = _translated(validated(TranslateRequest, question), url)
    if as_json:
        click.echo(json.dumps(answer.model_dump(exclude_none=True)))
        return
    from tensorcast_service.translate import as_text

    click.echo(as_text(answer))


def _translated(request: TranslateRequest, url: str | None) -> TranslateAnswer:
    from .errors import ServiceProblem

    try:
        if url is None:
            from tensorcast_service.translate import translate as translate_here

            return translate_here(request)
        with _client(url) as client:
            return client.translate(request.op, *request.inputs, to=request.to)
    except (Problem, ServiceProblem) as problem:
        if problem.code not in ("incompatible-shapes", "untranslatable"):
            raise
        click.echo(f"{problem.code}: {problem.detail}")
        sys.exit(1)


def _comparisons(request: CompareRequest, url: str | None) -> list[Comparison]:
    if url is None:
        from tensorcast_service.compare import compare as compare_here

        return compare_here(request).results
    with _client(url) as client:
        return client.compare(*request.inputs, shape=request.shape)


@main.command()
@click.argument("name", required=False)
@_url_option
@_json_option
def ops(name: str | None, url: str | None, as_json: bool) -> None:
    """List the ops, or show one of them with its attributes, its definition and an example."""
    with _problems_in_words():
        entries = _catalogue(url)
        if name is not None:
            entries = [entry for entry in entries if entry.name == name]
            if not entries:
                raise click.UsageError(f"there is no op {name}: `tensorcast ops` lists them")
    if as_json:
        click.echo(json.dumps([entry.model_dump() for entry in entries]))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if name is not None:
        (entry,) = entries
        console.print(f"[bold]{entry.name}[/]  {entry.doc}", soft_wrap=True)
        for attribute, schema in entry.attributes["properties"].items():
            console.print(f"  {attribute}  {schema.get('description', '')}", markup=False, soft_wrap=True)
        console.print(
            f"  {entry.link} ({entry.reference.package} {entry.reference.version})",
            markup=False,
            soft_wrap=True,
        )
        console.print(f"  {_command_of(entry)}", markup=False, soft_wrap=True)
        return
    table = Table("op", "inputs", "what it does", box=None, pad_edge=False)
    for entry in entries:
        low, high = entry.inputs.min, entry.inputs.max
        table.add_row(
            entry.name,
            f"{low}+" if high is None else str(low) if low == high else f"{low} to {high}",
            entry.doc,
        )
    console.print(table)


def _catalogue(url: str | None) -> list[OpEntry]:
    if url is None:
        from tensorcast_service.catalogue import catalogue

        return catalogue().ops
    with _client(url) as client:
        return client.ops()


def _command_of(entry: OpEntry) -> str:
    """The op's example as a command."""
    words = [
        "tensorcast check",
        *(_as_text(shape) for shape in entry.example["inputs"]),
        f"--op {entry.name}",
    ]
    attributes = entry.example["op"].items()
    words += [f"--{key.replace('_', '-')} {_as_text(value)}" for key, value in attributes if key != "name"]
    return " ".join(words)


def _as_text(value: Any) -> str:
    if isinstance(value, dict) or (isinstance(value, list) and any(not isinstance(item, int) for item in value)):
        return shlex.quote(json.dumps(value))
    return (",".join(map(str, value)) or "()") if isinstance(value, list) else shlex.quote(str(value))


def _serve_options(command: F) -> F:
    """An option for every setting of the service."""
    from dataclasses import fields

    from tensorcast_service.settings import Settings, variable_of

    for setting in reversed(fields(Settings)):
        default = "none" if setting.default == "" else setting.default
        help_text = f"{setting.metadata['help']} [{variable_of(setting.name)}; default {default}]"
        command = click.option(f"--{setting.name.replace('_', '-')}", type=type(setting.default), help=help_text)(
            command
        )
    return command


@main.command()
@_serve_options
def serve(**given: Any) -> None:
    """Run the service. Each option can be set by the environment variable that stands beside it."""
    from tensorcast_service.settings import Settings, variable_of

    os.environ.update({variable_of(name): str(value) for name, value in given.items() if value is not None})
    try:
        from tensorcast_service.web.serve import serve as run
        from tensorcast_service.web.serve import verify
    except ImportError:
        raise click.ClickException("the service is not installed: pip install 'tensorcast[service]'") from None
    try:
        settings = Settings.from_environment()  # read again by each worker
        verify(settings)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    run(settings)


def _op_values(name: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """The op of --op and the attribute options, as plain values."""
    attributes = {key: text for key, text in given.items() if text is not None}
    if name is None:
        name = "numpy.broadcast_to" if "shape" in attributes else "numpy.broadcast_arrays"
    if name not in OPS:
        return {"name": name}  # validation says that there is no such op, and which there are
    values: dict[str, Any] = {"name": name}
    for key, text in attributes.items():
        values[key] = _parsed(partial(attribute_from_text, OPS[name], key), text, f"--{key.replace('_', '-')}")
    return values


def _parsed(parse: Callable[[str], Any], text: str, what: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise click.UsageError(f"{what} {text!r}: {error}") from None


@contextmanager
def _problems_in_words() -> Iterator[None]:
    """Say on stderr what is wrong, and exit with 2, where the service would answer with a problem."""
    try:
        yield
    except Problem as problem:
        raise click.UsageError(problem.detail) from None
    except Exception as error:
        from .errors import TensorcastError

        if not isinstance(error, TensorcastError):
            raise
        raise click.UsageError(str(error)) from None
