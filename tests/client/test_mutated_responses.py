"""Responses with changed bytes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

from cases import cases
from test_responses import CONFLICTING, FAILED, FITS, PAIR, RIGHT, answered, body_of

from axiscast import InvalidAnswer, ServiceProblem
from axiscast.client.call import Call
from axiscast.client.expected_response import check_consistency
from axiscast.client.request_building import check, check_batch
from axiscast.messages import CheckAnswer


def mutations(body: bytes, chance: random.Random) -> Iterator[bytes]:
    """Yield the body truncated, or with parts removed, repeated, moved or replaced."""
    while True:
        start = chance.randrange(len(body))
        end = min(start + chance.choice([1, 1, 2, 5, 20]), len(body))
        part = chance.choice(
            [
                b"",
                body[start:end] * 2,
                bytes(chance.choice([0, 1, 0x7F, 0x80, 0x90, 0xA0, 0xC0, 0xC1, 0xC4, 0xC6, 0xDB, 0xDD, 0xDF, 0xFF])
                      for _ in range(end - start)),
                chance.randbytes(end - start),
                body[chance.randrange(len(body)) :][: end - start],
            ]
        )  # fmt: skip
        yield chance.choice([body[:start], body[:start] + part + body[end:], body[:start] + part + body[end:]])


CALLS = {name: (call, body_of(answer)) for name, (call, answer) in RIGHT.items()} | {
    "check": (check([PAIR["op"], *PAIR["inputs"]], {}), body_of(FITS)),
    "batch": (check_batch([PAIR, PAIR]), body_of({"results": [CONFLICTING, FAILED]})),
}


@cases(("call", "body"), CALLS.values(), ids=CALLS)
def test_a_mutated_response_is_read_or_raises_invalid_answer(call: Call[Any], body: bytes) -> None:
    chance = random.Random(body)
    for mutated in itertools.islice(mutations(body, chance), 300):
        try:
            answered(call, mutated, piece=chance.choice([1, 7, 1000]))
        except (InvalidAnswer, ServiceProblem):
            continue


@cases("op", ["later.op", {"name": "later.op", "shape": [3]}])
def test_an_op_unknown_to_this_version_may_have_any_number_of_outputs(op: Any) -> None:
    output, reached = {"shape": [3], "elements": 3}, {"input": 0, "shape": [3], "axes": [0], "broadcast_axes": []}
    for count in range(3):
        shape = {"shape": [3]} if count else {}
        inputs = [reached | {"input": number} for number in range(count)]
        fields = {"compatible": True, "outputs": [output] * count, "broadcast_inputs": inputs} | shape
        answer = CheckAnswer.model_validate(fields)
        assert check_consistency(answer, op, 2) is answer
