"""Batches of checks: invalid rows do not affect others, and columns agree with the frameworks row by row."""

from __future__ import annotations

import json
import pickle
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from cases import cases
from pydantic import ValidationError
from test_vectors import FILES, OP, vectors

import axiscast
from axiscast import Client
from axiscast.checks import batch_columns, batch_rows, limits
from axiscast.checks.batch_columns import answer_columns
from axiscast.checks.batch_rows import check_rows
from axiscast.checks.check import check_to_dict
from axiscast.messages.tensors import CheckColumnsRequest, CheckedColumns
from axiscast.messages.validation import validate
from axiscast.ops import OPS, lower
from axiscast.ops.families import Tile
from axiscast.plan.alignment import ShapeMismatch
from axiscast.wire.problems import Problem

SHAPE_ATTRIBUTES = {name: kind.target for name, kind in OPS.items() if kind.target} | {"jax.lax.broadcast": "sizes"}
SHAPE_ATTRIBUTES |= {name: kind.counts for name, kind in OPS.items() if issubclass(kind, Tile)}
del SHAPE_ATTRIBUTES["mxnet.broadcast_to"]  # integers alone: a size that is not one of them may be the 0 that keeps


def column(rows: Any, rank: int) -> dict[str, Any]:
    array = np.array(rows, np.int64).reshape(len(rows), rank)
    return {"dtype": "int64", "shape": list(array.shape), "data": array.tobytes()}


def columns_of(op: dict[str, Any], inputs: list[Any], targets: list[Any] | None = None) -> CheckedColumns:
    """Return the response to columns, given as lists of rows."""
    op = dict(op)
    if targets is not None:
        op[SHAPE_ATTRIBUTES[op["name"]]] = column(targets, len(targets[0]))
    tensors = [column(rows, len(rows[0])) for rows in inputs]
    return answer_columns(validate(CheckColumnsRequest, {"op": op, "inputs": tensors}))


def batches() -> Iterator[tuple[bool, list[dict[str, Any]]]]:
    """Return the vectors that fit into one batch, with fixed targets and with targets as columns."""
    for as_columns in (False, True):
        gathered: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for name in FILES:
            for vector in vectors(name):
                op = dict(vector["op"])
                attribute = SHAPE_ATTRIBUTES.get(op["name"])
                target = op.get(attribute or "")
                if as_columns and target is None:
                    continue
                if issubclass(OPS[op["name"]], Tile) and max(target, default=0) == 2**62:
                    continue  # see test_a_row_with_too_many_copies_is_refused
                if as_columns:
                    op[attribute] = len(target)
                gathered[json.dumps([op, [len(shape) for shape in vector["inputs"]]])].append(vector)
        yield from ((as_columns, group) for group in gathered.values())


def test_a_row_with_too_many_copies_is_refused() -> None:
    with pytest.raises(Problem, match=r"row 1 has a merged axis with more than 2\^63-1 elements: check this row"):
        columns_of({"name": "numpy.tile"}, [[(2,), (3,)]], [(2,), (2**62,)])
    assert axiscast.check("numpy.tile", (3,), reps=2**62).compatible is False


@cases(("size", "copies", "fits"), [
    (89547301328687144, 103, False),  # 2^63 + 24, which is less than 2^63 when it is rounded
    (454279, 20303320287433, True),  # 2^63 - 1, which is 2^63 when it is rounded
    (2**31, 2**32 - 1, True),
    (2**31, 2**32, False),
])  # fmt: skip
def test_a_row_at_the_limit_of_a_size_has_the_verdict_of_a_check(size: int, copies: int, fits: bool) -> None:
    assert axiscast.check("numpy.tile", (size,), reps=copies).compatible is fits
    if fits:
        answer = axiscast.check_columns("numpy.tile", np.array([[1], [size]]), reps=[copies])
        assert answer.shape.tolist() == [[copies], [size * copies]]
    else:
        with pytest.raises(axiscast.InvalidRequest, match="row 1 has a merged axis"):
            axiscast.check_columns("numpy.tile", np.array([[1], [size]]), reps=[copies])


def test_columns_agree_with_the_frameworks_row_by_row() -> None:
    rows = conflicts = 0
    refusing = set()  # see test_columns_and_symbolic_sizes_agree_with_integers_for_every_op
    for as_columns, group in batches():
        op = group[0]["op"]
        try:
            if (kind := OP.validate_python(op)).needs_integers() or kind.compares_sizes():
                refusing.add(op["name"])
                with pytest.raises(Problem, match="does not accept columns"):
                    columns_of(op, [[shape] for shape in group[0]["inputs"]])
                continue
        except ValidationError:
            continue
        targets = [vector["op"][SHAPE_ATTRIBUTES[op["name"]]] for vector in group] if as_columns else None
        answer = columns_of(op, [[vector["inputs"][n] for vector in group] for n in range(len(group[0]["inputs"]))],
                            targets)  # fmt: skip
        for row, vector in enumerate(group):
            assert bool(answer.compatible[row]) is vector["compatible"], vector["id"]
            rows += 1
            if vector["compatible"]:
                shapes = [output["shape"] for output in vector["outputs"]]
                assert [output[row].tolist() for output in answer.broadcast_inputs] == shapes, vector["id"]
                assert answer.conflict_axis[row] == -1
                continue
            conflicts += 1
            assert all((output[row] == -1).all() for output in answer.broadcast_inputs)
            negative = as_columns and min(vector["op"][SHAPE_ATTRIBUTES[op["name"]]], default=0) < 0
            if vector.get("conflict_axis") is not None and not negative:
                assert answer.conflict_axis[row] == vector["conflict_axis"], vector["id"]
    assert refusing == {
        "ngraph.BroadcastLike", "octave.plus", "octave.repmat", "poputil.canBroadcastToMatch",
    }  # fmt: skip
    assert rows > 6000
    assert conflicts > 1500


FIXED = [
    {"name": "numpy.broadcast_to", "shape": [2, 3, 0]},
    {"name": "numpy.broadcast_to", "shape": [2, -3]},
    {"name": "ngraph.Broadcast", "shape": [2, 3, 2], "broadcast_axes": [1]},
    {"name": "openvino.Broadcast-1", "mode": "pdpd", "target_shape": [2, 3, 2], "axis": 0},
    {"name": "openvino.Broadcast-1", "mode": "pdpd", "target_shape": [2, 3], "axis": 1},
    {"name": "openvino.Broadcast-3", "mode": "bidirectional", "target_shape": [2, 1, 3]},
    {"name": "openvino.Broadcast-1", "mode": "explicit", "target_shape": [2, 3, 2], "axes_mapping": [0, 2]},
    {"name": "torch.expand", "size": [3, -1, 2]},
    {"name": "paddle.expand", "shape": []},
    {"name": "stablehlo.broadcast_in_dim", "shape": [2, 3, 2], "broadcast_dimensions": [2, 0]},
    {"name": "mxnet.broadcast_axis", "axis": [0, 1, 0], "size": [2, 3, 1]},
    {"name": "einops.repeat", "pattern": "(a t) b -> b t (a 3)", "axes_lengths": {"t": 2}},
    {"name": "einops.repeat", "pattern": "(a b) 1 -> b a c", "axes_lengths": {"b": 3, "c": 0}},
    {"name": "einops.repeat", "pattern": "(a b) c -> (a b c)", "axes_lengths": {"b": 0}},
    {"name": "einops.repeat", "pattern": "... c -> (... c) 2"},
    {"name": "einops.repeat", "pattern": "(a b c) 1 -> a b c", "axes_lengths": {"b": 2**62, "c": 2**62}},
    {"name": "ngraph.BroadcastLike", "initial_broadcast_axes": [1]},
    {"name": "mxnet.broadcast_like", "lhs_axes": [0], "rhs_axes": [-1]},
    {"name": "mxnet.broadcast_like"},
    {"name": "poputil.expandToMatchRanks"},
    {"name": "numpy.broadcast_arrays"},
    {"name": "xarray.broadcast", "dims": [["x", "x"], ["x", "x"]]},
    {"name": "xarray.broadcast", "dims": [["x", "y"], ["y", "x"]], "exclude": ["x"]},
]


@cases("rank", [0, 1, 2, 3])
@cases("op", FIXED, ids=lambda op: op["name"])
def test_columns_give_the_same_results_as_separate_checks(op: dict[str, Any], rank: int) -> None:
    """The conflict axes are equal too. A row with a negative size has none."""
    if op["name"] == "xarray.broadcast" and rank != 2:
        return
    kind = OP.validate_python(op)
    random = np.random.default_rng(rank)
    ranks = [rank] if kind.max_inputs == 1 else [rank, 2]
    inputs = [random.choice([-1, 0, 1, 2, 3, 4, 6, 2**19], (500, rank), p=[0.02, 0.1, 0.3, 0.2, 0.2, 0.08, 0.05, 0.05])
              for rank in ranks]  # fmt: skip
    answer = columns_of(op, [rows.tolist() for rows in inputs])
    seen = set()
    for row in range(500):
        shapes = tuple(tuple(rows[row].tolist()) for rows in inputs)
        if min(size for shape in (*shapes, (0,)) for size in shape) < 0:
            wanted: Any = (False, None, -1)
        else:
            try:
                plan = lower(kind, shapes)
                wanted = (True, [list(output.shape) for output in plan.outputs], -1)
            except ShapeMismatch as incompatible:
                axis = incompatible.conflict.axis
                wanted = (False, None, -1 if axis is None else axis)
        found = [output[row].tolist() for output in answer.broadcast_inputs]
        assert (answer.compatible[row], answer.conflict_axis[row]) == (wanted[0], wanted[2]), shapes
        assert all(set(shape) <= {-1} for shape in found) if wanted[1] is None else found == wanted[1], shapes
        seen.add(wanted[0])
    assert seen


def test_a_target_column_keeps_sizes_at_minus_one_and_refuses_smaller_numbers() -> None:
    answer = columns_of({"name": "torch.expand"}, [[[3], [3], [3], [1], [4]]],
                        [[2, -1], [2, 3], [-1, 3], [2, -2], [2, 3]])  # fmt: skip
    assert answer.shape.tolist() == [[2, 3], [2, 3], [-1, -1], [-1, -1], [-1, -1]]
    assert answer.compatible.tolist() == [True, True, False, False, False]
    assert answer.conflict_axis.tolist() == [-1, -1, -1, -1, 1]


def test_blocks_of_rows_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    one, other = random.integers(0, 4, (1000, 3)).tolist(), random.integers(0, 4, (1000, 2)).tolist()
    whole = columns_of({"name": "numpy.broadcast_arrays"}, [one, other])
    monkeypatch.setattr(batch_columns, "BLOCK_ROWS", 7)
    parts = columns_of({"name": "numpy.broadcast_arrays"}, [one, other])
    assert (whole.compatible == parts.compatible).all()
    assert (whole.conflict_axis == parts.conflict_axis).all()
    assert (whole.shape == parts.shape).all()
    assert {True, False} == set(whole.compatible.tolist())


def test_an_empty_batch_has_an_empty_response(client: Client) -> None:
    answer = client.check_columns("numpy.broadcast_arrays", np.empty((0, 3), int), np.empty((0, 1), int))
    assert [array.shape for array in (answer.compatible, answer.conflict_axis, *answer.broadcast_inputs)] == [
        (0,), (0,), (0, 3), (0, 3),
    ]  # fmt: skip
    assert client.check_batch([]) == []


def test_a_merged_axis_beyond_int64_is_refused_with_a_message() -> None:
    with pytest.raises(Problem, match=r"2\^63-1"):
        columns_of({"name": "einops.repeat", "pattern": "a b -> (a b)"}, [[[2**40, 2**40]]])
    answer = columns_of({"name": "einops.repeat", "pattern": "a b -> (a b)"}, [[[2**40, -(2**40)], [2, 3]]])
    assert answer.shape.tolist() == [[-1], [6]]


def test_an_invalid_row_does_not_affect_the_others(client: Client) -> None:
    good, ours, theirs, unknown, symbolic, again = client.check_batch(
        [
            {"inputs": [(8, 1, 6, 1), (7, 1, 5)]},
            {"op": axiscast.numpy.broadcast_to(shape=(4, 3)), "inputs": [(2,)]},
            {"op": "numpy.broadcast_to", "inputs": [(2,)]},
            {"op": {"name": "numpy.broadcast"}, "inputs": [(2,)]},
            {"inputs": [("N", 3), ("M", 1)], "assume": {"N": "2.."}},
            axiscast.CheckRequest(op=axiscast.jax.broadcast(sizes=(2,)), inputs=((3,),), dtype="int8"),
        ]
    )
    assert good.outputs[0].shape == (8, 7, 6, 5)
    assert ours.conflict is not None
    assert ours.conflict.axis == 1
    assert (theirs.code, theirs.pointer) == ("invalid-request", "/requests/2/op/shape")
    assert (unknown.code, unknown.pointer) == ("unknown-op", "/requests/3/op")
    assert symbolic.compatible is None
    assert symbolic.conditions
    assert (again.outputs[0].shape, again.outputs[0].nbytes) == ((2, 3), 6)


def test_rows_and_columns_in_json(http: httpx.Client) -> None:
    rows = http.post("/v1/check/batch", json={"requests": [{"inputs": [[3, 1], [4]]}, 7]}).json()
    assert rows["results"][0]["outputs"] == [{"shape": [3, 4], "elements": 12}]
    assert rows["results"][0]["broadcast_inputs"][1] == {
        "input": 1, "shape": [3, 4], "axes": [1], "broadcast_axes": [0],
    }  # fmt: skip
    assert rows["results"][1]["error"]["code"] == "invalid-request"
    answer = http.post(
        "/v1/check/columns",
        json={
            "op": {"name": "mindspore.broadcast_to", "shape": {"shape": [2, 2], "data": [[-1, 4], [2, 5]]}},
            "inputs": [{"shape": [2, 2], "data": [[3, 1], [5, 4]]}],
        },
    ).json()
    assert answer == {
        "compatible": {"dtype": "bool", "shape": [2], "data": [True, False]},
        "shape": {"dtype": "int64", "shape": [2, 2], "data": [[3, 4], [-1, -1]]},
        "broadcast_inputs": [{"dtype": "int64", "shape": [2, 2], "data": [[3, 4], [-1, -1]]}],
        "conflict_axis": {"dtype": "int64", "shape": [2], "data": [-1, 0]},
    }


def test_a_million_rows_are_checked_in_one_request(client: Client) -> None:
    one, other = np.broadcast_to([8, 1, 6, 1], (10**6, 4)), np.tile([7, 1, 5], (10**6, 1))
    other[::1000, 2] = 0
    other[::5000, 0] = -7
    answer = client.check_columns("numpy.broadcast_arrays", one, other)
    assert answer.compatible.sum() == 10**6 - 200
    assert (answer.shape[1] == [8, 7, 6, 5]).all()
    assert (answer.broadcast_inputs[1][1000] == [8, 7, 6, 0]).all()


@cases(
    ("body", "code", "words"),
    [
        ({}, "invalid-request", "inputs: is missing"),
        ({"requests": [], "inputs": []}, "invalid-request", "send a list of requests to /v1/check/batch"),
        ({"inputs": []}, "invalid-request", "at least 1 input"),
        ({"inputs": [{"shape": [2], "data": [1, 2]}]}, "invalid-tensor", "(n, rank)"),
        ({"inputs": [{"shape": [1, 1], "data": [[1.5]]}]}, "invalid-tensor", "float64"),
        ({"inputs": [{"shape": [1, 1], "data": [[1]]}, {"shape": [2, 1], "data": [1, 2]}]}, "invalid-request",
         "1 and 2 rows"),
        ({"op": {"name": "torch.expand", "size": ["N"]}, "inputs": [{"shape": [1, 1], "data": [[1]]}]},
         "invalid-request", "columns do not accept unknown sizes"),
        ({"op": {"name": "ngraph.Broadcast", "shape": [2], "broadcast_axes": {"shape": [1, 1], "data": [[0]]}},
          "inputs": [{"shape": [1, 1], "data": [[1]]}]}, "invalid-request", "broadcast_axes"),
        ({"op": 7, "inputs": [{"shape": [1, 1], "data": [[1]]}]}, "invalid-request", "op"),
        ({"inputs": [{"dtype": "int64", "shape": [10**12, 2], "strides": [0, 1], "data": [1, 2]}]}, "work-too-large",
         "fewer rows"),
        ({"inputs": [{"dtype": "int64", "shape": [10**12, 0], "data": []}]}, "work-too-large", "fewer rows"),
    ],
)  # fmt: skip
def test_invalid_columns_are_a_problem(http: httpx.Client, body: Any, code: str, words: str) -> None:
    answer = http.post("/v1/check/columns", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert words in answer.json()["detail"]


def test_the_shape_is_what_the_function_returns() -> None:
    product = columns_of({"name": "numpy.matmul"}, [[[2, 3], [2, 3]], [[3, 4], [4, 4]]])
    assert product.shape.tolist() == [[2, 4], [-1, -1]]
    assert [rows.tolist() for rows in product.broadcast_inputs] == [[[2, 3], [-1, -1]], [[3, 4], [-1, -1]]]
    refused = columns_of({"name": "numpy.matmul"}, [[[2, 3, 4]], [[]]])
    assert (refused.compatible.tolist(), set(refused.shape.ravel().tolist())) == ([False], {-1})


def test_columns_have_no_single_truth_value(client: Client) -> None:
    answer = client.check_columns("numpy.add", [[3], [3]], [[1], [3]])
    with pytest.raises(ValueError, match=r"2 verdicts, one for each row: use answer\.compatible\.all\(\)"):
        assert answer
    assert answer.compatible.all()
    copied = pickle.loads(pickle.dumps(answer))
    assert (copied.shape == answer.shape).all()


def test_too_many_rows_are_refused() -> None:
    with pytest.raises(Problem, match="columns"):
        list(check_rows([{}] * (limits.MAX_BATCH_ROWS + 1)))


@pytest.mark.parametrize(
    ("work", "late"),
    [(lambda: time.sleep(0.1), None), (lambda: sum(range(10**7)), "work-too-large")],
    ids=["waits", "works"],
)
def test_rows_are_late_by_cpu_time(
    work: Callable[[], object], late: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*arguments: Any) -> dict[str, Any]:
        work()
        return check_to_dict(*arguments)

    monkeypatch.setattr("axiscast_service.endpoints.batch.TURN_SECONDS", 0)
    monkeypatch.setattr(batch_rows, "MAX_BATCH_SECONDS", 0.05)
    monkeypatch.setattr(batch_rows, "check_to_dict", slow)
    with Client.in_process() as client:
        first, second = client.check_batch([{"inputs": [(3,)], "dtype": "int8"}] * 2)  # no plain checks
    assert (getattr(first, "code", None), getattr(second, "code", None)) == (None, late)
