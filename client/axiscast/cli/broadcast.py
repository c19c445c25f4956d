"""axiscast broadcast"""

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

from ..messages import CheckAnswer, CheckRequest
from ..ops import Op
from ..wire.shapes import format_shape
from .arguments import (
    OUTPUT_FAILED,
    CommandFailure,
    client_for,
    json_option,
    op_from_options,
    op_options,
    url_option,
    validated_request,
)
from .backend import colored_answer, run_check

if TYPE_CHECKING:
    from ..client.call import Transfer
    from ..wire.tensors import Array

BAR_BYTES = 64 * 2**20
"""Work on fewer bytes is done before a progress bar could be read."""


@click.command("broadcast")
@click.argument(
    "inputs",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="IN.npy...",
)
@op_options
@click.option(
    "-o", "--output", "outputs", multiple=True, required=True, type=click.Path(dir_okay=False, path_type=Path),
    help="Where an output goes; once for each output of the op.",
)  # fmt: skip
@url_option
@json_option
def broadcast_command(
    inputs: Sequence[Path],
    op_name: str | None,
    outputs: Sequence[Path],
    url: str | None,
    as_json: bool,
    **attributes: Any,
) -> None:
    """Broadcast .npy files to .npy files, which may be larger than memory.

    \b
    axiscast broadcast in.npy --shape 4,3 -o out.npy
    axiscast broadcast a.npy b.npy -o a_out.npy -o b_out.npy
    """
    from ..wire.tensors import to_little_endian

    arrays = [_open_npy(path) for path in inputs]
    request = validated_request(
        CheckRequest, {"op": op_from_options(op_name, attributes), "inputs": [array.shape for array in arrays]}
    )
    for attribute, _, symbol in request.op.symbols():
        raise click.UsageError(f"--{attribute.replace('_', '-')} holds {symbol}: only check takes such sizes")
    answer = run_check(request, url)
    if answer.conflict is not None:
        click.echo(colored_answer(answer))
        sys.exit(1)
    if len(outputs) != len(answer.outputs):
        raise click.UsageError(f"{request.op.name} gives {len(answer.outputs)} outputs here: write -o once for each")
    arrays = [array if url is None else to_little_endian(array) for array in arrays]
    filled = _write_outputs(request.op, arrays, answer, outputs, url)
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


def _write_outputs(
    op: Op, arrays: Sequence[Array], answer: CheckAnswer, outputs: Sequence[Path], url: str | None
) -> list[Array]:
    """The outputs, each filled in a file beside its place and then moved there: an output is whole or absent,
    and may replace an input."""
    import numpy as np

    places = [Path(os.path.realpath(path)) for path in outputs]  # a link stays, and what it names is written
    for place in places:
        if places.count(place) > 1 or (place.exists() and not place.is_file()):
            raise click.UsageError(f"{place} is given twice, or is no ordinary file")
    parts: list[Path] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}

    def end(number: int, frame: Any) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)  # a second one would end the removal of the parts
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)

    try:
        for number, handler in before.items():
            if handler in (signal.SIG_DFL, signal.default_int_handler):  # the former would leave the parts behind
                signal.signal(number, end)
        filled: list[Array] = []
        for place, output in zip(places, answer.outputs, strict=True):
            dtype, shape = arrays[output.input].dtype, tuple(map(int, output.shape))
            parts.append(place.with_name(f".{place.name[:50]}.{token_hex(8)}.npy"))  # first, lest it be left behind
            handle = os.open(parts[-1], os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            # All of it is claimed now: a disk that fills up later would end a write to mapped memory with a signal.
            os.posix_fallocate(handle, 0, prod(shape) * dtype.itemsize + 4096)
            os.close(handle)
            filled.append(np.lib.format.open_memmap(parts[-1], "w+", dtype, shape))
        with _progress_bar(sum(array.nbytes for array in filled)) as progress:
            if url:
                _fill_remotely(op, arrays, filled, url, progress)
            else:
                _fill_locally(op, arrays, filled, progress)
        for array, part, place in zip(filled, parts, places, strict=True):
            array.flush()  # type: ignore[attr-defined]  # it is a memmap
            _copy_owner_and_mode(part, place)
            os.replace(part, place)
    except (OSError, ValueError, OverflowError) as error:
        raise CommandFailure(f"the output can't be written: {error}", OUTPUT_FAILED) from None
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
        for number, handler in before.items():
            signal.signal(number, handler)
    return filled


def _copy_owner_and_mode(part: Path, place: Path) -> None:
    """Give a file the owner and the mode of the one whose place it takes; of a new file, where there is none."""
    try:
        there = place.stat()
    except FileNotFoundError:
        part.chmod(0o666 & ~_umask())
        return
    with suppress(PermissionError):
        os.chown(part, there.st_uid, there.st_gid)
    part.chmod(S_IMODE(there.st_mode))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _open_npy(path: Path) -> Array:
    import numpy as np

    from ..wire.dtypes import dtype_name

    if not path.is_file():
        raise click.UsageError(f"{path} is no ordinary file: write it to one first")
    try:
        array: Array = np.lib.format.open_memmap(path, "r")
        dtype_name(array.dtype)
    except Exception as error:  # NumPy raises whatever its parsers do: what matters is that the file is none
        raise click.UsageError(f"{path} is no .npy file that can be used: {error}") from None
    return array


def _fill_locally(op: Op, arrays: Sequence[Array], filled: Sequence[Array], progress: Callable[[int], None]) -> None:
    import numpy as np

    from axiscast.engine.dense import chunks
    from axiscast.engine.views import output_view

    from ..ops import lower

    for placement, target in zip(lower(op, tuple(array.shape for array in arrays)).outputs, filled, strict=True):
        if not target.size:
            continue
        flat, start = target.reshape(-1).view(np.uint8), 0
        for chunk in chunks(output_view(placement, arrays[placement.input])):
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

    with client_for(url, timeout=None) as client:
        client.broadcast(op, *arrays, out=filled, progress=on_transfer)


@contextmanager
def _progress_bar(total: int) -> Iterator[Callable[[int], None]]:
    """A function that takes how many bytes more are done; shows a bar on stderr where there is much to do."""
    if total < BAR_BYTES or not sys.stderr.isatty():
        yield lambda done: None
        return
    label, steps = f"{total / 2**20:.0f} MiB", total // 100
    with click.progressbar(length=total, label=label, file=sys.stderr, update_min_steps=steps) as bar:
        yield bar.update
