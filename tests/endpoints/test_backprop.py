"""Tests of /v1/backprop, which returns gradients."""

from __future__ import annotations

from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
from cases import cases
from http_requests import JSON, MSGPACK, NGRAPH, ROW, post


def test_a_gradient_is_summed_over_the_broadcast_axes(http: httpx.Client) -> None:
    gradient = {"dtype": "float32", "shape": [2, 3], "data": [[1, 2, 3], [10, 20, 30]]}
    answer = http.post("/v1/backprop", json=NGRAPH | {"gradients": [gradient]})
    assert answer.json() == {"gradients": [{"dtype": "float32", "shape": [3], "data": [11.0, 22.0, 33.0]}]}


def test_an_input_used_only_for_its_shape_has_a_zero_gradient(http: httpx.Client) -> None:
    op = {"name": "ngraph.BroadcastLike", "initial_broadcast_axes": [0]}
    gradient = {"dtype": "float64", "shape": [10**15], "strides": [0], "data": np.float64(0.5).tobytes()}
    answer = post(http, "/v1/backprop", {"op": op, "inputs": [[], [10**15]], "gradients": [gradient]})
    assert msgpack.unpackb(answer.content)["gradients"] == [
        {"dtype": "float64", "shape": [], "data": np.float64(5e14).tobytes()},
        {"dtype": "float64", "shape": [10**15], "strides": [0], "data": bytes(8)},
    ]


LEND = {"op": {"name": "ngraph.BroadcastLike", "initial_broadcast_axes": [0]}, "inputs": [[2], [3, 2]]}
SAME = {"op": {"name": "numpy.broadcast_to", "shape": [3, 2]}, "inputs": [[3, 2]]}
OF_NOTHING = {"op": {"name": "numpy.broadcast_to", "shape": [2, 0]}, "inputs": [[2, 1]]}
FIVES = {"dtype": "int8", "shape": [3, 2], "strides": [0, 1], "data": [5, 6]}
NONE = {"dtype": "int8", "shape": [2, 0], "data": []}
DENSE_FIVES = {"dtype": "int8", "shape": [3, 2], "data": [[5, 6]] * 3}
LENT_ZEROS = {"dtype": "int8", "shape": [3, 2], "strides": [0, 0], "data": [0]}
LAYOUTS: dict[str, tuple[Any, Any, list[Any]]] = {
    "replicated": (SAME, FIVES, [DENSE_FIVES]),
    "replicated, dense": (SAME | {"layout": "dense"}, FIVES, [DENSE_FIVES]),
    "replicated, strided": (SAME | {"layout": "strided"}, FIVES, [FIVES]),
    "of no elements": (OF_NOTHING, NONE, [{"dtype": "int8", "shape": [2, 1], "data": [[0], [0]]}]),
    "lent": (LEND, FIVES, [{"dtype": "int8", "shape": [2], "data": [15, 18]}, LENT_ZEROS]),
    "lent, dense": (
        LEND | {"layout": "dense"},
        FIVES,
        [{"dtype": "int8", "shape": [2], "data": [15, 18]}, {"dtype": "int8", "shape": [3, 2], "data": [[0, 0]] * 3}],
    ),
    "lent, strided": (
        LEND | {"layout": "strided"},
        FIVES,
        [{"dtype": "int8", "shape": [2], "strides": [1], "data": [15, 18]}, LENT_ZEROS],
    ),
}


@cases(("request_", "gradient", "expected"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_gradient_in_json_is_dense_by_default(
    http: httpx.Client, request_: Any, gradient: Any, expected: list[Any]
) -> None:
    assert http.post("/v1/backprop", json=request_ | {"gradients": [gradient]}).json() == {"gradients": expected}


def test_a_replicated_gradient_in_messagepack_is_strided_by_default(http: httpx.Client) -> None:
    fives = FIVES | {"data": b"\5\6"}
    dense = {"dtype": "int8", "shape": [3, 2], "data": b"\5\6" * 3}
    for layout, expected in (None, fives), ("strided", fives), ("dense", dense):
        request = SAME | {"gradients": [fives]} | ({} if layout is None else {"layout": layout})
        assert msgpack.unpackb(post(http, "/v1/backprop", request).content) == {"gradients": [expected]}


def test_the_limit_counts_a_replicated_gradient_as_dense(http: httpx.Client) -> None:
    gradient = {"dtype": "int8", "shape": [10**12], "strides": [0], "data": b"\5"}
    request = {"op": "numpy.broadcast_arrays", "inputs": [[10**12]], "gradients": [gradient]}
    in_json = post(http, "/v1/backprop", request, Accept=JSON)
    assert (in_json.status_code, in_json.json()["code"]) == (422, "output-too-large")
    assert (in_json.json()["elements"], '"layout": "strided"' in in_json.json()["detail"]) == (10**12, True)
    body = msgpack.packb(request | {"layout": "dense"})
    with http.stream("POST", "/v1/backprop", content=body, headers={"Content-Type": MSGPACK}) as answer:
        assert answer.status_code == 422  # else it is not read, as it has a terabyte
        dense = msgpack.unpackb(answer.read())
    assert (dense["code"], dense["nbytes"]) == ("output-too-large", 10**12)
    asked = post(http, "/v1/backprop", request | {"layout": "strided"}, Accept=JSON).json()["gradients"]
    assert asked == [{"dtype": "int8", "shape": [10**12], "strides": [0], "data": [5]}]


def test_a_dense_gradient_that_is_replicated_streams(http: httpx.Client) -> None:
    gradient = {"dtype": "int16", "shape": [5 * 10**6, 3], "strides": [0, 1], "data": b"abcdef"}
    request = {"inputs": [[5 * 10**6, 3]], "gradients": [gradient], "layout": "dense"}
    (dense,) = msgpack.unpackb(post(http, "/v1/backprop", request).content)["gradients"]
    assert (dense["shape"], dense["data"] == b"abcdef" * (5 * 10**6)) == ([5 * 10**6, 3], True)


@pytest.mark.parametrize("shape", [(40_000, 40_000), (2,) * 28])
def test_a_gradient_whose_elements_overlap_is_refused(http: httpx.Client, shape: tuple[int, ...]) -> None:
    overlapping = {
        "dtype": "int8", "shape": shape, "strides": [1] * len(shape), "data": bytes(sum(shape) - len(shape) + 1)
    }  # fmt: skip
    op = {"name": "numpy.broadcast_to", "shape": shape}
    answer = post(http, "/v1/backprop", {"op": op, "inputs": [[1]], "gradients": [overlapping]}, Accept=JSON)
    assert answer.status_code == 422
    assert (answer.json()["code"], answer.json()["pointer"]) == ("invalid-tensor", "/gradients/0/strides")


def test_elements_that_do_not_overlap_may_have_any_strides(http: httpx.Client) -> None:
    gradient = {"dtype": "int64", "shape": [2, 2, 3], "strides": [0, 1, 2], "data": [1, 2, 3, 4, 5, 6]}
    op = {"name": "numpy.broadcast_to", "shape": [2, 2, 3]}
    answer = post(http, "/v1/backprop", {"op": op, "inputs": [[3]], "gradients": [gradient]}, Accept=JSON)
    assert answer.json()["gradients"][0]["data"] == [6, 14, 22]


@cases("dtype", ["bool", "str<4>", "bytes<4>", "datetime64[s]", "timedelta64[s]"])
def test_a_gradient_of_a_dtype_without_sums_is_refused(http: httpx.Client, dtype: str) -> None:
    size = {"bool": 1, "str<4>": 16, "bytes<4>": 4}.get(dtype, 8)
    gradient = {"dtype": dtype, "shape": [2, 3], "data": bytes(6 * size)}
    answer = post(http, "/v1/backprop", NGRAPH | {"gradients": [gradient]}, Accept=JSON).json()
    assert (answer["code"], answer["pointer"]) == ("invalid-tensor", "/gradients/0/dtype")


def test_a_gradient_of_another_shape_is_refused(http: httpx.Client) -> None:
    answer = post(http, "/v1/backprop", NGRAPH | {"gradients": [ROW]}, Accept=JSON).json()
    assert (answer["code"], answer["pointer"]) == ("invalid-tensor", "/gradients/0/shape")
    assert "(3,), but output 0 has (2, 3)" in answer["detail"]
