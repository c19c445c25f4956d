"""The conversion of reports into annotations in a GitHub workflow. Each annotation is printed as one workflow command.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#setting-an-error-message
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...messages.findings import Finding, ReportKind
from ...wire.wording import printable
from ...words.findings import finding_text, group_text, unchecked_text
from ..report import Report
from .repository import Repository
from .sarif import RULES
from .terminal import label_prefix, node_label

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
"""The GitHub workflow command for each severity level of a rule."""


def workflow_commands(reports: Sequence[Report], repository: Repository) -> Iterator[str]:
    """Yield the lines to print in a GitHub workflow: the annotations and a summary for each report.

    Findings that need the same sizes share one annotation. Paths are relative to the repository.
    """
    for report in reports:
        model = repository.path_of(report.path) or report.path
        for kind, (level, _) in RULES.items():
            for group in report.groups(kind):
                location = repository.location_of(group[0], report)
                yield _command(_COMMANDS[level], *location, kind, _message(group, kind, report))
        for error in report.errors:
            yield _command("error", model, None, "not inferred", error)
        yield report.summary


def _message(group: Sequence[Finding], kind: ReportKind, report: Report) -> str:
    first = group[0]
    if len(group) > 1:
        reason = f"; the first, {node_label(first)}: {unchecked_text(first.unchecked)}" if first.unchecked else ""
        return f"{printable(report.path)}: {group_text(group)}{reason}"
    return f"{printable(report.path)}: {label_prefix(first)}{finding_text(first, kind)}"


def _command(command: str, file: str, line: int | None, title: str, message: str) -> str:
    properties = {"file": file, "line": line, "title": f"axiscast: {title}"}
    given = {name: str(value) for name, value in properties.items() if value is not None}
    written = ",".join(f"{name}={_escape_property(value)}" for name, value in given.items())
    return f"::{command} {written}::{_escape(message)}"


def _escape(text: str) -> str:
    """Escape line breaks and percent signs in a message. A line break could start another workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
