"""Tests of /v1/broadcast, which takes and returns tensors."""

from __future__ import annotations

from typing import Any

import httpx
import msgpack
import numpy as np
from cases import cases
from http_requests import JSON, NGRAPH, ROW, post


def test_json_tensors_in_and_out(http: httpx.Client) -> None:
    row = {"dtype": "float32", "shape": [3], "data": [1.5, "NaN", "-Infinity"]}
    request = {"op": NGRAPH["op"], "inputs": [row]}
    (output,) = http.post("/v1/broadcast", json=request).json()["broadcast_inputs"]
    assert output == {"dtype": "float32", "shape": [2, 3], "data": [[1.5, "NaN", "-Infinity"]] * 2}
    (output,) = http.post("/v1/broadcast", json=request | {"layout": "strided"}).json()["broadcast_inputs"]
    assert output == {"dtype": "float32", "shape": [2, 3], "strides": [0, 1], "data": [1.5, "NaN", "-Infinity"]}
    (output,) = http.post("/v1/broadcast", json=request | {"json_data": "base64"}).json()["broadcast_inputs"]
    assert output["base64"] == "AADAPwAAwH8AAID/AADAPwAAwH8AAID/"


def test_a_dense_messagepack_response_is_one_valid_object_of_the_announced_length(http: httpx.Client) -> None:
    request = {"op": {"name": "numpy.broadcast_to", "shape": [400_000, 3]}, "inputs": [ROW]}
    answer = post(http, "/v1/broadcast", request)
    assert int(answer.headers["content-length"]) == len(answer.content)
    (output,) = msgpack.unpackb(answer.content)["broadcast_inputs"]
    assert list(output) == ["dtype", "shape", "data"]
    assert output["data"] == ROW["data"] * 400_000


@cases(("rows", "columns"), [(40_000, 3), (25, 5000), (3, 40_000)])
def test_a_response_of_up_to_a_mebibyte_has_the_elements_of_each_output(
    rows: int, columns: int, http: httpx.Client
) -> None:
    elements = [np.arange(start, start + rows, dtype="<u2").reshape(rows, 1) for start in range(3)]
    tensors = [{"dtype": "uint16", "shape": [rows, 1], "data": array.tobytes()} for array in elements]
    wide = {"dtype": "uint16", "shape": [columns], "data": bytes(2 * columns)}
    answer = post(http, "/v1/broadcast", {"inputs": [*tensors, wide]})
    assert 2**19 < len(answer.content) < 2**20
    outputs = msgpack.unpackb(answer.content)["broadcast_inputs"]
    assert [output["data"] for output in outputs[:3]] == [np.repeat(array, columns).tobytes() for array in elements]
    assert outputs[3]["data"] == bytes(2 * rows * columns)


def test_a_strided_response_has_the_bytes_of_the_input(http: httpx.Client) -> None:
    request = {"op": {"name": "numpy.broadcast_to", "shape": [10**15, 3]}, "inputs": [ROW], "layout": "strided"}
    answer = msgpack.unpackb(post(http, "/v1/broadcast", request).content)
    assert answer == {
        "broadcast_inputs": [{"dtype": "float32", "shape": [10**15, 3], "strides": [0, 1], "data": ROW["data"]}]
    }


def test_a_window_works_for_an_output_larger_than_any_memory(http: httpx.Client) -> None:
    op = {"name": "numpy.broadcast_to", "shape": [2**62, 2**62, 3]}
    request = {"op": op, "inputs": [ROW], "window": [[2**61, 2**61 + 1], [5, 7], [1, 3]]}
    assert msgpack.unpackb(post(http, "/v1/broadcast", request).content)["broadcast_inputs"] == [
        {"dtype": "float32", "shape": [1, 2, 2], "data": np.array([2, 3, 2, 3], "<f4").tobytes()}
    ]


@cases("window", [[[0, 1]], [[0, 3], [0, 3]], [[1, 0], [0, 3]], [[-1, 1], [0, 3]]])
def test_a_window_outside_the_output_is_refused(http: httpx.Client, window: Any) -> None:
    request = {"op": {"name": "numpy.broadcast_to", "shape": [2, 3]}, "inputs": [ROW], "window": window}
    answer = post(http, "/v1/broadcast", request, Accept=JSON).json()
    assert (answer["code"], answer["pointer"].startswith("/window")) == ("invalid-request", True)


def test_incompatible_shapes_have_the_same_conflict_as_in_a_check(http: httpx.Client) -> None:
    op = {"name": "numpy.broadcast_to", "shape": [2, 4]}
    answer = post(http, "/v1/broadcast", {"op": op, "inputs": [ROW]}, Accept=JSON)
    assert (answer.status_code, answer.json()["code"]) == (422, "incompatible-shapes")
    assert answer.json()["conflict"] == http.post("/v1/check", json={"op": op, "inputs": [[3]]}).json()["conflict"]


def test_an_output_that_is_too_large_is_refused_with_a_remedy(http: httpx.Client) -> None:
    request = {"op": {"name": "numpy.broadcast_to", "shape": [10**12, 3]}, "inputs": [ROW]}
    answer = post(http, "/v1/broadcast", request, Accept="application/msgpack, application/json;q=0.1")
    document = msgpack.unpackb(answer.content)
    assert (answer.status_code, document["code"]) == (422, "output-too-large")
    assert (document["elements"], document["nbytes"], document["limit"]) == (3 * 10**12, 12 * 10**12, 2**34)
    assert "strided" in document["detail"]
    assert "window" in document["detail"]


def test_a_json_response_has_its_own_limit(http: httpx.Client) -> None:
    request = {"op": {"name": "numpy.broadcast_to", "shape": [2**20, 3]}, "inputs": [{"shape": [3], "data": [1, 2, 3]}]}
    answer = http.post("/v1/broadcast", json=request)
    assert (answer.status_code, answer.json()["code"]) == (422, "output-too-large")
    assert "MessagePack" in answer.json()["detail"]


def test_a_json_response_has_a_limited_number_of_empty_lists(http: httpx.Client) -> None:
    request = {
        "op": {"name": "numpy.broadcast_to", "shape": [2**40, 0]},
        "inputs": [{"dtype": "int8", "shape": [0], "data": []}],
    }
    answer = http.post("/v1/broadcast", json=request)
    assert (answer.status_code, answer.json()["code"]) == (422, "output-too-large")
    empty = request | {"op": {"name": "numpy.broadcast_to", "shape": [3, 0]}}
    assert http.post("/v1/broadcast", json=empty).json()["broadcast_inputs"][0]["data"] == [[], [], []]


def test_an_op_without_outputs_is_for_check_only(http: httpx.Client) -> None:
    request = {"op": "poputil.canBroadcastToMatch", "inputs": [ROW, ROW]}
    assert post(http, "/v1/broadcast", request, Accept=JSON).json()["code"] == "invalid-request"
    request = {"op": "poputil.canBroadcastToMatch", "inputs": [[3], [3]], "gradients": []}
    assert post(http, "/v1/backprop", request, Accept=JSON).json()["code"] == "invalid-request"
