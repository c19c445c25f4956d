"""Fuzzing, bounded: seeds bent at random, and every input that ever broke something. Longer: `make fuzz`."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.seeds import kept, seeds
from fuzz.targets import TARGETS

SEEDS = {name: seeds(name) for name in TARGETS}


@st.composite
def bent(draw: st.DrawFn, name: str) -> bytes:
    """A seed with some bytes changed, left out, put in, or said again."""
    data = bytearray(draw(st.sampled_from(SEEDS[name])))
    for _ in range(draw(st.integers(0, 6))):
        place = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(["change", "drop", "insert", "repeat", "cut", "join"])):
            case "change":
                data[place : place + 1] = draw(st.binary(min_size=1, max_size=1))
            case "drop":
                del data[place : place + draw(st.integers(1, 8))]
            case "insert":
                data[place:place] = draw(st.binary(max_size=8) | st.sampled_from(_TOKENS))
            case "repeat":
                data[place:place] = data[place : place + draw(st.integers(1, 30))] * draw(st.integers(1, 20))
            case "cut":
                del data[place:]
            case "join":
                data[place:] = draw(st.sampled_from(SEEDS[name]))[place:]
    return bytes(data)


_TOKENS = [
    *(
        b"null",
        b"-1",
        b"1e999",
        b"9223372036854775808",
        b'"?"',
        b'"2.."',
        b"[]",
        b"{}",
        b"...",
        b"(",
        b"&input=",
        b"%ff",
    ),
    *(b"\xc1", b"\xcf" + b"\xff" * 8, b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xd6\xff\0\0\0\0"),
]
"""What parsers stumble over."""


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_is_sent_is_answered_or_refused(name: str) -> None:
    @settings(max_examples=400, suppress_health_check=list(HealthCheck))
    @given(bent(name) | st.binary(max_size=200))
    def run(data: bytes) -> None:
        TARGETS[name](data)

    run()


@pytest.mark.parametrize("name", TARGETS)
def test_what_broke_something_once_does_so_no_more(name: str) -> None:
    for data in kept(name):
        TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_reach_what_is_fuzzed(name: str) -> None:
    """A target that refuses all its seeds at the door would find nothing."""
    found = Counter(TARGETS[name](data) for data in SEEDS[name])
    good = {"CheckRequest", "BroadcastRequest", "answered", "shape", "arrays", "requests"}
    assert sum(count for outcome, count in found.items() if outcome in good) >= len(SEEDS[name]) / 2
