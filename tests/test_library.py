"""Tests of the library and of a client, which must have the same results and errors."""

from __future__ import annotations

import doctest
import importlib
import sys
from typing import Any

import numpy as np
import pytest
from cases import cases
from conftest import run
from facts import formulas

import axiscast
from axiscast import Client, ServiceProblem
from axiscast.catalogue import list_ops
from axiscast.ops import einops, mindspore, mxnet, ngraph, numpy, openvino, torch, xarray
from axiscast.wire.problems import PROBLEM_KINDS

COLUMNS = np.array([[3, 1], [5, 4], [2, 2]]), np.array([[4], [4], [3]])


@pytest.fixture(params=["in process", "HTTP"])
def ways(request: pytest.FixtureRequest) -> Any:
    """Return an object with the functions: the library, and a client of a service."""
    return axiscast if request.param == "in process" else request.getfixturevalue("client")


def test_check_returns_shapes_and_axes(ways: Any) -> None:
    answer = ways.check(ngraph.Broadcast(shape=(2, 3), broadcast_axes={0}), (3,), dtype="float32")
    assert answer == axiscast.CheckAnswer(
        compatible=True,
        op=ngraph.Broadcast(shape=(2, 3), broadcast_axes={0}),
        shape=(2, 3),
        outputs=[{"shape": [2, 3], "elements": 6, "nbytes": 24}],
        broadcast_inputs=[{"input": 0, "shape": [2, 3], "axes": [1], "broadcast_axes": [0]}],
        warnings=[],
    )
    assert ways.check("numpy.broadcast_arrays", 3, [2, 1], np.ones((2, 1, 1))).shape == (2, 2, 3)
    assert ways.check("torch.broadcast_tensors", (2, 3), (4,)).conflict.sizes == (3, 4)


def test_check_returns_conditions_on_unknown_sizes(ways: Any) -> None:
    answer = ways.check("numpy.broadcast_arrays", ("N", 1), ("M", 5), assume={"N": "2.."})
    assert answer.compatible is None
    assert formulas(answer.conditions) == ["N == M or M == 1"]
    assert answer.outputs[0].shape == ("N", 5)
    assert ways.check(numpy.broadcast_to(shape=("N", 3)), (3,), assume={}).compatible is True


def test_check_returns_a_diagram_with_explain(ways: Any) -> None:
    assert ways.check("numpy.broadcast_arrays", (2,), (3,), explain=True).diagram.splitlines() == [
        "axis     0",
        "input 0  2",
        "input 1  3",
        "         ^",
        "^ conflict",
    ]


def test_a_batch_returns_an_answer_or_a_problem_for_each_request(ways: Any) -> None:
    good, bad, unknown = ways.check_batch(
        [
            axiscast.CheckRequest(inputs=[(3, 1), (4,)]),
            {"op": torch.expand(size=(2, 3)), "inputs": [(4,), (4,)]},
            {"op": "numpy.broadcast", "inputs": [4]},
        ]
    )
    assert good.outputs[0].shape == (3, 4)
    assert (type(bad), bad.code, bad.status, bad.pointer) == (
        axiscast.InvalidRequest, "invalid-request", 422, "/requests/1/inputs",
    )  # fmt: skip
    assert isinstance(unknown, axiscast.UnknownOp)


def test_columns_return_arrays(ways: Any) -> None:
    answer = ways.check_columns("numpy.broadcast_arrays", *COLUMNS)
    assert type(answer) is axiscast.CheckedColumns
    assert answer.compatible.tolist() == [True, True, False]
    assert [output.tolist() for output in answer.broadcast_inputs] == [[[3, 4], [5, 4], [-1, -1]]] * 2
    assert answer.shape.tolist() == [[3, 4], [5, 4], [-1, -1]]
    assert answer.conflict_axis.tolist() == [-1, -1, 1]
    answer = ways.check_columns("torch.expand", np.array([[3], [3]]), size=[[2, -1], [2, 4]])
    assert answer.shape.tolist() == [[2, 3], [-1, -1]]
    assert ways.check_columns("numpy.broadcast_arrays", np.empty((0, 2), int)).shape.shape == (0, 2)


def test_compare_returns_the_result_of_each_framework(ways: Any) -> None:
    verdicts = ways.compare((1, 3), shape=(2, -1))
    keeping = {verdict.op["name"] for verdict in verdicts if verdict.compatible}
    assert keeping >= {"mindspore.broadcast_to", "torch.expand", "paddle.expand"}
    assert keeping.isdisjoint({"numpy.broadcast_to", "jax.numpy.broadcast_to", "keras.ops.broadcast_to", "onnx.Expand"})


def test_an_op_is_translated_to_another_framework(ways: Any) -> None:
    answer = ways.translate(openvino.Broadcast1(mode="explicit", target_shape=(2, 3), axes_mapping=(0,)), 2,
                            to="torch.expand")  # fmt: skip
    assert [step.op.model_dump() for step in answer.steps] == [
        {"name": "reshape", "shape": (2, 1)},
        {"name": "torch.expand", "size": (2, 3)},
    ]
    assert not answer.exact


REFUSED = {
    "invalid-request": lambda ways: ways.check("torch.expand", (3,)),
    "unknown-op": lambda ways: ways.check("numpy.broadcast", (3,)),
    "work-too-large": lambda ways: ways.check("numpy.broadcast_arrays", *[(f"N{name}",) for name in range(100)]),
    "incompatible-shapes": lambda ways: ways.translate("numpy.broadcast_arrays", 2, 3, to="torch.broadcast_tensors"),
    "untranslatable": lambda ways: ways.translate("numpy.broadcast_arrays", 2, to="poputil.canBroadcastToMatch"),
}
"""Requests with each code that both the library and a client can report."""
OVER_HTTP_ALONE = {
    # of HTTP, of its bodies and of what an operator sets
    "malformed-body", "unauthenticated", "malformed-request", "not-found", "method-not-allowed", "not-acceptable",
    "request-timeout", "body-too-large", "unsupported-media-type", "misdirected-request", "head-too-large", "internal",
    "overloaded", "shutting-down",
    # of tensors, which take the service
    "invalid-tensor", "output-too-large", "not-strided",
}  # fmt: skip


def test_every_problem_code_is_shared_or_only_for_http() -> None:
    assert set(PROBLEM_KINDS) == {*REFUSED, *OVER_HTTP_ALONE}
    assert OVER_HTTP_ALONE.isdisjoint(REFUSED)


@cases("code", REFUSED)
def test_the_library_and_the_client_raise_the_same_exception(code: str, client: Client) -> None:
    refusals = []
    for ways in (axiscast, client):
        with pytest.raises(ServiceProblem) as refused:
            REFUSED[code](ways)
        error = refused.value
        refusals.append((type(error), str(error), error.code, error.status, error.pointer, error.facts))
    assert refusals[0] == refusals[1]
    assert refusals[0][2] == code


@cases(
    ("question", "kind"),
    [
        (lambda ways: ways.check("numpy.broadcast_arrays", (2.5,)), TypeError),
        (lambda ways: ways.check("numpy.broadcast_arrays", [[2, 3]]), TypeError),
        (lambda ways: ways.check("numpy.broadcast_arrays", (2**63,)), ValueError),
        (lambda ways: ways.check({"op": "numpy.broadcast_arrays"}, (2,)), TypeError),
        (lambda ways: ways.compare((True,)), TypeError),
        (lambda ways: ways.check_columns("numpy.broadcast_arrays", [[1.0]]), ValueError),
        (lambda ways: ways.check_batch([{"op": 3, "inputs": []}]), TypeError),
    ],
)
def test_the_library_and_the_client_refuse_the_same_arguments(question: Any, kind: type, client: Client) -> None:
    messages = []
    for ways in (axiscast, client):
        with pytest.raises(kind) as mistaken:
            question(ways)
        assert not isinstance(mistaken.value, ServiceProblem)
        messages.append(str(mistaken.value))
    assert messages[0] == messages[1]


QUESTIONS = [
    ("numpy.broadcast_arrays", (8, 1, 6, 1), (7, 1, 5)),
    ("numpy.broadcast_arrays", (3,), (3, 1)),
    ("numpy.broadcast_arrays", ()),
    ("numpy.broadcast_arrays", (2**62,), (2, 1)),
    (numpy.broadcast_to(shape=(2, 4)), (3,)),
    (ngraph.Broadcast(shape=(2, 3), broadcast_axes={1}), (3,)),
    (mindspore.broadcast_to(shape=(-1, 3)), (3,)),
    ("poputil.canBroadcastToMatch", (3, 1), (4,)),
    (mxnet.broadcast_axis(axis=0, size=4), (1, 2)),
    (xarray.broadcast(dims=[["x"], ["y"]]), (2,), (3,)),
    (einops.repeat(pattern="(a b) -> a (b c)", axes_lengths={"a": 2, "c": 3}), ("N",)),
    ("numpy.broadcast_arrays", ("2..8", "?", "N"), ("N", 4, 1)),
]


@cases("question", [*QUESTIONS, *((entry.example["op"]["name"],) for entry in list_ops().ops)])
def test_the_library_and_the_client_return_the_same_answer(question: tuple[Any, ...], client: Client) -> None:
    op, *shapes = question
    if not shapes:  # the example of an op
        example = next(entry.example for entry in list_ops().ops if entry.name == op)
        op, shapes = axiscast.CheckRequest.model_validate(example).op, example["inputs"]
    for options in ({}, {"dtype": "int16", "explain": True}):
        ours, theirs = (ways.check(op, *shapes, **options) for ways in (axiscast, client))
        assert ours == theirs
        assert ours.model_dump(exclude_unset=True) == theirs.model_dump(exclude_unset=True)


def test_each_public_function_has_a_correct_example() -> None:
    module = importlib.import_module("axiscast.library")
    for name in module.__all__:
        assert ">>> " in getattr(axiscast, name).__doc__, name
    assert doctest.testmod(module).failed == 0


def test_a_function_is_the_same_object_after_any_import() -> None:
    done = run(
        [
            sys.executable,
            "-c",
            "import pkgutil, sys, axiscast\n"
            "names = [found.name for found in pkgutil.walk_packages(axiscast.__path__, 'axiscast.')]\n"
            "for name in names:\n"
            "    if not name.endswith('__main__'): __import__(name)\n"
            "assert len(names) > 50\n"
            "assert not {f'axiscast.{name}' for name in axiscast.__all__} & {*names}\n"
            "assert all(hasattr(axiscast, name) for name in axiscast.__all__)\n"
            "print(axiscast.check('numpy.broadcast_arrays', 3).compatible,\n"
            "      axiscast.check_batch([]), len(axiscast.check_columns('numpy.broadcast_arrays', [[1]])),\n"
            "      len(axiscast.compare(1)) > 2,\n"
            "      axiscast.translate('numpy.broadcast_arrays', 3, to='numpy.broadcast_arrays').exact)\n",
        ]
    )
    assert (done.stderr, done.stdout) == ("", "True [] 4 True True\n")


MISTAKES = {
    "torch.expand: siz: is an unknown field: write size, which is missing, instead of siz": lambda: torch.expand(siz=3),
    "torch.expand: sise: is an unknown field: did you mean size? (the fields are size)": lambda: torch.expand(
        size=[3], sise=3
    ),
    "torch.expand: size: is missing: write for instance size=[3, -1]": lambda: torch.expand(),
    "torch.expand: size/1: must be an integer, not a float: write 2": lambda: torch.expand(size=(3, 2.0)),
    "torch.expand: size: must be a list of integers such as [2, 3], not an integer": lambda: torch.expand(size=3),
    "numpy.broadcast_to: shape/0: must be at most 2^63-1": lambda: numpy.broadcast_to(shape=[2**70]),
    "openvino.Broadcast-3: mode: must be 'numpy', 'explicit' or 'bidirectional': did you mean explicit?": (
        lambda: openvino.Broadcast3(mode="explict")
    ),
    "einops.repeat: pattern: must be a string": lambda: einops.repeat(pattern=3),
    "einops.repeat: pattern: must be a string without half a surrogate pair": (
        lambda: einops.repeat(pattern="\ud800 -> \ud800")
    ),
    "inputs/0/0: must not be negative: a size is 0 or more": lambda: axiscast.CheckRequest(inputs=[[-1]]),
}


@cases(("words", "make"), MISTAKES.items(), ids=range(len(MISTAKES)))
def test_an_op_with_an_invalid_attribute_is_refused_like_a_request(words: str, make: Any) -> None:
    with pytest.raises(axiscast.InvalidRequest) as caught:
        make()
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).startswith(words)


def test_attributes_are_keywords_and_unknown_ops_are_refused() -> None:
    with pytest.raises(TypeError, match=r"torch\.expand takes its attributes by name: size"):
        torch.expand((2, 3))
    with pytest.raises(AttributeError, match=r"an op can't be changed: create a new torch\.expand"):
        torch.expand(size=(2, 3)).size = (3,)
    with pytest.raises(axiscast.UnknownOp, match=r"did you mean torch\.expand"):
        axiscast.CheckRequest(op="torch.expnd", inputs=[[1]])
