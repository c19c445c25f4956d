"""axiscast broadcast: broadcasts arrays in .npy files, and writes the outputs to .npy files."""

from __future__ import annotations

import json
import os
import signal
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
from ..ops import Op
from ..wire.shapes import format_shape
from .arguments import OpCommand, json_option, op_from_options, op_option, option_name, validated_request
from .failures import OUTPUT_FAILED, CommandFailure
from .terminal import byte_progress, paint

if TYPE_CHECKING:
    from ..wire.tensors import Array

MIN_PROGRESS_BYTES = 64 * 2**20
"""The minimum output size, in bytes, for showing a progress bar. Smaller outputs take less than a second."""
MAX_PRINTED_ELEMENTS = 1000
"""The maximum number of elements, in all outputs together, that the command prints if no output file is given."""
MAX_NPY_HEADER_BYTES = 4096
"""The disk space, in bytes, that is reserved for the header of a .npy file."""


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
    written = _write_outputs(request.op, arrays, answer, outputs)
    for path, array in zip(outputs, written, strict=True):
        facts = {"path": str(path), "dtype": str(array.dtype), "shape": list(array.shape), "nbytes": array.nbytes}
        text = f"{path}: {array.dtype} {format_shape(array.shape)}, {array.nbytes} bytes"
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


def _write_outputs(op: Op, arrays: Sequence[Array], answer: CheckAnswer[Any], paths: Sequence[Path]) -> list[Array]:
    """Write the outputs to temporary files, move these files to the output paths, and return the outputs."""
    destinations = _destinations(paths)
    try:
        with _raised_signals(), _temporary_files(destinations) as files:
            outputs = [
                _create_npy(file, destination, arrays[output.input].dtype, tuple(map(int, output.shape)))
                for file, destination, output in zip(files, destinations, answer.broadcast_inputs, strict=True)
            ]
            total = sum(array.nbytes for array in outputs)
            with byte_progress(total, MIN_PROGRESS_BYTES, f"{total / 2**20:.0f} MiB") as add_bytes:
                _fill(op, arrays, outputs, add_bytes)
            for array, file, destination in zip(outputs, files, destinations, strict=True):
                array.flush()  # type: ignore[attr-defined]  # this array is a np.memmap
                os.replace(file, destination)
            return outputs
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
def _raised_signals() -> Iterator[None]:
    """Return a context manager in which SIGTERM, SIGHUP and SIGINT raise exceptions, so that cleanup code runs."""
    previous = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}

    def raise_once(number: int, frame: Any) -> None:
        for each_number in previous:
            signal.signal(each_number, signal.SIG_IGN)  # a second signal must not interrupt the cleanup
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)

    try:
        for number, handler in previous.items():
            if handler in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, raise_once)
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _temporary_files(destinations: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield a temporary path in the folder of each destination. Remaining temporary files are removed at the end."""
    files = [path.with_name(f".{path.name[:50]}.{token_hex(8)}.npy") for path in destinations]
    try:
        yield files
    finally:
        for file in files:
            file.unlink(missing_ok=True)


def _create_npy(path: Path, destination: Path, dtype: Any, shape: tuple[int, ...]) -> Array:
    """Create a .npy file with the owner and the mode of the file that it replaces, and return an array mapped to it."""
    import numpy as np

    replaced = destination.stat() if destination.exists() else None
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666 if replaced is None else 0o600)
    try:
        if replaced is not None:
            with suppress(PermissionError):
                os.fchown(handle, replaced.st_uid, replaced.st_gid)
            os.fchmod(handle, S_IMODE(replaced.st_mode))
        # Reserve the disk space now. If the disk became full later, writing to mapped memory would kill the process.
        os.posix_fallocate(handle, 0, prod(shape) * dtype.itemsize + MAX_NPY_HEADER_BYTES)
    finally:
        os.close(handle)
    array: Array = np.lib.format.open_memmap(path, "w+", dtype, shape)
    return array


def _fill(op: Op, arrays: Sequence[Array], outputs: Sequence[Array], add_bytes: Callable[[int], None]) -> None:
    """Compute the outputs, and write them into the output arrays chunk by chunk."""
    import numpy as np

    from ..engine.dense import chunks
    from ..engine.views import output_view
    from ..ops import lower

    for placement, output in zip(lower(op, tuple(array.shape for array in arrays)).outputs, outputs, strict=True):
        if not output.size:
            continue
        data, start = output.reshape(-1).view(np.uint8), 0
        for chunk in chunks(output_view(placement, arrays[placement.input])):
            data[start : start + len(chunk)] = chunk
            start += len(chunk)
            add_bytes(len(chunk))
