"""Every conformance vector, tested with the rules, the library and HTTP. See vectors/README.md."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_memory import fast_client as fast_client
from pydantic import TypeAdapter, ValidationError

import axiscast
from axiscast import CheckAnswer, Client, NotStrided
from axiscast.engine import dense
from axiscast.engine import views as engine
from axiscast.ops import OPS, OpMapField, lower
from axiscast.plan.alignment import ShapeMismatch

VECTOR_COUNTS = {
    "numpy": 459,
    "numpy-upstream": 100,
    "numpy-families": 219,
    "ngraph": 198,
    "ngraph-disputed": 27,
    "mindspore": 338,
    "poputil": 377,
    "openvino": 760,
    "openvino-upstream": 170,
    "openvino-disputed": 10,
    "onnx": 312,
    "onnx-upstream": 2,
    "torch": 404,
    "torch-families": 394,
    "tensorflow": 332,
    "tensorflow-families": 176,
    "keras-families": 95,
    "jax": 288,
    "jax-families": 527,
    "stablehlo": 62,
    "paddle": 309,
    "paddle-families": 383,
    "dask-families": 228,
    "mxnet": 164,
    "xarray": 216,
    "einops": 247,
}
SYMBOLIC_FILES = {"symbolic": 148, "openvino-dynamic": 29}
"""See test_symbolic.py."""
FOLDER = Path(__file__).parents[1] / "vectors"
FILES = sorted({path.stem for path in FOLDER.glob("*.jsonl")} - set(SYMBOLIC_FILES))
OP: TypeAdapter[Any] = TypeAdapter(OpMapField)


def vectors(name: str) -> list[dict[str, Any]]:
    return [_settled(json.loads(line)) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]


def _settled(vector: dict[str, Any]) -> dict[str, Any]:
    """Return a vector with the documented result if the framework is inconsistent."""
    if vector.get("alternatives"):  # a missing kernel of TensorFlow is not part of its rule
        return vector | vector["alternatives"][0]
    if vector["id"] == "stablehlo-0031":  # jax-0207 is the same request, and names the lowest axis with a conflict
        return vector | {"conflict_axis": 0}
    return vector


def admits(schema: dict[str, Any], value: Any) -> bool:
    """Return whether the JSON Schema of an attribute accepts a value. It knows only the keywords in use."""
    if "anyOf" in schema:
        return any(admits(each, value) for each in schema["anyOf"])
    match schema["type"]:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return type(value) in (int, float)
        case "integer":
            return type(value) is int and schema.get("minimum", value) <= value <= schema.get("maximum", value)
        case "string":
            return isinstance(value, str) and value in schema.get("enum", [value]) and len(value) <= 1000
        case "array":
            return isinstance(value, list) and all(admits(schema["items"], item) for item in value)
        case kind:
            assert kind == "object"
            names = schema.get("additionalProperties", {})
            return isinstance(value, dict) and all(admits(names, each) for each in value.values())


def test_the_schema_of_the_catalogue_accepts_every_valid_attribute() -> None:
    schemas = {name: kind.model_json_schema()["properties"] for name, kind in OPS.items()}
    asked = [vector["op"] for name in FILES for vector in vectors(name) if not vector.get("request_error_ok")]
    asked += [
        {"name": "mxnet.broadcast_axis", "axis": 0, "size": 2},
        {"name": "mxnet.broadcast_axis", "axis": [0], "size": ["N"]},
        {"name": "mxnet.broadcast_axis", "axis": [], "size": "N"},
        {"name": "xarray.broadcast", "dims": [["x"]], "exclude": "x"},
    ]
    for op in asked:
        for attribute, value in op.items():
            assert attribute == "name" or admits(schemas[op["name"]][attribute], value), op
        OP.validate_python(op)


parametrize_files = pytest.mark.parametrize("name", FILES)


def inputs_of(vector: dict[str, Any]) -> list[np.ndarray]:
    return [
        np.arange(np.prod(shape, dtype=int)).reshape(shape) + 1000 * number
        for number, shape in enumerate(vector["inputs"])
    ]


def gradients_of(vector: dict[str, Any]) -> list[np.ndarray]:
    step = vector.get("gradient_step", 0)
    shapes = [output["shape"] for output in vector["outputs"]]
    return [
        (np.arange(np.prod(shape, dtype=int), dtype=float) + step * number).reshape(shape)
        for number, shape in enumerate(shapes)
    ]


@parametrize_files
def test_every_vector_file_has_the_expected_number_of_cases(name: str) -> None:
    read = vectors(name)
    assert len(read) == VECTOR_COUNTS.get(name, len(read)) > 0
    assert len({vector["id"] for vector in read}) == len(read)


def test_every_vector_file_and_every_op_is_covered() -> None:
    assert {*VECTOR_COUNTS, *SYMBOLIC_FILES} <= {path.stem for path in FOLDER.glob("*.jsonl")}
    assert {vector["op"]["name"] for name in FILES for vector in vectors(name)} == set(OPS)


@parametrize_files
def test_a_rule_agrees_with_its_framework(name: str) -> None:
    disagreeing = {}
    for vector in vectors(name):
        try:
            _assert_the_rule_agrees(vector)
        except Exception as error:
            disagreeing[vector["id"]] = repr(error)
    assert disagreeing == {}


def _assert_the_rule_agrees(vector: dict[str, Any]) -> None:
    shapes = tuple(map(tuple, vector["inputs"]))
    if not vector["compatible"]:
        try:
            lower(OP.validate_python(vector["op"]), shapes)
        except ShapeMismatch as incompatible:
            conflict = incompatible.conflict
            assert conflict.code in vector["conflict_codes"]
            assert conflict.axis == vector.get("conflict_axis", conflict.axis)
        except ValidationError:
            assert vector["request_error_ok"]
        else:
            raise AssertionError("the vector says that the framework refuses this, but the rule accepts it")
        return
    op = OP.validate_python(vector["op"])
    assert op.input_count_problem(len(shapes)) is None
    plan = lower(op, shapes)
    for placement, output in zip(plan.outputs, vector["outputs"], strict=True):
        assert (list(placement.shape), placement.input) == (output["shape"], output["input"])
        if output["axes"] is not None:  # None means that axes are split or merged, so there is no mapping of axes
            assert (list(placement.output_axes), list(placement.broadcast_axes)) == (
                output["axes"], output["broadcast_axes"],
            )  # fmt: skip
    if "values" in vector:
        inputs = inputs_of(vector)
        views = [engine.output_view(placement, inputs[placement.input]) for placement in plan.outputs]
        assert [view.ravel().tolist() for view in views] == vector["values"]
        streamed = [np.frombuffer(b"".join(map(bytes, dense.chunks(view))), int) for view in views]
        assert [array.tolist() for array in streamed] == vector["values"]
    if "gradients" in vector:
        assert [array.ravel().tolist() for array in engine.input_gradients(plan, gradients_of(vector))] == vector[
            "gradients"
        ]


@parametrize_files
def test_the_library_agrees_with_the_framework(name: str) -> None:
    disagreeing = [vector["id"] for vector in vectors(name) if not _library_agrees(vector)]
    assert disagreeing == []


def _library_agrees(vector: dict[str, Any]) -> bool:
    try:
        op = OP.validate_python(vector["op"])
    except ValidationError:
        return bool(vector.get("request_error_ok"))
    return answer_agrees(axiscast.check(op, *vector["inputs"]), vector)


@parametrize_files
def test_the_wire_agrees_with_the_framework(name: str, fast_client: Client) -> None:
    disagreeing = [vector["id"] for vector in vectors(name) if not _wire_agrees(fast_client, vector)]
    assert disagreeing == []


def answer_agrees(answer: CheckAnswer, vector: dict[str, Any]) -> bool:
    if answer.compatible != vector["compatible"]:
        return False
    if answer.conflict is not None:
        return answer.conflict.code in vector["conflict_codes"]
    # What a vector calls its outputs are the inputs after broadcasting. outputs.jsonl has what the functions return.
    agree = [(list(found.shape), found.input) for found in answer.broadcast_inputs] == [
        (output["shape"], output["input"]) for output in vector["outputs"]
    ]
    agree &= [output.dims for output in answer.outputs] == vector.get("output_dims", [None] * len(answer.outputs))
    for found, expected in zip(answer.broadcast_inputs, vector["outputs"], strict=True):
        if expected["axes"] is not None:
            agree &= ([*found.axes], [*found.broadcast_axes]) == (expected["axes"], expected["broadcast_axes"])
    return agree


def _wire_agrees(client: Client, vector: dict[str, Any]) -> bool:
    try:
        op = OP.validate_python(vector["op"])
    except ValidationError:
        return bool(vector.get("request_error_ok"))
    answer = client.check(op, *vector["inputs"])
    agree = answer_agrees(answer, vector)
    if "values" in vector and agree:
        outputs = client.broadcast(op, *inputs_of(vector))
        agree &= [output.ravel().tolist() for output in outputs] == vector["values"]
        agree &= [list(output.shape) for output in outputs] == [output["shape"] for output in vector["outputs"]]
        with contextlib.suppress(NotStrided):
            outputs = client.broadcast(op, *inputs_of(vector), layout="strided")
            agree &= [output.ravel().tolist() for output in outputs] == vector["values"]
    if "gradients" in vector and agree:
        gradients = client.backprop(op, vector["inputs"], *gradients_of(vector))
        agree &= [gradient.ravel().tolist() for gradient in gradients] == vector["gradients"]
        agree &= [list(gradient.shape) for gradient in gradients] == vector["inputs"]
    return agree
