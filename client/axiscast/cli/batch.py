"""axiscast check --batch: checks a file with one request per line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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

MAX_LINE_BYTES = 2**20
"""The longest line that is read, enough for a request with a hundred thousand sizes."""
_PIECE_BYTES = 2**16
_BAR_BYTES = 2**20
"""The smallest file with a progress bar. A smaller one is finished before the bar can be read."""

Answer = CheckAnswer | ServiceProblem | Problem


class LineNotation(JsonNotation):
    """How a line of a file writes what a request holds."""

    catalogue = CommandNotation.catalogue
    request = "the line"


def check_lines(path: str, url: str | None) -> int:
    """Print the answer to each line of a file, or of stdin for "-", as JSON. Return the exit status."""
    status = 0
    with click.open_file(path, "rb") as file, backend_for(url) as way, _progress(file) as progress:
        for lines, nbytes in _read_lines(file):
            for answer in _check_lines(lines, way.check_batch):
                click.echo(json.dumps(_document(answer)))
                status = _worse_status(status, answer)
            progress(nbytes)
    return status


def _worse_status(status: int, answer: Answer) -> int:
    """Return the exit status so far: 1 if any shapes do not broadcast, else 2 if any line is invalid, else 0."""
    if isinstance(answer, CheckAnswer):
        return 1 if answer.conflict is not None else status
    return status or 2


def _document(answer: Answer) -> dict[str, Any]:
    if isinstance(answer, CheckAnswer):
        return answer.model_dump(exclude_unset=True)
    if isinstance(answer, Problem):
        return {"error": answer.document()}
    document = {"code": answer.code, "status": answer.status, "detail": answer.detail, "pointer": answer.pointer}
    return {"error": {name: value for name, value in document.items() if value is not None} | answer.facts}


def _read_lines(file: IO[bytes]) -> Iterator[tuple[list[tuple[int, bytes]], int]]:
    """Yield the lines read so far with their numbers, and the count of bytes read. Blank lines are skipped.

    It waits for no more than one line, so that the answer to a line is not held until the next one comes.
    """
    read = getattr(file, "read1", file.read)
    number, rest, too_long = 1, b"", False
    while True:
        piece = read(_PIECE_BYTES)
        *lines, rest = (rest + piece).split(b"\n")
        if not piece and rest:
            lines, rest = [rest], b""
        numbered = []
        for line in lines:
            if line.strip() or too_long:
                numbered.append((number, b"" if too_long else line))
            number, too_long = number + 1, False
        if len(rest) > MAX_LINE_BYTES:
            rest, too_long = b"", True
        yield numbered, len(piece)
        if not piece:
            return


def _check_lines(
    lines: Sequence[tuple[int, bytes]], check_batch: Callable[[Sequence[CheckRequest]], Sequence[Answer]]
) -> list[Answer]:
    """Return the response or the problem of each line, in order."""
    answers: list[Answer | None] = []
    requests = []
    for number, line in lines:
        try:
            requests.append(_parse_line(line))
            answers.append(None)
        except Problem as problem:
            problem.detail = f"line {number}: {problem.detail}"
            answers.append(problem)
    there = iter(_check_batch(requests, check_batch))
    return [next(there) if answer is None else answer for answer in answers]


def _parse_line(line: bytes) -> CheckRequest:
    """Return the request of a line. Raises Problem if it is invalid."""
    if not line or len(line) > MAX_LINE_BYTES:
        raise Problem("invalid-request", f"it is longer than {MAX_LINE_BYTES} bytes: send columns to a service instead")
    if not line.lstrip().startswith(b"{"):
        raise Problem("invalid-request", 'it is not a request: write {"op": "numpy.add", "inputs": [[3, 1], [4]]}')
    try:
        value = decode(line, Encoding.JSON)
    except Problem as problem:
        raise Problem("invalid-request", problem.detail.replace("the body", "it")) from None
    return validate(CheckRequest, value, LineNotation())


def _check_batch(
    requests: Sequence[CheckRequest], check_batch: Callable[[Sequence[CheckRequest]], Sequence[Answer]]
) -> list[Answer]:
    """Return the responses to requests. A batch that is too much work is split."""
    if not requests:
        return []
    try:
        answers = list(check_batch(requests))
    except (WorkTooLarge, BodyTooLarge) as problem:
        if len(requests) == 1:
            return [problem]
        half = len(requests) // 2
        return [*_check_batch(requests[:half], check_batch), *_check_batch(requests[half:], check_batch)]
    if len(requests) > 1:
        for number, answer in enumerate(answers):
            if isinstance(answer, WorkTooLarge | BodyTooLarge):
                (answers[number],) = _check_batch([requests[number]], check_batch)
    return answers


@contextmanager
def _progress(file: IO[bytes]) -> Iterator[Callable[[int], None]]:
    """Yield a function that adds a count of bytes to the progress bar. There is a bar only if stderr is a terminal."""
    try:
        total = os.fstat(file.fileno()).st_size
    except OSError:
        total = 0
    if total < _BAR_BYTES or not sys.stderr.isatty():
        yield lambda nbytes: None
        return
    with click.progressbar(length=total, label="checks", file=sys.stderr, update_min_steps=total // 100) as bar:
        yield bar.update
