"""Checks of nodes: which requests are checked, and how answers and refusals become findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import axiscast
from axiscast import CheckAnswer, Finding, ServiceProblem, WorkTooLarge
from axiscast.messages.findings import Unchecked
from axiscast.models.node_checks import NodeCheck, check_nodes


def node_check(node: int, *shapes: list[int | str], unchecked: Unchecked | None = None) -> NodeCheck:
    return NodeCheck(
        Finding(str(node), "Add", unchecked=unchecked),
        {"op": {"name": "onnx.Expand", "shape": [1]}, "inputs": [*shapes]},
    )


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return the list of the requests that are checked. The check of the shape (404,) is refused."""
    found: list[dict[str, Any]] = []

    def check_batch(requests: Sequence[dict[str, Any]]) -> list[CheckAnswer[Any] | ServiceProblem]:
        found.extend(requests)
        refused = WorkTooLarge({"code": "work-too-large", "detail": "this takes 3 s", "status": 422})
        return [refused if [404] in request["inputs"] else axiscast.check_batch([request])[0] for request in requests]

    monkeypatch.setattr("axiscast.models.node_checks.check_batch", check_batch)
    return found


def test_equal_requests_are_checked_once_and_findings_keep_their_order(checked: list[dict[str, Any]]) -> None:
    findings = check_nodes([node_check(number, [number % 3]) for number in range(9)])
    assert [finding.output for finding in findings] == [(0,), (1,), (2,)] * 3
    assert [finding.node for finding in findings] == [str(number) for number in range(9)]
    assert len(checked) == 3


def test_a_node_whose_check_is_refused_is_unchecked_with_the_reason(checked: list[dict[str, Any]]) -> None:
    findings = check_nodes([node_check(0, [3]), node_check(1, [404]), node_check(2, [5])])
    assert [finding.verdict for finding in findings] == ["compatible", "unchecked", "compatible"]
    assert findings[1].unchecked == Unchecked("limit", ("this takes 3 s",))


def test_a_reason_is_kept_unless_there_is_a_conflict() -> None:
    refused = Unchecked("refused")
    conflict = {"op": {"name": "ngraph.Broadcast", "shape": [3], "broadcast_axes": []}, "inputs": [[4]]}
    findings = check_nodes(
        [node_check(0, [3], unchecked=refused), NodeCheck(Finding("1", "Add", unchecked=refused), conflict)]
    )
    assert [finding.verdict for finding in findings] == ["unchecked", "incompatible"]


def test_assumed_sizes_are_passed_only_to_checks_that_have_the_name(checked: list[dict[str, Any]]) -> None:
    check_nodes([node_check(0, ["N"]), node_check(1, ["M"]), node_check(2, [3])], {"N": "2..", "K": "1.."})
    assert [request.get("assume") for request in checked] == [{"N": "2.."}, None, None]
