"""axiscast check --batch: performs the checks in a file that contains one request per line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import click

from ..errors import BodyTooLarge, ServiceProblem, WorkTooLarge
from ..messages import CheckAnswer, CheckRequest
from ..messages.notation import JsonNotation
from ..messages.validation import validate
from ..wire.codec import Encoding, decode
from ..wire.problems import Problem
from .arguments import CommandNotation
from .backend import backend_for
from .terminal import byte_progress

MAX_LINE_BYTES = 2**20
"""The maximum length, in bytes, of a line in a batch file, which is enough for a hundred thousand sizes."""
_READ_BYTES = 2**16
"""The maximum number of bytes that are read from the batch file at a time."""
MIN_PROGRESS_BYTES = 2**20
"""The minimum size of a batch file, in bytes, for showing a progress bar. Smaller files take less than a second."""

LineAnswer = CheckAnswer | ServiceProblem | Problem
_CheckBatch = Callable[[Sequence[CheckRequest]], Sequence[LineAnswer]]


class LineNotation(JsonNotation):
    """The notation that messages use for a line of a batch file."""

    catalogue = CommandNotation.catalogue
    request = "the line"


def check_lines(path: str, url: str | None) -> int:
    """Check each line of a batch file, print the answers as JSON, and return the exit status.

    If `path` is "-", read the lines from stdin.
    """
    status = 0
    with (
        click.open_file(path, "rb") as file,
        backend_for(url) as backend,
        byte_progress(_file_size(file), MIN_PROGRESS_BYTES, "checks") as add_bytes,
    ):
        for lines, nbytes in _read_lines(file):
            for answer in _check_lines(lines, backend.check_batch):
                click.echo(json.dumps(_as_json(answer)))
                status = _combine_status(status, answer)
            add_bytes(nbytes)
    return status


def _file_size(file: IO[bytes]) -> int:
    try:
        return os.fstat(file.fileno()).st_size
    except OSError:
        return 0


def _combine_status(status: int, answer: LineAnswer) -> int:
    """Return the exit status after one more answer is taken into account.

    The status is 1 if any shapes do not broadcast. Otherwise it is 2 if any line is invalid, else 0.
    """
    if isinstance(answer, CheckAnswer):
        return 1 if answer.conflict is not None else status
    return status or 2


def _as_json(answer: LineAnswer) -> dict[str, Any]:
    if isinstance(answer, CheckAnswer):
        return answer.model_dump(exclude_unset=True)
    if isinstance(answer, Problem):
        return {"error": answer.document()}
    document = {"code": answer.code, "status": answer.status, "detail": answer.detail, "pointer": answer.pointer}
    document |= {"errors": answer.errors or None}
    return {"error": {name: value for name, value in document.items() if value is not None} | answer.facts}


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


def _check_lines(lines: Sequence[tuple[int, bytes]], check_batch: _CheckBatch) -> list[LineAnswer]:
    """Return an answer or a problem for each line, in order."""
    parsed: list[CheckRequest | Problem] = []
    for number, line in lines:
        try:
            parsed.append(_parse_line(line))
        except Problem as problem:
            problem.move(label=f"line {number}: ")
            parsed.append(problem)
    answers = iter(_check_requests([request for request in parsed if isinstance(request, CheckRequest)], check_batch))
    return [item if isinstance(item, Problem) else next(answers) for item in parsed]


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


def _check_requests(requests: Sequence[CheckRequest], check_batch: _CheckBatch) -> list[LineAnswer]:
    """Return the answers to requests. If they are too much work together, check each of them separately."""
    answers: list[LineAnswer]
    try:
        answers = list(check_batch(requests)) if requests else []
    except (WorkTooLarge, BodyTooLarge) as problem:
        answers = [problem] * len(requests)
    if len(requests) > 1:
        for number, answer in enumerate(answers):
            if isinstance(answer, WorkTooLarge | BodyTooLarge):
                (answers[number],) = _check_requests([requests[number]], check_batch)
    return answers
