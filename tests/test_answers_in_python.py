"""Answers as Python objects: their truth, their shape, and the same functions in the library and in the clients."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest
from cases import cases

import axiscast
from axiscast import AsyncClient, CheckRequest, Client, IncompatibleShapes
from axiscast.messages.tensors import BroadcastRequest

FUNCTIONS = (
    "backprop", "broadcast", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_broadcast", "check",
    "check_batch", "check_columns", "compare", "translate", "why",
)  # fmt: skip
"""The functions that exist everywhere. Client.ops has no counterpart, because axiscast.ops is the package of ops."""
OF_CLIENTS = {"progress", "timeout"}
"""The parameters that only clients have, because they need a connection."""


@pytest.fixture(params=["library", "client"])
def way(request: pytest.FixtureRequest) -> Any:
    return axiscast if request.param == "library" else request.getfixturevalue("client")


def parameters(function: Any) -> dict[str, Any]:
    found = inspect.signature(function).parameters.values()
    return {one.name: one.kind for one in found if one.name not in OF_CLIENTS | {"self"}}


@cases("name", FUNCTIONS)
def test_library_and_clients_have_functions_with_the_same_parameters(name: str) -> None:
    of_library = parameters(getattr(axiscast, name))
    assert parameters(getattr(Client, name)) == of_library
    assert parameters(getattr(AsyncClient, name)) == of_library


def test_no_public_method_of_a_client_is_missing_in_the_table() -> None:
    public = {name for name, value in vars(Client).items() if not name.startswith("_") and callable(value)}
    assert public == {*FUNCTIONS, "close", "ops"}


def test_an_answer_is_true_if_the_shapes_broadcast(way: Any) -> None:
    assert way.check("numpy.add", (3, 1), (4,))
    assert not way.check("numpy.add", (3,), (4,))
    assert [bool(result) for result in way.compare((3,), (4,), ops=["numpy.add"])] == [False]
    requests = [{"inputs": [(3,), (4,)]}, {"inputs": [(3,), (1,)]}, {"op": "no.op", "inputs": [(3,)]}]
    assert [bool(answer) for answer in way.check_batch(requests)] == [False, True, False]


def test_the_truth_of_an_answer_that_depends_on_sizes_is_an_error(way: Any) -> None:
    with pytest.raises(ValueError, match=r"N.*M"):
        bool(way.check(("N",), ("M",)))
    assert way.check(("N",), ("N",))


def test_the_shape_of_an_answer_makes_an_array(way: Any) -> None:
    assert np.zeros(way.check((3, 1), (1, 4)).shape).shape == (3, 4)
    assert way.check("numpy.matmul", (2, 3), (3, 4)).shape == (2, 4)
    assert way.check("torch.expand", ("N",), size=(2, -1)).shape == (2, "N")


def test_an_answer_without_a_shape_raises_only_if_the_attribute_is_read(way: Any) -> None:
    conflict = way.check("numpy.add", (3,), (4,))
    with pytest.raises(IncompatibleShapes, match=r"3.*4") as refused:
        conflict.shape  # noqa: B018
    assert refused.value.conflict.sizes == (3, 4)
    nothing = way.check("poputil.canBroadcastToMatch", (3,), (1,))
    with pytest.raises(ValueError, match=r"poputil\.canBroadcastToMatch returns no array"):
        nothing.shape  # noqa: B018
    for answer in (conflict, nothing):
        assert "shape=None" in repr(answer)
        assert copy.copy(answer) == copy.deepcopy(answer) == pickle.loads(pickle.dumps(answer)) == answer
        assert "shape" not in answer.model_dump(exclude_unset=True)
        assert answer.model_dump()["shape"] is None


def test_shapes_alone_are_checked_by_the_rule_of_numpy(way: Any) -> None:
    answer = way.check((8, 1, 6, 1), (7, 1, 5))
    assert (answer.op.name, answer.shape, len(answer.outputs)) == ("numpy.broadcast_shapes", (8, 7, 6, 5), 1)
    assert [array.shape for array in way.broadcast(np.ones((3, 1)), np.ones(4))] == [(3, 4), (3, 4)]
    assert way.check([3, 1], np.ones(4)).shape == (3, 4)
    assert way.check(np.int64(3), (2, 1)).shape == (2, 3)


def test_a_whole_request_can_be_checked_and_broadcast(way: Any) -> None:
    request = CheckRequest(inputs=[(3, 1), (4,)])
    assert way.check(request).shape == (3, 4)
    tensors = BroadcastRequest(
        inputs=[{"shape": [2, 1], "data": [1, 2]}, {"shape": [3], "data": [3, 4, 5]}], window=[[0, 2], [0, 1]]
    )
    assert [array.tolist() for array in way.broadcast(tensors)] == [[[1], [2]], [[3], [3]]]
    with pytest.raises(TypeError, match="pass only the request"):
        way.broadcast(tensors, np.ones(3))


def test_outputs_are_what_the_function_returns(way: Any) -> None:
    assert [one.shape for one in way.check("numpy.broadcast_arrays", (3, 1), (4,)).outputs] == [(3, 4), (3, 4)]
    assert [one.shape for one in way.check("numpy.divmod", (3, 1), (4,)).outputs] == [(3, 4), (3, 4)]
    assert [one.shape for one in way.check("torch.where", (3, 1), (4,), ()).outputs] == [(3, 4)]
    matched = way.check("poputil.expandToMatchRanks", (3,), (2, 4))
    assert [one.shape for one in matched.outputs] == [(1, 3), (2, 4)]
    assert [one.input for one in way.check("onnx.Gemm", (2, 3), (3, 4), (4,)).broadcast_inputs] == [2]


def test_every_answer_can_be_read_back_from_its_values(way: Any) -> None:
    for answer in (
        way.check((3, 1), (4,)),
        way.check((3,), (4,)),
        way.check("poputil.canBroadcastToMatch", (3,), (1,)),
    ):
        assert type(answer).model_validate(answer.model_dump()) == answer
        assert type(answer).model_validate_json(answer.model_dump_json()) == answer
    (compared,) = way.compare((3,), (4,), ops=["numpy.add"])[:1]
    assert type(compared).model_validate(compared.model_dump()) == compared


def test_the_request_of_a_hint_has_the_assumptions_and_the_alias(way: Any) -> None:
    for answer in (
        way.check("torch.add", ("B", 64, 7, 7), ("C",), assume={"C": 64}),
        way.check("numpy.matmul", ("N", 2), ("K", 4), assume={"N": 3, "K": 3}),
    ):
        assert answer.conflict.hints
        assert all(way.check(hint.request) for hint in answer.conflict.hints)
    (hint, *_) = way.check("torch.where", (2, 64, 7, 7), (64,), (1,)).conflict.hints
    assert len(way.check(hint.request).outputs) == 1


def test_columns_agree_with_checks_for_vectors_and_aliases_or_are_refused(way: Any) -> None:
    products = way.check_columns("numpy.matmul", [[3], [3]], [[3], [4]])
    assert (products.compatible.tolist(), products.shape.tolist()) == ([True, False], [[], []])
    assert [array.tolist() for array in products.broadcast_inputs] == [[[1, 3], [-1, -1]], [[3, 1], [-1, -1]]]
    with pytest.raises(axiscast.InvalidRequest, match="does not accept columns"):
        way.check_columns("poputil.canBroadcastToMatch", [[3, 1]], [[4]])
    named = {"name": "xarray.where", "dims": [["x"], ["x"], ["x"]]}
    assert len(way.check(named, (2,), (2,), (2,)).broadcast_inputs) == 3
    with pytest.raises(ValueError, match="at most 63 bits"):
        way.check_columns("numpy.broadcast_arrays", np.array([[2**63 + 2]], np.uint64))


def test_arguments_without_an_op_or_beside_a_request_are_refused(way: Any) -> None:
    with pytest.raises(TypeError, match=r'pass the op first, such as check\("numpy.broadcast_to"'):
        way.check((3,), shape=(2, 3))
    with pytest.raises(TypeError, match="not the class ndarray"):
        way.check("numpy.add", np.ndarray, (3,))
    with pytest.raises(TypeError, match="pass only the request"):
        way.broadcast(BroadcastRequest(inputs=[{"shape": [1], "data": [1]}]), layout="strided")
    with pytest.raises(axiscast.InvalidTensor):
        way.broadcast(BroadcastRequest(inputs=[{"shape": [3], "data": [1, 2]}]))
    assert way.can_broadcast()
