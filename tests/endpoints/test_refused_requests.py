"""Tests of refusals, whose messages contain the value, the limit and a remedy."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from measures import BYTES, CONSTANTS, FLOATS, answered, with_constant

from axiscast.checks import limits
from axiscast.checks.limits import Limit
from axiscast.wire.problems import PROBLEM_KINDS, Problem

DOCUMENTS: dict[str, dict[str, object]] = {
    "MAX_RANK": {"detail": "a shape has 5 axes, but the limit is 4", "limit": 4},
    "MAX_LISTED_AXES": {
        "detail": "3 inputs with up to 5 axes have 15 axes in total, but the limit is 14: send fewer inputs in one "
        "request",
        "limit": 14,
    },
    "MAX_SYMBOLIC_AXES": {
        "detail": "the inputs have 5 axes in total, but with symbolic sizes the limit is 4: send equal shapes only "
        "once",
        "limit": 4,
    },
    "MAX_CONDITIONS": {
        "detail": "the symbolic sizes have 3 or more conditions, but the limit is 2: give equal sizes the same name",
        "limit": 2,
    },
    "MAX_SYMBOLIC_MILLISECONDS": {
        "detail": "the symbolic sizes in this request would take about 206 ms, but the limit is 205 ms: send several "
        "requests, or fewer symbolic sizes",
        "limit": 205,
    },
    "MAX_TRANSLATED_INPUTS": {
        "detail": "a translation of 3 inputs has steps for each of them, but the limit is 2 inputs: send fewer inputs",
        "pointer": "/inputs",
        "limit": 2,
    },
    "MAX_BATCH_ROWS": {
        "detail": "requests: has 3 requests, but the limit of a batch is 2: send several batches, or columns if all "
        "requests have the same op and ranks",
        "pointer": "/requests",
        "limit": 2,
    },
    "MAX_COLUMN_SIZES": {
        "detail": "the rows have 20 sizes, including the sizes in the response, but the limit of a batch is 19: send "
        "fewer rows in one request",
        "pointer": "/inputs",
        "limit": 19,
    },
    "MAX_LOOKUPS": {
        "detail": "the window over merged axes has no strides, and its elements need 6 lookups, but the limit is 5: "
        "request smaller windows, or the whole output",
        "pointer": "/window",
        "limit": 5,
    },
    "MAX_ADDRESS": {
        "detail": "the output (2, 3) spans 6 bytes, but an array spans at most 2^63-1: only its shape can be checked",
        "elements": 6,
        "nbytes": 6,
        "limit": 5,
    },
}
"""The problem of a request that exceeds a limit by one."""
PAIRS: list[tuple[Callable[[], object], dict[str, object]]] = [
    (
        lambda: limits.validate_json_size(131_072, 1, 2**63),
        {
            "detail": "the JSON response would have 131072 elements, 1 lists and 9223372036854775808 bytes, but the "
            "limit is 131072 elements and lists, and 4194304 bytes: request MessagePack (Accept: "
            "application/vnd.msgpack), "
            'which streams, "layout": "strided", or a "window" of the output',
            "elements": 131_072,
            "nbytes": "9223372036854775808",
            "limit": 131_072,
        },
    ),
    (
        lambda: answered(10, inputs=[FLOATS, BYTES | {"shape": [1, 3]}]),
        {
            "detail": "the outputs have 30 bytes (the largest shape is (2, 3)), but the limit is 10: request layout "
            "'strided', which sends only the bytes of the inputs, or a window of the output",
            "elements": 12,
            "nbytes": 30,
            "limit": 10,
        },
    ),
]
"""The problems of requests with several figures in the message."""


def test_a_refusal_has_the_value_the_limit_and_the_remedy() -> None:
    found, wanted = [], []

    def note(work: Callable[[], object], members: dict[str, object]) -> None:
        with pytest.raises(Problem) as refused:
            work()
        document = refused.value.document()
        title = PROBLEM_KINDS[document["code"]][1]
        head = {"type": f"/problems/{document['code']}", "title": title, "status": 422}
        found.append(json.dumps(document, sort_keys=True))
        located = {name: members[name] for name in ("detail", "pointer") if name in members}
        errors = {"errors": [located]} if "pointer" in members else {}
        wanted.append(json.dumps({**head, "code": document["code"], **members, **errors}, sort_keys=True))

    for name, members in DOCUMENTS.items():
        measure, work = CONSTANTS[f"limits.{name}"][0]
        with_constant(f"limits.{name}", measure - 1, partial(note, work, members))
    for work, members in PAIRS:
        note(work, members)
    assert found == wanted
    assert set(DOCUMENTS) | {"MAX_JSON_ELEMENTS"} == {n for n, v in vars(limits).items() if isinstance(v, Limit)}
