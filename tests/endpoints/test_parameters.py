"""Tests of query parameters, and of the list of all faults in a problem."""

from __future__ import annotations

import json
from typing import Any

import httpx
import msgpack
import pytest
from cases import cases

import axiscast
from axiscast import Client

BODIES: dict[str, Any] = {
    "/v1/check": {"inputs": [[3]]},
    "/v1/check/batch": {"requests": []},
    "/v1/check/columns": {"inputs": [{"shape": [1, 1], "data": [[3]]}]},
    "/v1/compare": {"inputs": [[3]]},
    "/v1/translate": {"op": {"name": "torch.expand", "size": [2, 3]}, "inputs": [[3]], "to": "onnx.Expand"},
    "/v1/broadcast": {"inputs": [{"shape": [1], "data": [3]}]},
    "/v1/backprop": {"inputs": [[1]], "gradients": [{"shape": [1], "data": [3.0]}]},
    "/v1/why": {"text": "x"},
}
PLACES = [*(("POST", path) for path in BODIES), ("GET", "/v1/ops"), ("GET", "/v1/ops/torch.expand")]
PLACES += [("GET", "/v1/check?input=3"), ("HEAD", "/v1/ops")]


def send(http: httpx.Client, method: str, path: str, query: str) -> httpx.Response:
    return http.request(method, f"{path}{'&' if '?' in path else '?'}{query}", json=BODIES.get(path))


@cases(("method", "path"), PLACES)
@cases("query", ["op=torch.nope", "formatt=svg", "x", "=1"])
def test_an_unknown_parameter_is_refused(http: httpx.Client, method: str, path: str, query: str) -> None:
    if path.startswith("/v1/check?") and query.startswith("op="):
        return  # GET /v1/check has this parameter
    answer = send(http, method, path, query)
    assert answer.status_code == 422
    if method != "HEAD":
        problem = answer.json()
        assert (problem["code"], problem["parameter"]) == ("invalid-request", query.partition("=")[0])
        assert problem["errors"] == [{"detail": problem["detail"], "parameter": problem["parameter"]}]
        assert "pointer" not in problem


@cases(("method", "path"), PLACES)
def test_requests_without_unknown_parameters_are_accepted(http: httpx.Client, method: str, path: str) -> None:
    assert http.request(method, path, json=BODIES.get(path)).status_code == 200


@cases("path", ["/", "/docs", "/ops", "/static/page.css", "/livez", "/readyz", "/openapi.json"])
def test_pages_and_probes_ignore_unknown_parameters(http: httpx.Client, path: str) -> None:
    assert http.get(path, params={"x": "1"}).status_code == 200


def test_the_format_of_a_posted_check(http: httpx.Client) -> None:
    picture = http.post("/v1/check?format=svg", json=BODIES["/v1/check"])
    assert picture.headers["content-type"].startswith("image/svg+xml")
    assert http.post("/v1/check?format=json", json=BODIES["/v1/check"]).json()["compatible"] is True
    refused = http.post("/v1/check?format=text", json=BODIES["/v1/check"]).json()
    assert (refused["parameter"], refused["detail"]) == ("format", "format: must be json or svg, not 'text'")
    twice = http.post("/v1/check?format=svg&format=json", json=BODIES["/v1/check"]).json()
    assert twice["detail"] == "format is given twice"


@cases("accept", ["application/json", "application/vnd.msgpack"])
def test_the_catalogue_of_one_framework(http: httpx.Client, accept: str) -> None:
    def names(query: str) -> list[str]:
        answer = http.get(f"/v1/ops{query}", headers={"Accept": accept})
        content = json.loads(answer.content) if "json" in accept else msgpack.unpackb(answer.content)
        return [op["name"] for op in content["ops"]]

    assert names("?framework=ngraph") == ["ngraph.Broadcast", "ngraph.BroadcastLike"]
    assert names("?framework=tf") == names("?framework=tensorflow")
    assert len(names("")) > 100


@cases(
    ("name", "words"),
    [("ngrph", "did you mean ngraph?"), ("Torch", "did you mean torch?"), ("", "write one of numpy, ")],
)
def test_an_unknown_framework_is_a_problem_with_a_suggestion(http: httpx.Client, name: str, words: str) -> None:
    answer = http.get("/v1/ops", params={"framework": name})
    assert (answer.status_code, answer.json()["parameter"]) == (422, "framework")
    assert words in answer.json()["detail"]


FAULTS: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"inputs": [["a!"], [2], [3.5], [[1]]], "explain": 1, "warn": ["squares"]},
     [("/inputs/0/0", 'write "a"'), ("/inputs/2/0", "must be an integer"), ("/inputs/3/0", "must be an integer"),
      ("/explain", "write true"), ("/warn/0", "did you mean square?")]),
    ({"op": "torch.expnd", "inputs": 3}, [("/op", "did you mean torch.expand"), ("/inputs", "must be a list")]),
    ({"op": {"name": "torch.expand", "size": "x!", "bogus": 1}}, [
        ("/op/size", "must be a list"), ("/op/bogus", "unknown field"), ("/inputs", "is missing")]),
    ({"inputs": [[3]], "dtype": 3}, [("/dtype", "must be a string")]),
]  # fmt: skip


@cases(("body", "faults"), FAULTS, ids=str)
@cases("media", ["application/json", "application/vnd.msgpack"])
def test_a_problem_lists_all_faults_of_a_body(
    http: httpx.Client, body: dict[str, Any], faults: list[tuple[str, str]], media: str
) -> None:
    content = json.dumps(body).encode() if "json" in media else msgpack.packb(body)
    problem = http.post("/v1/check", content=content, headers={"Content-Type": media, "Accept": media})
    document = problem.json() if "json" in media else msgpack.unpackb(problem.content)
    assert [error["pointer"] for error in document["errors"]] == [pointer for pointer, _ in faults]
    for error, (_, words) in zip(document["errors"], faults, strict=True):
        assert words in error["detail"]
    assert document["errors"][0] == {"detail": document["detail"], "pointer": document["pointer"]}


def test_a_row_of_a_batch_lists_its_faults(http: httpx.Client) -> None:
    rows = {"requests": [{"inputs": [[3]]}, {"inputs": [["a!"], [3.5]]}]}
    error = http.post("/v1/check/batch", json=rows).json()["results"][1]["error"]
    assert [fault["pointer"] for fault in error["errors"]] == ["/requests/1/inputs/0/0", "/requests/1/inputs/1/0"]


def test_many_faults_are_counted(http: httpx.Client) -> None:
    document = http.post("/v1/check", json={"inputs": [[3]]} | {f"field{number}": 1 for number in range(40)}).json()
    assert len(document["errors"]) == 17
    assert document["errors"][-1] == {"detail": "24 more errors in this request"}


def test_a_fault_in_a_query_names_its_parameter(http: httpx.Client) -> None:
    for query, parameter, pointer in [
        ("input=3,-1", "input", "/inputs/0/1"), ("input=3&input=a!", "input", "/inputs/1"),
        ("input=3&dtype=x", "dtype", "/dtype"), ("input=3&op=torch.expand", "size", "/op/size"),
        ("input=3&op=torch.expnd", "op", "/op"), ("input=N&assume=N%3D-1", "assume", "/assume/N"),
        ("op=numpy.add", "input", "/inputs"), ("input=3&op=numpy.add", "input", "/inputs"),
    ]:  # fmt: skip
        problem = http.get(f"/v1/check?{query}").json()
        assert (problem["parameter"], problem.get("pointer")) == (parameter, pointer), problem
        assert problem["errors"][0]["parameter"] == parameter


def test_an_exception_shows_all_faults(client: Client) -> None:
    for way in (axiscast, client):
        with pytest.raises(axiscast.InvalidRequest) as refused:
            way.check("numpy.add", ("a!",), (3,), assume={"N": "b!"})
        problem = refused.value
        assert [error["pointer"] for error in problem.errors] == ["/inputs/0/0", "/assume/N"]
        assert str(problem) == "; ".join(error["detail"] for error in problem.errors)
        assert problem.detail == problem.errors[0]["detail"]
        assert problem.detail.startswith("input 0, axis 0: ")
