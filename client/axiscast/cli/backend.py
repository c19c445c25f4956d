"""Answers on the command line: from this process or from a service, and how a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from ..messages import CheckAnswer, CheckRequest
from .arguments import client_for


@contextmanager
def backend_for(url: str | None) -> Iterator[Any]:
    """What has check, check_batch, compare and translate: the library, or a client of the service at `url`."""
    if url is None:
        from .. import library

        yield library
    else:
        with client_for(url) as client:
            yield client


def run_check(request: CheckRequest, url: str | None) -> CheckAnswer:
    """The answer to a check."""
    with backend_for(url) as way:
        answer: CheckAnswer = way.check(
            request.op,
            *request.inputs,
            dtype=request.dtype,
            explain=request.explain,
            assume=request.assume,
            warn=request.warn,
        )
        return answer


def colored_answer(answer: CheckAnswer) -> str:
    """An answer for a terminal, in colors."""
    from ..answers.check import check_as_text

    return in_color(check_as_text(answer))


def in_color(text: str) -> str:
    """Lines that answers have, each in the color of what it says."""
    lines = []
    for line in text.splitlines():
        word = line.lstrip().replace(":", " ").split(" ")[0]
        color = "yellow" if line.lstrip().startswith("compatible if") else _COLORS.get(word)
        lines.append(click.style(line, fg=color) if color else line)
    return "\n".join(lines)


_COLORS = {"compatible": "green", "incompatible": "red", "^": "red", "hint": "cyan", "warning": "yellow", "not": "red"}
