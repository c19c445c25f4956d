"""Tests of common invalid requests. The problem alone must be sufficient to correct the request."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import httpx
import pytest
from cases import cases

from axiscast.messages import CheckRequest
from axiscast.messages.validation import validate
from axiscast.wire.problems import Problem
from axiscast_service.app import create_app
from axiscast_service.settings import Settings

T = {"dtype": "float32", "shape": [3], "data": [1, 2, 3]}
TO = {"name": "numpy.broadcast_to", "shape": [2, 3]}
CHECK, BATCH, BROADCAST, GET = "/v1/check", "/v1/check/batch", "/v1/broadcast", "GET /v1/check"
COLUMNS = "/v1/check/columns"
BROKEN: list[tuple[str, Any, str | None, str, Any]] = [
    # asked, broken, pointer, the right form as the message says it, and repaired (None: there is no other body)
    (BATCH, [{"inputs": [[3]]}], "", '{"requests": [...]}', {"requests": [{"inputs": [[3]]}]}),
    (BATCH, {"inputs": [[3], [4]]}, "/inputs",
     'inputs: belongs inside each request: write "requests": [{"inputs": [[3], [4]]}]',
     {"requests": [{"inputs": [[3], [4]]}]}),
    (BATCH, {"op": {"name": "torch.expand", "size": [3]}, "inputs": [[3]]}, "/requests",
     'is missing: write "requests": [{"op": {"name": "torch.expand", "size": [3]}, "inputs": [[3]]}]; op: belongs',
     {"requests": [{"op": {"name": "torch.expand", "size": [3]}, "inputs": [[3]]}]}),
    (BATCH, {"inputs": [{"shape": [1, 1], "data": [[3]]}]}, "/inputs", "send columns of shapes to /v1/check/columns",
     None),
    (COLUMNS, {"inputs": [[3], [4]]}, "/inputs/0", "must be an int64 tensor of shape (n, rank), such as "
     '{"shape": [2, 2], "data": [[3, 1], [1, 4]]}: send single shapes to /v1/check/batch',
     {"inputs": [{"shape": [2, 2], "data": [[3, 1], [1, 4]]}]}),
    (COLUMNS, {"requests": [{"inputs": [[3]]}]}, "/requests", "send a list of requests to /v1/check/batch", None),
    (CHECK, [[3, 4], [4]], "", 'write {"inputs": [[3, 4], [4]]}', {"inputs": [[3, 4], [4]]}),
    (CHECK, {"inputs": "3,4"}, "/inputs", '"inputs": [[3, 4]]', {"inputs": [[3, 4]]}),
    (CHECK, {"inputs": ["3,4", "4"]}, "/inputs/0", "[3, 4]", {"inputs": [[3, 4], [4]]}),
    (CHECK, {"inputs": [3, 4]}, "/inputs/0", 'write "inputs": [[3, 4]]', {"inputs": [[3, 4]]}),
    (CHECK, {"inputs": [[3, 4.0]]}, "/inputs/0/1", "write 4", {"inputs": [[3, 4]]}),
    (CHECK, {"inputs": [[-1, 4]]}, "/inputs/0/0", 'write "?"', {"inputs": [["?", 4]]}),
    (CHECK, {"shapes": [[3]]}, "/shapes", 'write "inputs": [[3]]', {"inputs": [[3]]}),
    (CHECK, {"inputs": [[3]], "shape": [2, 3]}, "/shape", '"op": {"name": "numpy.broadcast_to", "shape": [2, 3]}',
     {"inputs": [[3]], "op": {"name": "numpy.broadcast_to", "shape": [2, 3]}}),
    (CHECK, {"op": "numpy.broadcast_to", "inputs": [[3]]}, "/op/shape",
     'op/shape: is missing: write "op": {"name": "numpy.broadcast_to", "shape": [4, 3]}',
     {"op": {"name": "numpy.broadcast_to", "shape": [4, 3]}, "inputs": [[3]]}),
    (CHECK, {"op": "ngraph.Broadcast", "shape": [4, 3], "broadcast_axes": [0], "inputs": [[3]]}, "/shape",
     'shape: belongs inside op: write "op": {"name": "ngraph.Broadcast", "shape": [4, 3], "broadcast_axes": [0]}',
     {"op": {"name": "ngraph.Broadcast", "shape": [4, 3], "broadcast_axes": [0]}, "inputs": [[3]]}),
    (CHECK, {"op": "torch.expand", "shape": [4, 3], "inputs": [[3]]}, "/shape",
     'shape: belongs inside op: write "op": {"name": "torch.expand", "size": [4, 3]}',
     {"op": {"name": "torch.expand", "size": [4, 3]}, "inputs": [[3]]}),
    (CHECK, {"op": {**TO, "shape": "2,3"}, "inputs": [[3]]}, "/op/shape", '"shape": [2, 3]',
     {"op": TO, "inputs": [[3]]}),
    (CHECK, {"op": {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": 0}, "inputs": [[3]]},
     "/op/broadcast_axes", '"broadcast_axes": [0]',
     {"op": {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [0]}, "inputs": [[3]]}),
    (CHECK, {"op": {"name": "torch.expand", "shape": [2, 3]}, "inputs": [[3]]}, "/op/shape", '"size": [2, 3]',
     {"op": {"name": "torch.expand", "size": [2, 3]}, "inputs": [[3]]}),
    (CHECK, {"op": {"name": "torch.expnd", "size": [2, 3]}, "inputs": [[3]]}, "/op", "mean torch.expand or",
     {"op": {"name": "torch.expand", "size": [2, 3]}, "inputs": [[3]]}),
    (CHECK, {"op": {**TO, "name": "tf.broadcast_too"}, "inputs": [[3]]}, "/op", "mean tensorflow.broadcast_to",
     {"op": {**TO, "name": "tensorflow.broadcast_to"}, "inputs": [[3]]}),
    (CHECK, {"op": {"name": "openvino.Broadcast-1", "mode": "explict", "target_shape": [2, 3], "axes_mapping": [1]},
             "inputs": [[3]]}, "/op/mode", "mean explicit?",
     {"op": {"name": "openvino.Broadcast-1", "mode": "explicit", "target_shape": [2, 3], "axes_mapping": [1]},
      "inputs": [[3]]}),
    (CHECK, {"inputs": [["N"]], "assume": "N=2.."}, "/assume", '{"N": "2.."}',
     {"inputs": [["N"]], "assume": {"N": "2.."}}),
    (CHECK, {"inputs": [[3]], "dtype": "f4"}, "/dtype", "mean float32?", {"inputs": [[3]], "dtype": "float32"}),
    (CHECK, {"op": {"name": "torch.expand", "shape": [2]}, "inputs": ["2"], "dtype": 3, "explain": 1}, "/op/shape",
     'write "op": {"name": "torch.expand", "size": [2]}; '
     'inputs/0: must be a list of integers, not a string: write [2]; '
     'dtype: must be a string, not an integer: write a name such as "float32"; '
     "explain: must be true or false, not an integer: write true",
     {"op": {"name": "torch.expand", "size": [2]}, "inputs": [[2]], "dtype": "int8", "explain": True}),
    (CHECK, {"inputs": [[3]], "explain": "false"}, "/explain", "write false", {"inputs": [[3]], "explain": False}),
    ("/v1/translate", {"inputs": [[3]], "to": "tf", "op": TO}, "/to", "mean tensorflow.broadcast_to or",
     {"inputs": [[3]], "to": "tensorflow.broadcast_to", "op": TO}),
    (BROADCAST, {"op": TO, "inputs": [T], "window": [[0, 2]]}, "/window",
     "has 1 pair, but the output [2, 3] has 2 axes: write one pair for each axis, such as [[0, 2], [0, 3]]",
     {"op": TO, "inputs": [T], "window": [[0, 2], [0, 3]]}),
    (BROADCAST, {"op": TO, "inputs": [T], "window": ["0:2", "0:3"]}, "/window/0",
     "window/0: must be a pair, not a string: write [0, 2]",
     {"op": TO, "inputs": [T], "window": [[0, 2], [0, 3]]}),
    (BROADCAST, {"op": TO, "inputs": T}, "/inputs", '"inputs": [{"dtype": ', {"op": TO, "inputs": [T]}),
    (BROADCAST, {"op": TO, "inputs": [{"dtype": "float32", "shape": [3], "base64": "AACAPwAAAEAAAEB"}]},
     "/inputs/0/base64",
     "has 15 characters, but 16 are needed for the 12 bytes of float32 (3,): the text may be truncated",
     {"op": TO, "inputs": [{"dtype": "float32", "shape": [3], "base64": "AACAPwAAAEAAAEBA"}]}),
    (BROADCAST, {"op": TO, "inputs": [{"dtype": "float32", "shape": [3], "base64": "AACAPwAAAEAAAEA="}]},
     "/inputs/0/base64",
     "base64 has 11 bytes, and the shape (3,) of float32 needs 12",
     {"op": TO, "inputs": [{"dtype": "float32", "shape": [3], "base64": "AACAPwAAAEAAAEBA"}]}),
    (BROADCAST, {"op": TO, "inputs": [{**T, "shape": [[3]]}]}, "/inputs/0/shape/0", "must be an integer, not a list",
     {"op": TO, "inputs": [{**T, "shape": [3]}]}),
    (BROADCAST, {"op": TO, "inputs": [{**T, "shape": 3}]}, "/inputs/0/shape", '"shape": [3]',
     {"op": TO, "inputs": [T]}),
    ("/v1/backprop", {"op": TO, "inputs": [T], "gradients": [{**T, "shape": [2, 3], "data": [1] * 6}]}, "/inputs/0",
     "write [3]", {"op": TO, "inputs": [[3]], "gradients": [{**T, "shape": [2, 3], "data": [1] * 6}]}),
    ("/v1/chek", {"inputs": [[3]]}, None, "mean /v1/check? See /docs", None),
    ("GET /v1/ops/torch.expnd", None, None, "mean torch.expand or", None),
    (CHECK, b'{"inputs": [[3]],}', None, "this is not JSON: remove the comma before }", {"inputs": [[3]]}),
    (CHECK, b"{'inputs': [[3]]}", None, "this is not JSON: write \" for '", {"inputs": [[3]]}),
    (GET, "input=3&formt=text", "formt", "formt: this parameter does not exist: did you mean format?",
     "input=3&format=text"),
    (GET, "input=3&bogus=1", "bogus", "valid parameters are input, op, dtype, explain, format, assume, warn and the "
    "attributes of numpy.broadcast_shapes, which has none", "input=3"),
]  # fmt: skip


@pytest.fixture(scope="module")
def answers() -> list[tuple[httpx.Response, httpx.Response | None]]:
    """The responses to each invalid request and to its correction."""

    async def ask(http: httpx.AsyncClient, asked: str, body: Any) -> httpx.Response:
        if asked.startswith("GET "):
            return await http.get(f"{asked[4:]}?{body or ''}")
        if isinstance(body, bytes):
            return await http.post(asked, content=body, headers={"Content-Type": "application/json"})
        return await http.post(asked, json=body)

    async def ask_all() -> list[tuple[httpx.Response, httpx.Response | None]]:
        transport = httpx.ASGITransport(create_app(Settings()))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as http:
            return [
                (await ask(http, asked, broken), None if repaired is None else await ask(http, asked, repaired))
                for asked, broken, _, _, repaired in BROKEN
            ]

    return asyncio.run(ask_all())


@cases("number", range(len(BROKEN)), ids=lambda number: f"{BROKEN[number][0]} {BROKEN[number][1]}")
def test_a_problem_has_the_location_and_the_correction(
    answers: list[tuple[httpx.Response, httpx.Response | None]], number: int
) -> None:
    (said, repaired), (_, _, pointer, form, _) = answers[number], BROKEN[number]
    assert said.status_code in (400, 404, 422)
    document = said.json()
    place = document.get("pointer", document.get("parameter"))
    details = "; ".join(error["detail"] for error in document.get("errors", [document]))
    assert (place, form in details) == (pointer, True), details
    if place is not None:
        first = document["errors"][0]
        assert first == {name: document[name] for name in ("detail", "pointer", "parameter") if name in document}
    assert repaired is None or repaired.status_code == 200, repaired.text


@cases("found", [b"x", [b"x"], [[1]], [1] * 10**5, "x" * 10**5, 10**5000, 0, 1.5, None, {"a": b"x"}], ids=type)
@cases("place", ["inputs", "input", "shape", "op", "name", "attribute", "assume"])
def test_values_that_json_cannot_represent_are_not_written(place: str, found: Any) -> None:
    op_field = {"name": "name", "attribute": "shape"}.get(place)
    broken = {"op": {**TO, op_field: found}} if op_field else {place: found}
    for value in (broken, {"inputs": [[3]]} | broken, {"inputs": found, "window": found} | broken):
        with suppress(Problem):  # any other exception is a failure of the service
            validate(CheckRequest, value)


def test_there_are_thirty_corrections() -> None:
    assert len(BROKEN) >= 30
