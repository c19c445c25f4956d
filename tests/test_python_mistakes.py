"""Tests of mistaken Python calls: each message must lead to the correct call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import numpy as np
import pytest
from cases import cases

import axiscast
from axiscast import AsyncClient, CheckRequest, Client, InvalidRequest, UnknownOp
from axiscast.ops import OPS, torch

ROW, ONES = np.array([1.0, 2.0, 3.0]), np.ones((2, 3))
Mistake = tuple[Callable[[Any], Any], type[Exception], str, Callable[[Any], Any]]


class TorchSize(tuple[int, ...]):
    """A stand-in for torch.Size."""


BOTH: list[Mistake] = [
    # the call, its exception, what it says, and the call repaired
    (lambda t: t.check("numpy.add", [(3, 4), (4,)]), TypeError,
     "pass several shapes as separate arguments, (3, 4), (4,)",
     lambda t: t.check("numpy.add", (3, 4), (4,))),
    (lambda t: t.compare([(3,), (4,)]), TypeError, "pass several shapes as separate arguments, (3,), (4,)",
     lambda t: t.compare((3,), (4,))),
    (lambda t: t.translate("numpy.broadcast_arrays", [(3,), (2, 1)], to="torch.broadcast_tensors"), TypeError,
     "pass several shapes as separate arguments, (3,), (2, 1)",
     lambda t: t.translate("numpy.broadcast_arrays", (3,), (2, 1), to="torch.broadcast_tensors")),
    (lambda t: t.check(op="numpy.add", inputs=[(3, 4), (4,)]), TypeError,
     'op is an unknown keyword: pass the op and the inputs as separate arguments, such as "numpy.add", (3, 1), (4,)',
     lambda t: t.check("numpy.add", (3, 4), (4,))),
    (lambda t: t.check("numpy.add", shapes=[(3, 4), (4,)]), TypeError, "shapes is an unknown keyword",
     lambda t: t.check("numpy.add", (3, 4), (4,))),
    (lambda t: t.check("numpy.broadcast_to", (3,)), InvalidRequest,
     "numpy.broadcast_to: shape: is missing: write for instance shape=[4, 3]",
     lambda t: t.check("numpy.broadcast_to", (3,), shape=[4, 3])),
    (lambda t: t.check("torch.expand", (3,), shape=(2, 3)), InvalidRequest,
     "torch.expand: shape: is an unknown field: write size, which is missing, instead of shape",
     lambda t: t.check("torch.expand", (3,), size=(2, 3))),
    (lambda t: t.check("torch.expand", (3,), size=(2, 3), sise=(2, 3)), InvalidRequest, "did you mean size?",
     lambda t: t.check("torch.expand", (3,), size=(2, 3))),
    (lambda t: t.check("numpy.broadcast_arrays", (3,), dtyp="float32"), TypeError,
     "dtyp is an unknown keyword: did you mean dtype?",
     lambda t: t.check("numpy.broadcast_arrays", (3,), dtype="float32")),
    (lambda t: t.check("torch.expand", (3,), size=(2, 3), explian=True), TypeError, "did you mean explain?",
     lambda t: t.check("torch.expand", (3,), size=(2, 3), explain=True)),
    (lambda t: t.check(torch.expand(size=(2, 3)), (3,), size=(2, 3)), TypeError,
     "size= can't be combined with an op object: write it inside, axiscast.torch.expand(size=(2, 3)), or pass the "
     "op's name, 'torch.expand'",
     lambda t: t.check("torch.expand", (3,), size=(2, 3))),
    (lambda t: t.check(torch.expand, (3,)), TypeError,
     "expand is the class of torch.expand, not an op: write axiscast.torch.expand(size=(3, -1))",
     lambda t: t.check(axiscast.torch.expand(size=(3, -1)), (3,))),
    (lambda t: t.check(OPS["numpy.broadcast_arrays"], (3,)), TypeError, "write axiscast.numpy.broadcast_arrays()",
     lambda t: t.check(axiscast.numpy.broadcast_arrays(), (3,))),
    (lambda t: t.check("3,1", "4"), TypeError,
     "a shape must be a tuple of sizes, not a string: write check((3, 1), (4,))", lambda t: t.check((3, 1), (4,))),
    (lambda t: t.check([[1, 2], [3, 4]]), TypeError, "write np.shape(x) for the shape of a nested list x",
     lambda t: t.check(np.shape([[1, 2], [3, 4]]))),
    (lambda t: t.check(CheckRequest(inputs=[(3,)]), (4,)), TypeError, "pass only the request, check(request)",
     lambda t: t.check(CheckRequest(inputs=[(3,), (3,)]))),
    (lambda t: t.check(np.broadcast_to, (3,)), TypeError, 'the name of one, such as "numpy.broadcast_to"',
     lambda t: t.check("numpy.broadcast_to", (3,), shape=(2, 3))),
    (lambda t: t.check(None, (3,)), TypeError, "the first argument must be an op",
     lambda t: t.check("numpy.add", 3, 3)),
    (lambda t: t.check({"op": "numpy.add"}, (3,), (4,)), TypeError,
     'an op that is a map must contain its name, such as {"name": "numpy.broadcast_to", "shape": (4, 3)}',
     lambda t: t.check({"name": "numpy.add"}, (3,), (4,))),
    (lambda t: t.check("numpy.ad", (3,), (4,)), UnknownOp,
     "there is no op 'numpy.ad': did you mean numpy.add? `axiscast ops` lists them",
     lambda t: t.check("numpy.add", (3,), (4,))),
    (lambda t: t.check("torch.expnd", (3,), size=(2, 3)), UnknownOp, "did you mean torch.expand",
     lambda t: t.check("torch.expand", (3,), size=(2, 3))),
    (lambda t: t.check("numpy.add", "3,4", "4"), TypeError,
     "input 0: a shape must be a list of sizes such as (2, 3), not a str: write (3, 4)",
     lambda t: t.check("numpy.add", (3, 4), (4,))),
    (lambda t: t.check("numpy.add", (3, 4.0), (4,)), TypeError,
     "input 0: a size must be an integer, not 4.0: write 4",
     lambda t: t.check("numpy.add", (3, 4), (4,))),
    (lambda t: t.check("numpy.add", (3, 4), (2.5,)), TypeError, "input 1: a size must be an integer, not 2.5",
     lambda t: t.check("numpy.add", (3, 4), (4,))),
    (lambda t: t.check("numpy.add", ("3", 4), (4,)), TypeError, "input 0: a size must be an integer, not '3': write 3",
     lambda t: t.check("numpy.add", (3, 4), (4,))),
    (lambda t: t.check("numpy.add", (-1, 4), (4,)), InvalidRequest,
     'input 0, axis 0: must not be negative: a size is 0 or more; write "?" for an unknown size',
     lambda t: t.check("numpy.add", ("?", 4), (4,))),
    (lambda t: t.check("numpy.add", ("N!", 4), (4,)), InvalidRequest,
     'input 0, axis 0: must be an integer, a name such as "N", a range such as "1..8" or "2..", or "?"',
     lambda t: t.check("numpy.add", ("N", 4), (4,))),
    (lambda t: t.check("numpy.add", (True, 4), (4,)), TypeError, "input 0: a size must be an integer, not True",
     lambda t: t.check("numpy.add", (1, 4), (4,))),
    (lambda t: t.check("numpy.add", {3, 4}, (4,)), TypeError,
     "input 0: a shape must be a list of sizes such as (2, 3), not a set",
     lambda t: t.check("numpy.add", (3, 4), (4,))),
    (lambda t: t.check("numpy.add", (2**64,), (3,)), ValueError, "input 0: a size can have at most 63 bits",
     lambda t: t.check("numpy.add", (2**62,), (1,))),
    (lambda t: t.check("numpy.add", (3,)), InvalidRequest, "numpy.add takes 2 inputs, not 1",
     lambda t: t.check("numpy.add", (3,), (3,))),
    (lambda t: t.check("numpy.add", 3, 3, dtype=np.float32), TypeError,
     'dtype must be a name, not the class float32: write dtype="float32"',
     lambda t: t.check("numpy.add", 3, 3, dtype="float32")),
    (lambda t: t.check("numpy.add", 3, 3, dtype=np.dtype("int8")), TypeError, 'write dtype="int8"',
     lambda t: t.check("numpy.add", 3, 3, dtype="int8")),
    (lambda t: t.check("numpy.add", 3, 3, dtype="f4"), InvalidRequest, "did you mean float32?",
     lambda t: t.check("numpy.add", 3, 3, dtype="float32")),
    (lambda t: t.check("numpy.add", 3, 3, explain=1), TypeError, "explain must be True or False, not 1",
     lambda t: t.check("numpy.add", 3, 3, explain=True)),
    (lambda t: t.check("numpy.add", ("N",), 3, assume="N=2.."), TypeError,
     'assume must be a map such as {"N": "2.."}, not a str',
     lambda t: t.check("numpy.add", ("N",), 3, assume={"N": "2.."})),
    (lambda t: t.check("numpy.add", ("N",), 3, assume={"N": 2.0}), TypeError,
     "assume['N']: a size must be an integer, not 2.0: write 2",
     lambda t: t.check("numpy.add", ("N",), 3, assume={"N": 2})),
    (lambda t: t.check("openvino.Broadcast-3", (3,), mode="numpy", target_shape=3), InvalidRequest,
     "openvino.Broadcast-3: target_shape: must be a list of integers such as [2, 3], not an integer",
     lambda t: t.check("openvino.Broadcast-3", (3,), mode="numpy", target_shape=[3])),
    (lambda t: t.compare("numpy.add", (3,), (4,)), TypeError, "compare takes only shapes and checks every op",
     lambda t: t.compare((3,), (4,))),
    (lambda t: t.compare((3,), shape="2,3"), TypeError, "not a str: write (2, 3)",
     lambda t: t.compare((3,), shape=(2, 3))),
    (lambda t: t.compare((-1, 3)), InvalidRequest, "input 0, axis 0: must not be negative: a size is 0 or more",
     lambda t: t.compare((1, 3))),
    (lambda t: t.translate("numpy.broadcast_to", (3,), to="torch.expand"), InvalidRequest, "shape=[4, 3]",
     lambda t: t.translate("numpy.broadcast_to", (3,), shape=[4, 3], to="torch.expand")),
    (lambda t: t.translate("numpy.broadcast_to", (3,), shape=(2, 3), to="tf"), UnknownOp,
     "did you mean tensorflow.broadcast_to or",
     lambda t: t.translate("numpy.broadcast_to", (3,), shape=(2, 3), to="tensorflow.broadcast_to")),
    (lambda t: t.translate("numpy.broadcast_to", (3,), shape=(2, 3), to=torch.expand), TypeError,
     'to must be the name of an op, not the class expand: write to="torch.expand"',
     lambda t: t.translate("numpy.broadcast_to", (3,), shape=(2, 3), to="torch.expand")),
    (lambda t: t.check_batch([((3,), (4,))]), TypeError,
     'request 0: a check must be a map such as {"op": "numpy.add", "inputs": [(3, 1), (4,)]}, not a tuple',
     lambda t: t.check_batch([{"op": "numpy.add", "inputs": [(3, 1), (4,)]}])),
    (lambda t: t.check_batch({"inputs": [(3,), (4,)]}), TypeError, "requests must be a list of checks, such as [{",
     lambda t: t.check_batch([{"inputs": [(3,), (4,)]}])),
    (lambda t: t.check_batch([{"op": "numpy.add", "inputs": "3,4"}]), TypeError,
     'request 0: "inputs" must be a list of shapes, such as [(3, 1), (4,)], not a str',
     lambda t: t.check_batch([{"op": "numpy.add", "inputs": [(3, 1), (4,)]}])),
    (lambda t: t.check_columns("numpy.add", [(3, 4)], [(4,)], warn=["rank-promotion"]), TypeError,
     "check_columns does not accept warn: use check_batch, where each request can have warn",
     lambda t: t.check_batch([{"op": "numpy.add", "inputs": [(3, 4), (4,)], "warn": ["rank-promotion"]}])),
    (lambda t: t.check_columns("numpy.add", [(3, 4)], [(4,)], dtype="int8"), TypeError, "does not accept dtype",
     lambda t: t.check_batch([{"op": "numpy.add", "inputs": [(3, 4), (4,)], "dtype": "int8"}])),
    (lambda t: t.check_columns("numpy.add", (3, 4), (4,)), ValueError,
     "input 0: a column of shapes must be an integer array of shape (n, rank) with one shape in each row, not an "
     "array with 1 axis: use check for "
     "a single shape", lambda t: t.check_columns("numpy.add", [(3, 4)], [(4,)])),
    (lambda t: t.check_columns("numpy.add", [(3, 4), (4,)], [(4,), (4,)]), ValueError,
     "these rows differ in length: use check_batch",
     lambda t: t.check_batch([{"op": "numpy.add", "inputs": [(3, 4), (4,)]}, {"inputs": [(4,), (4,)]}])),
    (lambda t: t.check_columns("torch.expand", [[3]], sise=[[2, -1]]), InvalidRequest,
     "torch.expand: sise: is an unknown field: write size",
     lambda t: t.check_columns("torch.expand", [[3]], size=[[2, -1]])),
    (lambda t: t.check("np.subtract", 3, 3, size=3), InvalidRequest, "np.subtract: size: is an unknown field",
     lambda t: t.check("np.subtract", 3, 3)),
    (lambda t: t.check({"name": "torch.Tensor.expand", "sizes": 3}, 3), InvalidRequest,
     "torch.Tensor.expand: sizes: is an unknown field: write size",
     lambda t: t.check({"name": "torch.Tensor.expand", "size": (3,)}, 3)),
    (lambda t: t.check_columns("torch.expand", [[3]]), InvalidRequest, "size=[3, -1]",
     lambda t: t.check_columns("torch.expand", [[3]], size=[3, -1])),
]  # fmt: skip

OF_CLIENTS: list[Mistake] = [
    (lambda c: c.broadcast("numpy.broadcast_arrays", [ROW, ONES]), TypeError,
     "the arrays are in a list: pass them as separate arguments, broadcast(op, a, b)",
     lambda c: c.broadcast("numpy.broadcast_arrays", ROW, ONES)),
    (lambda c: c.broadcast("numpy.broadcast_arrays", [ROW, ROW]), TypeError, "pass them as separate arguments",
     lambda c: c.broadcast("numpy.broadcast_arrays", ROW, ROW)),
    (lambda c: c.broadcast("torch.expand", ROW), InvalidRequest, "torch.expand: size: is missing",
     lambda c: c.broadcast("torch.expand", ROW, size=(3, -1))),
    (lambda c: c.broadcast("torch.expand", ROW, shape=(2, 3)), InvalidRequest, "write size",
     lambda c: c.broadcast("torch.expand", ROW, size=(2, 3))),
    (lambda c: c.broadcast("torch.expand", ROW, size=(2, 3), layuot="strided"), TypeError, "did you mean layout?",
     lambda c: c.broadcast("torch.expand", ROW, size=(2, 3), layout="strided")),
    (lambda c: c.broadcast("torch.expnd", ROW, size=(2, 3)), UnknownOp,
     "did you mean torch.expand or torch.expand_as? `axiscast ops` lists them",
     lambda c: c.broadcast("torch.expand", ROW, size=(2, 3))),
    (lambda c: c.broadcast("torch.expand", ROW, size=("N", 3)), InvalidRequest,
     "size: must contain only integers: N on axis 0 is allowed only in check",
     lambda c: c.broadcast("torch.expand", ROW, size=(2, 3))),
    (lambda c: c.broadcast("numpy.broadcast_arrays", [[1, 2], [3]]), ValueError,
     "the items of a list have different shapes: pass the arrays as separate arguments",
     lambda c: c.broadcast("numpy.broadcast_arrays", [1, 2], [3])),
    (lambda c: c.backprop("torch.expand", (1, 3), ONES, size=(2, 3)), TypeError,
     "shapes must be a list with the shape of each input: write [(1, 3)]",
     lambda c: c.backprop("torch.expand", [(1, 3)], ONES, size=(2, 3))),
    (lambda c: c.backprop("torch.expand", ONES, ONES, size=(2, 3)), TypeError,
     "shapes must be a list with the shape of each input, not an array: write [(2, 3)]",
     lambda c: c.backprop("torch.expand", [(2, 3)], ONES, size=(2, 3))),
    (lambda c: c.backprop("torch.expand", 3, ONES, size=(2, 3)), TypeError,
     "shapes must be a list with the shape of each input, such as [(3,)], not 3",
     lambda c: c.backprop("torch.expand", [(3,)], ONES, size=(2, 3))),
    (lambda c: c.broadcast_to(ROW, "2,3"), TypeError, "not a str: write (2, 3)",
     lambda c: c.broadcast_to(ROW, (2, 3))),
    (lambda c: c.broadcast_to(ROW, (2.0, 3)), TypeError, "a size must be an integer, not 2.0: write 2",
     lambda c: c.broadcast_to(ROW, (2, 3))),
    (lambda c: c.broadcast_to(ROW, None), TypeError, "a size must be an integer, not None",
     lambda c: c.broadcast_to(ROW, ())[()] if ROW.ndim == 0 else None),
    (lambda c: c.broadcast_shapes([(3,), (2, 1)]), TypeError, "pass several shapes as separate arguments, (3,), (2, 1)",
     lambda c: c.broadcast_shapes((3,), (2, 1))),
    (lambda c: c.can_broadcast((3,), None), TypeError, "input 1: a size must be an integer, not None",
     lambda c: c.can_broadcast((3,), ())),
]  # fmt: skip


@pytest.fixture(scope="module")
def ways() -> Iterator[list[Any]]:
    class Awaited:
        """An AsyncClient with methods that return results instead of awaitables."""

        def __init__(self, client: AsyncClient) -> None:
            self._client = client

        def __getattr__(self, name: str) -> Any:
            return lambda *values, **options: asyncio.run(getattr(self._client, name)(*values, **options))

    with Client.in_process() as client:
        yield [axiscast, client, Awaited(AsyncClient.in_process())]


def _check(ways: list[Any], mistake: Mistake) -> None:
    call, kind, says, repaired = mistake
    messages = set()
    for way in ways:
        with pytest.raises(kind) as caught:
            call(way)
        assert says in str(caught.value), str(caught.value)
        assert not any(
            word in str(caught.value) for word in ("/v1", "GET ", "JSON", '"op": {', "null", "true", "false")
        )
        messages.add(str(caught.value))
        repaired(way)
    assert len(messages) == 1


@cases("mistake", BOTH, ids=[f"{number} {case[2][:60]}" for number, case in enumerate(BOTH)])
def test_a_mistaken_call_says_the_right_one_in_pythons_words(ways: list[Any], mistake: Mistake) -> None:
    _check(ways, mistake)


@cases("mistake", OF_CLIENTS, ids=[f"{number} {case[2][:60]}" for number, case in enumerate(OF_CLIENTS)])
def test_so_does_one_with_arrays(ways: list[Any], mistake: Mistake) -> None:
    _check(ways[1:], mistake)


@cases(
    ("row", "says"),
    [
        ({"op": "numpy.ad", "inputs": [(3,)]}, "did you mean numpy.add? `axiscast ops` lists them"),
        ({"op": "torch.expand", "inputs": [(3,)]}, "\"op\": {'name': 'torch.expand', 'size': [3, -1]}"),
        ({"op": "torch.expand", "size": (2, 3), "inputs": [(3,)]}, "{'name': 'torch.expand', 'size': [2, 3]}"),
        ({"op": {"name": "torch.expand", "shape": np.array([2, 3])}, "inputs": [(3,)]}, "'size': [2, 3]"),
        ({"inputs": [(-1,)]}, 'inputs/0/0: must not be negative: a size is 0 or more; write "?"'),
        ({"inputs": [(3,)], "explain": 1}, "explain: must be True or False, not int 1"),
        ({"shapes": [(3,)]}, "write inputs, which is missing, instead of shapes"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_row_of_a_batch_that_is_not_valid_says_it_in_the_words_of_a_map(
    ways: list[Any], row: dict[str, Any], says: str
) -> None:
    messages = set()
    for way in ways:
        good, bad = way.check_batch([{"inputs": [(3,)]}, row])
        assert good.compatible
        assert says in bad.detail, bad.detail
        assert str(bad) == bad.detail
        messages.add(bad.detail)
    assert len(messages) == 1


@cases(
    "shape",
    [[2, 3], (np.int64(2), np.uint8(3)), TorchSize((2, 3)), range(2, 4)],
    ids=lambda shape: type(shape).__name__,
)
def test_any_sequence_of_integers_is_a_shape_also_as_an_attribute(ways: list[Any], shape: Any) -> None:
    for way in ways:
        assert [list(way.check("torch.expand", shape, size=shape).outputs[0].shape)] == [[2, 3]]
        assert list(way.check({"name": "torch.expand", "size": shape}, shape).outputs[0].shape) == [2, 3]
        (answer,) = way.check_batch([{"op": {"name": "torch.expand", "size": shape}, "inputs": [shape]}])
        assert list(answer.outputs[0].shape) == [2, 3]


def test_every_function_that_takes_an_op_takes_its_attributes_by_keyword(ways: list[Any]) -> None:
    op = {"name": "torch.expand", "size": (2, 3)}
    for way in ways:
        for given, more in (("torch.expand", {"size": (2, 3)}), (op, {}), (torch.expand(size=(2, 3)), {})):
            assert list(way.check(given, (3,), **more).outputs[0].shape) == [2, 3]
            assert way.translate(given, (3,), to="numpy.broadcast_to", **more).steps[0].op.shape == (2, 3)
            assert way.check_columns(given, [[3], [1], [4]], **more).compatible.tolist() == [True, True, False]
            if way is not axiscast:
                (output,) = way.broadcast(given, ROW, **more)
                assert output.tolist() == [[1, 2, 3], [1, 2, 3]]
                (gradient,) = way.backprop(given, [(3,)], ONES, **more)
                assert gradient.tolist() == [2, 2, 2]


def test_no_attribute_has_the_name_of_a_parameter() -> None:
    attributes = {name for op in OPS.values() for name in op.model_fields}
    for function in (Client.check, Client.translate, Client.broadcast, Client.backprop, Client.check_columns):
        taken = [name for name, one in signature(function).parameters.items() if one.kind is not one.VAR_KEYWORD]
        assert attributes.isdisjoint(set(taken) - {"self", "shapes"}), function.__name__
