"""The text of a report for a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..display import printable
from ..finding import Finding
from .condition_text import common_need
from .finding_message import describe_finding, with_expressions
from .operation_code import op_name, operation_code

_MAX_LISTED = 20
"""The maximum number of findings that are listed one by one, if several findings need the same sizes."""


def group_summary(group: Sequence[Finding]) -> str:
    """Return a summary of several similar findings, such as "3 nodes need N == 12 or N == 1"."""
    if group[0].verdict == "unchecked":
        return f"{len(group)} nodes could not be checked"
    return with_expressions(group[0], f"{len(group)} nodes {common_need(group[0])}")


def node_label(finding: Finding) -> str:
    """Return the operation and the name of its node.

    If the source line is known and the name is generated, return only the operation.
    """
    op = printable(finding.op)
    if finding.line is None:
        return f"{op} {printable(finding.node)}".rstrip()
    if op.startswith(("aten.", "jax.", "torch.")):  # torch and jax generate the names of program nodes
        return op
    names = f"{re.escape(op)}|{re.escape(op_name(finding))}"
    is_generated = re.fullmatch(rf"node_.*|({names})(_[0-9]+)?", finding.node, re.IGNORECASE)
    return op if is_generated else f"{op} {printable(finding.node)}".rstrip()


def label_prefix(finding: Finding) -> str:
    """Return the label of a node, with a colon. If the message already contains the label, return ""."""
    label = node_label(finding)
    return "" if label == printable(finding.op) else f"{label}: "


def block(path: str, group: Sequence[Finding]) -> str:
    """Return the lines about one finding, or about several findings that need the same sizes.

    `path` is the path of the model.
    """
    if len(group) == 1:
        (finding,) = group
        kinds = ", ".join(finding.kinds)
        return f"{_location(path, finding)}{kinds and f': {kinds}'}\n  {describe_finding(finding)}\n"
    lines = [f"{group_summary(group)}:"]
    for finding in group[:_MAX_LISTED]:
        reason = f": {printable(finding.reason)}" if finding.answer is None else ""
        code = with_expressions(finding, operation_code(finding))
        lines.append(f"{_location(path, finding)}: {code}{reason}")
    if len(group) > _MAX_LISTED:
        lines.append(f"and {len(group) - _MAX_LISTED} more")
    return "\n  ".join(lines) + "\n"


def _location(path: str, finding: Finding) -> str:
    """Return the file and line of a finding, followed by the label of the finding's node."""
    line = "" if finding.line is None else f"{finding.line}:"
    place = f"{printable(finding.file)}:{line}" if finding.file else f"{printable(path)}:"
    return f"{place} {node_label(finding)}".strip(" :")  # GitHub runs a line that begins with "::" as a command
