"""Report: the findings for one model or program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from ..messages.findings import SUSPICIOUS, Finding, FindingVerdict, ReportKind
from ..wire.wording import printable
from ..words.findings import finding_text
from .formats.terminal import block
from .intent import FailOn

__all__ = ["Report"]

_LEVEL_KINDS: dict[FailOn, tuple[ReportKind, ...]] = {
    "incompatible": ("incompatible", "pinned"),
    "square": (*SUSPICIOUS, "contradicted"),
    "needs": ("needs",),
}
"""The kinds of findings that each severity level adds to the more severe levels."""
_SHOWN_ALONE = {"incompatible", *SUSPICIOUS, "contradicted"}
"""The kinds of findings that a report's text always lists one by one."""


@dataclass(frozen=True, slots=True)
class Report:
    """The findings for one model or program.

    >>> import axiscast
    >>> report = axiscast.Report("net.onnx")
    >>> report.counts["nodes"], report.findings, report.exit_status()
    (0, [], 0)
    """

    path: str
    """The path of the model file, or the name of the program."""
    nodes: tuple[Finding, ...] = ()
    """The findings for all nodes that broadcast, including nodes without problems."""
    errors: tuple[str, ...] = ()
    """The framework's messages about errors in shape inference that can't be assigned to a node."""
    is_read: bool = True
    """Whether the model file could be read. If it could not, `errors` contains the reason."""
    sizes: tuple[Mapping[str, int], ...] = ()
    """The sets of sizes with which the model was tried."""

    @property
    def findings(self) -> list[Finding]:
        """The findings for nodes with a problem, which have at least one kind."""
        return [node for node in self.nodes if node.kinds]

    @property
    def counts(self) -> dict[str, int]:
        """The total number of nodes, and the number of nodes per verdict and per other kind of finding."""
        verdicts = Counter(node.verdict for node in self.nodes)
        kinds = Counter(kind for node in self.nodes for kind in node.kinds)
        others = {name: kinds[name] for name in ("square", "contradicted")}
        others |= {name: kinds[name] for name in SUSPICIOUS if kinds[name]}
        return {"nodes": len(self.nodes), **{name: verdicts[name] for name in get_args(FindingVerdict)}, **others}

    def groups(self, kind: ReportKind) -> list[list[Finding]]:
        """Return groups of the findings that have one kind.

        Findings with the same rules are in one group. All unchecked findings are also in one group. Every other group
        contains only one finding.
        """
        groups: dict[object, list[Finding]] = {}
        for number, finding in enumerate(self.nodes):
            if kind not in finding.kinds:
                continue
            key: object = number
            if kind == "unchecked":
                key = kind
            elif finding.failure is not None and finding.failure.rules:
                key = finding.failure.rules
            groups.setdefault(key, []).append(finding)
        return list(groups.values())

    def exit_status(self, fail_on: FailOn = "square") -> int:
        """Return the exit status of the command line for this report.

        The status is 1 if a finding is at least as severe as `fail_on`. Otherwise, it is 3 if a node is unchecked or if
        shapes could not be inferred. Otherwise, it is 0.
        """
        levels = get_args(FailOn)[: get_args(FailOn).index(fail_on) + 1]
        failing = {kind for level in levels for kind in _LEVEL_KINDS[level]}
        kinds = {kind for node in self.nodes for kind in node.kinds}
        if kinds & failing:
            return 1
        return 3 if "unchecked" in kinds or self.errors else 0

    def __bool__(self) -> bool:
        return self.exit_status() == 0

    def as_json(self) -> dict[str, Any]:
        """Return the report as a plain map that can be encoded as JSON."""
        return {
            "path": self.path,
            "counts": self.counts,
            "nodes": [{**node.as_json(), "message": finding_text(node)} for node in self.nodes],
            "errors": [*self.errors],
            "sizes": [{**sizes} for sizes in self.sizes],
        }

    def text(self, all_nodes: bool = False) -> str:
        """Return the report as text for a terminal.

        The text lists failures and unchecked nodes first. The nodes that depend on sizes follow, in groups that need
        the same sizes. The last line contains the counts. If `all_nodes` is true, every node has its own entry.
        """
        errors = "\n".join(f"{printable(self.path)}: {printable(error)}\n" for error in self.errors)
        if not self.is_read:
            return errors.rstrip()
        groups = [[node] for node in self.nodes if _SHOWN_ALONE & {*node.kinds}]
        groups += self.groups("unchecked")
        for group in (*self.groups("pinned"), *self.groups("needs")):
            rest = [node for node in group if not _SHOWN_ALONE & {*node.kinds}]
            groups += [[node] for node in rest] if all_nodes else [rest] if rest else []
        if all_nodes:
            groups += [[node] for node in self.nodes if not node.kinds]
        return "\n".join([*(block(self.path, group) for group in groups), *([errors] if errors else []), self.summary])

    @property
    def summary(self) -> str:
        """A line of text with the counts, or with a note that the model could not be checked."""
        if not self.is_read:
            return f"{printable(self.path)}: not checked".lstrip(" :")
        counts = self.counts
        suspicious = sum(counts.get(kind, 0) for kind in SUSPICIOUS)
        return (
            f"{printable(self.path)}: {counts['nodes']} nodes broadcast"
            f"{f' ({suspicious} suspicious)' if suspicious else ''}: "
            f"{counts['compatible']} compatible, {counts['needs']} needs, {counts['pinned']} pinned, "
            f"{counts['incompatible']} incompatible, {counts['unchecked']} unchecked"
        ).lstrip(" :")  # GitHub would execute a line that begins with "::" as a command

    def __str__(self) -> str:
        return self.text()
