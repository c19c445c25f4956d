"""The encodings of requests and responses."""

from __future__ import annotations

import gzip

import httpx
import msgpack
from cases import cases
from conftest import Served
from http_requests import JSON, MSGPACK, NGRAPH, NGRAPH_ANSWER, pack, post


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


@cases(("accept", "answered"), ACCEPTS, ids=[str(accept) for accept, _ in ACCEPTS])
def test_the_response_has_the_accepted_encoding_or_that_of_the_request(
    service: Served, accept: str, answered: str
) -> None:
    headers = {"Content-Type": "application/msgpack"} | ({"Accept": accept} if accept else {})
    request = httpx.Request("POST", f"{service.url}/v1/check", content=pack(NGRAPH), headers=headers)
    if accept is None:
        request.headers.pop("accept", None)
    with httpx.Client() as http:
        answer = http.send(request)
    assert (answer.status_code, answer.headers["content-type"], answer.headers["vary"]) == (200, answered, "Accept")


def test_an_unsatisfiable_accept_gets_a_406_in_json(http: httpx.Client) -> None:
    answer = post(http, "/v1/check", NGRAPH, Accept="image/png")
    assert (answer.status_code, answer.headers["content-type"]) == (406, "application/problem+json")
    supported = [MSGPACK, JSON, "application/msgpack", "application/x-msgpack", "image/svg+xml"]
    assert answer.json()["supported"] == supported


def test_a_problem_is_messagepack_only_if_the_request_or_accept_is(http: httpx.Client) -> None:
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


@cases(("headers", "said"), MEDIA)
def test_an_unsupported_encoding_gets_a_415(http: httpx.Client, headers: dict[str, str], said: str) -> None:
    answer = http.post("/v1/check", content=gzip.compress(b"{}"), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported-media-type")
    assert said in answer.json()["detail"]
    assert answer.headers["accept-encoding"] == "identity"
