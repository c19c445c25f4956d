"""Hints for shapes that do not broadcast."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cases import cases
from test_vectors import FOLDER

import axiscast
from axiscast.checks.check import answer_check
from axiscast.checks.hints.hints import MAX_HINT_ENTRIES
from axiscast.messages import CheckAnswer, CheckRequest, Hint
from axiscast.messages.validation import validate
from axiscast.ops import Op, ngraph, numpy, openvino, xarray
from axiscast.wire.problems import Problem

Shapes = list[tuple[int, ...]]


def find_hints(op: Op, *shapes: tuple[int, ...]) -> list[Hint]:
    conflict = answer_check(CheckRequest(op=op, inputs=list(shapes))).conflict
    assert conflict is not None
    return conflict.hints


MUTUAL = numpy.broadcast_arrays()
EXPLICIT = openvino.Broadcast3(mode="explicit", target_shape=(3, 4), axes_mapping=(0,))
BIDIRECTIONAL = openvino.Broadcast3(mode="bidirectional", target_shape=(2, 1))
HINTS: list[tuple[Op, Shapes, str, Op, Shapes]] = [
    (MUTUAL, [(1, 40, 23), (1, 23, 40)], "swap-axes", MUTUAL, [(1, 23, 40), (1, 23, 40)]),
    (MUTUAL, [(2, 3), (3, 1)], "swap-axes", MUTUAL, [(2, 3), (1, 3)]),
    (MUTUAL, [(3, 3, 2), (2, 3)], "swap-axes", MUTUAL, [(3, 2, 3), (2, 3)]),
    (MUTUAL, [(2, 64, 7, 9), (1, 1, 1, 64)], "swap-axes", MUTUAL, [(2, 64, 7, 9), (1, 64, 1, 1)]),
    (numpy.broadcast_to(shape=(5, 2, 3)), [(3, 2)], "swap-axes", numpy.broadcast_to(shape=(5, 2, 3)), [(2, 3)]),
    (MUTUAL, [(2, 64, 7, 7), (64,)], "reshape", MUTUAL, [(2, 64, 7, 7), (64, 1, 1)]),
    (MUTUAL, [(2, 12, 9), (2, 4, 12, 9)], "reshape", MUTUAL, [(2, 1, 12, 9), (2, 4, 12, 9)]),
    (MUTUAL, [(8, 5, 3, 7), (8, 3)], "reshape", MUTUAL, [(8, 5, 3, 7), (8, 1, 3, 1)]),
    (openvino.Broadcast1(mode="numpy", target_shape=(3, 4)), [(3,)], "attributes",
     openvino.Broadcast1(mode="explicit", target_shape=(3, 4), axes_mapping=(0,)), [(3,)]),
    (openvino.Broadcast1(mode="numpy", target_shape=(3, 4)), [(3,)], "other-op", EXPLICIT, [(3,)]),
    (numpy.broadcast_to(shape=(3, -1)), [(3, 4)], "attributes", numpy.broadcast_to(shape=(3, 4)), [(3, 4)]),
    (numpy.broadcast_to(shape=(3,)), [(1, 3)], "reshape", numpy.broadcast_to(shape=(3,)), [(3,)]),
    (ngraph.Broadcast(shape=(2, 3), broadcast_axes=(1,)), [(3,)], "attributes",
     ngraph.Broadcast(shape=(2, 3), broadcast_axes=(0,)), [(3,)]),
    (ngraph.BroadcastLike(initial_broadcast_axes=()), [(3,), (2, 3)], "attributes",
     ngraph.BroadcastLike(initial_broadcast_axes=(0,)), [(3,), (2, 3)]),
    (openvino.Broadcast3(target_shape=(2, 1)), [(2, 3)], "attributes", BIDIRECTIONAL, [(2, 3)]),
]  # fmt: skip
"""Each case has a request, and the code, the op and the shapes of a hint."""


@cases(("op", "shapes", "code", "other", "inputs"), HINTS, ids=str)
def test_a_hint_has_a_code_and_a_request_that_broadcasts(
    op: Op, shapes: Shapes, code: str, other: Op, inputs: Shapes
) -> None:
    found = [(hint.code, hint.request.op, hint.request.inputs) for hint in find_hints(op, *shapes) if hint.request]
    assert (code, other, inputs) in found


def test_only_the_inputs_that_conflict_are_changed() -> None:
    # Each input (4, 5) could have new axes in 27 places, and none of these changes helps.
    shapes = ((6, 7, 8, 9, 2, 3, 4, 5), (4, 5), (4, 5), (4, 5), (8, 9, 2))
    (hint,) = find_hints(MUTUAL, *shapes)
    assert hint.request is not None
    assert hint.request.inputs == [*shapes[:4], (8, 9, 2, 1, 1, 1)]


def test_there_is_no_hint_if_no_change_broadcasts() -> None:
    assert find_hints(MUTUAL, (3,), (4,)) == []


def test_a_request_with_many_attributes_has_no_hint() -> None:
    few, many = ((*map("n{}".format, range(count)),) for count in (MAX_HINT_ENTRIES, MAX_HINT_ENTRIES + 1))
    dims = (("x", "y"), ("x", "y"))
    shapes = [(2, 3), (3, 2)]
    assert [
        hint.request and hint.request.inputs for hint in find_hints(xarray.broadcast(dims=dims, exclude=few), *shapes)
    ] == [[(3, 2), (3, 2)]]
    assert find_hints(xarray.broadcast(dims=dims, exclude=many), *shapes) == []
    like = ngraph.BroadcastLike(initial_broadcast_axes=(0,))
    assert find_hints(like, (3,), (3, *[4] * (MAX_HINT_ENTRIES - 1)))
    assert find_hints(like, (3,), (3, *[4] * MAX_HINT_ENTRIES)) == []


def ask(request: dict[str, Any]) -> CheckAnswer:
    return answer_check(validate(CheckRequest, request))


def test_every_hint_of_every_vector_broadcasts() -> None:
    asked = 0
    for file in FOLDER.glob("*.jsonl"):
        for vector in map(json.loads, file.read_text().splitlines()):
            request = {field: vector[field] for field in ("op", "inputs", "assume") if field in vector}
            try:
                sent = json.loads(ask(request).model_dump_json(exclude_unset=True))
            except Problem:
                continue
            for hint in sent.get("conflict", {}).get("hints", []):
                proposed = request | hint["request"]
                assert ask(proposed).compatible is True, (vector["id"], hint)
                asked += 1
    assert asked > 1000


def test_a_hint_omits_attributes_that_are_not_set() -> None:
    request = {"op": "openvino.Add-1", "inputs": [[2, 3], [2]]}
    (hint,) = json.loads(ask(request).model_dump_json(exclude_unset=True))["conflict"]["hints"]
    op = {"name": "openvino.Add-1", "auto_broadcast": "numpy"}
    assert hint["request"] == {"op": op, "inputs": [[2, 3], [2, 1]]}


def test_a_hint_with_an_unknown_op_is_still_readable() -> None:
    request = {"op": {"name": "other.op", "shape": [3]}, "inputs": [[3]]}
    later = {"code": "other-op", "request": request, "message": "other.op fits"}
    assert Hint.model_validate(later) == Hint(code="other-op", request=None, message="other.op fits")


def test_a_hint_does_not_move_the_axis_of_an_attribute() -> None:
    def hints(op: str, *shapes: tuple[int, ...], **attributes: Any) -> list[Hint]:
        conflict = axiscast.check(op, *shapes, **attributes).conflict
        assert conflict is not None
        return conflict.hints

    assert hints("mxnet.broadcast_axis", (1, 3, 1), axis=1, size=2) == []
    assert hints("mxnet.broadcast_like", (1, 3), (3, 1), lhs_axes=(1,), rhs_axes=(0,)) == []
    assert hints("openvino.Add-1", (1, 3, 4), (2, 4), auto_broadcast="pdpd", axis=1) == []


def test_rows_of_different_numbers_can_be_combined_in_pairs() -> None:
    conflict = axiscast.check("numpy.subtract", (1000, 3), (12, 3)).conflict
    assert conflict
    (hint,) = conflict.hints
    assert (hint.code, hint.input, hint.shape) == ("all-pairs", 0, (1000, 1, 3))
    assert hint.request is not None
    assert axiscast.check(hint.request).shape == hint.output == (1000, 12, 3)
    for shapes in (((5, 3), (4, 2)), ((5,), (4,)), ((5, 3), (4, 3), (1,))):  # other sizes, vectors, three inputs
        conflict = axiscast.check("numpy.broadcast_arrays", *shapes).conflict
        assert conflict
        assert not [hint for hint in conflict.hints if hint.code == "all-pairs"]


@pytest.mark.parametrize("framework", ["ngraph", "poputil", "mindspore", "openvino", "numpy"])
def test_every_hint_stays_in_the_framework_of_the_request(framework: str) -> None:
    asked = 0
    for line in (FOLDER / f"{framework}.jsonl").read_text().splitlines():
        vector = json.loads(line)
        if vector["compatible"] is False:
            conflict = axiscast.check(vector["op"], *map(tuple, vector["inputs"])).conflict
            ops = [hint.request.op.name for hint in (conflict.hints if conflict else []) if hint.request]
            assert all(op.startswith(f"{framework}.") for op in ops), (vector["op"], vector["inputs"])
            asked += len(ops)
    assert asked > 10


def test_the_same_version_of_an_op_is_the_first_hint() -> None:
    request = openvino.Broadcast1(mode="explicit", target_shape=(2, 16), axes_mapping=(0,))
    hint = find_hints(request, (16,))[0]
    assert hint.request is not None
    assert hint.request.op == openvino.Broadcast1(mode="explicit", target_shape=(2, 16), axes_mapping=(1,))
