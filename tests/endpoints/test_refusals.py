"""A refusal says how much there is, how much may be, and what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from measures import BYTES, CONSTANTS, FLOATS, answered, with_constant

from axiscast.answers import limits
from axiscast.answers.limits import Limit
from axiscast.wire.problems import PROBLEM_KINDS, Problem

DOCUMENTS: dict[str, dict[str, object]] = {
    "MAX_RANK": {"detail": "a shape has 5 axes; this service takes up to 4", "limit": 4},
    "MAX_LISTED_AXES": {
        "detail": "3 inputs of up to 5 axes make 15 axes; this service takes up to 14: send fewer inputs at once",
        "limit": 14,
    },
    "MAX_SYMBOLIC_AXES": {
        "detail": "the inputs have 5 axes; where sizes are not known this service takes up to 4: send inputs of equal "
        "shape once",
        "limit": 4,
    },
    "MAX_CONDITIONS": {
        "detail": "the sizes that are not known and meet put 3 conditions or more on each other; this service weighs "
        "up to 2: give one name to sizes that are equal",
        "limit": 2,
    },
    "MAX_TRANSLATED_INPUTS": {
        "detail": "a translation has steps for each of its 3 inputs; this service writes them for up to 2: send fewer",
        "pointer": "/inputs",
        "limit": 2,
    },
    "MAX_BATCH_ROWS": {
        "detail": "requests: there are 3; one batch takes up to 2: send several, or columns, where all have one op and "
        "inputs of the same rank",
        "pointer": "/requests",
        "limit": 2,
    },
    "MAX_COLUMN_SIZES": {
        "detail": "the rows have 16 sizes, those of the answer counted; one batch takes up to 15: send fewer rows at "
        "once",
        "pointer": "/inputs",
        "limit": 15,
    },
    "MAX_ROWS_ALONE": {
        "detail": "2 rows do not broadcast, and which axis is to blame must be found row by row for this op: one batch "
        "takes up to 1 such rows",
        "pointer": "/inputs",
        "limit": 1,
    },
    "MAX_WORK_ELEMENTS": {
        "detail": "the gradients have 6 elements to sum, replicated axes counted once; this service sums up to 5: send "
        "the gradient in slices and add the results",
        "elements": 6,
        "limit": 5,
    },
    "MAX_RESULT_ELEMENTS": {
        "detail": "the gradients of the inputs have 3 elements; this service makes up to 2 at once: send the gradient "
        "in slices and join the results",
        "elements": 3,
        "limit": 2,
    },
    "MAX_LOOKUPS": {
        "detail": "no strides read this window of merged axes, and its elements take 6 lookups; this service does up "
        "to 5: ask for smaller windows, or for the whole output",
        "pointer": "/window",
        "limit": 5,
    },
    "MAX_ADDRESS": {
        "detail": "the output (2, 3) spans 6 bytes, more than the 2^63-1 that an array can: its shape can be checked, "
        "not sent",
        "elements": 6,
        "nbytes": 6,
        "limit": 5,
    },
}
"""What the first way in to a constant is told, one above it."""
PAIRS: list[tuple[Callable[[], object], dict[str, object]]] = [
    (
        lambda: limits.validate_json_size(131_072, 1, 2**63),
        {
            "detail": "a JSON answer holds up to 131072 elements and lists of them, of 4194304 bytes in all, and this "
            "one would hold 131072 elements in 1 lists, of 9223372036854775808 bytes: ask for MessagePack (Accept: "
            'application/vnd.msgpack), which streams, for "layout": "strided", or for a "window" of the output',
            "elements": 131_072,
            "nbytes": "9223372036854775808",
            "limit": 131_072,
        },
    ),
    (
        lambda: answered(10, inputs=[FLOATS, BYTES | {"shape": [1, 3]}]),
        {
            "detail": "the outputs, the largest (2, 3), take 30 bytes; this service sends up to 10: ask for "
            "layout strided, which costs only the bytes of the inputs, or for a window of the output",
            "elements": 12,
            "nbytes": 30,
            "limit": 10,
        },
    ),
]
"""What is told of two figures at once."""


def test_a_refusal_says_how_much_there_is_and_may_be_and_what_to_do() -> None:
    found, wanted = [], []

    def note(work: Callable[[], object], members: dict[str, object]) -> None:
        with pytest.raises(Problem) as refused:
            work()
        document = refused.value.document()
        title = PROBLEM_KINDS[document["code"]][1]
        head = {"type": f"/problems/{document['code']}", "title": title, "status": 422}
        found.append(json.dumps(document))
        wanted.append(json.dumps({**head, "detail": members["detail"], "code": document["code"]} | members))

    for name, members in DOCUMENTS.items():
        measure, work = CONSTANTS[f"limits.{name}"][0]
        with_constant(f"limits.{name}", measure - 1, partial(note, work, members))
    for work, members in PAIRS:
        note(work, members)
    assert found == wanted
    assert set(DOCUMENTS) | {"MAX_JSON_ELEMENTS"} == {n for n, v in vars(limits).items() if isinstance(v, Limit)}
