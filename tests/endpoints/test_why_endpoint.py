"""Tests of POST /v1/why, and of the method `why` of the clients."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from cases import cases
from conftest import Served
from http_requests import post

import axiscast

TEXT = "ValueError: operands could not be broadcast together with shapes (2,64,7,7) (64,)"


def test_a_message_gives_the_op_the_inputs_and_their_check(http: httpx.Client) -> None:
    answer = http.post("/v1/why", json={"text": TEXT}).json()
    assert list(answer) == ["op", "inputs", "sizes", "check", "message"]
    assert (answer["op"], answer["inputs"], answer["sizes"]) == ({"name": "numpy.add"}, [[2, 64, 7, 7], [64]], [7, 64])
    body = {"op": answer["op"], "inputs": answer["inputs"], "explain": True}
    assert answer["check"] == http.post("/v1/check", json=body).json()


def test_messagepack_has_the_same_fields(http: httpx.Client) -> None:
    assert post(http, "/v1/why", {"text": TEXT}).status_code == 200


def test_text_has_the_explanation_the_drawing_and_the_hints(http: httpx.Client) -> None:
    answer = http.post("/v1/why", json={"text": TEXT}, headers={"Accept": "text/plain"})
    assert (answer.status_code, answer.headers["vary"]) == (200, "Accept")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    lines, fields = answer.text.splitlines(), http.post("/v1/why", json={"text": TEXT}).json()
    assert lines[0] == fields["message"]
    assert lines[2] == "axis     0    1   2    3"
    assert lines[-1] == f"hint: {fields['check']['conflict']['hints'][-1]['message']}"


def test_data_that_the_text_does_not_contain_is_absent(http: httpx.Client) -> None:
    text = "RuntimeError: The size of tensor a (7) must match the size of tensor b (64) at non-singleton dimension 3"
    answer = http.post("/v1/why", json={"text": text}).json()
    assert (answer.keys(), answer["sizes"]) == ({"sizes", "message"}, [7, 64])
    other = http.post("/v1/why", json={"text": "RuntimeError: shape '[4, 2]' is invalid for input of size 6"}).json()
    assert other.keys() == {"message"}
    assert "(4, 2)" in other["message"]


@cases(
    ("body", "pointer", "words"),
    [
        ({}, "/text", "missing"),
        ({"text": 3}, "/text", "string"),
        ({"text": "x" * 65537}, "/text", "65536"),
        ({"text": TEXT, "op": "numpy.add"}, "/op", "field"),
    ],
)
def test_an_invalid_request_is_a_problem_that_names_the_field(
    http: httpx.Client, body: object, pointer: str, words: str
) -> None:
    answer = http.post("/v1/why", json=body)
    assert (answer.status_code, answer.json()["code"], answer.json()["pointer"]) == (422, "invalid-request", pointer)
    assert words in answer.json()["detail"]


def test_a_text_of_64_kib_is_read(http: httpx.Client) -> None:
    text = TEXT.rjust(65536)
    assert http.post("/v1/why", json={"text": text}).json()["op"] == {"name": "numpy.add"}


def test_the_clients_return_the_same_answer_as_the_library(service: Served) -> None:
    with axiscast.Client(service.url) as client:
        assert client.why(TEXT) == axiscast.why(TEXT)
        with pytest.raises(axiscast.errors.InvalidRequest, match="65536"):
            client.why("x" * 65537)

    async def answer() -> object:
        async with axiscast.AsyncClient(service.url) as client:
            return await client.why(TEXT)

    assert asyncio.run(answer()) == axiscast.why(TEXT)


def test_the_longest_response_is_accepted_by_a_client(service: Served) -> None:
    shapes = " ".join(f"({', '.join(['1000000007'] * 60)})" for _ in range(32))
    text = f"operands could not be broadcast together with shapes {shapes} (2, 3)"
    with axiscast.Client(service.url) as client:
        answer = client.why(text)
    assert answer.inputs is not None
    assert len(answer.inputs) == 32
