"""A request for a window contains only the elements that the window needs, and has the same result."""

from __future__ import annotations

import random
from typing import Any

import ml_dtypes
import msgpack
import numpy as np
import pytest
from cases import cases
from reference import box
from test_vectors import FILES, inputs_of, vectors

import axiscast
from axiscast import Client
from axiscast.client.request_building import broadcast


def sent(op: Any, *arrays: Any, **options: Any) -> dict[str, Any]:
    """Return the body of the request."""
    body: dict[str, Any] = msgpack.unpackb(b"".join(broadcast([op, *arrays], options).parts))
    return body


TO = {"name": "numpy.broadcast_to", "shape": [1024, 2048, 256]}


def test_a_window_of_2_gib_sends_a_sixteenth_of_the_input() -> None:
    x = np.arange(1024 * 256, dtype=np.float32).reshape(1024, 1, 256)
    body = sent(TO, x, window=np.s_[64:128, 256:512])
    (tensor,) = body["inputs"]
    assert np.array_equal(np.frombuffer(tensor["data"], np.float32), x[64:128].ravel())
    assert (tensor["shape"], tensor["strides"]) == ([64, 256, 256], [256, 0, 1])
    assert "window" not in body


def test_only_the_inputs_that_are_outputs_are_sent() -> None:
    like = np.zeros((1000, 3))
    body = sent("torch.expand_as", np.arange(3.0), like, window=np.s_[2:4])
    (tensor,) = body["inputs"]
    assert len(tensor["data"]) == 24


@pytest.mark.parametrize(
    ("op", "inputs", "window"),
    [
        pytest.param(TO, [np.zeros((1024, 1, 256))], None, id="no window"),
        pytest.param(TO, [np.zeros((1, 1, 256))], [(0, 1), (5, 6), (0, 256)], id="all elements are needed"),
        pytest.param(TO, [np.zeros((1023, 1, 256))], [(0, 1), (0, 1), (0, 1)], id="a conflict"),
        pytest.param(TO, [np.zeros((1024, 1, 256))], [(0, 1), (0, 9999), (0, 1)], id="an invalid window"),
        pytest.param({"name": "numpy.new_op"}, [np.zeros((9, 9))], [(0, 1), (0, 1)], id="an unknown op"),
        pytest.param(
            {"name": "numpy.broadcast_to", "shape": [1] * 40 + [9]}, [np.zeros(9)], [(0, 1)] * 41, id="a high rank"
        ),
    ],
)
def test_the_whole_input_is_sent_if(op: Any, inputs: list[Any], window: Any) -> None:
    body = sent(op, *inputs, window=window)
    assert body["op"] in (op, op["name"])
    assert [tensor["shape"] for tensor in body["inputs"]] == [list(array.shape) for array in inputs]
    assert body.get("window") == (None if window is None else [list(pair) for pair in window])


@cases("name", FILES)
@cases("layout", ["dense", "strided"])
def test_windows_have_the_values_of_the_framework(name: str, layout: str, client: Client) -> None:
    draw = random.Random(name)
    tried = [vector for vector in vectors(name) if vector.get("values") and len(vector["inputs"]) < 8]
    for vector in draw.sample(tried, min(25, len(tried))):
        shapes = {tuple(output["shape"]) for output in vector["outputs"]}
        if len(shapes) != 1:
            continue
        (shape,) = shapes
        window = [sorted(draw.choices(range(size + 1), k=2)) for size in shape]
        try:
            found = client.broadcast(vector["op"], *inputs_of(vector), window=window, layout=layout)
        except axiscast.NotStrided:
            assert layout == "strided"
            continue
        for output, values in zip(found, vector["values"], strict=True):
            assert output.ravel().tolist() == box(values, shape, window), vector["id"]


def test_a_dtype_without_a_name_in_numpy_is_sent_in_part(client: Client) -> None:
    x = np.arange(32, dtype=np.float32).astype(ml_dtypes.bfloat16).reshape(8, 1, 4)
    (found,) = client.broadcast("numpy.broadcast_to", x, shape=(8, 5, 4), window=np.s_[3:5, 1:3, 1:])
    assert found.dtype == x.dtype
    assert np.array_equal(found.astype(np.float32), np.broadcast_to(x, (8, 5, 4))[3:5, 1:3, 1:].astype(np.float32))
