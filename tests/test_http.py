"""The service over HTTP, as any program would speak it: encodings, forms, problems, limits."""

from __future__ import annotations

import gzip
import json
import re
import socket
import time
from pathlib import Path
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
from conftest import PATIENCE, Served, served, unhurried

from tensorcast.ops import OPS
from tensorcast_service.web import pages
from tensorcast_service.web.openapi import EXAMPLES

JSON = "application/json"
MSGPACK = "application/vnd.msgpack"
NGRAPH = {"op": {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [0]}, "inputs": [[3]]}
NGRAPH_ANSWER = {
    "compatible": True,
    "outputs": [{"shape": [2, 3], "input": 0, "axes": [1], "broadcast_axes": [0], "elements": 6}],
    "warnings": [],
}
ROW = {"dtype": "float32", "shape": [3], "data": np.array([1, 2, 3], "<f4").tobytes()}


def pack(value: Any) -> bytes:
    return bytes(msgpack.packb(value))


def post(http: httpx.Client, path: str, value: Any, **headers: str) -> httpx.Response:
    """A request in MessagePack."""
    return http.post(path, content=pack(value), headers={"Content-Type": MSGPACK, **headers})


# --- encodings ------------------------------------------------------------------------------------


def test_the_contracts_example_in_json_and_in_messagepack(http: httpx.Client) -> None:
    assert http.post("/v1/check", json=NGRAPH).json() == NGRAPH_ANSWER
    answer = post(http, "/v1/check", NGRAPH)
    assert answer.headers["content-type"] == MSGPACK
    assert msgpack.unpackb(answer.content) == NGRAPH_ANSWER


ACCEPTS = [
    (None, MSGPACK),
    ("*/*", MSGPACK),
    ("application/*", MSGPACK),
    ("application/json", JSON),
    ("application/json;q=0.5, application/vnd.msgpack;q=0.4", JSON),
    ("application/json;q=0.5, */*", MSGPACK),
    ("application/vnd.msgpack;q=0, */*;q=0.1", JSON),
    ("application/msgpack", "application/msgpack"),
    ("application/x-msgpack", "application/x-msgpack"),
    ("text/html, application/xhtml+xml, */*;q=0.8", MSGPACK),
    ("application/problem+json", JSON),
]


@pytest.mark.parametrize(("accept", "answered"), ACCEPTS, ids=[str(accept) for accept, _ in ACCEPTS])
def test_accept_decides_and_the_requests_encoding_where_it_does_not(
    service: Served, accept: str, answered: str
) -> None:
    headers = {"Content-Type": "application/msgpack"} | ({"Accept": accept} if accept else {})
    request = httpx.Request("POST", f"{service.url}/v1/check", content=pack(NGRAPH), headers=headers)
    if accept is None:
        request.headers.pop("accept", None)
    with httpx.Client() as http:
        answer = http.send(request)
    assert (answer.status_code, answer.headers["content-type"], answer.headers["vary"]) == (200, answered, "Accept")


def test_an_accept_that_nothing_satisfies_is_406_in_json(http: httpx.Client) -> None:
    answer = post(http, "/v1/check", NGRAPH, Accept="image/png")
    assert (answer.status_code, answer.headers["content-type"]) == (406, "application/problem+json")
    assert answer.json()["supported"] == [MSGPACK, JSON, "application/msgpack", "application/x-msgpack"]


def test_a_problem_is_messagepack_only_where_the_request_or_accept_is(http: httpx.Client) -> None:
    answer = post(http, "/v1/check", {})
    assert answer.headers["content-type"] == MSGPACK
    assert msgpack.unpackb(answer.content)["code"] == "invalid-request"
    assert post(http, "/v1/check", {}, Accept=JSON).headers["content-type"] == "application/problem+json"
    assert http.post("/v1/check", json={}).headers["content-type"] == "application/problem+json"


MEDIA = [
    ({"Content-Type": "text/plain"}, "text/plain"),
    ({}, "Content-Type is missing"),
    ({"Content-Type": JSON, "Content-Encoding": "gzip"}, "gzip"),
]


@pytest.mark.parametrize(("headers", "said"), MEDIA)
def test_what_can_not_be_read_is_415(http: httpx.Client, headers: dict[str, str], said: str) -> None:
    answer = http.post("/v1/check", content=gzip.compress(b"{}"), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported-media-type")
    assert said in answer.json()["detail"]
    assert answer.headers["accept-encoding"] == "identity"


# --- GET ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["8,1,6,1", "8x1x6x1", "(8,1,6,1)", "[8, 1, 6, 1]", "8 x 1 x 6 x 1"])
def test_a_shape_in_a_url_may_be_written_in_many_ways(http: httpx.Client, text: str) -> None:
    answer = http.get("/v1/check", params=[("input", text), ("input", "7,1,5")]).json()
    assert answer["outputs"][0]["shape"] == [8, 7, 6, 5]


@pytest.mark.parametrize("text", ["", "()", "[]"])
def test_a_scalar_in_a_url_is_empty_or_parentheses(http: httpx.Client, text: str) -> None:
    assert http.get("/v1/check", params={"input": text}).json()["outputs"][0]["shape"] == []


def test_attributes_in_a_url_have_their_own_names(http: httpx.Client) -> None:
    params = {"op": "ngraph.Broadcast", "input": "3", "shape": "2,3", "broadcast_axes": "0"}
    assert http.get("/v1/check", params=params).json() == NGRAPH_ANSWER
    params = {"op": "openvino.Broadcast-1", "mode": "pdpd", "axis": "-1", "input": "3", "target_shape": "2x3"}
    assert http.get("/v1/check", params=params).json()["outputs"][0]["axes"] == [1]


def test_a_terminal_gets_a_drawing_and_a_sentence(http: httpx.Client) -> None:
    for answer in (
        http.get("/v1/check?input=3&input=4&format=text"),
        http.get("/v1/check?input=3&input=4", headers={"Accept": "text/plain"}),
    ):
        assert answer.headers["content-type"].startswith("text/plain")
        assert answer.text.startswith("axis     0\ninput 0  3\ninput 1  4\n         ^\n")
        assert "incompatible (size-mismatch): On output axis 0" in answer.text


def test_an_answer_can_be_cached_and_asked_for_again(http: httpx.Client) -> None:
    first = http.get("/v1/check?input=3")
    assert "max-age" in first.headers["cache-control"]
    again = http.get("/v1/check?input=3", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert http.get("/v1/check?input=4", headers={"If-None-Match": first.headers["etag"]}).status_code == 200


def test_head_has_the_headers_of_get_and_no_body(http: httpx.Client) -> None:
    head, get = http.head("/v1/check?input=3"), http.get("/v1/check?input=3")
    assert head.content == b""
    for name in ("etag", "content-length", "content-type", "cache-control"):
        assert head.headers[name] == get.headers[name]


BAD_QUERIES = [
    ("", "invalid-request", "input is missing: write ?input=8,1,6,1&input=7,1,5"),
    ("input=3,a!", "invalid-request", "input 0: write a shape as 8,1,6,1 or 8x1x6x1, a scalar as ()"),
    ("input=3&op=numpy.brodcast_to", "unknown-op", "did you mean numpy.broadcast_to"),
    ("input=3&op=ngraph.Broadcast&shape=2,3&axes=0", "invalid-request", "it has shape, broadcast_axes"),
    (
        "input=3&op=ngraph.Broadcast&shape=2,3",
        "invalid-request",
        'op/broadcast_axes: is missing: write for instance "b',
    ),
    ("input=3&dtype=floaty", "invalid-request", "dtype: there is no such dtype: did you mean float64"),
    ("input=3&dtype=int8&dtype=int8", "invalid-request", "dtype is given twice"),
    ("input=3&explain=maybe", "invalid-request", "explain: must be true or false"),
    ("input=-3", "invalid-request", "inputs/0/0: must not be negative: a size is 0 or more"),
    ("input=9223372036854775808", "invalid-request", "inputs/0/0: must be at most 2^63-1"),
    ("input=3&op=poputil.expandToMatchRanks", "invalid-request", "poputil.expandToMatchRanks takes 2 inputs, not 1"),
    ("input=3&op=openvino.Broadcast-1&target_shape=3&mode=pdpd&axis=a", "invalid-request", "axis: must be an integer"),
]


@pytest.mark.parametrize(("query", "code", "said"), BAD_QUERIES, ids=[query for query, _, _ in BAD_QUERIES])
def test_a_bad_query_says_what_would_be_right(http: httpx.Client, query: str, code: str, said: str) -> None:
    answer = http.get(f"/v1/check?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert said in answer.json()["detail"]


# --- what is wrong with a body --------------------------------------------------------------------

BAD_BODIES = [
    ([], "", "the body: must be a map of fields"),
    ({}, "/inputs", 'inputs: is missing: write for instance "inputs": [[8, 1, 6, 1], [7, 1, 5]]'),
    ({"inputs": [[3]], "input": 1}, "/input", "input: is no field here: did you mean inputs?"),
    ({"inputs": [[3.0]]}, "/inputs/0/0", "inputs/0/0: must be an integer, not a float"),
    ({"inputs": [[True]]}, "/inputs/0/0", "inputs/0/0: must be an integer, not a boolean"),
    ({"inputs": [3]}, "/inputs/0", "inputs/0: must be a list of integers such as [2, 3], not an integer"),
    ({"inputs": []}, "/inputs", "numpy.broadcast_arrays takes at least 1 input, not 0"),
    ({"inputs": [[3]], "explain": 1}, "/explain", "explain: must be true or false"),
    ({"inputs": [[3]], "op": 5}, "/op", "op: must be the name of an op, or a map"),
    ({"inputs": [[3]], "op": {}}, "/op", "op: an op needs its name"),
    (
        {"inputs": [[3]], "op": "numpy.broadcast_to"},
        "/op/shape", 'op/shape: is missing: write for instance "shape": [4, 3]',
    ),
    (
        {"inputs": [[3]], "op": {"name": "openvino.Broadcast-1", "target_shape": [3], "mode": "explicit"}},
        "/op/axes_mapping", "op/axes_mapping: is needed in mode explicit",
    ),
    (
        {"inputs": [[3]], "op": {"name": "openvino.Broadcast-3", "target_shape": [3], "mode": "pdpd"}},
        "/op/mode", "op/mode: must be 'numpy', 'explicit' or 'bidirectional'",
    ),
    ({"inputs": [[3], [3]], "op": {"name": "poputil.broadcastToMatch", "shape": [3]}}, "/inputs", "leave shape out"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "pointer", "said"), BAD_BODIES, ids=[said for _, _, said in BAD_BODIES])
def test_a_bad_body_says_where_and_what_would_be_right(http: httpx.Client, value: Any, pointer: str, said: str) -> None:
    for answer in (http.post("/v1/check", json=value), post(http, "/v1/check", value, Accept=JSON)):
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
        document = answer.json()
        assert (document["code"], document["pointer"]) == ("invalid-request", pointer)
        assert said in document["detail"]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"a":1,"a":2}', b"[" * 100_000, b'{"inputs":[[NaN]]}'])
def test_a_body_that_is_no_json_is_malformed(http: httpx.Client, content: bytes) -> None:
    answer = http.post("/v1/check", content=content, headers={"Content-Type": JSON})
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-body")


@pytest.mark.parametrize("content", [b"", b"\xc1", b"\x81\xa1a", b"\x80\x80", b"\xd4\x01\x00", b"\x91" * 5000])
def test_a_body_that_is_no_messagepack_is_malformed(http: httpx.Client, content: bytes) -> None:
    answer = http.post("/v1/check", content=content, headers={"Content-Type": MSGPACK, "Accept": JSON})
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-body")


def test_nothing_and_no_method_are_problems_too(http: httpx.Client) -> None:
    missing = http.get("/v2/check")
    assert (missing.status_code, missing.json()["code"]) == (404, "not-found")
    refused = http.delete("/v1/check")
    assert (refused.status_code, refused.json()["code"]) == (405, "method-not-allowed")
    assert refused.headers["allow"] == "GET, HEAD, POST"
    assert http.get("/v1/ops/nothing").json()["code"] == "not-found"


# --- broadcast and backprop -----------------------------------------------------------------------


def test_json_tensors_in_and_out(http: httpx.Client) -> None:
    row = {"dtype": "float32", "shape": [3], "data": [1.5, "NaN", "-Infinity"]}
    request = {"op": NGRAPH["op"], "inputs": [row]}
    (output,) = http.post("/v1/broadcast", json=request).json()["outputs"]
    assert output == {"dtype": "float32", "shape": [2, 3], "data": [[1.5, "NaN", "-Infinity"]] * 2}
    (output,) = http.post("/v1/broadcast", json=request | {"layout": "strided"}).json()["outputs"]
    assert output == {"dtype": "float32", "shape": [2, 3], "strides": [0, 1], "data": [1.5, "NaN", "-Infinity"]}
    (output,) = http.post("/v1/broadcast", json=request | {"json_data": "base64"}).json()["outputs"]
    assert output["base64"] == "AADAPwAAwH8AAID/AADAPwAAwH8AAID/"


def test_a_dense_messagepack_answer_is_one_valid_object_of_the_announced_length(http: httpx.Client) -> None:
    request = {"op": {"name": "numpy.broadcast_to", "shape": [400_000, 3]}, "inputs": [ROW]}
    answer = post(http, "/v1/broadcast", request)
    assert int(answer.headers["content-length"]) == len(answer.content)
    (output,) = msgpack.unpackb(answer.content)["outputs"]
    assert list(output) == ["dtype", "shape", "data"]
    assert output["data"] == ROW["data"] * 400_000


def test_a_strided_answer_costs_the_bytes_of_the_input(http: httpx.Client) -> None:
    request = {"op": {"name": "numpy.broadcast_to", "shape": [10**15, 3]}, "inputs": [ROW], "layout": "strided"}
    answer = msgpack.unpackb(post(http, "/v1/broadcast", request).content)
    assert answer == {"outputs": [{"dtype": "float32", "shape": [10**15, 3], "strides": [0, 1], "data": ROW["data"]}]}


def test_a_window_is_a_box_of_an_output_that_no_machine_could_hold(http: httpx.Client) -> None:
    op = {"name": "numpy.broadcast_to", "shape": [2**62, 2**62, 3]}
    request = {"op": op, "inputs": [ROW], "window": [[2**61, 2**61 + 1], [5, 7], [1, 3]]}
    assert msgpack.unpackb(post(http, "/v1/broadcast", request).content)["outputs"] == [
        {"dtype": "float32", "shape": [1, 2, 2], "data": np.array([2, 3, 2, 3], "<f4").tobytes()}
    ]


@pytest.mark.parametrize("window", [[[0, 1]], [[0, 3], [0, 3]], [[1, 0], [0, 3]], [[-1, 1], [0, 3]]])
def test_a_window_outside_the_output_is_refused(http: httpx.Client, window: Any) -> None:
    request = {"op": {"name": "numpy.broadcast_to", "shape": [2, 3]}, "inputs": [ROW], "window": window}
    answer = post(http, "/v1/broadcast", request, Accept=JSON).json()
    assert (answer["code"], answer["pointer"].startswith("/window")) == ("invalid-request", True)


def test_incompatible_shapes_bear_the_conflict_that_check_gives(http: httpx.Client) -> None:
    op = {"name": "numpy.broadcast_to", "shape": [2, 4]}
    answer = post(http, "/v1/broadcast", {"op": op, "inputs": [ROW]}, Accept=JSON)
    assert (answer.status_code, answer.json()["code"]) == (422, "incompatible-shapes")
    assert answer.json()["conflict"] == http.post("/v1/check", json={"op": op, "inputs": [[3]]}).json()["conflict"]


def test_an_output_that_is_too_large_is_refused_with_the_way_out(http: httpx.Client) -> None:
    request = {"op": {"name": "numpy.broadcast_to", "shape": [10**12, 3]}, "inputs": [ROW]}
    answer = post(http, "/v1/broadcast", request, Accept="application/msgpack, application/json;q=0.1")
    document = msgpack.unpackb(answer.content)
    assert (answer.status_code, document["code"]) == (422, "output-too-large")
    assert (document["elements"], document["nbytes"], document["limit"]) == (3 * 10**12, 12 * 10**12, 2**34)
    assert "strided" in document["detail"]
    assert "window" in document["detail"]


def test_a_json_answer_has_a_limit_of_its_own(http: httpx.Client) -> None:
    request = {"op": {"name": "numpy.broadcast_to", "shape": [2**20, 3]}, "inputs": [{"shape": [3], "data": [1, 2, 3]}]}
    answer = http.post("/v1/broadcast", json=request)
    assert (answer.status_code, answer.json()["code"]) == (422, "output-too-large")
    assert "MessagePack" in answer.json()["detail"]


def test_a_json_answer_nests_no_more_empty_lists_than_elements(http: httpx.Client) -> None:
    request = {
        "op": {"name": "numpy.broadcast_to", "shape": [2**40, 0]},
        "inputs": [{"dtype": "int8", "shape": [0], "data": []}],
    }
    answer = http.post("/v1/broadcast", json=request)
    assert (answer.status_code, answer.json()["code"]) == (422, "output-too-large")
    empty = request | {"op": {"name": "numpy.broadcast_to", "shape": [3, 0]}}
    assert http.post("/v1/broadcast", json=empty).json()["outputs"][0]["data"] == [[], [], []]


def test_an_op_without_outputs_is_for_check_only(http: httpx.Client) -> None:
    request = {"op": "poputil.canBroadcastToMatch", "inputs": [ROW, ROW]}
    assert post(http, "/v1/broadcast", request, Accept=JSON).json()["code"] == "invalid-request"
    request = {"op": "poputil.canBroadcastToMatch", "inputs": [[3], [3]], "gradients": []}
    assert post(http, "/v1/backprop", request, Accept=JSON).json()["code"] == "invalid-request"


def test_a_gradient_is_summed_over_the_broadcast_axes(http: httpx.Client) -> None:
    gradient = {"dtype": "float32", "shape": [2, 3], "data": [[1, 2, 3], [10, 20, 30]]}
    answer = http.post("/v1/backprop", json=NGRAPH | {"gradients": [gradient]})
    assert answer.json() == {"gradients": [{"dtype": "float32", "shape": [3], "data": [11.0, 22.0, 33.0]}]}


def test_a_lending_input_has_a_zero_gradient_of_any_size(http: httpx.Client) -> None:
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


@pytest.mark.parametrize(("request_", "gradient", "expected"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_gradient_in_json_is_dense_unless_it_is_asked_otherwise(
    http: httpx.Client, request_: Any, gradient: Any, expected: list[Any]
) -> None:
    assert http.post("/v1/backprop", json=request_ | {"gradients": [gradient]}).json() == {"gradients": expected}


def test_a_gradient_in_messagepack_is_strided_where_it_is_replicated_unless_it_is_asked_otherwise(
    http: httpx.Client,
) -> None:
    fives = FIVES | {"data": b"\5\6"}
    dense = {"dtype": "int8", "shape": [3, 2], "data": b"\5\6" * 3}
    for layout, expected in (None, fives), ("strided", fives), ("dense", dense):
        request = SAME | {"gradients": [fives]} | ({} if layout is None else {"layout": layout})
        assert msgpack.unpackb(post(http, "/v1/backprop", request).content) == {"gradients": [expected]}


def test_a_replicated_gradient_is_as_large_as_it_is_when_it_is_dense(http: httpx.Client) -> None:
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


def test_more_work_than_a_second_is_refused(http: httpx.Client) -> None:
    overlapping = {"dtype": "int8", "shape": [40_000, 40_000], "strides": [1, 1], "data": bytes(79_999)}
    op = {"name": "numpy.broadcast_to", "shape": [40_000, 40_000]}
    answer = post(http, "/v1/backprop", {"op": op, "inputs": [[1]], "gradients": [overlapping]}, Accept=JSON)
    assert (answer.status_code, answer.json()["code"]) == (422, "work-too-large")


@pytest.mark.parametrize("dtype", ["bool", "str<4>", "bytes<4>", "datetime64[s]", "timedelta64[s]"])
def test_a_gradient_of_a_dtype_without_sums_is_refused(http: httpx.Client, dtype: str) -> None:
    size = {"bool": 1, "str<4>": 16, "bytes<4>": 4}.get(dtype, 8)
    gradient = {"dtype": dtype, "shape": [2, 3], "data": bytes(6 * size)}
    answer = post(http, "/v1/backprop", NGRAPH | {"gradients": [gradient]}, Accept=JSON).json()
    assert (answer["code"], answer["pointer"]) == ("invalid-tensor", "/gradients/0/dtype")


def test_a_gradient_of_another_shape_is_refused(http: httpx.Client) -> None:
    answer = post(http, "/v1/backprop", NGRAPH | {"gradients": [ROW]}, Accept=JSON).json()
    assert (answer["code"], answer["pointer"]) == ("invalid-tensor", "/gradients/0/shape")
    assert "(3,), and output 0 has (2, 3)" in answer["detail"]


# --- limits and the envelope ----------------------------------------------------------------------


def test_a_body_above_the_limit_is_refused_and_the_connection_closed() -> None:
    with served(max_body_bytes=1000) as small, httpx.Client(base_url=small.url) as http:
        assert http.post("/v1/check", json={"inputs": [[1] * 300]}).status_code in (200, 422)
        for content in (b"x" * 1001, iter([b"x" * 600, b"x" * 600])):  # announced, and chunked
            answer = http.post("/v1/check", content=content, headers={"Content-Type": JSON})
            assert (answer.status_code, answer.json()["code"], answer.json()["limit"]) == (413, "body-too-large", 1000)
            assert answer.headers["connection"] == "close"


def test_more_requests_than_the_limit_are_asked_to_come_back() -> None:
    with (
        served(max_concurrent_requests=1) as small,
        socket.create_connection(("127.0.0.1", int(small.url[-5:]))) as held,
    ):
        held.sendall(
            b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        with httpx.Client(base_url=small.url) as http:
            for _ in range(100):
                answer = http.get("/v1/check?input=3")
                if answer.status_code == 503:
                    break
            assert (answer.status_code, answer.json()["code"]) == (503, "overloaded")
            assert answer.headers["retry-after"] == "1"
            assert http.get("/livez").status_code == 200


def test_every_answer_bears_a_request_id(http: httpx.Client) -> None:
    assert http.get("/livez", headers={"X-Request-ID": "abc-123"}).headers["x-request-id"] == "abc-123"
    for given in ({}, {"X-Request-ID": "a b"}, {"X-Request-ID": "x" * 200}):
        made = http.get("/nothing", headers=given).headers["x-request-id"]
        assert len(made) == 32


def test_the_service_is_alive_and_ready(http: httpx.Client) -> None:
    assert http.get("/livez").json() == {"status": "alive"}
    assert http.get("/readyz").json() == {"status": "ready"}


def test_from_sigterm_on_it_is_not_ready_but_answers_until_the_drain_ends() -> None:
    def drain(seconds: float) -> None:
        with served(drain_seconds=int(seconds)) as draining, httpx.Client(base_url=draining.url) as http:
            assert "connection" not in http.get("/v1/check?input=3").headers
            draining.process.terminate()
            refused = http.get("/readyz")
            assert (refused.status_code, refused.json()["code"]) == (503, "shutting-down")
            answer = http.get("/v1/check?input=3")
            assert (answer.status_code, answer.headers["connection"]) == (200, "close")
            time.sleep(seconds / 2)
            assert httpx.get(f"{draining.url}/v1/check?input=3").status_code == 200
            assert draining.process.wait(timeout=PATIENCE) in (0, -15)

    unhurried(drain, 2)


# --- the catalogue, the document, the pages -------------------------------------------------------


def test_the_catalogue_lists_every_op_and_each_example_is_a_check_that_fits(http: httpx.Client) -> None:
    entries = http.get("/v1/ops").json()["ops"]
    assert len(entries) == len(OPS)
    for entry in entries:
        assert http.get(f"/v1/ops/{entry['name']}").json() == entry
        assert http.post("/v1/check", json=entry["example"]).json()["compatible"] is True
        assert {"doc", "link", "outputs"} <= {key for key, value in entry.items() if value}
        assert entry["reference"].keys() == {"package", "version"}
    openvino = next(entry for entry in entries if entry["name"] == "openvino.Broadcast-1")
    assert openvino["attributes"]["required"] == ["target_shape"]
    assert openvino["attributes"]["properties"]["mode"]["enum"] == ["numpy", "explicit", "pdpd"]


def test_the_openapi_document_describes_both_encodings_and_its_examples_run(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {
        "/v1/check",
        "/v1/check/batch",
        "/v1/broadcast",
        "/v1/backprop",
        "/v1/compare",
        "/v1/translate",
        "/v1/ops",
        "/v1/ops/{name}",
    }
    ran = 0
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert {JSON, MSGPACK} <= set(operation["responses"]["200"]["content"])
            for example in (
                operation.get("requestBody", {}).get("content", {}).get(JSON, {}).get("examples", {}).values()
            ):
                assert http.post(path, json=example["value"]).status_code == 200
                assert post(http, path, example["value"]).status_code == 200
                ran += 1
    assert ran == sum(map(len, EXAMPLES.values())) > 0


def test_every_reference_in_the_openapi_document_leads_somewhere(http: httpx.Client) -> None:
    text = http.get("/openapi.json").text
    schemas = json.loads(text)["components"]["schemas"]
    references = {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert references <= set(schemas)
    assert {"CheckRequest", "BroadcastRequest", "Tensor", "ProblemDetails"} <= references


def test_the_pages_need_nothing_from_outside(http: httpx.Client) -> None:
    for path in ("/", "/docs"):
        page = http.get(path)
        assert page.status_code == 200
        assert page.headers["content-type"].startswith("text/html")
        assert 'src="http' not in page.text
        assert 'rel="stylesheet" href="http' not in page.text
        policy = page.headers["content-security-policy"].split("; ")
        assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} <= {*policy}
        assert "unsafe" not in page.headers["content-security-policy"]
    for asset in ("swagger-ui-bundle.js", "swagger-ui.css"):
        assert asset in http.get("/docs").text
        assert len(http.get(f"/docs/{asset}").content) > 100_000
    assert http.get("/docs/other.js").status_code == 404


def test_the_parts_of_the_page_are_there_and_are_sent_once(http: httpx.Client) -> None:
    types = {"": "text/html", "css": "text/css", "js": "text/javascript", "json": "application/json"}
    left, seen = ["/", "/docs", "/openapi.json"], []
    for path in left:
        answer = http.get(path)
        assert answer.status_code == 200, path
        assert answer.headers["content-type"].split(";")[0] == types[path.partition(".")[2]]
        assert answer.headers["cache-control"] == "no-cache"
        again = http.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", answer.headers["etag"])
        seen.append(answer.headers["etag"])
        named = re.findall(r'(?:href|src|from)(?:=| )"((?:static|docs|\.)/[\w-]+\.\w+)"', answer.text[:10_000])
        left += [part for part in (f"/{name.replace('./', 'static/')}" for name in named) if part not in left]
    assert len(set(seen)) == len(left)
    files = {file.name for file in (Path(pages.__file__).parent / "static").iterdir()}
    assert {path.rpartition("/")[2] for path in left if "static" in path} | {"index.html", "docs.html"} == files
    for path in ("/static/other.js", "/static/index.html", "/static/..%2Fpages.py", "/static/"):
        assert http.get(path).status_code == 404


# --- small requests for much ----------------------------------------------------------------------


def test_overlapping_strides_are_answered_with_the_bytes_that_they_share(http: httpx.Client) -> None:
    tensor = {"dtype": "int8", "shape": [20_000, 20_000], "strides": [1, 1], "data": bytes(39_999)}
    request = {"op": "numpy.broadcast_arrays", "inputs": [tensor], "layout": "strided"}
    answer = post(http, "/v1/broadcast", request)
    assert msgpack.unpackb(answer.content)["outputs"] == [tensor]


LARGE: dict[str, tuple[str, Any, str]] = {
    "gradients that overlap": (
        "/v1/backprop",
        {
            "op": {"name": "numpy.broadcast_to", "shape": [16_000, 16_000]},
            "inputs": [[16_000, 16_000]],
            "gradients": [{"dtype": "float32", "shape": [16_000] * 2, "strides": [1, 1], "data": bytes(4 * 31_999)}],
        },
        "work-too-large",
    ),
    "names beyond the rank limit": (
        "/v1/check",
        {
            "op": {
                "name": "xarray.broadcast",
                "dims": [[f"a{axis}" for axis in range(40)], [f"b{axis}" for axis in range(40)]],
            },
            "inputs": [[1] * 40, [1] * 40],
        },
        "work-too-large",
    ),
    "new axes beyond the rank limit": (
        "/v1/broadcast",
        {
            "op": {"name": "jax.lax.broadcast", "sizes": [1] * 40},
            "inputs": [{"dtype": "int8", "shape": [1] * 40, "data": b"1"}],
        },
        "work-too-large",
    ),
    "more inputs than an answer lists": ("/v1/check", {"inputs": [[]] * 64_000}, "work-too-large"),
    "a name of a megabyte": (
        "/v1/check",
        {"op": {"name": "xarray.broadcast", "dims": [["x" * 2**20]]}, "inputs": [[1]]},
        "invalid-request",
    ),
    "many names": (
        "/v1/check",
        {"inputs": [["N"]], "assume": {f"N{number}": "x" for number in range(100_000)}},
        "malformed-body",
    ),
    "more names than are validated": (
        "/v1/check",
        {"inputs": [["N"]], "assume": {f"N{number}": "x" for number in range(2000)}},
        "invalid-request",
    ),
    "a hundred thousand faults": ("/v1/check", {"inputs": [[None] * 100_000]}, "invalid-request"),
    "an unknown field of a megabyte": ("/v1/check", {"inputs": [[1]], "x" * 2**20: 1}, "malformed-body"),
    "an empty output beside an endless axis": (
        "/v1/broadcast",
        {
            "op": {"name": "numpy.broadcast_to", "shape": [0, 2**62]},
            "inputs": [{"dtype": "float32", "shape": [1], "data": bytes(4)}],
        },
        "output-too-large",
    ),
}


@pytest.mark.parametrize(("path", "request_", "code"), LARGE.values(), ids=LARGE)
def test_a_request_for_much_is_refused_at_little_cost(
    http: httpx.Client, service: Served, path: str, request_: Any, code: str
) -> None:
    before = service.memory("VmHWM")
    answer = post(http, path, request_, Accept=JSON)
    assert (answer.status_code < 500, answer.json()["code"]) == (True, code)
    assert len(answer.content) < 10_000
    assert service.memory("VmHWM") - before < 100 * 2**20


def test_a_long_shape_in_a_url_is_refused_at_once(http: httpx.Client) -> None:
    answer = http.get("/v1/check?input=1" + "+" * 30_000 + "1")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    assert answer.elapsed.total_seconds() < 5  # it took minutes of backtracking before it had a bound


def test_rank_too_large_is_said_in_few_words(http: httpx.Client) -> None:
    answer = post(http, "/v1/check", {"inputs": [[1] * 100_000], "explain": True}, Accept=JSON)
    assert answer.json()["conflict"]["code"] == "rank-too-large"
    assert len(answer.content) < 1000
