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
MIN_PROGRESS_BYTES = 2**20
"""The minimum size of a batch file, in bytes, for showing a progress bar. Smaller files take less than a second."""


class LineNotation(JsonNotation):
    """The notation that messages use for a line of a batch file."""

    catalogue = CommandNotation.catalogue
    request = "the line"


def check_lines(path: str) -> int:
    """Check each line of a batch file, print the answers as JSON, and return the exit status.

    If `path` is "-", read the lines from stdin. Blank lines are skipped.
    """
    status = 0
    with (
        click.open_file(path, "rb") as file,
        byte_progress(0 if path == "-" else os.path.getsize(path), MIN_PROGRESS_BYTES, "checks") as add_bytes,
    ):
        for number, line in enumerate(_read_lines(file), 1):
            if line.strip() or len(line) > MAX_LINE_BYTES:
                answer = _check_line(number, line)
                click.echo(json.dumps(answer))
                status = _combine_status(status, answer)
            add_bytes(len(line) + 1)
    return status


def _combine_status(status: int, answer: Mapping[str, Any]) -> int:
    """Return the exit status after one more answer is taken into account.

    The status is 1 if any shapes do not broadcast. Otherwise it is 2 if any line is invalid, else 0.
    """
    if "error" in answer:
        return status or 2
    return 1 if "conflict" in answer else status


def _read_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield each line as soon as it is complete, so the program that writes the lines can wait for each answer.

    Of a line that is too long, only the start is yielded.
    """
    while line := file.readline(MAX_LINE_BYTES + 1):
        yield line.removesuffix(b"\n")
        while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES + 1)


def _check_line(number: int, line: bytes) -> dict[str, Any]:
    """Return the answer to the request in a line, or {"error": problem} if the line is invalid."""
    try:
        return answer_check(_parse_line(line)).model_dump(exclude_unset=True)
    except Problem as problem:
        problem.move(label=f"line {number}: ")
        return {"error": problem.document()}


def _parse_line(line: bytes) -> CheckRequest:
    """Return the check request that a line contains. Raises Problem if the line is invalid."""
    if len(line) > MAX_LINE_BYTES:
        raise Problem("invalid-request", f"the line is longer than {MAX_LINE_BYTES} bytes: use Client.check_columns")
    if not line.lstrip().startswith(b"{"):
        raise Problem("invalid-request", 'this is not a request: write {"op": "numpy.add", "inputs": [[3, 1], [4]]}')
    try:
        value = decode(line, Encoding.JSON)
    except Problem as problem:
        raise Problem("invalid-request", problem.detail) from None
    return validate(CheckRequest, value, LineNotation())
