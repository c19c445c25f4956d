"""Lineage: where the values of a graph come from, as the rule of what is meant asks it (answers/intent.py)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..answers import intent
from ..answers.intent import OperandPair, Origin, Way
from ..answers.two_sided import find_two_sided
from .finding import Size

_FRAME = re.compile(r'File "([^"\n<>]+)", line ([0-9]{1,9})[^\n]*(?:\n[ \t]+(?!File )([^\n]*))?')
_NEW_AXIS = re.compile(r"\[[^\[\]]*\b(?:None|newaxis)\b")
_PACKAGED = re.compile(r"[\\/](site-packages|dist-packages|lib[\\/]python[0-9.]+)[\\/]")


class Frame(NamedTuple):
    """A line of source code that made a node."""

    file: str
    line: int
    text: str = ""
    """The code on it, if the trace has it."""

    @property
    def is_packaged(self) -> bool:
        """Whether it is the code of an installed package."""
        return _PACKAGED.search(self.file) is not None

    @property
    def has_new_axis(self) -> bool:
        """Whether an index on it has None, or newaxis."""
        return _NEW_AXIS.search(self.text) is not None


def frames(trace: str) -> list[Frame]:
    """Return the frames of a trace as torch writes it, the innermost last."""
    return [Frame(file, int(line), text) for file, line, text in _FRAME.findall(trace)]


class Fact(NamedTuple):
    """What is known of where a value comes from."""

    way: Way = ""
    """How its axis of size 1 was written; see Origin."""
    frame: Frame | None = None
    """The line on which it was written."""
    source: object = None
    """The value that it was made from without mixing in others, or itself; compared by identity."""
    is_index: bool = False
    """Whether it holds positions: a range, or other integers that no data enter."""


def made(
    operands: Sequence[Fact] = (),
    *,
    keeps: bool = False,
    is_index: bool = False,
    way: Way = "",
    frame: Frame | None = None,
) -> Fact:
    """Return what is known of a value that a node makes of operands.

    A node that `keeps` works element by element, or changes only the shape, so that its value comes from the operands;
    any other one makes a value of its own, which `is_index` says to hold positions. `way` says how the node itself
    writes an axis of size 1, on the line `frame`.
    """
    if not keeps or not operands:
        return Fact(way, frame, object(), is_index)
    source = operands[0].source
    is_one = all(fact.source is source for fact in operands)
    if not way:
        way, frame = next(((fact.way, fact.frame) for fact in operands if fact.way), ("", None))
    return Fact(way, frame, source if is_one else object(), all(fact.is_index for fact in operands))


def is_meant(
    facts: Sequence[Fact],
    shapes: Sequence[Sequence[Size]],
    frame: Frame | None,
    *,
    is_discrete: bool = False,
    is_loss: bool = False,
) -> bool:
    """Return whether all pairs are meant, where values with these shapes make a square on the line `frame`."""
    found = (
        find_two_sided(shapes) if shapes else None
    )  # with symbols, the sizes of a square may be equal by a condition only
    if found is None:
        return False
    one, other = (_origin(facts[number], frame) for number in found.inputs)
    rank = max(map(len, shapes))
    is_installed = frame is not None and frame.is_packaged
    return intent.is_meant(
        OperandPair(
            (one, other),
            is_square=any(axis < rank - len(shapes[number]) for number, axis in zip(*found[1:], strict=True)),
            is_loss=is_loss,
            is_discrete=is_discrete,
            has_operand_with_both_axes=intent.has_operand_with_both_axes(shapes, found),
            is_installed=is_installed,
        )
    )


def _origin(fact: Fact, frame: Frame | None) -> Origin:
    is_here = frame is not None and fact.frame is not None and fact.frame[:2] == frame[:2]
    if fact.way == "index" and frame is not None:  # an exporter may share what two lines write, and keep one of them
        is_here = is_here or frame.has_new_axis
    return Origin(fact.way, is_here, fact.source, fact.is_index)


def way_of_new_axis(frame: Frame | None) -> Way:
    """Return how a node that adds an axis of size 1 was written, by the code on its line."""
    return "index" if frame is not None and frame.has_new_axis else "unsqueeze"
