"""A short run of the fuzz targets with changed seeds and the inputs of earlier failures. `make fuzz` runs longer."""

from __future__ import annotations

from collections import Counter
from functools import cache

from cases import cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.seeds import kept, made, seeds
from fuzz.targets import TARGETS

SEEDS = cache(seeds)


@st.composite
def bent(draw: st.DrawFn, name: str) -> bytes:
    """Return a seed with some bytes changed, removed, inserted or repeated."""
    data = bytearray(draw(st.sampled_from(SEEDS(name))))
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
                data[place:] = draw(st.sampled_from(SEEDS(name)))[place:]
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
"""Bytes that are difficult for parsers."""


@cases("name", TARGETS)
def test_random_input_has_a_response_or_a_problem(name: str) -> None:
    @settings(max_examples=200, suppress_health_check=list(HealthCheck))
    @given(bent(name) | st.binary(max_size=200))
    def run(data: bytes) -> None:
        TARGETS[name](data)

    run()


@cases("name", TARGETS)
def test_the_inputs_of_the_corpus_pass(name: str) -> None:
    for data in kept(name):
        TARGETS[name](data)


@cases("name", TARGETS)
def test_the_targets_accept_their_seeds(name: str) -> None:
    """A target that refuses all its seeds at once would find nothing."""
    valid = made(name)
    found = Counter(TARGETS[name](data) for data in valid)
    good = {"CheckRequest", "BroadcastRequest", "answered", "shape", "arrays", "requests"}
    assert sum(count for outcome, count in found.items() if outcome in good) >= len(valid) / 2
