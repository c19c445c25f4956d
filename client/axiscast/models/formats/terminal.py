"""Findings in words, for a terminal. A name that a file says can't steer it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..display import printable
from ..finding import Finding
from .finding_message import needed, sentence
from .operation_code import expression, op_name

_LISTED = 20
"""Findings that need the same of which each has a line."""


def common(group: Sequence[Finding]) -> str:
    """What several findings have in common, in words: what they need of the sizes, or that they are not judged."""
    if group[0].verdict == "not_judged":
        return f"{len(group)} nodes are not judged"
    return f"{len(group)} nodes {needed(group[0])}"


def node(finding: Finding) -> str:
    """The operation and its name in the model; not one that nobody gave it, if the line is known."""
    op = printable(finding.op)
    if finding.line is not None and op.startswith(("aten.", "jax.", "torch.")):  # a program numbers its operations
        return op
    made = re.fullmatch(rf"node_.*|({re.escape(op)}|{re.escape(op_name(finding))})(_[0-9]+)?", finding.node, re.I)
    return op if made and finding.line is not None else f"{op} {printable(finding.node)}".rstrip()


def naming(finding: Finding) -> str:
    """The operation and its name before a sentence; nothing if the sentence has all that is known."""
    own = node(finding)
    return "" if own == printable(finding.op) else f"{own}: "


def block(path: str, group: Sequence[Finding]) -> str:
    """The lines of a finding of the model at `path`, or of several that have what to say of them in common."""
    if len(group) == 1:
        (finding,) = group
        kinds = ", ".join(kind.replace("_", " ") for kind in finding.kinds)
        return f"{_head(path, finding)}{kinds and f': {kinds}'}\n  {sentence(finding)}\n"
    lines = [f"{common(group)}:"]
    for finding in group[:_LISTED]:
        reason = f": {printable(finding.reason)}" if finding.answer is None else ""
        lines.append(f"{_head(path, finding)}: {expression(finding)}{reason}")
    if len(group) > _LISTED:
        lines.append(f"and {len(group) - _LISTED} more")
    return "\n  ".join(lines) + "\n"


def _head(path: str, finding: Finding) -> str:
    line = "" if finding.line is None else f"{finding.line}:"
    place = f"{printable(finding.file)}:{line}" if finding.file else f"{printable(path)}:"
    return f"{place} {node(finding)}".strip(" :")  # "::" begins a command in workflows
