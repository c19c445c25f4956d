"""axiscast check --batch: performs the checks in a file that contains one request per line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import IO, Any

import click

from ..checks.check import answer_check
from ..messages import CheckRequest
from ..messages.notation import JsonNotation
from ..messages.validation import validate
from ..wire.codec import Encoding, decode
from ..wire.problems import Problem
from .arguments import CommandNotation
from .terminal import byte_progress

MAX_LINE_BYTES = 2**20
"""The maximum length, in bytes, of a line in a batch file, which is enough for a hundred thousand sizes."""
_READ_BYTES = 2**16
"""The maximum number of bytes that are read from the batch file at a time."""
MIN_PROGRESS_BYTES = 2**20
"""The minimum size of a batch file, in bytes, for showing a progress bar. Smaller files take less than a second."""


class LineNotation(JsonNotation):
    """The notation that messages use for a line of a batch file."""

    catalogue = CommandNotation.catalogue
    request = "the line"


def check_lines(path: str) -> int:
    """Check each line of a batch file, print the answers as JSON, and return the exit status.

    If `path` is "-", read the lines from stdin.
    """
    status = 0
    with (
        click.open_file(path, "rb") as file,
        byte_progress(_file_size(file), MIN_PROGRESS_BYTES, "checks") as add_bytes,
    ):
        for lines, nbytes in _read_lines(file):
            for number, line in lines:
                answer = _check_line(number, line)
                click.echo(json.dumps(answer))
                status = _combine_status(status, answer)
            add_bytes(nbytes)
    return status


def _file_size(file: IO[bytes]) -> int:
    try:
        return os.fstat(file.fileno()).st_size
    except OSError:
        return 0


def _combine_status(status: int, answer: Mapping[str, Any]) -> int:
    """Return the exit status after one more answer is taken into account.

    The status is 1 if any shapes do not broadcast. Otherwise it is 2 if any line is invalid, else 0.
    """
    if "error" in answer:
        return status or 2
    return 1 if "conflict" in answer else status


def _read_lines(file: IO[bytes]) -> Iterator[tuple[list[tuple[int, bytes]], int]]:
    """Read a file. Yield lists of complete lines with their line numbers, and the number of bytes that were read.

    A line is yielded as soon as it is complete, so the program that writes the lines can wait for each answer. Blank
    lines are skipped. If a line is too long, an empty line is yielded in its place.
    """
    read = getattr(file, "read1", file.read)
    number, rest, is_too_long = 1, b"", False
    while True:
        data = read(_READ_BYTES)
        *lines, rest = (rest + data).split(b"\n")
        if not data and rest:
            lines, rest = [rest], b""
        numbered = []
        for line in lines:
            if line.strip() or is_too_long:
                numbered.append((number, b"" if is_too_long else line))
            number, is_too_long = number + 1, False
        if len(rest) > MAX_LINE_BYTES:
            rest, is_too_long = b"", True
        yield numbered, len(data)
        if not data:
            return


def _check_line(number: int, line: bytes) -> dict[str, Any]:
    """Return the answer to the request in a line, or {"error": problem} if the line is invalid."""
    try:
        return answer_check(_parse_line(line)).model_dump(exclude_unset=True)
    except Problem as problem:
        problem.move(label=f"line {number}: ")
        return {"error": problem.document()}


def _parse_line(line: bytes) -> CheckRequest:
    """Return the check request that a line contains. Raises Problem if the line is invalid."""
    if not line or len(line) > MAX_LINE_BYTES:
        raise Problem("invalid-request", f"the line is longer than {MAX_LINE_BYTES} bytes: use Client.check_columns")
    if not line.lstrip().startswith(b"{"):
        raise Problem("invalid-request", 'this is not a request: write {"op": "numpy.add", "inputs": [[3, 1], [4]]}')
    try:
        value = decode(line, Encoding.JSON)
    except Problem as problem:
        raise Problem("invalid-request", problem.detail) from None
    return validate(CheckRequest, value, LineNotation())
