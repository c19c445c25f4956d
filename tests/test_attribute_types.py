"""Tests of attributes and shapes of the wrong type in Python calls, which raise TypeError as the frameworks do."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from cases import cases

import axiscast
from axiscast import AsyncClient, CheckRequest, Client, InvalidRequest, InvalidType
from axiscast.messages.attribute_text import parse_attribute
from axiscast.ops import OPS, Op, op_class

AXIS_SETS = {("ngraph.Broadcast", "broadcast_axes"), ("ngraph.BroadcastLike", "initial_broadcast_axes")}
"""The attributes that are sets of axes in the framework, here by hand from nGraph's interface (AxisSet)."""
TAKES_ONE_INTEGER = {
    *("numpy.broadcast_to", "numpy.tile", "array_api.broadcast_to", "jax.numpy.broadcast_to", "jax.numpy.tile"),
    *("paddle.expand", "paddle.broadcast_to", "paddle.tile", "tinygrad.expand", "mxnet.broadcast_axis"),
    *("mxnet.broadcast_like", "mxnet.broadcast_to", "mxnet.np.broadcast_to", "mxnet.tile"),
}
"""The ops whose releases accept one integer as a list with one entry if the attribute is passed by name.

Executed with the releases in tests/vectors/README.md. NumPy, JAX and Paddle also accept a NumPy integer.
"""


def _is_list(op: type[Op], attribute: str) -> bool:
    schema = op.model_json_schema()["properties"][attribute]
    return any(form.get("type") == "array" for form in [schema, *schema.get("anyOf", [])])


LISTS = [(name, field) for name, op in OPS.items() for field in op.model_fields if _is_list(op, field)]
ORDERED = [(name, field) for name, field in LISTS if (name, field) not in AXIS_SETS]
UNORDERED: list[Any] = [{7, 2}, frozenset({7, 2}), {7: "a", 2: "b"}.keys(), {"a": 7, "b": 2}.values(), {7: 2}.items()]


def _raised(call: Callable[[], Any]) -> Exception:
    """Return the exception of a call, which must be a TypeError and a ValueError."""
    with pytest.raises(TypeError) as caught:
        call()
    assert isinstance(caught.value, ValueError), repr(caught.value)
    return caught.value


def _with(name: str, attribute: str, value: Any) -> dict[str, Any]:
    """Return the attributes of the op's example with another value of one attribute."""
    example = OPS[name].example()[0].model_dump(exclude={"name"}, exclude_none=True)
    return {**example, attribute: value}


@cases("value", UNORDERED, ids=lambda value: type(value).__name__)
@cases(("name", "attribute"), ORDERED)
def test_a_collection_without_an_order_is_a_type_error_for_an_ordered_attribute(
    name: str, attribute: str, value: Any
) -> None:
    raised = _raised(lambda: OPS[name](**_with(name, attribute, value)))
    assert str(raised).startswith(f"{name}: {attribute}: must be a list")
    assert f"not a {type(value).__name__}" in str(raised)


@cases(("name", "attribute"), sorted(AXIS_SETS))
def test_a_set_of_axes_may_be_a_set(name: str, attribute: str) -> None:
    for value in ({2, 0}, frozenset({2, 0}), {2: "", 0: ""}.keys(), [2, 0, 2], (0, 2)):
        assert getattr(OPS[name](**_with(name, attribute, value)), attribute) == (0, 2)
    assert "not a dict_values" in str(_raised(lambda: OPS[name](**_with(name, attribute, {"a": 2}.values()))))


@cases(("name", "attribute"), [each for each in LISTS if each[0] != "xarray.broadcast"])
def test_one_integer_is_a_type_error_unless_the_framework_accepts_it(name: str, attribute: str) -> None:
    for value in (3, np.int64(3)):
        if name in TAKES_ONE_INTEGER:
            assert getattr(OPS[name](**_with(name, attribute, value)), attribute) == (3,)
        else:
            said = str(_raised(lambda: OPS[name](**_with(name, attribute, value))))  # noqa: B023
            assert said.startswith(f"{name}: {attribute}: must be a list of integers such as [2, 3], not a")


@cases(("name", "attribute"), [each for each in LISTS if each[0] != "xarray.broadcast"])
def test_a_string_of_digits_is_a_type_error(name: str, attribute: str) -> None:
    for value in ("23", "2,3", "(2, 3)", b"\x02\x03"):
        said = str(_raised(lambda: OPS[name](**_with(name, attribute, value))))  # noqa: B023
        assert "must be a list of integers such as [2, 3], not " in said


@cases("value", [3, np.int64(3), "23", {2, 3}, None, 2.0, b"23", object()])
def test_a_shape_that_is_not_a_tuple_is_a_type_error_in_mindspore_but_a_list_is_a_shape(value: Any) -> None:
    """The documentation of mindspore.ops.broadcast_to: TypeError if `shape` is not a tuple."""
    _raised(lambda: axiscast.mindspore.broadcast_to(shape=value))
    for shape in ((2, 3), [2, 3], np.array([2, 3]), range(2, 4)):
        assert axiscast.mindspore.broadcast_to(shape=shape).shape == (2, 3)
    with pytest.raises(ValueError, match="at most") as caught:  # a value that is too large has the right type
        axiscast.mindspore.broadcast_to(shape=(2**63, 3))
    assert not isinstance(caught.value, TypeError)


@cases("size", [2.0, True, [2], {2}])
def test_a_size_that_is_not_an_integer_is_a_type_error(size: Any) -> None:
    assert "must be an integer, not" in str(_raised(lambda: axiscast.torch.expand(size=(size, 3))))


def test_an_alias_has_the_types_of_its_op() -> None:
    assert op_class("torch.Tensor.expand") is not None
    said = str(_raised(lambda: axiscast.check("torch.Tensor.expand", (3,), size={2, 3})))
    assert said.startswith("torch.Tensor.expand: size: must be a list of integers")
    assert axiscast.check("np.broadcast_to", (1,), shape=3).compatible


def test_the_error_is_an_error_of_the_package_and_can_be_pickled() -> None:
    raised = _raised(lambda: axiscast.torch.expand(size={2, 3}))
    assert isinstance(raised, InvalidType)
    assert raised.code == "invalid-request"
    again = pickle.loads(pickle.dumps(raised))
    assert (type(again), str(again)) == (InvalidType, str(raised))


# --- every way to pass attributes and shapes -------------------------------------------------------


class Awaited:
    """An AsyncClient with methods that return results instead of awaitables."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return lambda *values, **options: asyncio.run(getattr(self._client, name)(*values, **options))


@pytest.fixture(scope="module")
def ways() -> Iterator[list[Any]]:
    with Client.in_process() as client:
        yield [axiscast, client, Awaited(AsyncClient.in_process())]


X, G = np.ones(7), np.ones((2, 7))
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "check": lambda way, op: way.check(op[0], (7,), **op[1]),
    "broadcast": lambda way, op: way.broadcast(op[0], X, **op[1]),
    "backprop": lambda way, op: way.backprop(op[0], [(7,)], G, **op[1]),
    "translate": lambda way, op: way.translate(op[0], (7,), to="numpy.broadcast_to", **op[1]),
    "check_columns": lambda way, op: way.check_columns(op[0], [[7]], **op[1]),
}


@cases("value", [*UNORDERED, 7, "27"], ids=lambda value: type(value).__name__)
@cases("call", CALLS)
def test_every_function_raises_the_same_type_error(ways: list[Any], call: str, value: Any) -> None:
    for form in (
        ("mindspore.broadcast_to", {"shape": value}),
        ({"name": "mindspore.broadcast_to", "shape": value}, {}),
    ):
        said = {str(_raised(lambda: CALLS[call](way, form))) for way in ways}  # noqa: B023
        assert len(said) == 1
        assert said.pop().startswith("mindspore.broadcast_to: shape: must be a list of integers")


@cases("call", CALLS)
def test_every_function_takes_a_set_of_axes_and_one_integer_that_the_framework_takes(
    ways: list[Any], call: str
) -> None:
    for way in ways:
        CALLS[call](way, ("ngraph.Broadcast", {"shape": (2, 7), "broadcast_axes": {0}}))
        if call != "backprop":  # the gradient has two axes
            CALLS[call](way, ("numpy.broadcast_to", {"shape": 7}))


def test_a_batch_raises_for_the_row_and_not_for_a_value(ways: list[Any]) -> None:
    good = {"inputs": [(3,)]}
    for way in ways:
        for value in ({2, 3}, {3: 0}.keys(), 3, "23"):
            row = {"op": {"name": "torch.expand", "size": value}, "inputs": [(3,)]}
            said = str(_raised(lambda: way.check_batch([good, row])))  # noqa: B023
            assert said.startswith("request 1: torch.expand: size: must be a list of integers")
        axes = {"op": {"name": "ngraph.Broadcast", "shape": (2, 3), "broadcast_axes": {0}}, "inputs": [(3,)]}
        wrong = {"op": {"name": "torch.expand", "size": (2**63,)}, "inputs": [(3,)]}
        results = way.check_batch([axes, wrong, {"op": {"name": "torch.nope"}, "inputs": []}])
        assert results[0].compatible
        assert [type(result) for result in results[1:]] == [InvalidRequest, axiscast.UnknownOp]


def test_a_request_model_raises_it_too() -> None:
    for fields in (
        {"inputs": {(3,), (1,)}},
        {"inputs": [{3, 1}]},
        {"op": {"name": "torch.expand", "size": {2, 3}}, "inputs": [(3,)]},
        {"op": {"name": "mindspore.broadcast_to", "shape": 3}, "inputs": [(3,)]},
        {"op": 3, "inputs": [(3,)]},
    ):
        _raised(lambda: CheckRequest(**fields))  # type: ignore[arg-type]  # noqa: B023
    with pytest.raises(InvalidRequest) as caught:
        CheckRequest(inputs=[(-1,)])
    assert not isinstance(caught.value, TypeError)


@cases(
    "call",
    [
        lambda way: way.check("numpy.add", {3: 0, 4: 0}.keys(), (4,)),
        lambda way: way.compare({"a": 3}.values(), (3,)),
        lambda way: way.compare((3,), shape={2, 3}),
        lambda way: way.backprop("numpy.broadcast_to", {(1, 3)}, np.ones((2, 3)), shape=(2, 3)),
        lambda way: way.backprop("numpy.broadcast_to", [{1, 3}], np.ones((2, 3)), shape=(2, 3)),
        lambda way: way.broadcast("numpy.broadcast_to", np.ones(3), shape=(2, 3), window={(0, 1), (0, 2)}),
        lambda way: way.broadcast("numpy.broadcast_to", np.ones(3), shape=(2, 3), window=[{0, 1}, {0, 2}]),
    ],
)
def test_shapes_and_windows_need_an_order(ways: list[Any], call: Callable[[Any], Any]) -> None:
    for way in ways:
        with pytest.raises(TypeError):
            call(way)


# --- texts: a URL and the command line have no types -----------------------------------------------


@cases(("name", "attribute"), [each for each in LISTS if each[0] != "xarray.broadcast"])
def test_a_text_of_one_or_more_numbers_is_a_list(name: str, attribute: str) -> None:
    for text, sizes in (("3", [3]), ("2,3", [2, 3])):
        assert parse_attribute(OPS[name], attribute, text) == sizes


def test_a_url_and_a_json_request_keep_their_answers(http: httpx.Client) -> None:
    url = "/v1/check?op=mindspore.broadcast_to&input=1&shape="
    assert http.get(f"{url}3").json()["compatible"] is True
    assert http.get(f"{url}2,3").json()["compatible"] is True
    op = {"name": "mindspore.broadcast_to", "shape": 3}
    answer = http.post("/v1/check", json={"op": op, "inputs": [[1]]})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    assert 'must be a list of integers, not an integer: write "shape": [3]' in answer.json()["detail"]
    answer = http.post("/v1/check", json={"op": {"name": "numpy.broadcast_to", "shape": 3}, "inputs": [[1]]})
    assert answer.json()["compatible"] is True
