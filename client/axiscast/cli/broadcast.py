"""axiscast broadcast: broadcasts arrays in .npy files, and writes the outputs to .npy files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import prod
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE
from typing import TYPE_CHECKING, Any

import click

from ..library import broadcast, check
from ..messages import CheckAnswer, CheckRequest
from ..ops import Op, lower
from ..wire.shapes import format_shape
from .arguments import OpCommand, json_option, op_from_options, op_option, option_name, validated_request
from .failures import OUTPUT_FAILED, CommandFailure
from .terminal import byte_progress, paint

if TYPE_CHECKING:
    from ..plan.plan import Placement
    from ..wire.tensors import Array

MIN_PROGRESS_BYTES = 64 * 2**20
"""The minimum output size, in bytes, for showing a progress bar. Smaller outputs take less than a second."""
MAX_PRINTED_ELEMENTS = 1000
"""The maximum number of elements, in all outputs together, that the command prints if no output file is given."""


@click.command("broadcast", cls=OpCommand)
@click.argument(
    "inputs", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="IN.npy..."
)
@op_option
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The output file. Repeat this option for each output of the op. Without it, small outputs are printed.",
)
@json_option
def broadcast_command(
    inputs: Sequence[Path], op_name: str | None, outputs: Sequence[Path], as_json: bool, **attributes: Any
) -> None:
    """Broadcast .npy files to .npy files, or print small outputs.

    The files may be larger than memory.

    \b
    axiscast broadcast in.npy --shape 4,3
    axiscast broadcast in.npy --shape 4,3 -o out.npy
    axiscast broadcast a.npy b.npy -o a_out.npy -o b_out.npy

    Each output file is complete or absent. It may replace an input file.
    """
    arrays = [_open_npy(path) for path in inputs]
    fields = {"op": op_from_options(op_name, attributes), "inputs": [array.shape for array in arrays]}
    request = validated_request(CheckRequest, fields)
    for attribute, _, symbol in request.op.symbols():
        raise click.UsageError(
            f"{option_name(attribute)} contains {symbol}: only `axiscast check` supports symbolic sizes"
        )
    answer: CheckAnswer[Any] = check(request)
    if answer.conflict is not None:
        from ..drawing.terminal_text import check_as_text

        click.echo(check_as_text(answer, paint=paint))
        sys.exit(1)
    if not outputs:
        _print_outputs(request.op, arrays, answer, as_json)
        return
    if len(outputs) != len(answer.broadcast_inputs):
        raise click.UsageError(
            f"{request.op.name} has {len(answer.broadcast_inputs)} outputs here, but -o is given {len(outputs)} times: "
            "write -o once for each output"
        )
    for path, placement, view in zip(outputs, *_write_outputs(request.op, arrays, outputs), strict=True):
        shape = placement.shape
        facts = {"path": str(path), "dtype": str(view.dtype), "shape": list(shape), "nbytes": view.nbytes}
        text = f"{path}: {view.dtype} {format_shape(shape)}, {view.nbytes} bytes"
        click.echo(json.dumps(facts) if as_json else text)


def _open_npy(path: Path) -> Array:
    """Return the array in a .npy file, without reading its elements. Raises UsageError if the file is unusable."""
    import numpy as np

    from ..wire.dtypes import dtype_name

    if not path.is_file():
        raise click.UsageError(f"{path} is not a regular file: write its content to a file first")
    try:
        array: Array = np.lib.format.open_memmap(path, "r")
        dtype_name(array.dtype)
    except Exception as error:  # NumPy raises many types of exceptions for invalid files
        raise click.UsageError(f"{path} is not a usable .npy file: {error}") from None
    return array


def _print_outputs(op: Op, arrays: Sequence[Array], answer: CheckAnswer[Any], as_json: bool) -> None:
    """Print the elements of the outputs. Raises UsageError if there are too many elements."""
    import numpy as np

    elements = sum(prod(map(int, output.shape)) for output in answer.broadcast_inputs)
    if as_json or elements > MAX_PRINTED_ELEMENTS:
        reason = "--json describes files" if as_json else f"the outputs have {elements} elements, too many to print"
        raise click.UsageError(f"{reason}: name an output file with -o")
    for number, array in enumerate(broadcast(op, *arrays)):
        click.echo(f"output {number}: {array.dtype} {format_shape(array.shape)}")
        click.echo(np.array2string(array, threshold=MAX_PRINTED_ELEMENTS + 1))


def _write_outputs(op: Op, arrays: Sequence[Array], paths: Sequence[Path]) -> tuple[tuple[Placement, ...], list[Array]]:
    """Write the outputs to temporary files, move these files to the output paths, and return views of the outputs."""
    from ..engine.views import output_view

    destinations = _destinations(paths)
    try:
        placements = lower(op, tuple(array.shape for array in arrays)).outputs
        views = [output_view(placement, arrays[placement.input]) for placement in placements]
        total = sum(view.nbytes for view in views)
        with _temporary_files(destinations) as files:
            with byte_progress(total, MIN_PROGRESS_BYTES, f"{total / 2**20:.0f} MiB") as add_bytes:
                for file, destination, placement, view in zip(files, destinations, placements, views, strict=True):
                    _write_npy(file, destination, placement.shape, view, add_bytes)
            for file, destination in zip(files, destinations, strict=True):
                os.replace(file, destination)
        return placements, views
    except (OSError, ValueError, OverflowError) as error:
        raise CommandFailure(f"the output can't be written: {error}", OUTPUT_FAILED) from None


def _destinations(paths: Sequence[Path]) -> list[Path]:
    """Return the real paths of the output files, with symbolic links resolved.

    The command therefore keeps a symbolic link, and replaces the file to which the link points. Raises UsageError if a
    path is not usable.
    """
    destinations = [Path(os.path.realpath(path)) for path in paths]
    for path, destination in zip(paths, destinations, strict=True):
        if destinations.count(destination) > 1:
            raise click.UsageError(f"-o {path} is given twice: name a different file for each output")
        if destination.exists() and not destination.is_file():
            raise click.UsageError(f"-o {path} is not a regular file: specify the path of a file")
    return destinations


@contextmanager
def _temporary_files(destinations: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield a temporary path in the folder of each destination. Remaining temporary files are removed at the end."""
    files = [path.with_name(f".{path.name[:50]}.{token_hex(8)}.npy") for path in destinations]
    try:
        yield files
    finally:
        for file in files:
            file.unlink(missing_ok=True)


def _write_npy(
    path: Path, destination: Path, shape: tuple[int, ...], view: Array, add_bytes: Callable[[int], None]
) -> None:
    """Write a .npy file, chunk by chunk, with the owner and the mode of the file that it replaces."""
    import numpy as np

    from ..engine.dense import chunks

    replaced = destination.stat() if destination.exists() else None
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if replaced is None else 0o600)
    with open(handle, "wb") as file:
        if replaced is not None:
            with suppress(PermissionError):
                os.fchown(handle, replaced.st_uid, replaced.st_gid)
            os.fchmod(handle, S_IMODE(replaced.st_mode))
        header = {"descr": np.lib.format.dtype_to_descr(view.dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        if view.size:
            os.posix_fallocate(handle, file.tell(), view.nbytes)  # a full disk is reported before the work
            for chunk in chunks(view):
                file.write(chunk)
                add_bytes(len(chunk))
