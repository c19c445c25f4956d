"""Findings in words, for a terminal. A name that a file says can't steer it."""

from __future__ import annotations

from collections.abc import Sequence

from ..answers.check import as_text, joined
from ..schema.shapes import format_shape
from .finding import Finding

_LETTERS = 200
"""Letters of a name, or of why a node is not judged, that are shown."""
_LISTED = 20
"""Findings that need the same of which each has a line."""


def sentence(finding: Finding) -> str:
    """What is to be said of a finding, in one line, its hint included."""
    return " ".join(line.strip() for line in _verdict(finding))


def common(group: Sequence[Finding]) -> str:
    """What several findings have in common, in words: what they need of the sizes, or that they are not judged."""
    if not group[0].conditions:
        return f"{len(group)} nodes are not judged"
    answer = group[0].answer
    return f"{len(group)} nodes need {joined(answer.conditions if answer else [])}"


def operands(finding: Finding) -> str:
    """The names and shapes of a finding, in one line."""
    return ", ".join(f"{printable(value.name)} {_shape(value.shape)}".lstrip() for value in finding.operands)


def printable(name: str) -> str:
    """A name of the file that can't steer a terminal, its end left out where it is long."""
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name[:_LETTERS])
    return shown if len(name) <= _LETTERS else f"{shown}..."


def block(path: str, group: Sequence[Finding]) -> str:
    """The lines of a finding of the model at `path`, or of several that have what to say of them in common."""
    if len(group) == 1:
        (finding,) = group
        return "\n  ".join([_head(path, finding), *_operand_lines(finding), *_verdict(finding)]) + "\n"
    lines = [f"{common(group)}:"]
    for finding in group[:_LISTED]:
        reason = f": {printable(finding.reason)}" if finding.answer is None else ""
        lines.append(f"{_head(path, finding)}: {operands(finding)}{reason}")
    if len(group) > _LISTED:
        lines.append(f"and {len(group) - _LISTED} more")
    return "\n  ".join(lines) + "\n"


def _head(path: str, finding: Finding) -> str:
    line = "" if finding.line is None else f"{finding.line}:"
    place = f"{printable(finding.file)}:{line}" if finding.file else f"{printable(path)}:"
    return f"{place} {printable(finding.op)} {printable(finding.node)}".strip(
        " :"
    )  # "::" begins a command in workflows


def _operand_lines(finding: Finding) -> list[str]:
    names = [printable(value.name) for value in finding.operands]
    width = max((len(value.role) for value in finding.operands), default=0)
    widest = max(map(len, names), default=0)
    return [
        f"{value.role:{width}}  {name:{widest}}  {_shape(value.shape)}{'  as the file says' if value.by_file else ''}"
        for value, name in zip(finding.operands, names, strict=True)
    ]


def _verdict(finding: Finding) -> list[str]:
    if finding.answer is None:
        return [f"not judged: {printable(finding.reason)}"]
    # Other warnings are of what models do all day; and a hint that names another op is none where there is but one.
    warnings = [warning for warning in finding.answer.warnings if warning.code == "square"]
    return as_text(finding.answer.model_copy(update={"warnings": warnings, "diagram": None})).splitlines()


def _shape(shape: Sequence[int | str] | None) -> str:
    return "unknown rank" if shape is None else format_shape(shape)
