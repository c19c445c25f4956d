"""Report: verdicts, exit status and formats, for findings that are written out here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import axiscast
from axiscast import Finding, Operand, Report
from axiscast.messages.findings import Failure, Quantity, Requirement, SizeRule, Unchecked
from axiscast.models.formats.github import workflow_commands
from axiscast.models.formats.repository import Repository
from axiscast.models.formats.sarif import sarif
from axiscast.words.findings import finding_text, group_text


def finding(node: str, *shapes: tuple[int | str, ...], **fields: Any) -> Finding:
    operands = tuple(Operand(f"input {number}", "xyz"[number], shape) for number, shape in enumerate(shapes))
    answer = axiscast.check("torch.broadcast_tensors", *shapes)
    return Finding(**{"node": node, "op": "Add", "operands": operands, "answer": answer} | fields)


def square(node: str, **fields: Any) -> Finding:
    """Return the finding that a check of (5, 1) and (5,) gives."""
    return finding(node, (5, 1), (5,), **fields)


FITS = finding("fits", (2, 3), (3,))
CONFLICT = finding("conflict", (2, 3), (2,), file="/build/net/src/model.py", line=17)
RULES = (SizeRule("seq", "multiple", 4),)
FAILURE = Failure({"N": 5, "seq": 7}, Requirement("broadcast", Quantity(7, 0, 1), Quantity(8, 1, 0)), (), RULES)
NEEDS = [
    finding(f"needs{number}", ("N", "seq"), ("up",), file="/build/net/src/model.py", line=number, failure=FAILURE)
    for number in (3, 4)
]
UNKNOWN = Finding("unknown", "Add", (Operand("input 0", "x", None),), unchecked=Unchecked("unknown-rank", ("x",)))


@pytest.mark.parametrize(
    ("nodes", "errors", "expected"),
    [
        ([], [], (0, 0, 0)),
        ([FITS], [], (0, 0, 0)),
        ([FITS, *NEEDS], [], (0, 0, 1)),
        ([FITS, square("q")], [], (0, 1, 1)),
        ([CONFLICT, FITS], [], (1, 1, 1)),
        ([UNKNOWN, FITS], [], (3, 3, 3)),
        ([UNKNOWN, *NEEDS], [], (3, 3, 1)),
        ([UNKNOWN, CONFLICT], [], (1, 1, 1)),
        ([FITS], ["MatMul m: sizes differ"], (3, 3, 3)),
    ],
)
def test_the_exit_status_is_0_if_all_nodes_are_checked_and_no_finding_is_that_severe(
    nodes: list[Finding], errors: list[str], expected: tuple[int, int, int]
) -> None:
    report = Report("m.onnx", tuple(nodes), tuple(errors))
    assert (
        report.exit_status("incompatible"), report.exit_status("square"), report.exit_status("needs")
    ) == expected  # fmt: skip
    assert report.exit_status() == expected[1]


def test_a_report_counts_its_nodes_and_lists_the_findings() -> None:
    report = Report("m.onnx", (FITS, CONFLICT, *NEEDS, UNKNOWN, square("q")))
    assert report.counts == {
        "nodes": 6, "compatible": 2, "needs": 2, "pinned": 0, "incompatible": 1, "unchecked": 1, "square": 1,
        "contradicted": 0,
    }  # fmt: skip
    assert [(found.node, found.kinds) for found in report.findings] == [
        ("conflict", ("incompatible",)),
        ("needs3", ("needs",)),
        ("needs4", ("needs",)),
        ("unknown", ("unchecked",)),
        ("q", ("square",)),
    ]
    assert (FITS.output, CONFLICT.output, UNKNOWN.output) == ((2, 3), None, None)


TEXT = """\
/build/net/src/model.py:17: Add conflict: incompatible
  {conflict}

m.onnx: Add q: square
  {square}

m.onnx: Add unknown: unchecked
  {unknown}

{needs}:
  /build/net/src/model.py:3: Add needs3: x (N, seq) + y (up,)
  /build/net/src/model.py:4: Add needs4: x (N, seq) + y (up,)

m.onnx: MatMul m: sizes differ

m.onnx: 6 nodes broadcast (1 suspicious): 2 compatible, 2 needs, 0 pinned, 1 incompatible, 1 unchecked"""


def test_the_text_has_failures_first_and_then_one_entry_for_each_condition() -> None:
    report = Report("m.onnx", (FITS, *NEEDS, CONFLICT, UNKNOWN, square("q")), ("MatMul m: sizes differ",))
    findings = {"conflict": CONFLICT, "square": square("q"), "unknown": UNKNOWN}
    sentences = {name: finding_text(each) for name, each in findings.items()}
    assert str(report) == report.text() == TEXT.format(**sentences, needs=group_text(NEEDS))
    assert "m.onnx: Add fits\n" in report.text(all_nodes=True)


def test_findings_with_the_same_rules_are_one_group() -> None:
    other = finding("other", ("N", "seq"), ("up",), failure=FAILURE._replace(rules=(SizeRule("seq", "multiple", 8),)))
    assert [len(group) for group in Report("m.onnx", (*NEEDS, other)).groups("needs")] == [2, 1]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "model.py").write_text("")
    (tmp_path / "m.onnx").write_text("")
    return Repository(tmp_path)


def test_an_annotation_is_at_the_source_line_or_else_at_the_model(repository: Repository) -> None:
    report = Report(str(repository.root / "m.onnx"), (*NEEDS, CONFLICT, UNKNOWN), ("no such op",))
    *lines, summary = workflow_commands([report], repository)
    assert summary == report.summary
    assert [line.partition("::")[2].rpartition("::")[0] for line in lines] == [
        "error file=src/model.py,line=17,title=axiscast%3A incompatible",
        "error file=m.onnx,title=axiscast%3A unchecked",
        "notice file=src/model.py,line=3,title=axiscast%3A needs",
        "error file=m.onnx,title=axiscast%3A not inferred",
    ]
    assert f"m.onnx: Add conflict: {finding_text(CONFLICT)}" in lines[0]
    assert group_text(NEEDS) in lines[2]


def test_no_name_in_a_model_starts_another_workflow_command(repository: Repository) -> None:
    evil = "a\n::error file=x::y\r%0A::add-mask::z,b:c"
    nodes = (
        finding(evil, (2,), (3,), op=evil, file=f"{evil}.py", line=1),
        Finding(evil, evil, (Operand("x", evil, None),), unchecked=Unchecked("limit", (evil,))),
    )
    *lines, summary = workflow_commands([Report(evil, nodes, (evil,))], repository)
    assert not summary.startswith("::")
    assert Report(" ::error::x").summary.startswith("error::x")
    assert [line[:8] for line in lines] == ["::error "] * 3
    assert not any("\n" in line or "\r" in line for line in lines)
    properties = [line[8:].partition("::")[0] for line in lines]
    assert all(line.count(",") == 1 for line in properties), properties
    for line in str(Report(evil, nodes, (evil,))).splitlines():
        assert not line.startswith("::")


def test_sarif_has_the_rule_the_level_the_location_and_the_node(repository: Repository) -> None:
    report = Report(str(repository.root / "m.onnx"), (FITS, CONFLICT, UNKNOWN, square("q"), NEEDS[0]), ("no such op",))
    log = json.loads(json.dumps(sarif([report], repository)))
    (run,) = log["runs"]
    assert (log["version"], run["tool"]["driver"]["name"]) == ("2.1.0", "axiscast")
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    suspicious = ["square", "mutual-stretch", "rank-promotion"]
    assert rules == ["incompatible", "unchecked", "pinned", *suspicious, "contradicted", "needs", "not-inferred"]
    assert [rules[result["ruleIndex"]] for result in run["results"]] == [result["ruleId"] for result in run["results"]]
    assert [(result["ruleId"], result["level"]) for result in run["results"]] == [
        ("incompatible", "error"),
        ("unchecked", "error"),
        ("square", "warning"),
        ("needs", "note"),
        ("not-inferred", "error"),
    ]
    first, second = (result["locations"][0] for result in run["results"][:2])
    assert first["physicalLocation"] == {
        "artifactLocation": {"uri": "src/model.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 17},
    }
    assert first["logicalLocations"][0]["name"] == "conflict"
    assert second["physicalLocation"] == {"artifactLocation": {"uri": "m.onnx", "uriBaseId": "%SRCROOT%"}}


@pytest.mark.parametrize(
    ("recorded", "found"),
    [
        ("/build/net/src/model.py", "src/model.py"),
        ("C:\\build\\src\\model.py", "src/model.py"),
        ("src/model.py", "src/model.py"),
        ("/build/model.py", None),
        ("../../etc/passwd", None),
        ("/etc/passwd", None),
        ("..", None),
        ("", None),
        ("src", None),
        ("\0", None),
        ("x" * 5000, None),
        ("a/" * 5000, None),
        ("src\\..\\..\\..\\etc\\passwd", None),
    ],
)
def test_a_recorded_path_is_found_by_its_end_and_only_in_the_repository(
    repository: Repository, recorded: str, found: str | None
) -> None:
    assert repository.path_of(recorded) == found


def test_the_repository_is_the_nearest_folder_with_git_or_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    (tmp_path / "a" / "b" / "m.onnx").write_text("")
    assert Repository().path_of("m.onnx") == "m.onnx"
    (tmp_path / "a" / ".git").mkdir()
    assert Repository().path_of("m.onnx") == "b/m.onnx"


def test_a_report_is_written_as_json_values() -> None:
    plain = json.loads(json.dumps(Report("m.onnx", (CONFLICT, UNKNOWN), ("why",)).as_json()))
    assert (plain["path"], plain["errors"], plain["counts"]["nodes"]) == ("m.onnx", ["why"], 2)
    conflict, unknown = plain["nodes"]
    assert (conflict["verdict"], conflict["kinds"], conflict["file"], conflict["line"]) == (
        "incompatible", ["incompatible"], "/build/net/src/model.py", 17,
    )  # fmt: skip
    assert conflict["inputs"][1] == {"role": "input 1", "name": "y", "shape": [2]}
    assert conflict["answer"]["conflict"]["sizes"] == [3, 2]
    assert (unknown["verdict"], unknown["unchecked"]) == (
        "unchecked", {"code": "unknown-rank", "details": ["x"]},
    )  # fmt: skip


def test_the_message_in_json_has_the_names_of_the_operands() -> None:
    report = Report("m.onnx", (finding("q", (5, 1), (5,), op="Sub"), CONFLICT))
    plain, conflict = json.loads(json.dumps(report.as_json()))["nodes"]
    assert ("x" in plain["message"], "y" in plain["message"]) == (True, True)
    assert plain["answer"]["warnings"][0]["hint"]["request"]["inputs"] == [[5], [5]]
    assert conflict["answer"]["conflict"]["hints"][0]["suffix"] == "[:, None]"
