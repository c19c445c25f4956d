"""Tests of checks that are written in a URL."""

from __future__ import annotations

import httpx
from cases import cases
from http_requests import NGRAPH_ANSWER, post
from msgpack import unpackb

import axiscast
from axiscast.ops import torch


def test_a_shape_in_a_url_may_be_written_as_it_is_pasted(http: httpx.Client) -> None:
    """test_shape_texts.py tests all notations."""
    params = [("input", "8x1x6x1"), ("input", "torch.Size([7, 1, 5])"), ("input", "")]
    assert http.get("/v1/check", params=params).json()["broadcast_inputs"][2] == {
        "input": 2,
        "shape": [8, 7, 6, 5],
        "axes": [],
        "broadcast_axes": [0, 1, 2, 3],
    }


@cases("assume", ['{"N": "2..", "M": 2}', "N=2.., M=2", "N = 2..  M=2"])
def test_assumptions_in_a_url_are_written_as_on_the_command_line(http: httpx.Client, assume: str) -> None:
    answer = http.get("/v1/check", params=[("input", "N,3"), ("input", "M,3"), ("assume", assume)]).json()
    assert [condition["any"] for condition in answer["conditions"]] == [[{"equal": ["N", 2]}]]


def test_attributes_in_a_url_have_their_own_names(http: httpx.Client) -> None:
    params = {"op": "ngraph.Broadcast", "input": "3", "shape": "2,3", "broadcast_axes": "0"}
    assert http.get("/v1/check", params=params).json() == NGRAPH_ANSWER
    params = {"op": "openvino.Broadcast-1", "mode": "pdpd", "axis": "-1", "input": "3", "target_shape": "2x3"}
    assert http.get("/v1/check", params=params).json()["broadcast_inputs"][0]["axes"] == [1]


def test_a_terminal_gets_a_drawing_and_a_sentence(http: httpx.Client) -> None:
    for answer in (
        http.get("/v1/check?input=3&input=4&format=text"),
        http.get("/v1/check?input=3&input=4", headers={"Accept": "text/plain"}),
    ):
        assert answer.headers["content-type"].startswith("text/plain")
        assert answer.text.startswith("axis     0\ninput 0  3\ninput 1  4\n         ^\n")
        message = http.get("/v1/check?input=3&input=4").json()["conflict"]["message"]
        assert f"incompatible (size-mismatch): {message}" in answer.text


def test_a_response_can_be_cached_and_revalidated(http: httpx.Client) -> None:
    first = http.get("/v1/check?input=3")
    assert "max-age" in first.headers["cache-control"]
    again = http.get("/v1/check?input=3", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert http.get("/v1/check?input=4", headers={"If-None-Match": first.headers["etag"]}).status_code == 200


@cases("path", ["/v1/check?input=3", "/v1/check?input=3&format=text", "/openapi.json", "/"])
@cases(
    ("known", "status"),
    [("*", 304), ('"another", {tag}', 304), ("W/{tag}", 304), ('"*"', 200), ('"another"', 200), ("", 200)],
)
def test_a_cached_response_is_not_sent_again_for_any_form_of_if_none_match(
    http: httpx.Client, path: str, known: str, status: int
) -> None:
    first = http.get(path)
    again = http.get(path, headers={"If-None-Match": known.format(tag=first.headers["etag"])})
    assert (again.status_code, again.headers["etag"]) == (status, first.headers["etag"])
    assert again.content == (b"" if status == 304 else first.content)


def test_head_has_the_headers_of_get_and_no_body(http: httpx.Client) -> None:
    head, get = http.head("/v1/check?input=3"), http.get("/v1/check?input=3")
    assert head.content == b""
    for name in ("etag", "content-length", "content-type", "cache-control"):
        assert head.headers[name] == get.headers[name]


BAD_QUERIES = [
    ("", "invalid-request", "input is missing: write ?input=8,1,6,1&input=7,1,5"),
    ("input=3,a!", "invalid-request", "input 0: write a shape as 8,1,6,1 or 8x1x6x1, a scalar as ()"),
    ("input=3&op=numpy.brodcast_to", "unknown-op", "did you mean numpy.broadcast_to"),
    (
        "input=3&op=ngraph.Broadcast&shape=2,3&axes=0",
        "invalid-request",
        "axes: this parameter does not exist of ngraph.Broadcast: write broadcast_axes, which is missing",
    ),
    (
        "input=3&op=ngraph.Broadcast&shape=2,3",
        "invalid-request",
        "broadcast_axes: is missing: write for instance broadcast_axes=0",
    ),
    ("input=N&assume=N", "invalid-request", "assume: write a name and its sizes, such as N=2.., N=1..8 or N=3"),
    (f"input=N&assume=N=2{',' * 2000}", "invalid-request", "assume: can have at most 2000 characters"),
    ("input=N&assume={", "invalid-request", 'assume: write N=2.., or JSON such as {"N":"2.."} (this is not JSON: '),
    ('input=N&assume={"N":2,"N":3}', "invalid-request", "(the key 'N' occurs twice in a map)"),
    ("input=3&dtype=floaty", "invalid-request", "dtype: the dtype is unknown: did you mean float64"),
    ("input=3&dtype=int8&dtype=int8", "invalid-request", "dtype is given twice"),
    ("input=3&assume=N=1&assume=N=2", "invalid-request", "assume is given twice"),
    ("input=N&assume=N=1,M=2,N=2", "invalid-request", "assume: N is given twice"),
    (
        'input=2&op=einops.repeat&pattern=a -> a c&axes_lengths={"c":1,"c":2}',
        "invalid-request",
        "(the key 'c' occurs twice in a map)",
    ),
    ("input=3&explain=maybe", "invalid-request", "explain: must be true or false"),
    ("input=-3", "invalid-request", "input 0, axis 0: must not be negative: a size is 0 or more"),
    ("input=9223372036854775808", "invalid-request", "input 0, axis 0: must be at most 2^63-1"),
    ("input=3&op=poputil.expandToMatchRanks", "invalid-request", "poputil.expandToMatchRanks takes 2 inputs, not 1"),
    ("input=3&op=openvino.Broadcast-1&target_shape=3&mode=pdpd&axis=a", "invalid-request", "axis: must be an integer"),
]


@cases(("query", "code", "said"), BAD_QUERIES, ids=[query for query, _, _ in BAD_QUERIES])
def test_the_message_about_an_invalid_query_has_a_fix(http: httpx.Client, query: str, code: str, said: str) -> None:
    answer = http.get(f"/v1/check?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert said in answer.json()["detail"]


def test_null_is_an_unknown_size_in_every_request_form(http: httpx.Client) -> None:
    """Keras writes null for an unknown size. Two such sizes may differ."""
    asked = {"op": {"name": "torch.expand", "size": [2, None]}, "inputs": [[None]]}
    expected = http.post("/v1/check", json={"op": {"name": "torch.expand", "size": [2, "?"]}, "inputs": [["?"]]}).json()
    assert expected["outputs"][0]["shape"] == [2, "?"]
    assert http.post("/v1/check", json=asked).json() == expected
    assert unpackb(post(http, "/v1/check", asked).content) == expected
    assert http.post("/v1/check/batch", json={"requests": [asked]}).json() == {"results": [expected]}
    assert unpackb(post(http, "/v1/check/batch", {"requests": [asked]}).content) == {"results": [expected]}
    for unknown in ("null", "None", "?"):
        query = {"op": "torch.expand", "size": f"2,{unknown}", "input": unknown}
        assert http.get("/v1/check", params=query).json() == expected
    answer = axiscast.check(torch.expand(size=(2, None)), (None,))
    assert answer.model_dump(mode="json", exclude_unset=True) == expected
    two, same = ({"inputs": [[size, 4], [size, 4]]} for size in (None, "N"))
    assert len(http.post("/v1/check", json=two).json()["conditions"]) == 1
    assert len(http.post("/v1/check", json=same).json()["conditions"]) == 0


@cases("path", ["translate", "broadcast", "backprop"])
def test_null_is_refused_if_sizes_must_be_integers(http: httpx.Client, path: str) -> None:
    tensor = {"dtype": "int8", "shape": [1], "data": [1]}
    fields = {"translate": {"to": "torch.expand"}, "broadcast": {}, "backprop": {"gradients": [tensor]}}[path]
    inputs = [tensor] if path == "broadcast" else [[1]]
    asked = {"op": {"name": "numpy.broadcast_to", "shape": [None, 1]}, "inputs": inputs, **fields}
    problem = http.post(f"/v1/{path}", json=asked).json()
    assert (problem["code"], problem["pointer"]) == ("invalid-request", "/op/shape")
