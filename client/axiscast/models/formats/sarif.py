"""The conversion of reports into one SARIF log, version 2.1.0, for code scanning tools.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from ...messages.findings import Finding, ReportKind
from ...wire.wording import printable
from ...words.findings import finding_text
from ..report import Report
from .repository import Repository
from .terminal import label_prefix

RULES: dict[ReportKind, tuple[str, str]] = {
    "incompatible": ("error", "No sizes were found at which the node runs."),
    "unchecked": ("error", "A node that could not be checked."),
    "pinned": ("error", "A node that runs only with one value of a size that the file declares as dynamic."),
    "square": ("warning", "An accidental outer product: (N, 1) with (N,) broadcasts to (N, N)."),
    "mutual-stretch": ("warning", "Two inputs that expand each other."),
    "rank-promotion": ("warning", "Inputs of different ranks."),
    "contradicted": ("warning", "A shape in the file that contradicts the shape inferred from the inputs."),
    "needs": ("note", "A node that runs only if its sizes follow a rule."),
}
"""The severity level and the description of each kind of finding."""
_ALL_RULES = {str(kind): rule for kind, rule in RULES.items()}
_ALL_RULES["not-inferred"] = ("error", "An error of shape inference.")
_RULE_NUMBERS = {rule: number for number, rule in enumerate(_ALL_RULES)}


def sarif(reports: Sequence[Report], repository: Repository) -> dict[str, Any]:
    """Return the SARIF log of several reports, as a plain map that can be encoded as JSON.

    The log contains a result for each kind of each finding. The location of a result is the source line if the file is
    in the repository, and otherwise the model.
    """
    rules = [
        {"id": rule, "shortDescription": {"text": description}, "defaultConfiguration": {"level": level}}
        for rule, (level, description) in _ALL_RULES.items()
    ]
    run = {
        "tool": {"driver": {"name": "axiscast", "version": version("axiscast"), "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [result for report in reports for result in _results(report, repository)],
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _results(report: Report, repository: Repository) -> Iterator[dict[str, Any]]:
    for finding in report.findings:
        for kind in finding.kinds:
            location = _physical_location(*repository.location_of(finding, report))
            location["logicalLocations"] = [_logical_location(finding, report)]
            yield _result(kind, f"{label_prefix(finding)}{finding_text(finding, kind)}", location)
    for error in report.errors:
        model = repository.path_of(report.path) or report.path
        yield _result("not-inferred", printable(error), _physical_location(model, None))


def _result(rule: str, message: str, location: dict[str, Any]) -> dict[str, Any]:
    result = {"ruleId": rule, "ruleIndex": _RULE_NUMBERS[rule], "level": _ALL_RULES[rule][0]}
    return {**result, "message": {"text": message}, "locations": [location]}


def _physical_location(file: str, line: int | None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(file), "uriBaseId": "%SRCROOT%"}}
    if line is not None:
        physical["region"] = {"startLine": line}
    return {"physicalLocation": physical}


def _logical_location(finding: Finding, report: Report) -> dict[str, Any]:
    name = printable(finding.node)
    return {"name": name, "fullyQualifiedName": f"{printable(report.path)}/{name}", "kind": "member"}
