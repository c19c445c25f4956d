"""Translations over HTTP and in the client: their texts, mistakes and warnings."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
from cases import cases
from test_translate import PLACED, ask

import axiscast
from axiscast import Client
from axiscast.drawing.terminal_text import translation_as_text
from axiscast.ops import numpy

NGRAPH = {"op": {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [0]}, "inputs": [[3]]}


def test_the_example_of_the_documentation(http: httpx.Client) -> None:
    answer = http.post("/v1/translate", json=NGRAPH | {"to": "stablehlo.broadcast_in_dim"}).json()
    assert answer["exact"] is True
    assert answer["steps"] == [
        {"op": {"name": "stablehlo.broadcast_in_dim", "shape": [2, 3], "broadcast_dimensions": [1]}}
    ]
    language, text = answer["code"].values()
    assert language == "mlir"
    assert "%y = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>" in text


def test_a_step_has_the_number_of_its_input(http: httpx.Client) -> None:
    answer = http.post("/v1/translate", json={"inputs": [[2, 1], [3]], "to": "ngraph.Broadcast"}).json()
    assert (answer["exact"], answer["steps"]) == (
        False,
        [
            {"op": {"name": "reshape", "shape": [2]}, "input": 0},
            {"op": {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [1]}, "input": 0},
            {"op": {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [0]}, "input": 1},
        ],
    )


MISTAKES: list[tuple[dict[str, Any], str, str, str]] = [
    (NGRAPH | {"to": "numpy.broadcast"}, "unknown-op", "/to", "did you mean numpy.broadcast_to"),
    (NGRAPH, "invalid-request", "/to", 'write for instance "to": "stablehlo.broadcast_in_dim"'),
    (NGRAPH | {"to": 3}, "invalid-request", "/to", "must be a string"),
    (NGRAPH | {"to": "onnx.Expand", "shape": [3]}, "invalid-request", "/shape", "belongs inside op"),
    (NGRAPH | {"to": "onnx.Expand", "inputs": [[3], [3]]}, "invalid-request", "/inputs", "takes 1 input, not 2"),
    (NGRAPH | {"to": "onnx.Expand", "op": "numpy.nothing"}, "unknown-op", "/op", "there is no op"),
    (NGRAPH | {"to": "xarray.broadcast"}, "untranslatable", "/to", "xarray.broadcast"),
    ({"inputs": [[1]] * 1000, "to": "onnx.Expand"}, "work-too-large", "/inputs", "the limit is 256 inputs: send fewer"),
]


@cases(("request_body", "code", "pointer", "detail"), MISTAKES)
def test_an_invalid_translation_is_a_problem_with_its_location_and_a_suggestion(
    http: httpx.Client, request_body: dict[str, Any], code: str, pointer: str, detail: str
) -> None:
    answer = http.post("/v1/translate", json=request_body)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["pointer"]) == (422, code, pointer)
    assert detail in problem["detail"]


def test_shapes_that_do_not_broadcast_cannot_be_translated(http: httpx.Client) -> None:
    body = {"op": {"name": "numpy.broadcast_to", "shape": [3, 4]}, "inputs": [[3]]}
    answer = http.post("/v1/translate", json=body | {"to": "onnx.Expand"})
    assert (answer.status_code, answer.json()["code"]) == (422, "incompatible-shapes")
    assert answer.json()["conflict"] == http.post("/v1/check", json=body).json()["conflict"]


def test_the_client_returns_steps_whose_ops_can_be_sent_again(client: Client) -> None:
    answer = client.translate(PLACED, (1, 3), to="numpy.broadcast_to")
    assert answer == ask(PLACED, (1, 3), to="numpy.broadcast_to")
    reshape, broadcast = (step.op for step in answer.steps)
    assert reshape.shape == (3, 1, 1)
    row = np.arange(3.0).reshape(1, 3)
    (theirs,), (ours,) = client.broadcast(broadcast, row.reshape(3, 1, 1)), client.broadcast(PLACED, row)
    np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(axiscast.Untranslatable, match=r"poputil\.canBroadcastToMatch"):
        client.translate(numpy.broadcast_arrays(), (3,), to="poputil.canBroadcastToMatch")


DIFFERS: list[tuple[dict[str, Any], str, int]] = [
    ({"op": {"name": "numpy.broadcast_to", "shape": []}, "inputs": [[]]}, "openvino.Broadcast-3", 1),
    (
        {"op": {"name": "numpy.broadcast_to", "shape": [2] * 6}, "inputs": [[2, 1, 2, 1, 2, 1]]},
        "tensorflow.broadcast_to",
        1,
    ),
    ({"inputs": [[2, 1, 2, 1, 2, 1], [1, 2, 1, 2, 1, 2]]}, "tensorflow.broadcast_to", 1),
    ({"op": {"name": "numpy.broadcast_to", "shape": [2]}, "inputs": [[]]}, "openvino.Broadcast-3", 0),
    ({"op": {"name": "openvino.Broadcast-3", "target_shape": []}, "inputs": [[]]}, "numpy.broadcast_to", 0),
]


@cases(("request_", "to", "count"), DIFFERS)
def test_code_that_fails_in_the_release_has_a_warning(
    http: httpx.Client, request_: dict[str, Any], to: str, count: int
) -> None:
    warnings = http.post("/v1/translate", json=request_ | {"to": to}).json()["warnings"]
    assert [warning["code"] for warning in warnings] == ["release-differs"] * count


def test_the_warnings_of_a_translation_are_printed() -> None:
    answer = ask(numpy.broadcast_to(shape=()), (), to="openvino.Broadcast-3")
    assert translation_as_text(answer).splitlines()[-1] == f"warning (release-differs): {answer.warnings[0].message}"
