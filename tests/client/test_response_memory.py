"""The memory that hostile responses take in the client."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
import pytest
from cases import cases
from test_responses import MIB, MSGPACK, PAIR, TO, WIDE, answered, tensor

from axiscast import InvalidAnswer, ServiceProblem, UnexpectedStatus
from axiscast.client.call import Call
from axiscast.client.request_building import check, check_batch, ops


def listed(count: int) -> bytes:
    """Return the MessagePack header of a list."""
    return b"\xdd" + struct.pack(">I", count)


NESTED = b"\xdc\x03\xde" + b"\x90" * 990
"""A list of 990 lists. Each of its bytes takes at least 56 bytes in memory."""
FIRST = b"\x81\xb0broadcast_inputs\x91"
WANTED = FIRST + b"\x83\xa5dtype\xa7float32\xa5shape\x92\x02\x03\xa4data"
EIGHT = struct.pack(">I", 8 * MIB)
LISTS = b"\xdc\x03\xde" + NESTED * 990
SIXTY = struct.pack(">I", 60 * MIB)
SMALL = msgpack.packb({"shape": [], "elements": 1})
SMALL_INPUT = msgpack.packb({"input": 0, "shape": [], "axes": [], "broadcast_axes": []})
GREEDY_TENSORS: dict[str, Callable[[], bytes]] = {
    "lists in a shape": lambda: FIRST + b"\x82\xa5shape" + LISTS * 4,
    "lists in strides": lambda: FIRST + b"\x82\xa7strides" + LISTS * 4,
    "lists in a field that is unknown": lambda: FIRST + b"\x82\xa4note" + LISTS * 4,
    "lists in a field beside the tensors": lambda: b"\x82\xa4note" + LISTS * 4,
    "lists for the tensors": lambda: b"\x81\xb0broadcast_inputs" + LISTS * 4,
    "lists for a key": lambda: FIRST + b"\x82" + LISTS * 4,
    "a long name of a dtype": lambda: FIRST + b"\x82\xa5dtype\xdb" + EIGHT + b"f" * 8 * MIB,
    "a long key": lambda: FIRST + b"\x82\xdb" + EIGHT + b"f" * 8 * MIB,
    "fields without end": lambda: FIRST + b"\xdf\xff\xff\xff\xff"
    + b"".join(b"\xa5%05d\xc0" % n for n in range(99999)) * 9,
    "a shape of many sizes": lambda: FIRST + b"\x83\xa5shape" + listed(8 * MIB) + b"\x01" * 8 * MIB,
    "tensors without end": lambda: b"\x81\xb0broadcast_inputs" + listed(2**32 - 1) + b"\x81\xa4data\xc4\0" * MIB,
    "bins without end": lambda: WANTED + listed(2**32 - 1) + b"\xc4\0" * 4 * MIB,
    "a bin that is too long": lambda: WANTED + b"\xc6\xff\xff\xff\xff" + bytes(8 * MIB),
    "a tensor that was not requested": lambda: FIRST + msgpack.packb(tensor(np.zeros(8 * MIB, np.uint8))),
    "lists after the data": lambda: FIRST + b"\x84" + msgpack.packb(tensor(WIDE))[1:] + b"\xa1n" + LISTS * 4,
}  # fmt: skip


def rows_of(item: bytes, count: int, field: bytes = b"\xa7outputs") -> bytes:
    return b"\x82\xaacompatible\xc3" + field + listed(count) + item * count


GREEDY_VERDICTS: dict[str, Callable[[], bytes]] = {
    "outputs that are numbers": lambda: rows_of(b"\0", 150_000),
    "outputs that are maps": lambda: rows_of(b"\x80", 90_000),
    "more of those": lambda: rows_of(b"\x80", 100_000),
    "outputs that are none": lambda: rows_of(SMALL, 20_000),
    "inputs that are none": lambda: rows_of(SMALL_INPUT, 20_000, b"\xb0broadcast_inputs"),
    "warnings that are texts": lambda: rows_of(b"\xa0", 100_000, b"\xa8warnings"),
    "conditions that are none": lambda: rows_of(b"\x83\xa4code\xa5equal\xa3any\x91\x80\xa7message\xa0", 20_000,
                                                b"\xaaconditions"),
    "axes that are texts": lambda: b"\x82\xaacompatible\xc3\xb0broadcast_inputs\x91\x81\xa4axes"
    + listed(90_000) + b"\xa0" * 90_000,
    "lists that is unknown": lambda: rows_of(b"\x91\x90", 90_000, b"\xa4note"),
    "a long text": lambda: b"\x82\xaacompatible\xc3\xa4note\xdb" + SIXTY + b"a" * 60 * MIB,
    "a wide text": lambda: b"\x82\xaacompatible\xc3\xa4note\xdb" + struct.pack(">I", 3 * MIB + 4)
    + b"a" * 3 * MIB + b"\xf0\x9f\x98\x80",
    "a long bin": lambda: b"\x82\xaacompatible\xc3\xa4note\xc6" + SIXTY + bytes(60 * MIB),
    "results that are numbers": lambda: b"\x81\xa7results" + listed(150_000) + b"\0" * 150_000,
    "values without end": lambda: rows_of(b"\0", 2**20),
    "results that are maps": lambda: b"\x81\xa7results" + listed(90_000) + b"\x80" * 90_000,
}  # fmt: skip
GREEDY_PROBLEMS: dict[str, Callable[[], bytes]] = {
    "a long detail": lambda: b"\x82\xa4code\xa8internal\xa6detail\xdb" + SIXTY + b"a" * 60 * MIB,
    "facts that are maps": lambda: b"\x82\xa4code\xa8internal\xa1n" + listed(100_000) + b"\x80" * 100_000,
    "a conflict of texts": lambda: b"\x82\xa4code\xb3incompatible-shapes"
    + b"\xa8conflict\x83\xa4code\xa1a\xa7message\xa1b\xa6inputs" + listed(60_000) + b"\xa0" * 60_000,
    "JSON lists": lambda: b'{"code": "internal", "a": [' + b"[]," * 10 * MIB + b"[]]}",
    "JSON text": lambda: b'{"code": "internal", "detail": "' + b"\\ud83d\\ude00" * 5 * MIB + b'"}',
    "a JSON number": lambda: b'{"code": "internal", "a": ' + b"1" * MIB + b"}",
}  # fmt: skip


def peak_of(call: Call[Any], body: bytes, media: str = MSGPACK, status: int = 200) -> int:
    """Return the peak memory in bytes until a response is rejected."""
    tracemalloc.start()
    try:
        with pytest.raises((InvalidAnswer, ServiceProblem, UnexpectedStatus)) as caught:
            answered(call, body, media, status)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(str(caught.value)) < 300
    return peak


@cases("name", GREEDY_TENSORS)
def test_a_tensor_uses_no_more_memory_than_was_requested(name: str) -> None:
    assert peak_of(TO, GREEDY_TENSORS[name]()) < MIB


VERDICT_CALLS = {
    "check": check(["numpy.broadcast_arrays", (2, 1), (3,)], {}),
    "batch": check_batch([PAIR, PAIR]),
    "ops": ops(),
}


@pytest.mark.parametrize(
    ("call", "body"),
    [
        (call, body)  # its fields are unknown to the other calls, so one body is enough for them
        for body in GREEDY_VERDICTS
        for call in VERDICT_CALLS
        if call == ("batch" if body.startswith("results") else "check") or body == "more of those"
    ],
)
def test_a_hostile_verdict_uses_no_more_memory_than_a_valid_one(call: str, body: str) -> None:
    assert peak_of(VERDICT_CALLS[call], GREEDY_VERDICTS[body]()) < 80 * MIB


@cases("call", VERDICT_CALLS.values(), ids=VERDICT_CALLS)
def test_values_that_need_much_memory_are_not_created(call: Call[Any]) -> None:
    with pytest.raises(InvalidAnswer, match="would take"):
        answered(call, rows_of(b"\x80", 110_000, b"\xa4note"))


@cases("name", GREEDY_PROBLEMS)
def test_a_hostile_problem_uses_no_more_memory_than_a_valid_one(name: str) -> None:
    body = GREEDY_PROBLEMS[name]()
    media = "application/problem+json" if body.startswith(b"{") else MSGPACK
    assert peak_of(ops(), body, media, 422) < 24 * MIB
