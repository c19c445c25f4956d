"""Reports as one SARIF log, version 2.1.0, which code scanning takes.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from ..display import printable
from ..finding import Finding
from ..report import Report
from .finding_message import sentence
from .repository import Repository
from .terminal import naming

_RULES: dict[str, tuple[str, str]] = {
    "incompatible": ("error", "Shapes that do not broadcast, whatever the sizes, or at any sizes that were tried."),
    "not_judged": ("error", "A node whose shapes are not known, so that nothing can be said of it."),
    "square": ("warning", "An accidental outer product: (N, 1) with (N,) broadcasts to (N, N)."),
    "mutual-stretch": ("warning", "Two inputs that expand each other."),
    "rank-promotion": ("warning", "Inputs of different ranks."),
    "stated": ("warning", "A shape that the file states and that contradicts the one that follows from its inputs."),
    "pinned": ("warning", "A size that the file declares free, although the model runs with one number only."),
    "depends": ("note", "Shapes that broadcast for some sizes only."),
}
"""Each kind of finding: its level and what it is."""
_UNINFERRED = ("error", "What keeps shapes from being inferred.")
_ROOT = "%SRCROOT%"


def sarif(reports: Sequence[Report], repository: Repository) -> dict[str, Any]:
    """The log, as plain values: a result for each kind of each finding, at its line of the source where that is in
    the repository, else at the model."""
    from importlib.metadata import version

    rules = {**_RULES, "not_inferred": _UNINFERRED}
    driver = {
        "name": "axiscast",
        "version": version("axiscast"),
        "rules": [
            {
                "id": _id(kind),
                "shortDescription": {"text": description},
                "defaultConfiguration": {"level": level},
            }
            for kind, (level, description) in rules.items()
        ],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [result for report in reports for result in _results(report, repository)],
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _results(report: Report, repository: Repository) -> Iterator[dict[str, Any]]:
    for finding in report.findings:
        for kind in finding.kinds:
            message = f"{naming(finding)}{sentence(finding, kind)}"
            location = _location(*repository.place_of(finding, report))
            location["logicalLocations"] = [_node(finding, report)]
            yield _result(kind, _RULES[kind][0], message, location)
    for error in report.errors:
        location = _location(repository.path_of(report.path) or report.path, None)
        yield _result("not_inferred", _UNINFERRED[0], printable(error), location)


def _result(kind: str, level: str, message: str, location: dict[str, Any]) -> dict[str, Any]:
    rules = [*_RULES, "not_inferred"]
    return {
        "ruleId": _id(kind),
        "ruleIndex": rules.index(kind),
        "level": level,
        "message": {"text": message},
        "locations": [location],
    }


def _id(kind: str) -> str:
    return kind.replace("_", "-")


def _location(file: str, line: int | None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(file), "uriBaseId": _ROOT}}
    if line is not None:
        physical["region"] = {"startLine": line}
    return {"physicalLocation": physical}


def _node(finding: Finding, report: Report) -> dict[str, Any]:
    name = printable(finding.node)
    return {"name": name, "fullyQualifiedName": f"{printable(report.path)}/{name}", "kind": "member"}
