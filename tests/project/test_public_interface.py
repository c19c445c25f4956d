"""Tests of the public interface: it is the one in public_interface.txt, which only a decision changes."""

from __future__ import annotations

import public_interface
import pytest
from cases import cases
from public_interface import SNAPSHOT, breaking, read_snapshot, snapshot_of


@pytest.fixture(scope="module")
def facts() -> set[str]:
    return {*public_interface.facts()}


def test_no_part_of_the_public_interface_has_gone_or_changed(facts: set[str]) -> None:
    changes = "\n".join(breaking(read_snapshot(), facts))
    todo = "this is a breaking change: note it in CHANGELOG.md and renew the snapshot by `make interface`"
    assert not changes, f"{todo}\n{changes}"


def test_every_addition_to_the_public_interface_is_in_the_snapshot(facts: set[str]) -> None:
    additions = "\n".join(sorted(facts - read_snapshot()))
    todo = "the public interface has additions, which are allowed: renew the snapshot by `make interface`"
    assert not additions, f"{todo}\n{additions}"


BASE = {
    "python check",
    "python check(op): positional 0",
    "python check requires op",
    "http request CheckRequest",
    "http request CheckRequest requires inputs",
    "http request CheckRequest.inputs",
    "http request CheckRequest.warn: 'square'",
    "http response CheckAnswer.outputs: array",
    "http response CheckAnswer.outputs",
    "http response CheckAnswer.outputs: always present",
    "http POST /v1/check",
    "metric axiscast_problems: counter",
    "exit status of axiscast check 3 4: 1",
}
GONE = [fact for fact in BASE if " requires " not in fact]
BREAKING_ADDITIONS = [
    "python check requires dtype",
    "http request CheckRequest requires dtype",
    "http POST /v1/check requires header X-Key",
    "http response CheckAnswer.outputs: null",
]
ADDITIONS = [
    "python check(dtype): keyword-only",
    "python new_function requires x",
    "http request NewRequest requires inputs",
    "http request CheckRequest.warn: 'other'",
    "http response CheckAnswer.fresh: null",
    "metric axiscast_new: gauge",
]


@cases("fact", sorted(GONE))
def test_what_is_gone_breaks_users(fact: str) -> None:
    assert breaking(BASE, BASE - {fact}) == [f"- {fact}"]


@cases("fact", BREAKING_ADDITIONS)
def test_what_users_must_pass_or_expect_in_addition_breaks_them(fact: str) -> None:
    assert breaking(BASE, BASE | {fact}) == [f"+ {fact}"]


def test_additions_and_optional_parameters_break_no_user() -> None:
    optional = {"python check requires op", "http request CheckRequest requires inputs"}
    assert breaking(BASE, BASE - optional | {*ADDITIONS}) == []


def test_the_snapshot_has_every_kind_of_interface() -> None:
    facts = read_snapshot()
    written = [
        "python Client.broadcast(window): keyword-only",
        "python __version__",
        "python IncompatibleShapes is ValueError",
        "python Finding.kinds",
        "op torch.expand: axiscast.torch.expand",
        "op torch.expand requires size",
        "alias torch.mul",
        "http GET /v1/check requires query input",
        "http POST /v1/broadcast request application/vnd.msgpack",
        "http request CheckRequest requires inputs",
        "http response BroadcastInput.broadcast_axes: array of integer",
        "problem incompatible-shapes: 422",
        "path /livez: 200",
        "setting AXISCAST_LOG_FORMAT value json",
        "metric axiscast_problems label code",
        "command axiscast check --format value sarif",
        "exit status 69",
        "exit status of axiscast check 3 4: 1",
        "extra otel",
    ]
    assert [fact for fact in written if fact not in facts] == []
    assert snapshot_of(sorted(facts)) == SNAPSHOT.read_text()
