"""Report: the findings of one model or program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from .display import printable
from .finding import SUSPICIOUS, Finding, ReportKind, Verdict
from .formats.finding_message import finding_as_json
from .formats.terminal import block

FailOn = Literal["incompatible", "square", "pinned", "depends"]
"""The severity levels, the most severe first. Each level includes those before it."""
_LEVEL_KINDS: dict[FailOn, tuple[ReportKind, ...]] = {
    "incompatible": ("incompatible",),
    "square": (*SUSPICIOUS, "contradicted"),
    "pinned": ("pinned",),
    "depends": ("depends",),
}
"""The kinds of findings that each severity level adds."""
_SHOWN_ALONE = {"incompatible", *SUSPICIOUS, "contradicted"}
"""The kinds of findings that the text shows one by one."""


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of a model or program.

    >>> import axiscast
    >>> report = axiscast.Report("net.onnx")
    >>> report.counts["nodes"], report.findings, report.exit_status()
    (0, [], 0)
    """

    path: str
    """The file of the model, or the name of the program."""
    nodes: tuple[Finding, ...] = ()
    """The findings of all nodes that broadcast, including those without problems."""
    errors: tuple[str, ...] = ()
    """The errors of shape inference that belong to no node, in the words of the framework."""
    is_read: bool = True
    """Whether the file could be read. If not, `errors` says why."""
    sizes: tuple[Mapping[str, int], ...] = ()
    """The sets of sizes at which the model was tried."""
    notes: tuple[str, ...] = ()
    """Remarks, such as the sizes that were not tried. They do not change the exit status."""

    @property
    def findings(self) -> list[Finding]:
        """The nodes that have a problem: their finding is of at least one kind."""
        return [node for node in self.nodes if node.kinds]

    @property
    def counts(self) -> dict[str, int]:
        """The number of nodes, the number of each verdict, and the number of each other kind of finding."""
        verdicts = Counter(node.verdict for node in self.nodes)
        kinds = Counter(kind for node in self.nodes for kind in node.kinds)
        others = {name: kinds[name] for name in ("square", "contradicted", "pinned")}
        others |= {name: kinds[name] for name in SUSPICIOUS if kinds[name]}
        return {"nodes": len(self.nodes), **{name: verdicts[name] for name in get_args(Verdict)}, **others}

    def groups(self, kind: ReportKind) -> list[list[Finding]]:
        """Return the findings of a kind, grouped by what they need.

        Findings that need the same sizes are one group, and so are all unchecked ones. Every other group has one
        finding.
        """
        groups: dict[object, list[Finding]] = {}
        for number, finding in enumerate(self.nodes):
            if kind not in finding.kinds:
                continue
            key: object = number
            if kind == "unchecked":
                key = kind
            elif kind in ("depends", "pinned") and not finding.has_local_conditions:
                key = (finding.conditions, finding.pins, finding.tried and finding.tried.needs)
            groups.setdefault(key, []).append(finding)
        return list(groups.values())

    def exit_status(self, fail_on: FailOn = "square") -> int:
        """Return the exit status of the command line for this report.

        1: there is a finding at least as severe as `fail_on`. 3: a node is unchecked or shapes could not be inferred.
        0: neither.
        """
        levels = get_args(FailOn)[: get_args(FailOn).index(fail_on) + 1]
        failing = {kind for level in levels for kind in _LEVEL_KINDS[level]}
        kinds = {kind for node in self.nodes for kind in node.kinds}
        if kinds & failing:
            return 1
        return 3 if "unchecked" in kinds or self.errors else 0

    def as_json(self) -> dict[str, Any]:
        """Return the report as values that JSON can express."""
        return {
            "path": self.path,
            "counts": self.counts,
            "nodes": [finding_as_json(node) for node in self.nodes],
            "errors": [*self.errors],
            "sizes": [{**sizes} for sizes in self.sizes],
            "notes": [*self.notes],
        }

    def text(self, all_nodes: bool = False) -> str:
        """Return the report as text for a terminal.

        Failures and unchecked nodes come first, then the nodes that depend on sizes, grouped by what they need. The
        last line has the counts. With `all_nodes`, every node has its own entry.
        """
        notes = "\n".join(f"{printable(self.path)}: {printable(note)}\n" for note in (*self.errors, *self.notes))
        if not self.is_read:
            return notes.rstrip()
        groups = [[node] for node in self.nodes if _SHOWN_ALONE & {*node.kinds}]
        groups += self.groups("unchecked")
        for group in (*self.groups("pinned"), *self.groups("depends")):
            rest = [node for node in group if not _SHOWN_ALONE & {*node.kinds}]
            groups += [[node] for node in rest] if all_nodes else [rest] if rest else []
        if all_nodes:
            groups += [[node] for node in self.nodes if not node.kinds]
        return "\n".join([*(block(self.path, group) for group in groups), *([notes] if notes else []), self.summary])

    @property
    def summary(self) -> str:
        """The counts as one line of text, or a note that the file could not be read."""
        if not self.is_read:
            return f"{printable(self.path)}: not checked".lstrip(" :")
        counts = self.counts
        suspicious = sum(counts.get(kind, 0) for kind in SUSPICIOUS)
        return (
            f"{printable(self.path)}: {counts['nodes']} nodes broadcast"
            f"{f' ({suspicious} suspicious)' if suspicious else ''}: "
            f"{counts['compatible']} compatible, {counts['depends']} depending on sizes, "
            f"{counts['incompatible']} incompatible, {counts['unchecked']} unchecked"
        ).lstrip(" :")  # a line that begins with "::" is a command in a GitHub workflow

    def __str__(self) -> str:
        return self.text()
