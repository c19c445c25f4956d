"""axiscast why"""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterator
from typing import IO

import click

from ..answers.diagnosis import why_as_text
from ..answers.error_log import ErrorLog
from ..messages.why import WhyAnswer
from .arguments import json_option, url_option
from .backend import backend_for, in_color

_PIECE_BYTES = 2**16


@click.command("why")
@click.argument("text", required=False)
@url_option
@json_option
def why_command(text: str | None, url: str | None, as_json: bool) -> None:
    """Why did this fail? Reads the op and the shapes from the TEXT of an error, and checks them.

    Without TEXT it reads a traceback or a log from standard input, and answers each error about shapes in it.

    \b
    axiscast why "operands could not be broadcast together with shapes (3,4) (5,)"
    python train.py 2>&1 | axiscast why

    Exits with 0 if it found an error about shapes; 1 if not, or if the error is about something else; 2 for a mistake
    in the command; 69 if a service can't be reached, 77 if it refuses.
    """
    if text is None and sys.stdin.isatty():
        raise click.UsageError('no text is given: write axiscast why "TEXT", or pipe a log into it')
    with backend_for(url) as way:
        if text is not None:
            answer: WhyAnswer = way.why(text)
            _echo(answer, as_json)
            sys.exit(0 if _is_about_shapes(answer) else 1)
        count = 0
        log = ErrorLog()
        for message in _messages(sys.stdin.buffer, log):
            if count and not as_json:
                click.echo()
            _echo(way.why(message), as_json)
            count += 1
        if not count:
            _echo(WhyAnswer(message=log.topic) if log.topic else way.why(""), as_json)
        sys.exit(0 if count else 1)


def _messages(file: IO[bytes], log: ErrorLog) -> Iterator[str]:
    """Yield the texts of errors as they are read. No more than some lines are held."""
    read = getattr(file, "read1", file.read)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while piece := read(_PIECE_BYTES):
        yield from log.feed(decoder.decode(piece))
    yield from log.feed(decoder.decode(b"", final=True), is_last=True)


def _echo(answer: WhyAnswer, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(answer.model_dump(mode="json", exclude_unset=True)))
    else:
        click.echo(in_color(why_as_text(answer)))


def _is_about_shapes(answer: WhyAnswer) -> bool:
    return answer.op is not None or answer.inputs is not None or answer.sizes is not None
