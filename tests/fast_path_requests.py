"""Requests as bytes by name, and the names of those that take the fast path."""

from __future__ import annotations

import json
from typing import Any

import msgpack

SHAPES = {"inputs": [[8, 1, 6, 1], [7, 1, 5]]}
QUERY = "input=8x1x6x1&input=7x1x5"
JSON = "Content-Type: application/json"
MSGPACK = "Content-Type: application/vnd.msgpack"


def request(line: str, *fields: str, body: bytes = b"") -> bytes:
    length = [f"Content-Length: {len(body)}"] if body else []
    return "\r\n".join([f"{line} HTTP/1.1", "Host: there", *fields, *length, "", ""]).encode() + body


def get(query: str, *fields: str, method: str = "GET", path: str = "/v1/check") -> bytes:
    return request(f"{method} {path}?{query}", *fields)


def post(value: Any, *fields: str, path: str = "/v1/check") -> bytes:
    body = msgpack.packb(value) if MSGPACK in fields else json.dumps(value).encode()
    return request(f"POST {path}", *fields, body=body)


CHUNKS = b'f\r\n{"inputs":[[3]]\r\n1\r\n}\r\n0\r\n\r\n'
TENSOR = {"dtype": "int8", "shape": [3], "data": b"abc"}
TO = {"name": "numpy.broadcast_to", "shape": [2, 3]}
LONG = {"op": {**TO, "shape": [100_000, 3]}, "inputs": [TENSOR]}
STRIDED = {"dtype": "int16", "shape": [3, 4], "strides": [1, 3], "data": bytes(range(24))}
ROWS = {"dtype": "int8", "shape": [2, 3], "data": b"abcdef"}
WIDE = {"dtype": "int8", "shape": [8000], "data": bytes(range(125)) * 64}
LIKE = {"name": "ngraph.BroadcastLike", "initial_broadcast_axes": [0]}
REPEAT = {"name": "einops.repeat", "pattern": "a -> (a b)", "axes_lengths": {"b": 2}}
EXPAND = {"op": {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [0]}, "inputs": [[3]]}
REQUESTS = {
    "GET": get(QUERY),
    "GET, an op": get("op=ngraph.Broadcast&input=3&shape=2,3&broadcast_axes=0"),
    "GET, dtype and drawing": get(QUERY + "&dtype=float32&explain=true"),
    "GET, warnings asked for": get(QUERY + "&warn=mutual-stretch&warn=rank-promotion"),
    "GET, an unknown warning": get(QUERY + "&warn=stretch"),
    "GET, symbols": get("input=N,1&input=4,?"),
    "GET, a conflict": get("input=2,3&input=4,3"),
    "GET, as text": get(QUERY + "&format=text"),
    "GET, text accepted": get(QUERY, "Accept: text/plain"),
    "GET, MessagePack accepted": get(QUERY, "Accept: application/vnd.msgpack"),
    "GET, Accept with qualities": get(QUERY, "Accept: text/html;q=0.3, application/json;q=0.2, */*;q=0.1"),
    "GET, nothing acceptable": get(QUERY, "Accept: image/png"),
    "GET, nothing acceptable, as text": get(QUERY + "&format=text", "Accept: image/png"),
    "GET, two formats": get(QUERY + "&format=text&format=json", "Accept: image/png"),
    "GET, a bad shape in MessagePack": get("input=8,,1", "Accept: application/msgpack"),
    "GET, any tag known": get(QUERY, "If-None-Match: *"),
    "GET, another tag known": get(QUERY, 'If-None-Match: "another"'),
    "GET, no input": get(""),
    "GET, a bad shape": get("input=8,,1"),
    "GET, an unknown op": get("op=numpy.broadcast&input=3"),
    "GET, its own id": get(QUERY, "X-Request-ID: mine"),
    "GET, a bad id": get(QUERY, "X-Request-ID: not sane!"),
    "GET, in a trace": get(QUERY, "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    "GET, a bad trace": get(QUERY, "traceparent: 00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"),
    "GET, an id before spaces": get(QUERY, "X-Request-ID: mine  "),
    "GET, Accept twice": get(QUERY, "Accept: image/png", "Accept: application/msgpack"),
    "GET, Accept in capitals": get(QUERY, "ACCEPT:\tAPPLICATION/MSGPACK"),
    "GET, kept alive": get(QUERY, "Connection: Keep-Alive"),
    "GET, an upgrade": get(QUERY, "Connection: Upgrade", "Upgrade: h2c"),
    "GET, in percents": get("input=8%2C1%2c6,1&input=%28%29&op=numpy.broadcast%5Farrays"),
    "GET, a plus": get("input=8,+1&input=+"),
    "GET, wide characters": get("input=%C3%A9&input=%FF"),
    "GET, a raw quote": get('input=2&assume={"N":2}'),
    "GET, a semicolon": get("input=8;input=7"),
    "GET, with a body": request(f"GET /v1/check?{QUERY}", body=b"{}"),
    "GET, no query": request("GET /v1/check"),
    "GET, an empty input": get("input=&input"),
    "GET, a long one": get("&".join(["input=" + "x".join(["1"] * 30)] * 40)),
    "GET, names": get("op=xarray.broadcast&input=2&input=3&dims=[[%22x%22],[%22y%22]]"),
    "GET, a length of 0": get(QUERY, "Content-Length: 0"),
    "GET, a trailing slash": get(QUERY, path="/v1/check/"),
    "GET, by a URL": get(QUERY, path="http://there/v1/check"),
    "HEAD": get(QUERY, method="HEAD"),
    "HEAD, a problem": get("input=8,,1", method="HEAD"),
    "PUT": get(QUERY, method="PUT"),
    "OPTIONS": get(QUERY, method="OPTIONS"),
    "POST": post(SHAPES, JSON),
    "POST, MessagePack": post(SHAPES, MSGPACK),
    "POST, MessagePack accepted": post(SHAPES, JSON, "Accept: application/msgpack"),
    "POST, an op": post(EXPAND, JSON),
    "POST, everything": post({**EXPAND, "dtype": "int8", "explain": True, "warn": ["rank-promotion"]}, JSON),
    "POST, warnings asked for": post({**SHAPES, "warn": ["mutual-stretch", "rank-promotion"]}, MSGPACK),
    "POST, an unknown warning": post({**SHAPES, "warn": ["stretch"]}, JSON),
    "POST, no warning asked for": post({**SHAPES, "warn": []}, JSON),
    "POST, symbols": post({"inputs": [["N", 1], [4, "?"]], "assume": {"N": "2.."}}, MSGPACK),
    "POST, a conflict": post({"inputs": [[2, 3], [4, 3]]}, JSON),
    "POST, its own id": post(SHAPES, JSON, "X-Request-ID: mine"),
    "POST, an unknown field": post({**SHAPES, "input": []}, JSON),
    "POST, no field": post({}, MSGPACK),
    "POST, no JSON": request("POST /v1/check", JSON, body=b"{"),
    "POST, a key twice": request("POST /v1/check", JSON, body=b'{"inputs":[[1]],"inputs":[[2]]}'),
    "POST, a type with parameters": post(SHAPES, "Content-Type: Application/JSON; charset=utf-8"),
    "POST, two types": post(SHAPES, JSON, MSGPACK),
    "POST, identity": post(SHAPES, JSON, "Content-Encoding: identity"),
    "POST, a query besides": post(SHAPES, JSON, path=f"/v1/check?{QUERY}"),
    "POST, an answer in text": post(SHAPES, JSON, "Accept: text/plain, application/json;q=0.1"),
    "POST, many inputs": post({"inputs": [[2, 1, 3, 1, 5]] * 60}, JSON),
    "POST, MessagePack, many inputs": post({"inputs": [[2, 1, 3, 1, 5]] * 700}, MSGPACK),
    "POST, many axes": post({"inputs": [[1] * 65]}, JSON),
    "POST, no type": request("POST /v1/check", body=b"{}"),
    "POST, no body": request("POST /v1/check", JSON),
    "POST, a query alone": request(f"POST /v1/check?{QUERY}"),
    "POST, in a coding": post(SHAPES, JSON, "Content-Encoding: gzip"),
    "POST, chunked": request("POST /v1/check", JSON, "Transfer-Encoding: chunked") + CHUNKS,
    "broadcast": post({"op": TO, "inputs": [TENSOR]}, MSGPACK, path="/v1/broadcast"),
    "broadcast, JSON from MessagePack": post(
        {"op": TO, "inputs": [TENSOR], "json_data": "base64"}, MSGPACK, "Accept: application/json", path="/v1/broadcast"
    ),
    "broadcast, no element": post({"op": {**TO, "shape": [0, 3]}, "inputs": [TENSOR]}, MSGPACK, path="/v1/broadcast"),
    "broadcast, a scalar": post(
        {"inputs": [{"dtype": "str<2>", "shape": [], "data": "ab".encode("utf-32-le")}]}, MSGPACK, path="/v1/broadcast"
    ),
    "broadcast, a window": post(
        {**LONG, "window": [[7, 9], [1, 3]]}, MSGPACK, "X-Request-ID: not sane!", path="/v1/broadcast"
    ),
    "broadcast, transposed": post(
        {"op": {**TO, "shape": [2, 3, 4]}, "inputs": [STRIDED]}, MSGPACK, path="/v1/broadcast"
    ),
    "broadcast, merged": post({"op": REPEAT, "inputs": [TENSOR]}, MSGPACK, path="/v1/broadcast"),
    "broadcast, a window of merged axes": post(
        {"op": REPEAT, "inputs": [TENSOR], "window": [[1, 5]]}, MSGPACK, path="/v1/broadcast"
    ),
    "broadcast, merged and strided": post(
        {"op": REPEAT, "inputs": [TENSOR], "layout": "strided"}, MSGPACK, path="/v1/broadcast"
    ),
    "broadcast, as long as is joined": post(
        {"op": {**TO, "shape": [21_828, 3]}, "inputs": [TENSOR]}, MSGPACK, path="/v1/broadcast"
    ),
    "broadcast, longer than is joined": post(
        {"op": {**TO, "shape": [21_829, 3]}, "inputs": [TENSOR]}, MSGPACK, path="/v1/broadcast"
    ),
    "broadcast, many numbers in JSON": post(
        {"op": {**TO, "shape": [9000, 3]}, "inputs": [TENSOR]},
        MSGPACK,
        "Accept: application/json",
        path="/v1/broadcast",
    ),
    "broadcast, 256 numbers": post(
        {"inputs": [{"dtype": "float32", "shape": [4, 64], "data": [[0.123456 + n for n in range(64)]] * 4}]},
        JSON,
        path="/v1/broadcast",
    ),
    "broadcast, a long tensor": post(
        {"op": {**TO, "shape": [2, 8000]}, "inputs": [WIDE]}, MSGPACK, path="/v1/broadcast"
    ),
    "broadcast, a longer tensor": post(
        {"inputs": [{"dtype": "int8", "shape": [2**17], "data": bytes(2**17)}]}, MSGPACK, path="/v1/broadcast"
    ),
    "broadcast, many long tensors": post({"inputs": [WIDE] * 4}, MSGPACK, path="/v1/broadcast"),
    "broadcast, a long tensor in short pieces": post(
        {"inputs": [{**WIDE, "data": [bytes(1000)] * 8}]}, MSGPACK, path="/v1/broadcast"
    ),
    "broadcast, long words beside a long tensor": post(
        {"op": {**TO, "name": "numpy" * 1000}, "inputs": [WIDE]}, MSGPACK, path="/v1/broadcast"
    ),
    "broadcast, a long tensor that is impossible": post(
        {"inputs": [{**WIDE, "dtype": "bool", "data": bytes(range(250)) * 32}]}, MSGPACK, path="/v1/broadcast"
    ),
    "broadcast, long in JSON": post(
        {"inputs": [{"dtype": "int8", "shape": [3000], "data": [1] * 3000}]}, JSON, path="/v1/broadcast"
    ),
    "broadcast, short data": post({"op": TO, "inputs": [{**TENSOR, "data": b"1"}]}, MSGPACK, path="/v1/broadcast"),
    "broadcast, no outputs": post(
        {"op": "poputil.canBroadcastToMatch", "inputs": [TENSOR, TENSOR]}, MSGPACK, path="/v1/broadcast"
    ),
    "broadcast, a query besides": post({"op": TO, "inputs": [TENSOR]}, MSGPACK, path="/v1/broadcast?a=b"),
    "broadcast, chunked": request("POST /v1/broadcast", JSON, "Transfer-Encoding: chunked") + CHUNKS,
    "broadcast, streamed": post(LONG, MSGPACK, path="/v1/broadcast"),
    "broadcast, strided": post({**LONG, "layout": "strided"}, MSGPACK, path="/v1/broadcast"),
    "broadcast, JSON": post({"inputs": [{"shape": [2], "data": [1, 2]}] * 2}, JSON, path="/v1/broadcast"),
    "broadcast, a conflict": post({"op": {**TO, "shape": [4]}, "inputs": [TENSOR]}, MSGPACK, path="/v1/broadcast"),
    "broadcast, too large": post(
        {"op": {**TO, "shape": [2**50, 3]}, "inputs": [TENSOR]}, MSGPACK, path="/v1/broadcast"
    ),
    "broadcast, no type": request("POST /v1/broadcast", body=b"{}"),
    "broadcast, GET": request("GET /v1/broadcast"),
    "backprop": post({"inputs": [[1], [3]], "gradients": [TENSOR] * 2}, MSGPACK, path="/v1/backprop"),
    "backprop, a shape that is lent": post(
        {"op": LIKE, "inputs": [[3], [2, 3]], "gradients": [ROWS]}, MSGPACK, path="/v1/backprop"
    ),
    "backprop, in JSON": post(
        {"op": LIKE, "inputs": [[3], [2, 3]], "gradients": [ROWS]},
        MSGPACK,
        "Accept: application/json",
        path="/v1/backprop",
    ),
    "backprop, dense": post(
        {"op": LIKE, "inputs": [[3], [2, 3]], "gradients": [ROWS], "layout": "dense"}, MSGPACK, path="/v1/backprop"
    ),
    "backprop, strided": post(
        {"op": LIKE, "inputs": [[3], [2, 3]], "gradients": [ROWS], "layout": "strided"}, MSGPACK, path="/v1/backprop"
    ),
    "backprop, of dates": post(
        {"inputs": [[1]], "gradients": [{"dtype": "datetime64[s]", "shape": [1], "data": bytes(8)}]},
        MSGPACK,
        path="/v1/backprop",
    ),
    "backprop, replicated": post(
        {"inputs": [[2**20]], "gradients": [{"dtype": "int8", "shape": [2**20], "strides": [0], "data": b"1"}]},
        MSGPACK,
        path="/v1/backprop",
    ),
    "backprop, strides that overlap": post(
        {
            "inputs": [[101, 101]],
            "gradients": [{"dtype": "int8", "shape": [101, 101], "strides": [1, 1], "data": bytes(201)}],
        },
        MSGPACK,
        path="/v1/backprop",
    ),
    "backprop, no gradient": post({"inputs": [[1], [3]], "gradients": []}, MSGPACK, path="/v1/backprop"),
    "backprop, a long gradient": post(
        {"op": {**TO, "shape": [8000]}, "inputs": [[1]], "gradients": [WIDE]}, MSGPACK, path="/v1/backprop"
    ),
    "compare": post({"inputs": [[1, 3]], "shape": [2, 3]}, JSON, path="/v1/compare"),
    "translate": post({"op": TO, "inputs": [[3]], "to": "jax.lax.broadcast_in_dim"}, JSON, path="/v1/translate"),
    "translate, to nothing": post({"op": TO, "inputs": [[3]], "to": "nothing"}, JSON, path="/v1/translate"),
    "why": post({"text": "shapes (3,) and (4,) not aligned: "}, JSON, path="/v1/why"),
    "rows": post({"requests": [SHAPES, {"inputs": [[2], [3]]}, {}]}, JSON, path="/v1/check/batch"),
    "rows, no list": post({"requests": 1}, JSON, path="/v1/check/batch"),
    "another endpoint": request("GET /v1/ops"),
    "nothing there": request("GET /v1/nothing"),
}
FAST_PATH = {
    *(f"GET, {said}" for said in ("an op", "dtype and drawing", "symbols", "a conflict", "as text", "text accepted")),
    "GET, warnings asked for",
    *(f"POST, {said} asked for" for said in ("warnings", "no warning")),
    *(f"GET, {said}" for said in ("MessagePack accepted", "Accept with qualities", "its own id", "a bad id")),
    *(f"GET, {said}" for said in ("in a trace", "a bad trace", "Accept in capitals", "a plus")),
    *(f"GET, {said}" for said in ("kept alive", "in percents", "an empty input", "names", "a length of 0")),
    *(f"POST, {said}" for said in ("MessagePack", "MessagePack accepted", "an op", "everything", "symbols")),
    *(
        f"POST, {said}"
        for said in ("a conflict", "its own id", "a type with parameters", "an answer in text", "many axes")
    ),
    *("GET", "POST"),
    *(f"broadcast{said}" for said in ("", ", strided", ", JSON", ", JSON from MessagePack", ", no element")),
    *(
        f"broadcast, {said}"
        for said in ("a scalar", "256 numbers", "a window", "transposed", "merged", "a window of merged axes")
    ),
    *(f"broadcast, {said}" for said in ("as long as is joined", "a long tensor", "many long tensors")),
    "backprop, a long gradient",
    *(f"backprop{said}" for said in ("", ", a shape that is lent", ", in JSON", ", dense", ", strided")),
    "backprop, replicated",
    "backprop, strides that overlap",
    *("translate", "why"),
    # Those that are refused.
    *("GET, no query", "GET, with a body", "POST, a query alone", "POST, a query besides", "rows, no list"),
    *("broadcast, a query besides", "translate, to nothing"),
    *(f"GET, {said}" for said in ("an unknown warning", "nothing acceptable", "no input", "a bad shape")),
    *(f"GET, {said}" for said in ("an unknown op", "wide characters", "a semicolon", "two formats")),
    *("GET, nothing acceptable, as text", "GET, a bad shape in MessagePack"),
    *(f"POST, {said}" for said in ("an unknown warning", "an unknown field", "no field", "no JSON", "a key twice")),
    *("POST, no type", "POST, no body"),
    *(f"broadcast, {said}" for said in ("short data", "no outputs", "a conflict", "too large", "no type")),
    *("broadcast, merged and strided", "broadcast, a long tensor that is impossible"),
    *("backprop, no gradient", "backprop, of dates"),
}
"""The names of the requests that take the fast path."""
