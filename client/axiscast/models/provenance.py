"""Where the values of a graph come from: the facts for the rule in answers/intent.py."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..answers import intent
from ..answers.intent import OperandPair, Origin, Way
from ..answers.two_sided import find_two_sided
from .finding import SizeOrName

_FRAME = re.compile(r'File "([^"\n<>]+)", line ([0-9]{1,9})[^\n]*(?:\n[ \t]+(?!File )([^\n]*))?')
_NEW_AXIS = re.compile(r"\[[^\[\]]*\b(?:None|newaxis)\b")
_PACKAGED = re.compile(r"[\\/](site-packages|dist-packages|lib[\\/]python[0-9.]+)[\\/]")


class SourceLine(NamedTuple):
    """A line of source code that made a node."""

    file: str
    line: int
    code: str = ""
    """The code on the line, if the trace has it."""

    @property
    def is_packaged(self) -> bool:
        """Whether the line belongs to an installed package."""
        return _PACKAGED.search(self.file) is not None

    @property
    def has_new_axis(self) -> bool:
        """Whether an index on the line has None or newaxis."""
        return _NEW_AXIS.search(self.code) is not None


def source_lines(trace: str) -> list[SourceLine]:
    """Return the lines of a stack trace in torch's format, the innermost last."""
    return [SourceLine(file, int(line), code) for file, line, code in _FRAME.findall(trace)]


def user_line(lines: Sequence[SourceLine]) -> tuple[str | None, int | None]:
    """Return the file and number of the innermost line that is in no package, or of the innermost line.

    Both are None if there are no lines. The innermost line is the last one.
    """
    own = [line for line in lines if not line.is_packaged] or [*lines]
    return own[-1][:2] if own else (None, None)


class Provenance(NamedTuple):
    """Where a value comes from."""

    way: Way = ""
    """How the value's axis of size 1 was written, as in Origin."""
    written_at: SourceLine | None = None
    """The line on which that axis was written."""
    source: object = None
    """The only value that it was computed from, or a new object if there are several. Compared by identity."""
    is_index: bool = False
    """Whether the value holds positions, such as a range, or other integers that do not depend on data."""


def derive(
    operands: Sequence[Provenance] = (),
    *,
    keeps: bool = False,
    is_index: bool = False,
    way: Way = "",
    line: SourceLine | None = None,
) -> Provenance:
    """Return the provenance of the result of a node.

    A node that `keeps` provenance works element by element or changes only the shape. The result of any other node
    has a new source, and `is_index` says whether it holds positions. `way` says how the node itself writes an axis of
    size 1, on the given line.
    """
    if not keeps or not operands:
        return Provenance(way, line, object(), is_index)
    source = operands[0].source
    has_one_source = all(operand.source is source for operand in operands)
    if not way:
        written = (operand for operand in operands if operand.way)
        way, line, *_ = next(written, Provenance())
    return Provenance(way, line, source if has_one_source else object(), all(operand.is_index for operand in operands))


def are_pairs_meant(
    operands: Sequence[Provenance],
    shapes: Sequence[Sequence[SizeOrName]],
    line: SourceLine | None,
    *,
    is_discrete: bool = False,
    is_loss: bool = False,
) -> bool:
    """Return whether all pairs of elements are intended, if operands with these shapes make a square."""
    found = find_two_sided(shapes) if shapes else None
    if found is None:  # symbolic sizes may also make a square under a condition
        return False
    one, other = (_origin(operands[number], line) for number in found.inputs)
    rank = max(map(len, shapes))
    return intent.is_meant(
        OperandPair(
            (one, other),
            is_square=any(axis < rank - len(shapes[number]) for number, axis in zip(*found[1:], strict=True)),
            is_loss=is_loss,
            is_discrete=is_discrete,
            has_operand_with_both_axes=intent.has_operand_with_both_axes(shapes, found),
            is_installed=line is not None and line.is_packaged,
        )
    )


def _origin(operand: Provenance, line: SourceLine | None) -> Origin:
    written_at = operand.written_at
    is_here = line is not None and written_at is not None and written_at[:2] == line[:2]
    if operand.way == "index" and line is not None:
        # An exporter may merge equal nodes of two lines, and keep only one of the lines.
        is_here = is_here or line.has_new_axis
    return Origin(operand.way, is_here, operand.source, operand.is_index)


def way_of_new_axis(line: SourceLine | None) -> Way:
    """Return how a node that adds an axis of size 1 was written, from the code on its line."""
    return "index" if line is not None and line.has_new_axis else "unsqueeze"
