"""Tests of the messages about invalid bodies and paths."""

from __future__ import annotations

from typing import Any

import httpx
from cases import cases
from conftest import Served
from http_requests import JSON, MSGPACK, post
from raw_http import answers, connect, read_all

BAD_BODIES = [
    ([], "", "the body: must be a map, not a list: write {"),
    ({}, "/inputs", 'inputs: is missing: write for instance "inputs": [[8, 1, 6, 1], [7, 1, 5]]'),
    ({"inputs": [[3]], "input": 1}, "/input", "input: is an unknown field: did you mean inputs?"),
    ({"inputs": [[3.0]]}, "/inputs/0/0", "inputs/0/0: must be an integer, not a float"),
    ({"inputs": [[True]]}, "/inputs/0/0", "inputs/0/0: must be an integer, not a boolean"),
    ({"inputs": [3]}, "/inputs/0", 'inputs/0: must be a list of integers, not an integer: write [3]'),
    ({"inputs": []}, "/inputs", "numpy.broadcast_shapes takes at least 1 input, not 0"),
    (
        {"inputs": [], "op": {"name": "xarray.broadcast", "dims": []}},
        "/inputs", "xarray.broadcast takes at least 1 input, not 0",
    ),
    ({"inputs": [[3]], "explain": 1}, "/explain", "explain: must be true or false"),
    ({"inputs": [[3]], "op": 5}, "/op", "op: must be the name of an op, or a map"),
    ({"inputs": [[3]], "op": {}}, "/op", "op: an op must have a name"),
    (
        {"inputs": [[3]], "op": "numpy.broadcast_to"},
        "/op/shape", 'op/shape: is missing: write "op": {"name": "numpy.broadcast_to", "shape": [4, 3]}',
    ),
    (
        {"inputs": [[3]], "op": {"name": "openvino.Broadcast-1", "target_shape": [3], "mode": "explicit"}},
        "/op/axes_mapping", "op/axes_mapping: is required in explicit mode",
    ),
    (
        {"inputs": [[3]], "op": {"name": "openvino.Broadcast-3", "target_shape": [3], "mode": "pdpd"}},
        "/op/mode", "op/mode: must be 'numpy', 'explicit' or 'bidirectional'",
    ),
    ({"inputs": [[3], [3]], "op": {"name": "poputil.broadcastToMatch", "shape": [3]}}, "/inputs", "omit shape"),
]  # fmt: skip


@cases(("value", "pointer", "said"), BAD_BODIES, ids=[said for _, _, said in BAD_BODIES])
def test_the_message_about_an_invalid_body_has_the_location_and_the_fix(
    http: httpx.Client, value: Any, pointer: str, said: str
) -> None:
    for answer in (http.post("/v1/check", json=value), post(http, "/v1/check", value, Accept=JSON)):
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
        document = answer.json()
        assert (document["code"], document["pointer"]) == ("invalid-request", pointer)
        assert said in document["detail"]


@cases("content", [b"", b"{", b"\xff", b'{"a":1,"a":2}', b"[" * 100_000, b'{"inputs":[[NaN]]}'])
def test_a_body_that_is_not_json_is_malformed(http: httpx.Client, content: bytes) -> None:
    answer = http.post("/v1/check", content=content, headers={"Content-Type": JSON})
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-body")


@cases("content", [b"", b"\xc1", b"\x81\xa1a", b"\x80\x80", b"\xd4\x01\x00", b"\x91" * 5000])
def test_a_body_that_is_not_messagepack_is_malformed(http: httpx.Client, content: bytes) -> None:
    answer = http.post("/v1/check", content=content, headers={"Content-Type": MSGPACK, "Accept": JSON})
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-body")


def test_unknown_paths_and_methods_are_problems(http: httpx.Client) -> None:
    missing = http.get("/v2/check")
    assert (missing.status_code, missing.json()["code"]) == (404, "not-found")
    refused = http.delete("/v1/check")
    assert (refused.status_code, refused.json()["code"]) == (405, "method-not-allowed")
    assert refused.headers["allow"] == "GET, HEAD, POST"
    assert http.get("/v1/ops/nothing").json()["code"] == "not-found"


def test_json_with_a_too_large_content_length_is_refused_before_it_is_sent(service: Served) -> None:
    for path in ("check", "check/batch", "check/columns", "broadcast", "backprop", "compare", "translate", "why"):
        head = f"POST /v1/{path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        with connect(service.port) as connection:
            connection.sendall(f"{head}Content-Length: {4 * 2**20 + 1}\r\n\r\n".encode())
            (refused,) = answers(read_all(connection))  # and not a byte of the body
        assert (refused.status, refused.problem["code"]) == (413, "body-too-large")
        assert refused.problem["limit"] == 4 * 2**20
