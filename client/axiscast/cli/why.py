"""axiscast why: explains an error message about shapes."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import click

from ..drawing.terminal_text import why_as_text
from ..explanation.error_log import ErrorLog
from ..explanation.topic_search import with_names
from ..library import why
from ..messages.why import WhyAnswer
from .arguments import json_option, svg_option
from .terminal import paint, write_svg

_READ_BYTES = 2**16
"""The maximum number of bytes that are read from a log at a time."""
_LONGEST_PATH = 256
"""The maximum number of characters of a text that can be the name of a file."""


@click.command("why")
@click.argument("text", required=False)
@svg_option
@json_option
def why_command(text: str | None, svg: Path | None, as_json: bool) -> None:
    """Explain the text of an error.

    The op and the shapes are read from TEXT, and checked. If TEXT is the name of a file, or is missing, a traceback or
    a log is read from the file or from stdin, and each error about shapes in it is explained.

    \b
    axiscast why "operands could not be broadcast together with shapes (3,4) (5,)"
    python train.py 2>&1 | axiscast why

    The exit status is 0 if the text contains an error about shapes, otherwise 1. It is 2 for invalid arguments.
    """
    is_file = text is not None and "\n" not in text and len(text) < _LONGEST_PATH and Path(text).is_file()
    if text is None and sys.stdin.isatty():
        raise click.UsageError('no text is given: write axiscast why "TEXT", or pipe a log into this command')
    log = ErrorLog()
    is_log, is_explained = text is None or is_file, False
    with ExitStack() as files:
        messages = iter([text or ""])
        if is_log:
            messages = _error_messages(files.enter_context(open(text, "rb")) if text else sys.stdin.buffer, log)
        for number, message in enumerate(messages):
            answer = why(message)
            if number and not as_json:
                click.echo()
            write_svg(answer, svg)  # each picture replaces the previous one
            _print_answer(answer, as_json)
            is_explained = is_log or _is_about_shapes(answer)
        if not is_explained and is_log:
            _print_answer(WhyAnswer(message=with_names(log.topic.text)) if log.topic else why(""), as_json)
        sys.exit(0 if is_explained else 1)


def _error_messages(file: IO[bytes], log: ErrorLog) -> Iterator[str]:
    """Read a log, and yield the error messages that it contains. Only a few lines are kept in memory."""
    read = getattr(file, "read1", file.read)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while chunk := read(_READ_BYTES):
        yield from log.feed(decoder.decode(chunk))
    yield from log.feed(decoder.decode(b"", final=True), is_last=True)


def _print_answer(answer: WhyAnswer, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(answer.model_dump(mode="json", exclude_unset=True)))
    else:
        click.echo(why_as_text(answer, paint))


def _is_about_shapes(answer: WhyAnswer) -> bool:
    return answer.op is not None or answer.inputs is not None or answer.sizes is not None
