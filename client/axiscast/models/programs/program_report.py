"""Programs: models that are objects of this process, such as torch.export's; what their reports share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from ...answers.intent import FindingKind
from ...library import check_batch
from ...messages import CheckRequest
from ...messages.validation import validate
from ..finding import Finding, Operand, Size
from ..node_checks import Question, judged
from ..report import Report
from ..size_expressions import as_name, canonical
from ..warning_kinds import required

_WORD = re.compile(r"\w+")
_PACKAGED = re.compile(r"[\\/](site-packages|dist-packages|lib[\\/]python[0-9.]+)[\\/]")


class Meeting(NamedTuple):
    """An operation of a program in which tensors meet."""

    finding: Finding
    is_meant: bool
    """Whether all pairs are meant where they make a square."""


def report(
    name: str,
    meetings: Sequence[Meeting],
    assume: Mapping[str, int | str],
    notes: Sequence[str] = (),
    kinds: Sequence[FindingKind] = ("square",),
) -> Report:
    """The report of a program. Raises InvalidRequest for an `assume` that says nothing, ValueError for other kinds."""
    kinds = required(kinds)
    assumed = validate(CheckRequest, {"inputs": [], "assume": assume}).assume or {}
    questions = [
        Question(
            finding,
            {"op": {"name": "torch.broadcast_tensors"}, "inputs": [[*(each.shape or ())] for each in finding.operands]},
            is_meant,
        )
        for finding, is_meant in meetings
    ]
    sizes = {name: size if isinstance(size, int) else str(size) for name, size in assumed.items()}
    found = judged(questions, check_batch, sizes, kinds=kinds)
    return Report(name, tuple(found), notes=tuple(notes))


class Names:
    """Sizes as a check takes them: an expression has a name, equal ones the same, and no two others do.

    `given` are the names that the user gave to symbols of the framework."""

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        self._given = dict(given or {})
        self._names: dict[str, str] = {}

    def size(self, size: Any) -> Size:
        """An integer, or the name of what a framework's symbol says in words."""
        text = size if isinstance(size, int) else canonical(_WORD.sub(self._as_given, str(size)))
        if isinstance(text, int):
            return text
        if text not in self._names:
            name, number = as_name(text), 1
            while name in self._names.values():
                number += 1
                name = f"{as_name(text)}_{number}"
            self._names[text] = name
        return self._names[text]

    def _as_given(self, symbol: re.Match[str]) -> str:
        return self._given.get(symbol[0], symbol[0])

    def operands(self, values: Sequence[tuple[str, Sequence[Any]]]) -> tuple[Operand, ...]:
        """Operands by their names and the sizes that a framework has for them."""
        return tuple(
            Operand(f"input {number}", name, tuple(self.size(size) for size in shape))
            for number, (name, shape) in enumerate(values)
        )


def place(lines: Sequence[tuple[str, int]]) -> tuple[str | None, int | None]:
    """The first of these files and lines that is no package's; where there is none, the first."""
    own = [line for line in lines if not _PACKAGED.search(line[0])]
    return next(iter(own or lines), (None, None))


def installed(name: str, minimum: str, caller: str) -> Any:
    """A package of the user's. Raises ImportError, with what to install, where it is missing or too old."""
    needed = f"{caller} takes {name} {minimum} or later"
    try:
        package = import_module(name)
    except ImportError:
        raise ImportError(f"{needed}: pip install '{name}>={minimum}'") from None
    there = package.__version__
    if [int(part) for part in there.split(".")[:2]] < [int(part) for part in minimum.split(".")]:
        raise ImportError(f"{needed}, and {there} is installed: pip install '{name}>={minimum}'")
    return package
