"""The provenance of the values in a graph, which the rule in models/intent.py uses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..checks.two_sided import find_two_sided
from ..messages.findings import SizeOrName
from . import intent
from .intent import AxisOrigin, OperandPair, Origin

_FRAME = re.compile(r'File "([^"\n<>]+)", line ([0-9]{1,9})[^\n]*(?:\n[ \t]+(?!File )([^\n]*))?')
_NEW_AXIS = re.compile(r"\[[^\[\]]*\b(?:None|newaxis)\b")
_PACKAGED = re.compile(r"[\\/](site-packages|dist-packages|lib[\\/]python[0-9.]+)[\\/]")


class SourceLine(NamedTuple):
    """A line of source code that created a node."""

    file: str
    line: int
    code: str = ""
    """The code on the line, or "" if the trace does not contain the code."""

    @property
    def is_packaged(self) -> bool:
        """Whether the line is in a file of an installed package."""
        return _PACKAGED.search(self.file) is not None

    @property
    def has_new_axis(self) -> bool:
        """Whether the code on the line contains an index with None or newaxis."""
        return _NEW_AXIS.search(self.code) is not None


def source_lines(trace: str) -> list[SourceLine]:
    """Return the source lines in a stack trace of torch's format. The innermost line is the last one."""
    return [SourceLine(file, int(line), code) for file, line, code in _FRAME.findall(trace)]


def user_line(lines: Sequence[SourceLine]) -> tuple[str | None, int | None]:
    """Return the file and the line number of the user's code, which is the innermost line outside of packages.

    If all lines are in packages, return the innermost line. If there are no lines, return two None values. The
    innermost line is the last one.
    """
    own = [line for line in lines if not line.is_packaged] or [*lines]
    return own[-1][:2] if own else (None, None)


class Provenance(NamedTuple):
    """The provenance of a value: the code and the values from which it was computed."""

    axis_origin: AxisOrigin = ""
    """How the source code adds the value's axis of size 1. See Origin for the possible values."""
    written_at: SourceLine | None = None
    """The source line that adds the value's axis of size 1."""
    source: object = None
    """The single value from which this value was computed, or a new object if there are several. Compare by `is`."""
    is_index: bool = False
    """Whether the value contains positions, such as a range, or other integers that do not depend on data."""


def derive(
    operands: Sequence[Provenance] = (),
    *,
    keeps: bool = False,
    is_index: bool = False,
    axis_origin: AxisOrigin = "",
    line: SourceLine | None = None,
) -> Provenance:
    """Return the provenance of a node's result.

    `keeps` says that the node works element by element or only changes the shape. If `keeps` is false, the result has a
    new source, and `is_index` says whether the result holds positions. `axis_origin` is the way in which the node
    itself adds an axis of size 1, and `line` is the source line that adds the axis.
    """
    if not keeps or not operands:
        return Provenance(axis_origin, line, object(), is_index)
    kept_origin, written_at, source, is_index = intent.elementwise_origin(operands)
    if not axis_origin:
        axis_origin, line = kept_origin, written_at
    return Provenance(axis_origin, line, object() if source is None else source, is_index)


def are_pairs_meant(
    operands: Sequence[Provenance],
    shapes: Sequence[Sequence[SizeOrName]],
    line: SourceLine | None,
    *,
    is_discrete: bool = False,
    is_loss: bool = False,
) -> bool:
    """Return whether the user means to combine all pairs of elements if these operands form an outer product."""
    found = find_two_sided(shapes) if shapes else None
    if found is None:  # with symbolic sizes, an outer product may depend on a condition
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
    if operand.axis_origin == "index" and line is not None:
        # If two source lines have equal nodes, an exporter may merge the nodes and keep only one of the lines.
        is_here = is_here or line.has_new_axis
    return Origin(operand.axis_origin, is_here, operand.source, operand.is_index)


def axis_origin_on_line(line: SourceLine | None) -> AxisOrigin:
    """Return the way in which the code on a source line adds an axis of size 1."""
    return "index" if line is not None and line.has_new_axis else "unsqueeze"
