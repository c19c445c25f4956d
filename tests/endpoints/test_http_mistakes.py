"""Tests of common mistakes in HTTP requests. The message alone must be sufficient to correct the request."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

import httpx
import msgpack
import pytest
from cases import cases
from costs import least_seconds
from pydantic import BaseModel

from axiscast.messages import CheckRequest
from axiscast.messages.tensors import BroadcastRequest
from axiscast.messages.validation import validate
from axiscast.wire.problems import Problem
from axiscast_service.app import create_app
from axiscast_service.endpoints.parameters import validate_names
from axiscast_service.settings import Settings

CHECK, BATCH, BROADCAST, BACKPROP = "/v1/check", "/v1/check/batch", "/v1/broadcast", "/v1/backprop"
COMPARE, TRANSLATE = "/v1/compare", "/v1/translate"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TO = {"name": "numpy.broadcast_to", "shape": [2, 3]}
EXPAND = {"name": "torch.expand", "size": [2, 3]}
T = {"dtype": "float32", "shape": [3], "data": [1, 2, 3]}
G = {"dtype": "float32", "shape": [2, 3], "data": [1, 2, 3, 4, 5, 6]}
ONE, TWO = {"inputs": [[3]]}, {"inputs": [[3], [1]]}


class Asked(NamedTuple):
    """A request, which is a POST request in JSON by default."""

    path: str
    body: Any = None
    headers: dict[str, str] = JSON
    method: str = "POST"

    def send(self, http: httpx.AsyncClient) -> Any:
        is_raw = self.body is None or isinstance(self.body, bytes)
        content = self.body if is_raw else json.dumps(self.body).encode()
        return http.request(self.method, self.path, content=content, headers=self.headers)


def got(query: str, path: str = CHECK) -> Asked:
    return Asked(f"{path}?{query}", None, {}, "GET")


def tensor(**changed: Any) -> Asked:
    return Asked(BROADCAST, {"op": TO, "inputs": [T | changed]})


def window(bounds: Any) -> Asked:
    return Asked(BROADCAST, {"op": TO, "inputs": [T], "window": bounds})


GOOD, WHOLE = Asked(BROADCAST, {"op": TO, "inputs": [T]}), window([[0, 2], [0, 3]])
MISTAKES: list[tuple[Asked, int, str | None, str, Asked]] = [
    # the request, its status, the pointer or the parameter, what the message says, and the request repaired as it says
    # --- how it is sent
    (Asked(CHECK, b'{"inputs": [[3]]}', FORM), 415, None, "(curl's default): to send JSON, add the header "
     "Content-Type: application/json", Asked(CHECK, ONE)),
    (Asked(CHECK, b'{"inputs": [[3]]}', {}), 415, None, "Content-Type is missing: to send JSON, add",
     Asked(CHECK, ONE)),
    (Asked(CHECK, ONE, {"Content-Type": "text/json"}), 415, None, "text/json is not supported: to send JSON, add",
     Asked(CHECK, ONE)),
    (Asked(CHECK, ONE, JSON | {"Accept": "text/html"}), 406, None,
     "Accept (text/html) allows no supported media type: write one of application/json",
     Asked(CHECK, ONE, JSON | {"Accept": "application/json"})),
    (Asked("/v1/compare", ONE, JSON | {"Accept": "image/svg+xml"}), 406, None,
     "Only /v1/check returns pictures", Asked(CHECK, ONE, JSON | {"Accept": "image/svg+xml"})),
    (Asked(CHECK, ONE, JSON | {"Accept": "text/plain"}), 406, None,
     "Only GET /v1/check and /v1/why return text", Asked(CHECK, ONE, JSON | {"Accept": "application/json"})),
    (Asked(CHECK, ONE, JSON | {"Content-Encoding": "gzip"}), 415, None, "send the body without a content encoding",
     Asked(CHECK, ONE)),
    (Asked(CHECK, ONE, method="PUT"), 405, None, "/v1/check takes GET, HEAD, POST, not PUT", Asked(CHECK, ONE)),
    (got("input=3", BROADCAST), 405, None, "/v1/broadcast takes POST, not GET", GOOD),
    (Asked("/check", ONE), 404, None, "did you mean /v1/check?", Asked(CHECK, ONE)),
    (Asked("/v1/check/", ONE), 404, None, "did you mean /v1/check?", Asked(CHECK, ONE)),
    (Asked("/v1/batch", {"requests": [ONE]}), 404, None, "did you mean /v1/check/batch?",
     Asked(BATCH, {"requests": [ONE]})),
    # --- what is not JSON
    (Asked(CHECK, b""), 400, None, 'it is empty: send a map such as {"inputs": [[3], [4]]}',
     Asked(CHECK, ONE)),
    (Asked(CHECK, b"{inputs: [[3]]}"), 400, None, 'write "inputs" in double quotes', Asked(CHECK, ONE)),
    (Asked(CHECK, b'{"inputs": [(3, 1)]}'), 400, None, "write [ ] instead of ( )", Asked(CHECK, {"inputs": [[3, 1]]})),
    (Asked(CHECK, b'{"inputs": [[None, 3]]}'), 400, None, "write null for None", Asked(CHECK, {"inputs": [[None, 3]]})),
    (Asked(CHECK, b'{"inputs": [[3]], "explain": True}'), 400, None, "write true for True",
     Asked(CHECK, ONE | {"explain": True})),
    (Asked(CHECK, b'{"inputs": [[3]]'), 400, None, "it ends before all brackets and quotes are closed",
     Asked(CHECK, ONE)),
    (Asked(CHECK, b'{"inputs": [[3]]}\n{"inputs": [[4]]}'), 400, None, "send a single map, and nothing after it",
     Asked(CHECK, ONE)),
    (Asked(CHECK, b'{"inputs": [[3]]} // shapes'), 400, None, "remove the comment", Asked(CHECK, ONE)),
    (Asked(CHECK, b'\xef\xbb\xbf{"inputs": [[3]]}'), 400, None, "remove the byte order mark", Asked(CHECK, ONE)),
    (Asked(CHECK, json.dumps(ONE)), 422, "", "not a string that contains a map: encode it as JSON only once",
     Asked(CHECK, ONE)),
    # --- inputs
    (Asked(CHECK, {"shapes": [[3], [1]]}), 422, "/shapes", 'write "inputs": [[3], [1]]', Asked(CHECK, TWO)),
    (Asked(CHECK, {"dims": [3]}), 422, "/dims", 'write "inputs": [[3]]', Asked(CHECK, ONE)),
    (Asked(CHECK, {"a": [3], "b": [1]}), 422, "/inputs", 'is missing: write "inputs": [[3], [1]]', Asked(CHECK, TWO)),
    (Asked(CHECK, {"inputs": {"a": [3], "b": [1]}}), 422, "/inputs", 'not a map: write "inputs": [[3], [1]]',
     Asked(CHECK, TWO)),
    (Asked(CHECK, {"inputs": "[[3], [1]]"}), 422, "/inputs", 'not a string: write "inputs": [[3], [1]]',
     Asked(CHECK, TWO)),
    (Asked(CHECK, {"inputs": "(3,), (1,)"}), 422, "/inputs", 'not a string: write "inputs": [[3], [1]]',
     Asked(CHECK, TWO)),
    (Asked(CHECK, {"inputs": [[[3], [1]]]}), 422, "/inputs/0/0", 'not a list: write "inputs": [[3], [1]]',
     Asked(CHECK, TWO)),
    (Asked(CHECK, {"inputs": [{"shape": [3]}]}), 422, "/inputs/0", "write [3]", Asked(CHECK, ONE)),
    (Asked(CHECK, {"inputs": [["3"]]}), 422, "/inputs/0/0", 'not "3": write 3',
     Asked(CHECK, ONE)),
    (Asked(CHECK, {"inputs": [[3.0]]}), 422, "/inputs/0/0", "write 3", Asked(CHECK, ONE)),
    (Asked(CHECK, {"inputs": [["batch size", 3]]}), 422, "/inputs/0/0", 'not "batch size": write "batch_size"',
     Asked(CHECK, {"inputs": [["batch_size", 3]]})),
    (Asked(CHECK, {"inputs": [["*", 3]]}), 422, "/inputs/0/0", 'not "*": write "?"',
     Asked(CHECK, {"inputs": [["?", 3]]})),
    (Asked(TRANSLATE, {"inputs": [["N", "2.."]], "to": "torch.expand"}), 422, "/inputs/0",
     "2.. is a size without a name", Asked(TRANSLATE, {"inputs": [["N", "M"]], "to": "torch.expand"})),
    (Asked(BATCH, {"requests": ONE}), 422, "/requests", 'not a map: write "requests": [{"inputs": [[3]]}]',
     Asked(BATCH, {"requests": [ONE]})),
    # --- ops
    (Asked(CHECK, {"op": {"name": "numpy.broadcast_to", "attributes": {"shape": [2, 3]}}, **ONE}), 422,
     "/op/attributes", 'is an unknown field: write "op": {"name": "numpy.broadcast_to", "shape": [2, 3]}',
     Asked(CHECK, {"op": TO, **ONE})),
    (Asked(CHECK, {"op": {"name": "ngraph.Broadcast", "attrs": {"shape": [2, 3], "broadcast_axes": [0]}}, **ONE}), 422,
     "/op/attrs", 'write "op": {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [0]}',
     Asked(CHECK, {"op": {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [0]}, **ONE})),
    (Asked(CHECK, {"op": {"torch.expand": {"size": [2, 3]}}, **ONE}), 422, "/op",
     'write "op": {"name": "torch.expand", "size": [2, 3]}', Asked(CHECK, {"op": EXPAND, **ONE})),
    (Asked(CHECK, {"op": {"type": "torch.expand", "size": [2, 3]}, **ONE}), 422, "/op",
     'write "op": {"name": "torch.expand", "size": [2, 3]}', Asked(CHECK, {"op": EXPAND, **ONE})),
    (Asked(CHECK, {"op": ["torch.expand", {"size": [2, 3]}], **ONE}), 422, "/op",
     'write "op": {"name": "torch.expand", "size": [2, 3]}', Asked(CHECK, {"op": EXPAND, **ONE})),
    (Asked(CHECK, {"operation": "numpy.add", **TWO}), 422, "/operation", 'write "op": "numpy.add"',
     Asked(CHECK, {"op": "numpy.add", **TWO})),
    (Asked(CHECK, {"op": None, **ONE}), 422, "/op", "not null: omit it", Asked(CHECK, ONE)),
    (Asked(COMPARE, {"op": "numpy.add", **TWO}), 422, "/op", "so omit it", Asked(COMPARE, TWO)),
    (Asked(COMPARE, {"target": [2, 3], **ONE}), 422, "/target", 'write "shape": [2, 3]',
     Asked(COMPARE, {"shape": [2, 3], **ONE})),
    (Asked(TRANSLATE, {"from": TO, "to": "torch.expand", **ONE}), 422, "/from",
     'write "op": {"name": "numpy.broadcast_to"', Asked(TRANSLATE, {"op": TO, "to": "torch.expand", **ONE})),
    (Asked(TRANSLATE, {"op": TO, "to": {"name": "torch.expand"}, **ONE}), 422, "/to", 'write "to": "torch.expand"',
     Asked(TRANSLATE, {"op": TO, "to": "torch.expand", **ONE})),
    # --- URLs
    (got("op=torch.expand&shape=2,3&input=3"), 422, "shape", "write size, which is missing, instead of shape",
     got("op=torch.expand&size=2,3&input=3")),
    (got("input=3&input=1&warn=mutual-stretch,rank-promotion"), 422, "warn",
     "warn: must be one warning, and can be repeated: write warn=mutual-stretch&warn=rank-promotion",
     got("input=3&input=1&warn=mutual-stretch&warn=rank-promotion")),
    (Asked(BATCH, {"requests": [TWO], "warn": ["rank-promotion"]}), 422, "/warn",
     'belongs inside each request: write "requests": [{"inputs": [[3], [1]], "warn": ["rank-promotion"]}]',
     Asked(BATCH, {"requests": [TWO | {"warn": ["rank-promotion"]}]})),
    (Asked(BATCH, {"requests": [TWO], "dtype": "float32"}), 422, "/dtype", "belongs inside each request",
     Asked(BATCH, {"requests": [TWO | {"dtype": "float32"}]})),
    (got("inputs=3&inputs=1"), 422, "inputs", "write `input` once for each shape: ?input=3&input=1",
     got("input=3&input=1")),
    (got("inputs=[[3],[1]]"), 422, "inputs", "?input=3&input=1", got("input=3&input=1")),
    (got("input[]=3&input[]=1"), 422, "input[]", "?input=3&input=1", got("input=3&input=1")),
    (got("shape=3&shape=1"), 422, "shape", "?input=3&input=1", got("input=3&input=1")),
    (got("input=3;1"), 422, "input", "contains 2 shapes: write one input for each: ?input=3&input=1",
     got("input=3&input=1")),
    (got("input=[[3],[1]]"), 422, "input", "?input=3&input=1", got("input=3&input=1")),
    (got("input=3&1"), 422, "1", "write input=1 for another input", got("input=3&input=1")),
    (got("input=3.0"), 422, "input", "sizes must be integers: write 3", got("input=3")),
    (got("input=3,-1"), 422, "input", 'write "?" for an unknown size', got("input=3,?")),
    (got('input=3&op={"name":"torch.expand","size":[2,3]}'), 422, "op", "write op=torch.expand&size=2,3",
     got("input=3&op=torch.expand&size=2,3")),
    (got("input=3&op=torch.expand"), 422, "size", "size: is missing: write for instance size=3,-1",
     got("input=3&op=torch.expand&size=3,-1")),
    (got("input=3&target=2,3"), 422, "target", "write shape=2,3", got("input=3&shape=2,3")),
    (got("input=3&explain=yes"), 422, "explain", "must be true or false, not 'yes'", got("input=3&explain=true")),
    (got("input=3&dtype=float"), 422, "dtype", "did you mean float32 or float64?", got("input=3&dtype=float32")),
    # --- tensors
    (Asked(BROADCAST, {"op": TO, "inputs": [T | {"shape": [4]}]}), 422, "/inputs/0/data",
     "data has 3 elements, but the shape (4,) needs 4", GOOD),
    (Asked(BACKPROP, {"op": TO, **ONE, "gradients": [G | {"shape": [2, 4]}]}), 422, "/gradients/0/data",
     "data has 6 elements, but the shape (2, 4) needs 8", Asked(BACKPROP, {"op": TO, **ONE, "gradients": [G]})),
    (Asked(BACKPROP, {"op": TO, **ONE, "gradients": [G, G]}), 422, "/gradients",
     "has 2 gradients for 1 broadcast input",
     Asked(BACKPROP, {"op": TO, **ONE, "gradients": [G]})),
    (Asked(BACKPROP, {"op": TO, **ONE, "gradients": [T]}), 422, "/gradients/0/shape",
     "has the shape (3,), but output 0 has (2, 3)", Asked(BACKPROP, {"op": TO, **ONE, "gradients": [G]})),
    (Asked(BROADCAST, {"op": TO, "inputs": [[1, 2, 3]]}), 422, "/inputs/0",
     'not a list: write {"dtype": "float32", "shape": [3], "data": [1, 2, 3]}', GOOD),
    (Asked(BROADCAST, {"op": TO, "inputs": [{"dtype": "float32", "data": [1, 2, 3]}]}), 422, "/inputs/0/shape",
     'is missing: write "shape": [3]', GOOD),
    (Asked(BROADCAST, {"op": TO, "inputs": [{"dtype": "float32", "shape": [3], "values": [1, 2, 3]}]}), 422,
     "/inputs/0/values", 'write {"dtype": "float32", "shape": [3], "data": [1, 2, 3]}', GOOD),
    (tensor(data=["1", "2", "3"]), 422, "/inputs/0/data", "write 1 without quotes", GOOD),
    (tensor(data=[1, None, 3]), 422, "/inputs/0/data", 'but null: write "NaN"', tensor(data=[1, "NaN", 3])),
    (tensor(dtype="int32", data=[1.0, 2, 3]), 422, "/inputs/0/data", "write 1", tensor(dtype="int32")),
    (tensor(dtype="uint8", data=[1, 2, 300]), 422, "/inputs/0/data", "outside the range of uint8, 0 to 255",
     tensor(dtype="uint8", data=[1, 2, 255])),
    (tensor(dtype="bool", data=[0, 1, 1]), 422, "/inputs/0/data", "write false",
     tensor(dtype="bool", data=[False, True, True])),
    (tensor(dtype="torch.float32"), 422, "/inputs/0/dtype", "did you mean float32?", GOOD),
    (tensor(dtype="datetime64", data=[1, 2, 3]), 422, "/inputs/0/dtype", "did you mean datetime64[ns]?",
     tensor(dtype="datetime64[ns]")),
    (tensor(data="AACAPwAAAEAAAEBA"), 422, "/inputs/0/data", 'base64 belongs in the field "base64"',
     Asked(BROADCAST, {"op": TO, "inputs": [{"dtype": "float32", "shape": [3], "base64": "AACAPwAAAEAAAEBA"}]})),
    (Asked(BROADCAST, {"op": TO, "inputs": [{"dtype": "float32", "shape": [3], "base64": "AACA_wAAAEAAAE-A"}]}), 422,
     "/inputs/0/base64", "write + for - and / for _",
     Asked(BROADCAST, {"op": TO, "inputs": [{"dtype": "float32", "shape": [3], "base64": "AACA/wAAAEAAAE+A"}]})),
    (window([0, 2]), 422, "/window/0", 'must be a pair, not an integer: write "window": [[0, 2]]', WHOLE),
    (window({"start": [0, 0], "stop": [2, 3]}), 422, "/window", 'write "window": [[0, 2], [0, 3]]', WHOLE),
    (window("0:2,0:3"), 422, "/window", 'write "window": [[0, 2], [0, 3]]', WHOLE),
    (window([[0, 2, 1], [0, 3, 1]]), 422, "/window/0", "a window has no steps: write [0, 2]", WHOLE),
    (window([[0, -1], [0, 3]]), 422, "/window/0", "the size of output axis 0: write [0, 1]", window([[0, 1], [0, 3]])),
    (window([[None, 2], [0, 3]]), 422, "/window/0/0", "write 0", WHOLE),
]  # fmt: skip


@pytest.fixture(scope="module")
def answers() -> list[tuple[httpx.Response, httpx.Response]]:
    """The responses to each invalid request and to the corrected request."""

    async def ask() -> list[tuple[httpx.Response, httpx.Response]]:
        transport = httpx.ASGITransport(create_app(Settings()))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as http:
            return [(await mistaken.send(http), await repaired.send(http)) for mistaken, *_, repaired in MISTAKES]

    return asyncio.run(ask())


@cases("number", range(len(MISTAKES)), ids=lambda number: str(MISTAKES[number][0][:2]))
def test_the_message_about_an_invalid_request_has_the_corrected_request(
    answers: list[tuple[httpx.Response, httpx.Response]], number: int
) -> None:
    (refused, repaired), (asked, status, pointer, said, _) = answers[number], MISTAKES[number]
    is_named = asked.method == "GET" and pointer is not None
    document = refused.json()
    place = document.get("parameter", document.get("pointer"))
    assert (refused.status_code, place, "parameter" in document) == (status, pointer, is_named), document
    assert said in document["detail"]
    assert len(document["detail"]) < 600
    assert repaired.status_code == 200, repaired.text


ROWS: list[tuple[Any, str, Any]] = [
    ([[3], [1]], 'the row: must be a map, not a list: write {"inputs": [[3], [1]]}', {"inputs": [[3], [1]]}),
    ([3, 1], 'write {"inputs": [[3, 1]]}', {"inputs": [[3, 1]]}),
    ("3,1", 'not a string: write {"inputs": [[3, 1]]}', {"inputs": [[3, 1]]}),
    (7, 'not an integer: write {"inputs": [[8, 1, 6, 1], [7, 1, 5]]}', {"inputs": [[3]]}),
    ({"shapes": [[3]]}, 'write "inputs": [[3]]', ONE),
]


@cases(("row", "said", "repaired"), ROWS, ids=repr)
@cases("media_type", ["application/json", "application/vnd.msgpack"])
def test_the_message_about_an_invalid_row_has_the_corrected_row(
    http: httpx.Client, row: Any, said: str, repaired: Any, media_type: str
) -> None:
    packed = (msgpack.packb if "msgpack" in media_type else lambda value: json.dumps(value).encode())(
        {"requests": [row, repaired]}
    )
    answer = http.post(BATCH, content=packed, headers={"Content-Type": media_type, "Accept": "application/json"})
    first, second = answer.json()["results"]
    assert said in first["error"]["detail"]
    assert "/v1/check/batch" not in first["error"]["detail"]
    assert second["compatible"] is True


def test_many_parameters_are_checked_quickly() -> None:
    """Each name is looked up in tables, and not compared with every other name."""
    query = [(f"shape{number}", "3") for number in range(5000)] + [("input", "3")] * 5000

    def refuse() -> None:
        with pytest.raises(Problem):
            validate_names(query)

    assert least_seconds(refuse, 0.2) < 0.2


N = 40_000
LARGE: dict[str, tuple[type[BaseModel], Any]] = {
    "a text of shapes": (CheckRequest, {"inputs": "[3]" * N}),
    "a text under another name": (CheckRequest, {"shapes": "(3)" * N}),
    "a map of shapes": (CheckRequest, {"inputs": {f"a{number}": [3] for number in range(1900)}}),
    "shapes in one list too many": (CheckRequest, {"inputs": [[[3]] * N]}),
    "many of them": (CheckRequest, {"inputs": [[[3]]] * N}),
    "names of inputs": (CheckRequest, {f"a{number}": [3] for number in range(1900)}),
    "an op without its name": (CheckRequest, {"op": {f"a{number}": {"b": 1} for number in range(1900)}, **ONE}),
    "an op in a list": (CheckRequest, {"op": ["torch.expand", *[{"size": [3]}] * N], **ONE}),
    "an op in a text": (CheckRequest, {"operation": '{"a":' + "[" * 990, **ONE}),
    "a window in a text": (BroadcastRequest, {"op": TO, "inputs": [T], "window": "0:2," * N}),
    "a window in a map": (BroadcastRequest, {"op": TO, "inputs": [T], "window": {"a": [1] * N, "b": [1] * N}}),
    "tensors in a map": (BroadcastRequest, {"op": TO, "inputs": {f"a{number}": T for number in range(1900)}}),
    "a tensor that is a list": (BroadcastRequest, {"op": TO, "inputs": [[1] * N]}),
    "a size in a text": (CheckRequest, {"inputs": [["- " * N]]}),
}


@cases("name", LARGE)
def test_a_large_invalid_request_is_answered_at_little_cost(name: str) -> None:
    model, value = LARGE[name]

    def refuse() -> None:
        with pytest.raises(Problem) as refused:
            validate(model, value)
        assert (refused.value.code, len(refused.value.detail) < 9000) == ("invalid-request", True)

    assert least_seconds(refuse, 0.1) < 0.1


@cases("op", ['{"a":' + "[" * 990, '{"name":"torch.expand"', "{", '{"name":1}', "[" * 5000])
def test_an_op_in_a_url_that_is_not_a_name_is_refused(http: httpx.Client, op: str) -> None:
    answer = http.get(CHECK, params={"input": "3", "op": op})
    assert (answer.status_code, answer.json()["parameter"]) == (422, "op")
