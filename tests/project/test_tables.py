"""The tables of codes in docs/ agree with the code. Settings, metrics and problem codes have their own tests."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
from pathlib import Path
from typing import Any, get_args

import axiscast
import axiscast_service
from axiscast.messages import Warned
from axiscast.messages.check_request import WarningKind
from axiscast.messages.conditions import Condition
from axiscast.messages.findings import ReportKind
from axiscast.models.formats.github import _COMMANDS
from axiscast.models.formats.sarif import RULES
from axiscast.models.intent import FindingKind

DOCS = Path(__file__).parents[2] / "docs"
PACKAGE = Path(axiscast.__file__).parent
STATIC = Path(axiscast_service.__file__).parent / "static"
WARNED: dict[str, tuple[Any, ...]] = {
    "square": ("numpy.add", (5, 1), (5,)),
    "release-differs": ("onnx.PRelu", (3,), (2, 1)),
    "mutual-stretch": ("numpy.add", (3, 1), (1, 4)),
    "rank-promotion": ("numpy.add", (2, 3), (3,)),
}
"""A check for each code of a warning."""


def table(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading, without the row of titles."""
    section = (DOCS / page).read_text().partition(f"\n## {heading}\n")[2]
    rows = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert rows, f"{page} has no table below {heading}"
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows[0].splitlines()[2:]]


def codes(cell: str) -> list[str]:
    return re.findall("`([a-z-]+)`", cell)


def exit_statuses(source: str) -> set[int]:
    """Return the exit statuses in a source file: of os, of signals, of sys.exit, and of functions that return one."""
    found = {getattr(os, name) for name in re.findall(r"os\.(EX_[A-Z]+)", source)}
    found |= {128 + getattr(signal, name) for name in re.findall(r"signal\.(SIG[A-Z]+)", source)}
    expressions: list[ast.AST] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "sys.exit":
            expressions += node.args
        elif isinstance(node, ast.FunctionDef) and "exit status" in (ast.get_docstring(node) or ""):
            expressions += [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "OUTPUT_FAILED":
            expressions.append(node.value)
    constants = [each.value for tree in expressions for each in ast.walk(tree) if isinstance(each, ast.Constant)]
    return found | {value for value in constants if type(value) is int and value < 128}


def test_the_table_of_exit_statuses_lists_each_status_of_the_commands() -> None:
    files = [*(PACKAGE / "cli").glob("*.py"), PACKAGE / "models" / "report.py"]
    listed = [int(number) for number, _ in table("operations.md", "Exit statuses")]
    assert listed == sorted(set[int]().union(*(exit_statuses(file.read_text()) for file in files)))


def test_the_table_of_warnings_lists_each_code_and_when_it_is_given() -> None:
    listed = {code: when for cell, _, when in table("checks.md", "Warnings") for code in codes(cell)}
    given: dict[str, str] = {}
    for code, (op, *shapes) in WARNED.items():
        by_default = [warning.code for warning in axiscast.check(op, *shapes).warnings]
        requested = [warning.code for warning in axiscast.check(op, *shapes, warn=get_args(WarningKind)).warnings]
        assert code in requested
        given[code] = "always" if code in by_default else "on request"
    assert listed == given


def test_each_code_of_a_warning_in_the_code_is_described() -> None:
    described = codes(Warned.model_fields["code"].description or "")
    source = "".join(path.read_text() for path in (PACKAGE / "checks").rglob("*.py"))
    named = {*re.findall(r'(?:"code": |code=)"([a-z-]+)"', source)} - {"size-mismatch", "rank-mismatch"}
    named -= {*codes(Condition.model_fields["code"].description or "")}
    assert {*get_args(WarningKind), *named} == {*WARNED}
    assert {*described} - {"warn"} == {*WARNED}


def test_the_page_requests_each_warning_that_appears_only_on_request() -> None:
    source = (STATIC / "question.js").read_text()
    (listed,) = re.findall(r"export const WARNINGS = (\[.*?\]);", source)
    assert json.loads(listed) == [code for code in get_args(WarningKind) if code != "square"]


def test_the_table_of_findings_lists_each_kind_with_its_level() -> None:
    rows = [(code, level) for cell, *_, level in table("models.md", "Findings") for code in codes(cell)]
    levels = {kind: ", ".join(dict.fromkeys([level, _COMMANDS[level]])) for kind, (level, _) in RULES.items()}
    assert dict(rows) == levels
    assert {code for code, _ in rows} == {*get_args(ReportKind)}


def test_the_table_of_kinds_lists_each_kind_that_a_user_can_select() -> None:
    rows = table("training.md", "What is found, and what is not")
    assert [code for cell, _ in rows for code in codes(cell)] == [*get_args(FindingKind)]
