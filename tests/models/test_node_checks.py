"""Checks of nodes: which requests are sent, in which batches, and how responses and refusals are handled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

import axiscast
from axiscast import (
    BodyTooLarge,
    CheckAnswer,
    Finding,
    OutputTooLarge,
    Overloaded,
    ServiceProblem,
    UnexpectedStatus,
    WorkTooLarge,
)
from axiscast.models.finding import Unchecked
from axiscast.models.node_checks import NodeCheck, check_nodes

REFUSAL = WorkTooLarge({"code": "work-too-large", "detail": "the rows before this one took 2 s", "status": 422})


def node_check(node: int, *shapes: list[int | str], unchecked: Unchecked | None = None) -> NodeCheck:
    return NodeCheck(
        Finding(str(node), "Add", unchecked=unchecked),
        {"op": {"name": "onnx.Expand", "shape": [1]}, "inputs": [*shapes]},
    )


def test_equal_checks_are_sent_once_and_findings_keep_their_order() -> None:
    asked: list[Any] = []

    def check_batch(requests: Sequence[dict[str, Any]]) -> list[CheckAnswer | ServiceProblem]:
        asked.extend(requests)
        return axiscast.check_batch(requests)

    findings = check_nodes([node_check(number, [number % 3]) for number in range(9)], check_batch)
    assert [finding.output for finding in findings] == [(0,), (1,), (2,)] * 3
    assert [finding.node for finding in findings] == [str(number) for number in range(9)]
    assert len(asked) == 3


@pytest.mark.parametrize("room", [1, 2, 7, 100])
@pytest.mark.parametrize("whole", [False, True])
def test_a_batch_that_is_too_large_is_sent_again_in_smaller_batches(room: int, whole: bool) -> None:
    """The service answers `room` rows of a batch, or refuses a larger batch as a whole."""
    calls = []

    def check_batch(requests: Sequence[dict[str, Any]]) -> list[CheckAnswer | ServiceProblem]:
        calls.append(len(requests))
        if whole and len(requests) > room:
            raise REFUSAL
        return [*axiscast.check_batch(requests[:room]), *[REFUSAL] * (len(requests) - room)]

    findings = check_nodes([node_check(number, [number]) for number in range(60)], check_batch)
    assert [finding.output for finding in findings] == [(number,) for number in range(60)]
    assert len(calls) <= 127


TOO_MUCH = [
    REFUSAL,
    BodyTooLarge({"code": "body-too-large", "status": 413}),
    OutputTooLarge({"code": "output-too-large", "detail": "takes 104000000 bytes of memory", "status": 422}),
]


@pytest.mark.parametrize("problem", TOO_MUCH, ids=lambda problem: problem.code)
@pytest.mark.parametrize("whole", [False, True])
def test_every_refusal_of_a_large_batch_is_sent_again_in_smaller_batches(problem: ServiceProblem, whole: bool) -> None:
    def check_batch(requests: Sequence[dict[str, Any]]) -> list[CheckAnswer | ServiceProblem]:
        if whole and len(requests) > 7:
            raise problem
        return [*axiscast.check_batch(requests[:7]), *[problem] * (len(requests) - 7)]

    findings = check_nodes([node_check(number, [number]) for number in range(60)], check_batch)
    assert [finding.output for finding in findings] == [(number,) for number in range(60)]


def test_a_refusal_by_a_proxy_is_sent_again_and_is_never_a_verdict() -> None:
    calls = []

    def check_batch(requests: Sequence[dict[str, Any]], most: int) -> list[CheckAnswer | ServiceProblem]:
        calls.append(len(requests))
        if len(requests) > most:
            raise UnexpectedStatus("status 413", 413)
        return axiscast.check_batch(requests)

    checks = [node_check(number, [number]) for number in range(4)]
    findings = check_nodes(checks, partial(check_batch, most=1))
    assert [finding.verdict for finding in findings] == ["compatible"] * 4
    with pytest.raises(UnexpectedStatus):
        check_nodes(checks, partial(check_batch, most=0))


def test_any_other_refusal_is_raised_without_a_retry() -> None:
    calls = []

    def check_batch(requests: Sequence[dict[str, Any]]) -> list[CheckAnswer | ServiceProblem]:
        calls.append(len(requests))
        raise UnexpectedStatus("status 404", 404)

    with pytest.raises(UnexpectedStatus):
        check_nodes([node_check(0, [3]), node_check(1, [4])], check_batch)
    assert calls == [2]


def test_a_node_that_is_too_large_alone_is_unchecked_with_the_reason() -> None:
    findings = check_nodes(
        [node_check(0, [3]), node_check(1, [4]), node_check(2, [5])],
        lambda requests: [
            REFUSAL if request["inputs"] == [[4]] else axiscast.check_batch([request])[0] for request in requests
        ],
    )
    assert [finding.verdict for finding in findings] == ["compatible", "unchecked", "compatible"]
    assert findings[1].unchecked == Unchecked("limit", ("the rows before this one took 2 s",))


def test_an_overloaded_service_raises_and_gives_no_verdict() -> None:
    def check_batch(requests: Sequence[dict[str, Any]]) -> list[CheckAnswer | ServiceProblem]:
        raise Overloaded({"status": 503})

    with pytest.raises(Overloaded):
        check_nodes([node_check(0, [3])], check_batch)


def test_a_reason_is_kept_unless_there_is_a_conflict() -> None:
    refused = Unchecked("refused")
    conflict = {"op": {"name": "ngraph.Broadcast", "shape": [3], "broadcast_axes": []}, "inputs": [[4]]}
    findings = check_nodes(
        [node_check(0, [3], unchecked=refused), NodeCheck(Finding("1", "Add", unchecked=refused), conflict)],
        axiscast.check_batch,
    )
    assert [finding.verdict for finding in findings] == ["unchecked", "incompatible"]


def test_assumed_sizes_are_sent_only_with_checks_that_have_the_name() -> None:
    asked: list[Any] = []

    def check_batch(requests: Sequence[dict[str, Any]]) -> list[CheckAnswer | ServiceProblem]:
        asked.extend(requests)
        return axiscast.check_batch(requests)

    check_nodes([node_check(0, ["N"]), node_check(1, ["M"]), node_check(2, [3])], check_batch, {"N": "2..", "K": "1.."})
    assert [request.get("assume") for request in asked] == [{"N": "2.."}, None, None]


def test_progress_is_reported_up_to_the_last_check() -> None:
    told: list[tuple[int, int]] = []
    check_nodes(
        [node_check(number, [number]) for number in range(5)],
        axiscast.check_batch,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]
