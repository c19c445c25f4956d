"""Correct code has no warnings by default, and `warn` requests the others, in all interfaces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Any, get_args

import httpx
import pytest
from conftest import Served
from http_requests import JSON, MSGPACK, pack
from short_requests import short_answer
from test_cli import run
from test_warnings import small_requests, squares_and_stretches

import axiscast
from axiscast import AsyncClient, Client
from axiscast.messages import CheckRequest
from axiscast.messages.check_request import WarningKind
from axiscast.models.intent import FindingKind

BOTH = ["mutual-stretch", "rank-promotion"]
EVERYDAY: list[tuple[list[tuple[int, ...]], list[str]]] = [
    ([(2, 64, 7, 7), (64, 1, 1)], ["rank-promotion"]),  # a bias for each channel
    ([(32, 128, 768), (768,)], ["rank-promotion"]),  # a bias
    ([(3, 1), (1, 4)], ["mutual-stretch"]),  # an outer product
    ([(4, 1, 8, 64), (1, 4, 8, 64)], ["mutual-stretch"]),  # all pairs
    ([(3, 1), (4,)], ["mutual-stretch", "rank-promotion"]),
]
"""Correct code, and the warnings that it has on request."""


def codes(warnings: Sequence[Any]) -> list[str]:
    return [warning["code"] if isinstance(warning, dict) else warning.code for warning in warnings]


class Way:
    """One interface to check numpy.broadcast_arrays, which returns the codes of the warnings."""

    def __init__(self, service: Served, http: httpx.Client, client: Client) -> None:
        self.service, self.http, self.client = service, http, client

    def body(self, shapes: Sequence[Sequence[int]], warn: Sequence[str]) -> dict[str, Any]:
        return {"inputs": [[*shape] for shape in shapes]} | ({"warn": [*warn]} if warn else {})

    def query(self, shapes: Sequence[Sequence[int]], warn: Sequence[str]) -> str:
        inputs = [f"input={','.join(map(str, shape))}" for shape in shapes]
        return "&".join([*inputs, *(f"warn={word}" for word in warn)])

    def fast_path(self, shapes: Any, warn: Any) -> list[str]:
        body = json.dumps(self.body(shapes, warn)).encode()
        found = short_answer("/v1/check", body)
        assert found is not None
        return codes(json.loads(found.content)["warnings"])

    def fast_path_in_a_url(self, shapes: Any, warn: Any) -> list[str]:
        found = short_answer(f"/v1/check?{self.query(shapes, warn)}")
        assert found is not None
        return codes(json.loads(found.content)["warnings"])

    def json(self, shapes: Any, warn: Any) -> list[str]:
        return codes(self.http.post("/v1/check", json=self.body(shapes, warn)).json()["warnings"])

    def msgpack_past_the_fast_path(self, shapes: Any, warn: Any) -> list[str]:
        headers = {"Content-Type": MSGPACK, "Accept": JSON, "Connection": "Upgrade", "Upgrade": "h2c"}
        answer = self.http.post("/v1/check", content=pack(self.body(shapes, warn)), headers=headers)
        return codes(answer.json()["warnings"])

    def url(self, shapes: Any, warn: Any) -> list[str]:
        return codes(self.http.get(f"/v1/check?{self.query(shapes, warn)}").json()["warnings"])

    def url_as_text(self, shapes: Any, warn: Any) -> list[str]:
        return in_text(self.http.get(f"/v1/check?{self.query(shapes, warn)}&format=text").text)

    def row(self, shapes: Any, warn: Any) -> list[str]:
        rows = {"requests": [self.body(shapes, warn), self.body(shapes, ())]}
        one, quiet = self.http.post("/v1/check/batch", json=rows).json()["results"]
        assert not {*codes(quiet["warnings"])} & {*BOTH}
        return codes(one["warnings"])

    def library(self, shapes: Any, warn: Any) -> list[str]:
        return codes(axiscast.check("numpy.broadcast_arrays", *shapes, warn=warn).warnings)

    def library_batch(self, shapes: Any, warn: Any) -> list[str]:
        (answer,) = axiscast.check_batch([{"inputs": shapes, "warn": tuple(warn)}])
        assert isinstance(answer, axiscast.CheckAnswer)
        return codes(answer.warnings)

    def library_request(self, shapes: Any, warn: Any) -> list[str]:
        (answer,) = axiscast.check_batch([CheckRequest(inputs=shapes, warn=warn)])
        assert isinstance(answer, axiscast.CheckAnswer)
        return codes(answer.warnings)

    def client_check(self, shapes: Any, warn: Any) -> list[str]:
        return codes(self.client.check("numpy.broadcast_arrays", *shapes, warn=warn).warnings)

    def client_batch(self, shapes: Any, warn: Any) -> list[str]:
        (answer,) = self.client.check_batch([{"inputs": shapes, "warn": set(warn)}])
        assert isinstance(answer, axiscast.CheckAnswer)
        return codes(answer.warnings)

    def client_async(self, shapes: Any, warn: Any) -> list[str]:
        async def ask() -> list[str]:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(AsyncClient(self.service.url))
                answer = await client.check("numpy.broadcast_arrays", *shapes, warn=warn)
                compared = await client.compare(*shapes, warn=warn)
                assert compared[0].warnings == answer.warnings
                return codes(answer.warnings)

        return asyncio.run(ask())

    def command(self, shapes: Any, warn: Any) -> list[str]:
        texts = [",".join(map(str, shape)) for shape in shapes]
        options = [option for word in warn for option in ("--warn", word)]
        return in_text(run("check", *texts, *options).stdout)

    def compare(self, shapes: Any, warn: Any) -> list[str]:
        here = axiscast.compare(*shapes, warn=warn)
        there = self.client.compare(*shapes, warn=warn)
        body = self.http.post("/v1/compare", json=self.body(shapes, warn)).json()["results"]
        numpys = [codes(results[0].warnings) for results in (here, there)] + [codes(body[0]["warnings"])]
        assert numpys[1:] == numpys[:-1]
        return numpys[0]

    def compare_command(self, shapes: Any, warn: Any) -> list[str]:
        texts = [",".join(map(str, shape)) for shape in shapes]
        options = [option for word in warn for option in ("--warn", word)]
        told = codes(json.loads(run("compare", *texts, *options, "--json").stdout)[0]["warnings"])
        assert {*told} <= {*in_text(run("compare", *texts, *options).stdout)}
        return told


def in_text(text: str) -> list[str]:
    lines = text.splitlines()
    return [line.removeprefix("warning (").partition(")")[0] for line in lines if line.startswith("warning (")]


WAYS = [name for name in vars(Way) if not name.startswith("_") and name not in ("body", "query")]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, service: Served, http: httpx.Client, client: Client) -> Any:
    return getattr(Way(service, http, client), request.param)


def test_correct_code_has_no_warnings_unless_requested(way: Any) -> None:
    for shapes, on_request in EVERYDAY:
        assert way(shapes, []) == [], shapes
        assert way(shapes, BOTH) == on_request, shapes
        for word in BOTH:
            assert way(shapes, [word]) == [code for code in on_request if code == word], (shapes, word)


def test_an_outer_product_always_has_a_warning(way: Any) -> None:
    for warn in ([], BOTH, ["square"], [*get_args(WarningKind)]):
        assert way([(5,), (5, 1)], warn) == ["square"], warn


def test_the_default_warnings_include_every_outer_product() -> None:
    squares = 0
    for shapes in small_requests():
        if len(shapes) > 1:
            found = codes(axiscast.check("numpy.broadcast_arrays", *shapes).warnings)
            expected = ["square"] if squares_and_stretches(shapes)[0] else []
            assert found == expected, shapes
            squares += len(expected)
    assert squares > 500


def wrong_requests(http: httpx.Client) -> Iterator[tuple[str, dict[str, Any]]]:
    body = {"inputs": [[3, 1], [4]]}
    for warn in [["stretch"], ["release-differs"], "mutual-stretch", None, [3], {"mutual-stretch": True}, [None]]:
        yield f"POST {warn}", http.post("/v1/check", json=body | {"warn": warn}).json()
        yield f"compare {warn}", http.post("/v1/compare", json=body | {"warn": warn}).json()
        rows = http.post("/v1/check/batch", json={"requests": [body | {"warn": warn}]}).json()
        yield f"row {warn}", rows["results"][0]["error"]
    yield "GET", http.get("/v1/check?input=3,1&input=4&warn=stretch").json()
    yield "GET as text", http.get("/v1/check?input=3,1&input=4&warn=stretch&format=text").json()
    yield "GET, empty", http.get("/v1/check?input=3,1&input=4&warn=").json()


def test_an_unknown_warning_is_a_problem_with_the_known_ones(http: httpx.Client) -> None:
    for said, problem in wrong_requests(http):
        assert problem["code"] == "invalid-request", said
        place = problem["parameter"] if said.startswith("GET") else problem["pointer"].removeprefix("/requests/0/")
        assert place.removeprefix("/").startswith("warn"), (said, problem)
        assert "mutual-stretch" in problem["detail"], (said, problem)


SHAPES = [(3, 1), (4,)]


@pytest.fixture(params=["check", "compare", "check_batch"])
def asks(request: pytest.FixtureRequest, client: Client) -> list[Any]:
    """Return the functions of the library and of a client that take `warn`."""

    def of(place: Any) -> Any:
        if request.param == "check_batch":
            return lambda warn: place.check_batch([{"inputs": SHAPES, "warn": warn}])[0]
        first = ["numpy.add"] if request.param == "check" else []
        return lambda warn: getattr(place, request.param)(*first, *SHAPES, warn=warn)

    return [of(axiscast), of(client)]


@pytest.mark.parametrize("warn", [["stretch"], [3], ["mutual-stretch", "release-differs"]])
def test_an_unknown_warning_is_a_clear_error_in_python(asks: list[Any], warn: Any) -> None:
    for ask in asks:
        try:
            problem = ask(warn)
        except axiscast.InvalidRequest as raised:
            problem = raised
        assert isinstance(problem, axiscast.InvalidRequest)
        assert problem.pointer is not None
        assert "/warn/" in problem.pointer
        assert "'square', 'mutual-stretch' or 'rank-promotion'" in problem.detail


@pytest.mark.parametrize("warn", ["mutual-stretch", None, 3])
def test_a_string_instead_of_a_list_is_a_type_error_in_python(asks: list[Any], warn: Any) -> None:
    for ask in asks:
        with pytest.raises(TypeError, match=r"warn must be a list of names, such as \["):
            ask(warn)


def test_an_unknown_warning_is_a_usage_error_on_the_command_line() -> None:
    for command in ("check", "compare"):
        done = run(command, "3,1", "4", "--warn", "stretch")
        assert done.returncode == 2
        assert "--warn" in done.stderr
        assert "mutual-stretch" in done.stderr


def test_columns_have_no_warn_field(http: httpx.Client) -> None:
    columns = {"inputs": [{"dtype": "int64", "shape": [1, 1], "data": [[3]]}], "warn": ["mutual-stretch"]}
    problem = http.post("/v1/check/columns", json=columns).json()
    assert (problem["code"], problem["pointer"]) == ("invalid-request", "/warn")


def test_the_check_of_a_model_has_no_warn_option() -> None:
    done = run("check", "model.onnx", "--warn", "mutual-stretch")
    assert done.returncode == 2
    assert "--warn" in done.stderr


def test_the_warnings_have_the_names_of_the_codes_and_of_watch() -> None:
    assert {"square", *BOTH} <= {*get_args(WarningKind)}
    assert {*get_args(FindingKind)} == {"square", *BOTH, "every-square"}
