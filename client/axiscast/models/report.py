"""The report of one model: a finding for each node that broadcasts, and what they come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from .display import printable
from .finding import SUSPICIOUS, Finding, Kind, Verdict
from .formats.finding_message import as_json
from .formats.terminal import block

FailOn = Literal["incompatible", "square", "pinned", "depends"]
"""The gravest kinds first: each stands for itself and those before it."""
_FAILING: dict[FailOn, tuple[Kind, ...]] = {
    "incompatible": ("incompatible",),
    "square": (*SUSPICIOUS, "stated"),
    "pinned": ("pinned",),
    "depends": ("depends",),
}
"""The kinds that each of them adds."""


@dataclass(frozen=True, slots=True)
class Report:
    """What is known of a model: `nodes` are all that broadcast, `findings` those of which there is something to say.

    >>> import axiscast
    >>> report = axiscast.Report("net.onnx")
    >>> report.counts["nodes"], report.findings, report.exit_status()
    (0, [], 0)
    """

    path: str
    """The model's file, or the name of the program."""
    nodes: tuple[Finding, ...] = ()
    errors: tuple[str, ...] = ()
    """What keeps shapes from being inferred and stands at none of the nodes, in the words of who infers them."""
    is_read: bool = True
    """Whether the file could be read; if not, `errors` say why."""
    sizes: tuple[Mapping[str, int], ...] = ()
    """The sets of sizes at which the model was tried."""
    notes: tuple[str, ...] = ()
    """What was not tried, and why, or what else there is to know. Notes do not change the exit status."""

    @property
    def findings(self) -> list[Finding]:
        """The nodes that do not broadcast, for some sizes do not, are suspicious, or are not judged."""
        return [node for node in self.nodes if node.kinds]

    @property
    def counts(self) -> dict[str, int]:
        """How many nodes there are, of each verdict, and how many of them have each other kind."""
        verdicts = Counter(node.verdict for node in self.nodes)
        kinds = Counter(kind for node in self.nodes for kind in node.kinds)
        others = {name: kinds[name] for name in ("square", "stated", "pinned")}
        others |= {name: kinds[name] for name in SUSPICIOUS if kinds[name]}
        return {"nodes": len(self.nodes), **{name: verdicts[name] for name in get_args(Verdict)}, **others}

    def groups(self, kind: Kind) -> list[list[Finding]]:
        """The findings of a kind: those in one list that need the same of the sizes, and all that are not judged."""
        groups: dict[object, list[Finding]] = {}
        for number, finding in enumerate(self.nodes):
            if kind in finding.kinds:
                shared = kind == "not_judged" or (kind in ("depends", "pinned") and not finding.names_places)
                same = (finding.conditions, finding.pins, finding.tried and finding.tried.needs)
                groups.setdefault(same if shared and kind != "not_judged" else kind if shared else number, []).append(
                    finding
                )
        return list(groups.values())

    def exit_status(self, fail_on: FailOn = "square") -> int:
        """1 where there is a finding at least as grave as `fail_on`; 3 where a node is not judged, or shapes can't be
        inferred; else 0."""
        levels = get_args(FailOn)[: get_args(FailOn).index(fail_on) + 1]
        grave = {kind for level in levels for kind in _FAILING[level]}
        kinds = {kind for node in self.nodes for kind in node.kinds}
        if kinds.intersection(grave):
            return 1
        return 3 if "not_judged" in kinds or self.errors else 0

    def as_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "path": self.path,
            "counts": self.counts,
            "nodes": [as_json(node) for node in self.nodes],
            "errors": [*self.errors],
            "sizes": [{**sizes} for sizes in self.sizes],
            "notes": [*self.notes],
        }

    def text(self, all_nodes: bool = False) -> str:
        """The report for people: what does not fit or is not judged, then what depends on sizes, by what it needs; the
        last line has the counts. With `all_nodes` each node is there, of those that need the same too."""
        grave = {"incompatible", *SUSPICIOUS, "stated"}
        alone = [[node] for node in self.nodes if grave & {*node.kinds}]
        alone += self.groups("not_judged")
        for group in (*self.groups("pinned"), *self.groups("depends")):
            rest = [node for node in group if not grave & {*node.kinds}]
            alone += [[node] for node in rest] if all_nodes else [rest] if rest else []
        if all_nodes:
            alone += [[node] for node in self.nodes if not node.kinds]
        errors = [f"{printable(self.path)}: {printable(error)}\n" for error in (*self.errors, *self.notes)]
        if not self.is_read:
            return "".join(errors).rstrip()
        return "\n".join([*(block(self.path, group) for group in alone), *errors, self.summary])

    @property
    def summary(self) -> str:
        """The counts in words; of a file that could not be read, that nothing was checked."""
        if not self.is_read:
            return f"{printable(self.path)}: not checked".lstrip(" :")
        counts = self.counts
        doubted = sum(counts.get(kind, 0) for kind in SUSPICIOUS)
        suspicious = f" ({doubted} suspicious)" if doubted else ""
        return (
            f"{printable(self.path)}: {counts['nodes']} nodes broadcast{suspicious}: "
            f"{counts['compatible']} compatible, "
            f"{counts['depends']} depending on sizes, {counts['incompatible']} incompatible, "
            f"{counts['not_judged']} not judged"
        ).lstrip(" :")  # "::" begins a command in workflows

    def __str__(self) -> str:
        return self.text()
