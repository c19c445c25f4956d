"""Reports as annotations of a GitHub workflow: a command for each finding, at its line.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#setting-an-error-message
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..display import printable
from ..finding import Finding, Kind
from ..report import Report
from .finding_message import sentence
from .repository import Repository
from .terminal import common, naming, node

_COMMANDS: dict[Kind, str] = {
    "incompatible": "error",
    "not_judged": "error",
    "square": "warning",
    "mutual-stretch": "warning",
    "rank-promotion": "warning",
    "stated": "warning",
    "pinned": "warning",
    "depends": "notice",
}


def workflow_commands(reports: Sequence[Report], repository: Repository) -> Iterator[str]:
    """A line for each finding, for all that need the same, and for each error, and one with the counts; paths are the
    repository's."""
    for report in reports:
        for kind, command in _COMMANDS.items():
            for group in report.groups(kind):
                place = repository.place_of(group[0], report)
                yield _command(command, *place, kind.replace("_", " "), _message(group, kind, report))
        for error in report.errors:
            yield _command("error", repository.path_of(report.path) or report.path, None, "not inferred", error)
        for note in report.notes:
            yield _command("notice", repository.path_of(report.path) or report.path, None, "not tried", note)
        yield report.summary


def _message(group: Sequence[Finding], kind: Kind, report: Report) -> str:
    first = group[0]
    if len(group) > 1:
        reason = f"; the first, {node(first)}: {printable(first.reason)}" if first.reason else ""
        return f"{printable(report.path)}: {common(group)}{reason}"
    return f"{printable(report.path)}: {naming(first)}{sentence(first, kind)}"


def _command(command: str, file: str, line: int | None, title: str, message: str) -> str:
    properties = {"file": file, "line": line, "title": f"axiscast: {title}"}
    shown = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items() if value is not None)
    return f"::{command} {shown}::{_data(message)}"


def _data(text: str) -> str:
    """A message that can't end its line, and so can't begin a command of its own."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
