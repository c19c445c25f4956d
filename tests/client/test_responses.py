"""Responses that do not match their request, problems and mutated responses."""

from __future__ import annotations

from typing import Any

import msgpack
import numpy as np
import pytest
from cases import cases
from conftest import Served
from test_vectors import FILES, OP, vectors

import axiscast
from axiscast import Client, InvalidAnswer
from axiscast.client.attempt import Attempt
from axiscast.client.call import Call
from axiscast.client.expected_response import expected_outputs
from axiscast.client.request_building import (
    backprop,
    broadcast,
    broadcast_shapes,
    check,
    check_batch,
    check_columns,
    compare,
    ops,
)
from axiscast.ops import einops, ngraph, numpy

ROW = np.array([1, 2, 3], np.float32)
COLUMN = np.array([[1], [2]], np.int64)
MSGPACK = "application/vnd.msgpack"
MIB = 2**20


def answered(call: Call[Any], body: bytes, media: str = MSGPACK, status: int = 200, piece: int = 65536) -> Any:
    """Return the result of a call for this response."""
    attempt = Attempt(call, None)
    attempt.start_response(status, {"content-type": media, "content-length": str(len(body))})
    for start in range(0, len(body), piece):
        attempt.feed(body[start : start + piece])
    return attempt.finish()


def tensor(array: Any, **fields: Any) -> dict[str, Any]:
    """Return an array as a dense tensor, with some fields replaced."""
    array = np.asarray(array)
    return {"dtype": array.dtype.name, "shape": list(array.shape)} | fields | {"data": array.tobytes()}


# --- shapes that are known before the response ----------------------------------------------------


@cases("name", FILES)
def test_expected_outputs_have_the_shapes_of_the_framework(name: str) -> None:
    for vector in vectors(name):
        if vector["compatible"]:
            expected = [tuple(output["shape"]) for output in vector["outputs"]]
            inputs = [np.broadcast_to(np.int8(0), shape) for shape in vector["inputs"]]
            known = expected_outputs(OP.validate_python(vector["op"]), inputs, "strided", None)
            assert [output.shape for output in known or ()] == expected, vector["id"]


# --- responses to different requests ---------------------------------------------------------------

TO = broadcast([numpy.broadcast_to(shape=(2, 3)), ROW], {})
AGAINST = broadcast(["numpy.broadcast_arrays", COLUMN, ROW], {})
STRIDED = broadcast([ngraph.Broadcast(shape=(2, 3), broadcast_axes={0}), ROW], {"layout": "strided"})
BOX = broadcast(["numpy.broadcast_arrays", COLUMN, ROW], {"window": [(0, 1), (1, 3)]})
GRADIENT = backprop(
    "numpy.broadcast_arrays", [(2, 1), (3,)], [np.ones((2, 3), np.float16), np.ones((2, 3))], "numpy", {}
)
LIKE = backprop(
    ngraph.BroadcastLike(initial_broadcast_axes=()), [(2,), (2, 3)], [np.ones((2, 3), np.float16)], "numpy", {}
)
MERGE = einops.repeat(pattern="h (w b) ... -> b (h c) ... w", axes_lengths={"b": 2, "c": 3})
REPEAT = broadcast([MERGE, np.zeros((5, 8, 7), np.int8)], {})
SHAPES = check_columns("numpy.broadcast_arrays", [[[2, 3]] * 4, [[1]] * 4], {})
LATER_COLUMNS = check_columns("numpy.later", [[[2, 3]] * 4, [[1]] * 4], {})

WIDE = np.zeros((2, 3), np.float32)
TRUE, NONE, ROWS = np.ones(4, np.bool_), np.full(4, -1), np.zeros((4, 2), np.int64)


def arrays(*tensors: dict[str, Any]) -> dict[str, Any]:
    return {"broadcast_inputs": list(tensors)}


def gradients(*tensors: dict[str, Any]) -> dict[str, Any]:
    return {"gradients": list(tensors)}


def columns(compatible: Any = TRUE, shapes: Any = (ROWS, ROWS), axis: Any = NONE, shape: Any = ROWS) -> dict[str, Any]:
    return {
        "compatible": tensor(compatible),
        **({} if shape is None else {"shape": tensor(shape)}),
        "broadcast_inputs": [tensor(rows) for rows in shapes],
        "conflict_axis": tensor(axis),
    }


MANY = {"shape": [2**40, 3], "strides": [1, 0]}
RIGHT = {
    "one shape": (TO, arrays(tensor(WIDE))),
    "two arrays": (AGAINST, arrays(tensor(np.zeros((2, 3), int)), tensor(WIDE))),
    "strided": (STRIDED, arrays(tensor(ROW, shape=[2, 3], strides=[0, 1]))),
    "a box": (BOX, arrays(tensor(np.zeros((1, 2), int)), tensor(np.zeros((1, 2), np.float32)))),
    "gradients": (GRADIENT, gradients(tensor(np.ones((2, 1), np.float16)), tensor(np.ones(3)))),
    "a gradient of zeros": (
        LIKE,
        gradients(tensor(np.ones(2, np.float16)), tensor(np.zeros(1, np.float16), shape=[2, 3], strides=[0, 0])),
    ),
    "an einops pattern": (REPEAT, arrays(tensor(np.zeros((2, 15, 7, 4), np.int8)))),
    "columns": (SHAPES, columns()),
    "columns of a later op": (LATER_COLUMNS, columns()),
    "many bins": (TO, arrays(tensor(WIDE) | {"data": [b""] * 999 + [WIDE.tobytes()]})),
    "fields of later releases": (TO, arrays(tensor(WIDE) | {"note": {"a": [1]}}) | {"more": [1, {}]}),
    "an op of later releases": (broadcast(["numpy.later", ROW], {}), arrays(tensor(TRUE))),
}
WRONG = {
    "another dtype of the same width": (TO, arrays(tensor(WIDE.view(np.int32)))),
    "another dtype": (TO, arrays(tensor(WIDE.astype(np.float64)))),
    "another shape of as many bytes": (TO, arrays(tensor(WIDE, shape=[3, 2]))),
    "more rows": (TO, arrays(tensor(np.zeros((4, 3), np.float32)))),
    "its input": (TO, arrays(tensor(ROW))),
    "one axis too many": (TO, arrays(tensor(WIDE, shape=[1, 2, 3]))),
    "no array": (TO, arrays()),
    "an array too many": (TO, arrays(tensor(WIDE), tensor(WIDE))),
    "an array too few": (AGAINST, arrays(tensor(np.zeros((2, 3), int)))),
    "arrays that changed places": (AGAINST, arrays(tensor(WIDE), tensor(np.zeros((2, 3), int)))),
    "arrays of which one is not broadcast": (AGAINST, arrays(tensor(np.zeros((2, 3), int)), tensor(ROW))),
    "strided for dense": (TO, arrays(tensor(ROW, shape=[2, 3], strides=[0, 1]))),
    "dense for strided": (STRIDED, arrays(tensor(WIDE))),
    "strided, and more elements than the input": (STRIDED, arrays(tensor(WIDE, strides=[3, 1]))),
    "the whole for a box": (BOX, arrays(tensor(np.zeros((2, 3), int)), tensor(WIDE))),
    "a box of another shape": (BOX, arrays(tensor(np.zeros((2, 1), int)), tensor(np.zeros((2, 1), np.float32)))),
    "a gradient of the output's shape": (GRADIENT, gradients(tensor(np.ones((2, 3), np.float16)), tensor(np.ones(3)))),
    "a gradient of the sum's dtype": (GRADIENT, gradients(tensor(np.ones((2, 1))), tensor(np.ones(3)))),
    "a gradient too few": (GRADIENT, gradients(tensor(np.ones((2, 1), np.float16)))),
    "a gradient too many": (LIKE, gradients(*[tensor(np.ones(2, np.float16))] * 3)),
    "a gradient of zeros in another dtype": (LIKE, gradients(tensor(np.ones(2, np.float16)), tensor(np.zeros((2, 3))))),
    "a gradient with more data than elements": (
        LIKE,
        gradients(tensor(np.ones(2, np.float16)), tensor(np.zeros(13, np.float16), shape=[2, 3], strides=[10, 1])),
    ),
    "an einops pattern, not merged": (REPEAT, arrays(tensor(np.zeros((2, 5, 3, 7, 4), np.int8)))),
    "bins without number": (TO, arrays(tensor(WIDE) | {"data": [b""] * 1000 + [WIDE.tobytes()]})),
    "a row too few": (SHAPES, columns(compatible=TRUE[:3])),
    "an axis too few": (SHAPES, columns(axis=NONE[:3])),
    "a shape too few": (SHAPES, columns(shapes=(ROWS[:3], ROWS))),
    "no shape": (SHAPES, columns(shape=None)),
    "a shape of fewer rows": (SHAPES, columns(shape=ROWS[:3])),
    "no shape of a later op": (LATER_COLUMNS, columns(shape=None)),
    "one input's shapes": (SHAPES, columns(shapes=(ROWS,))),
    "more axes than any input": (SHAPES, columns(shapes=(np.zeros((4, 3), int),) * 2)),
    "verdicts that are numbers": (SHAPES, columns(compatible=NONE)),
    "shapes of 32 bits": (SHAPES, columns(shapes=(ROWS.astype(np.int32),) * 2)),
    "axes of 32 bits": (SHAPES, columns(axis=NONE.astype(np.int32))),
    "a field twice": (TO, b"\x82" + msgpack.packb(arrays(tensor(WIDE)))[1:] * 2),
    "a key twice": (TO, b"\x81\xb0broadcast_inputs\x91\x84\xa5dtype\xa7float32" + msgpack.packb(tensor(WIDE))[1:]),
    "a map with a key too few": (TO, b"\x81\xb0broadcast_inputs\x91\x84" + msgpack.packb(tensor(WIDE))[1:]),
    "an answer to inputs that do not broadcast": (
        broadcast([einops.repeat(pattern="a b -> b a"), ROW], {}),
        arrays(tensor(ROW)),
    ),
}


def body_of(answer: Any) -> bytes:
    return answer if isinstance(answer, bytes) else bytes(msgpack.packb(answer))


@cases("piece", [1, 65536])
@cases(("call", "answer"), RIGHT.values(), ids=RIGHT)
def test_a_matching_response_is_accepted(call: Call[Any], answer: Any, piece: int) -> None:
    assert len(answered(call, body_of(answer), piece=piece)) > 0


@cases("piece", [1, 65536])
@cases(("call", "answer"), WRONG.values(), ids=WRONG)
def test_a_response_to_a_different_request_raises_invalid_answer(call: Call[Any], answer: Any, piece: int) -> None:
    with pytest.raises(InvalidAnswer):
        answered(call, body_of(answer), piece=piece)


def test_a_response_is_checked_against_the_request_before_out_is_checked_against_it() -> None:
    call = broadcast([numpy.broadcast_to(shape=(2, 3)), ROW], {"out": [np.empty((3, 2), np.float32)]})
    with pytest.raises(ValueError, match="out is") as caught:
        answered(call, body_of(arrays(tensor(WIDE))))
    assert not isinstance(caught.value, axiscast.AxiscastError)
    with pytest.raises(InvalidAnswer):
        answered(call, body_of(arrays(tensor(WIDE, shape=[3, 2]))))


OUTPUT = {"shape": [2, 3], "elements": 6}
ROWED = {"input": 0, "shape": [2, 3], "axes": [0, 1], "broadcast_axes": [1]}
REACHED = [ROWED, {"input": 1, "shape": [2, 3], "axes": [1], "broadcast_axes": [0]}]
CONFLICT = {"code": "size-mismatch", "message": "no", "axis": 0, "inputs": [0, 1], "sizes": [2, 3]}
FITS = {"compatible": True, "shape": [2, 3], "outputs": [OUTPUT] * 2, "broadcast_inputs": REACHED}
CONFLICTING = {"compatible": False, "conflict": CONFLICT}
PAIR: dict[str, Any] = {"op": "numpy.broadcast_arrays", "inputs": [(2, 1), (3,)]}
FAILED = {"error": {"type": "/problems/unknown-op", "title": "", "status": 422, "detail": "no", "code": "unknown-op"}}


def without(*fields: str) -> dict[str, Any]:
    """Return the response to PAIR without some fields."""
    return {name: value for name, value in FITS.items() if name not in fields}


VERDICTS = {
    "an output too few": FITS | {"outputs": [OUTPUT]},
    "no output": without("outputs", "shape"),
    "an output too many": FITS | {"outputs": [OUTPUT] * 3},
    "an input too few": FITS | {"broadcast_inputs": [ROWED]},
    "no input": without("broadcast_inputs"),
    "an input too many": FITS | {"broadcast_inputs": [*REACHED, ROWED]},
    "neither outputs nor inputs": {"compatible": True},
    "no shape": without("shape"),
    "the shape of no output": FITS | {"shape": [2, 4]},
    "a conflict too": FITS | {"conflict": CONFLICT},
    "outputs too": CONFLICTING | {"outputs": [OUTPUT] * 2},
    "inputs too": CONFLICTING | {"broadcast_inputs": REACHED},
    "a shape too": CONFLICTING | {"shape": [2, 3]},
    "no conflict": {"compatible": False},
    "conditions and no output": {"compatible": None},
    "a conflict where it fits": {"compatible": True, "conflict": CONFLICT},
    "outputs where it does not": FITS | {"compatible": False},
}


@cases("verdict", VERDICTS.values(), ids=VERDICTS)
def test_a_contradictory_verdict_raises_invalid_answer(verdict: dict[str, Any]) -> None:
    for call, answer in (
        (check([PAIR["op"], *PAIR["inputs"]], {}), verdict),
        (check_batch([PAIR, PAIR]), {"results": [FITS, verdict]}),
        (
            compare(PAIR["inputs"], None, None, (), ()),
            {"results": [{"op": {"name": "torch.broadcast_tensors"}} | verdict]},
        ),
    ):
        with pytest.raises(InvalidAnswer):
            answered(call, body_of(answer))


@cases("results", [None, [], [FITS], [FITS] * 3], ids=["none", "no row", "one row", "three rows"])
def test_a_batch_has_a_result_for_each_request(results: Any) -> None:
    with pytest.raises(InvalidAnswer):
        answered(check_batch([PAIR, PAIR]), body_of({"results": results}))
    one, other = answered(
        check_batch([PAIR, {"op": "numpy.later", "inputs": [(3,)]}]), body_of({"results": [CONFLICTING, FAILED]})
    )
    assert (one.compatible, other.code) == (False, "unknown-op")


@cases("size", ["N", "9" * 5000, "-", "²"])
def test_the_shape_of_integer_sizes_contains_no_symbols(size: str) -> None:
    shape = {"shape": [size, 3]}
    answer = FITS | shape | {"outputs": [shape], "broadcast_inputs": [broadcast | shape for broadcast in REACHED]}
    with pytest.raises(InvalidAnswer):
        answered(broadcast_shapes(PAIR["inputs"]), body_of(answer))


def test_the_response_to_the_longest_batch_is_read() -> None:
    # The response is written by hand, because a service on a busy machine may exceed its own time limit.
    call = check_batch([{"inputs": [(8, 1, 6, 1), (7, 1, 5)]}] * 10_000)
    one = {
        "compatible": True,
        "op": {"name": "numpy.broadcast_shapes"},
        "shape": [8, 7, 6, 5],
        "outputs": [{"shape": [8, 7, 6, 5], "elements": 1680}],
        "broadcast_inputs": [
            {"input": 0, "shape": [8, 7, 6, 5], "axes": [0, 1, 2, 3], "broadcast_axes": [1, 3]},
            {"input": 1, "shape": [8, 7, 6, 5], "axes": [1, 2, 3], "broadcast_axes": [0, 2]},
        ],
        "warnings": [],
    }
    answers = answered(call, body_of({"results": [one] * 10_000}))
    assert [(answer.shape, answer.broadcast_inputs[1].axes) for answer in answers] == [
        ((8, 7, 6, 5), (1, 2, 3))
    ] * 10_000


def test_more_than_a_thousand_outputs_are_read(service: Served) -> None:
    with Client(service.url) as client:
        arrays = client.broadcast_arrays(*(np.full(1, number, np.int16) for number in range(1500)), np.zeros(2))
    assert [array.tolist() for array in arrays[:-1]] == [[number] * 2 for number in range(1500)]


# --- problems -------------------------------------------------------------------------------------


@cases("member", ["detail", "pointer"])
@cases("depth", [1, 500, 900])
def test_a_problem_field_that_is_not_a_string_is_none(member: str, depth: int) -> None:
    document = b"\x82\xa4code\xa8internal" + msgpack.packb(member) + b"\x91" * depth + b"\xc0"
    with pytest.raises(axiscast.InternalError) as caught:
        answered(ops(), document, status=500)
    assert (caught.value.detail, caught.value.pointer, str(caught.value)) == ("", None, "internal")


def test_a_problem_has_the_status_of_its_response() -> None:
    with pytest.raises(axiscast.Overloaded) as caught:
        answered(ops(), b'{"code": "overloaded", "status": 422}', "application/problem+json", 503)
    assert caught.value.status == 503


@cases(
    "document",
    [b"{", b"[]", b'{"code": 7}', b'{"code": ["overloaded"]}', b'{"code": "\xff"}', b"[" * 10**5, b'{"code": NaN}'],
    ids=lambda document: document[:20].decode("latin-1"),
)
def test_an_error_without_a_problem_document_raises_unexpected_status(document: bytes) -> None:
    with pytest.raises(
        axiscast.UnexpectedStatus, match="the response has status 503 Service Unavailable but no problem document"
    ):
        answered(ops(), document, "application/problem+json", 503)
