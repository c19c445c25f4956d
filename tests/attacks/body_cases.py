"""Attacks in request bodies: MessagePack, JSON, tensors and valid requests for much work."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import msgpack

from attacks.attack import GOOD, MIB, MSGPACK, Attack, as_json, as_msgpack, head, post


def packed() -> Iterator[Attack]:
    counted = "values are counted while they are parsed, so that a body costs a small multiple of itself"
    strict = "what is no MessagePack map with unique string keys is refused"

    def attack(name: str, body: bytes, code: str = "malformed-body", invariant: str = strict, **more: Any) -> Attack:
        status = more.pop("status", 400 if code == "malformed-body" else 422)
        return Attack(
            name, "MessagePack", invariant, post(body, more.pop("path", "/v1/check"), MSGPACK), status, code, **more
        )

    yield attack("nothing", b"")
    yield attack("the byte that means nothing", b"\xc1")
    yield attack("a map with a value that is none", b"\x81\xa6inputs\xc1")
    for name, byte in (("maps", b"\x80"), ("lists", b"\x90"), ("nils", b"\xc0"), ("strings", b"\xa0")):
        body = b"\x81\xa6inputs\xdd" + struct.pack(">I", 10**7) + byte * 10**7
        yield attack(f"ten million {name}", body, invariant=counted, growth=128, seconds=3)
    for name, header in (("a list", b"\xdd"), ("a map", b"\xdf"), ("a string", b"\xdb"), ("a bin", b"\xc6")):
        yield attack(f"{name} of 4 GiB announced", b"\x81\xa6inputs" + header + b"\xff" * 4, invariant=counted)
    yield attack("an extension of 4 GiB announced", b"\x81\xa6inputs\xc9" + b"\xff" * 4 + b"\x01", invariant=counted)
    yield attack("lists nested ten thousand deep", b"\x91" * 10_000 + b"\xc0")
    yield attack("maps nested ten thousand deep", b"\x81\xa1a" * 10_000 + b"\xc0")
    # Read, but deeper than a message could write it again.
    deep = b"\x81\xa5shape\x91" + b"\x91" * 990 + b"\x01"
    yield attack("a size nested as deep as is read", b"\x81\xa6inputs\x91" + deep, "invalid-request")
    unfinished = (b"\xdd" + struct.pack(">I", 10**6)) * 500
    yield attack("500 unfinished lists of a million", unfinished, invariant=counted, growth=64)
    yield attack(
        "500 unfinished lists, each nearly full",
        b"".join(b"\xdc\xff\xff" + b"\xc0" * 65_534 for _ in range(200)),
        invariant=counted,
        growth=160,
        seconds=3,
    )
    yield attack("bytes after the value", msgpack.packb({"inputs": [[3]]}) + b"\xc0")
    yield attack("half a value", msgpack.packb({"inputs": [[3, 3, 3]]})[:-1])
    yield attack("a key twice", b"\x82\xa6inputs\x91\x91\x03\xa6inputs\x91\x91\x04")
    yield attack("a key that is a number", b"\x81\x01\x91\x91\x03")
    yield attack("a key that is a list", b"\x81\x91\x01\x91\x91\x03")
    yield attack("a key that is binary", b"\x81\xc4\x06inputs\x91\x91\x03")
    yield attack("a key of 1 MiB", b"\x81\xdb" + struct.pack(">I", MIB) + b"a" * MIB + b"\xc0")
    yield attack("a timestamp", b"\x81\xa6inputs\xd6\xff" + bytes(4))
    yield attack("an extension of type 42", b"\x81\xa6inputs\xd4\x2a\x00")
    yield attack("a string that is not UTF-8", b"\x81\xa6inputs\xa2\xff\xfe")
    yield attack("a key that is not UTF-8", b"\x81\xa2\xff\xfe\xc0")
    body = b"\x82\xa2op\xb6numpy.broadcast_arrays\xa6inputs\x91\x83\xa5dtype\xa4int8\xa5shape\x91\x00\xa4data\xdd"
    yield attack(
        "a million bins of one byte",
        body + struct.pack(">I", 10**6) + b"\xc4\x01a" * 10**6,
        invariant=counted,
        path="/v1/broadcast",
        status=(400, 422),
        code=None,
        growth=128,
        seconds=3,
    )
    yield attack("a number, and no map", b"\x07", "invalid-request")
    yield attack("a size of 2^64-1", b"\x81\xa6inputs\x91\x91\xcf" + b"\xff" * 8, "invalid-request")
    yield attack("a size that is NaN", b"\x81\xa6inputs\x91\x91\xcb\x7f\xf8" + bytes(6), "invalid-request")
    yield attack("10,001 keys", msgpack.packb({f"k{number}": 0 for number in range(10_001)}))
    yield attack("1,500 unknown fields", msgpack.packb({f"k{number}": 0 for number in range(1500)}), "invalid-request")


def texts() -> Iterator[Attack]:
    strict = "what is no JSON map with unique keys is refused, in words"

    def attack(name: str, body: bytes | str, code: str = "malformed-body", **more: Any) -> Attack:
        raw = body.encode() if isinstance(body, str) else body
        status = more.pop("status", 400 if code == "malformed-body" else 422)
        return Attack(
            name, "JSON", more.pop("invariant", strict), post(raw, more.pop("path", "/v1/check")), status, code, **more
        )

    for literal in ("NaN", "Infinity", "-Infinity"):
        yield attack(f"the literal {literal}", f'{{"inputs": [[{literal}]]}}')
    yield attack("1e999", '{"inputs": [[1e999]]}', "invalid-request")
    yield attack("an integer of 5000 digits", f'{{"inputs": [[{"9" * 5000}]]}}')
    yield attack("an integer of a million digits", f'{{"inputs": [[{"9" * 10**6}]]}}')
    yield attack("a float of a million digits", f'{{"inputs": [[0.{"9" * 10**6}]]}}', "invalid-request")
    yield attack("lists a hundred thousand deep", "[" * 100_000)
    yield attack("maps a hundred thousand deep", '{"a":' * 100_000)
    yield attack("a key twice", '{"inputs": [[3]], "inputs": [[4]]}')
    yield attack("a lone surrogate", '{"op": "\\ud800", "inputs": [[3]]}', "unknown-op")
    yield attack("a lone surrogate as a name", '{"inputs": [["\\udfff"]]}', "invalid-request")
    yield attack("bytes that are not UTF-8", b'{"inputs": "\xff"}')
    yield attack("UTF-16", '{"inputs": [[3]]}'.encode("utf-16"))
    yield attack("a byte order mark", b"\xef\xbb\xbf" + GOOD)
    yield attack("nothing", "")
    yield attack("half a value", GOOD[:-2])
    yield attack("two values", GOOD + GOOD)
    yield attack("a list, and no map", "[]", "invalid-request")
    yield attack("null", "null", "invalid-request")
    yield attack("five million commas", "[" + "0," * 5 * MIB + "0]", "body-too-large", status=413, growth=16)
    yield attack("a million commas", "[" + "0," * MIB + "0]", growth=64, seconds=3)
    yield attack(
        "a string of 3 MiB for an op", json.dumps({"op": "a" * 3 * MIB, "inputs": [[3]]}), "unknown-op", growth=64
    )
    for shown, data in (("ragged", [[1, 2], [3]]), ("too deep", [[[1]]]), ("maps", [{}]), ("nulls", [None])):
        body = json.dumps({"inputs": [{"shape": [2, 2], "data": data}]})
        yield attack(f"a tensor of {shown} lists", body, "invalid-tensor", path="/v1/broadcast")
    for shown in ("a", "****", "AA==AA==", "AAA", "\u00e9" * 4, "AA\nAA"):
        body = json.dumps({"inputs": [{"dtype": "int8", "shape": [3], "base64": shown}]})
        yield attack(f"base64 {shown!r}", body, "invalid-tensor", path="/v1/broadcast")


def tensors() -> Iterator[Attack]:
    exact = "data has exactly the bytes that shape, strides and dtype reach, or it is never touched"

    def attack(name: str, code: str = "invalid-tensor", **fields: Any) -> Attack:
        tensor = {"dtype": "int8", "shape": [2], "data": bytes(2)} | fields
        return Attack(name, "tensors", exact, as_msgpack({"inputs": [tensor]}, "/v1/broadcast"), 422, code)

    yield attack("one byte short", data=bytes(1))
    yield attack("one byte long", data=bytes(3))
    yield attack("a negative stride", strides=[-1])
    yield attack("a stride that overflows", strides=[2**63 - 1])
    yield attack("a stride beyond int64", "invalid-request", strides=[2**64 - 1])
    yield attack("a reach that is too far by one", strides=[2])
    yield attack("two strides for one axis", strides=[1, 1])
    yield attack("a size of 2^63-1", shape=[2**63 - 1])
    yield attack("sizes whose product is 2^64", shape=[2**32, 2**32], data=b"")
    yield attack("sizes whose product wraps to 2", shape=[2**63 - 1, 2**63 - 1, 2])
    yield attack("a boolean for a size", "invalid-request", shape=[True])
    yield attack("a float for a size", "invalid-request", shape=[2.0])
    yield attack("a negative size", "invalid-request", shape=[-2])
    yield attack("65 axes", "invalid-tensor", shape=[1] * 65, data=bytes(1))
    yield attack("100,000 axes", "invalid-tensor", shape=[1] * 100_000, data=bytes(1))
    for dtype in (
        "object",
        "O",
        "O8",
        "V8",
        "[('a','i4')]",
        "(2,)i4",
        "i4,i4",
        "str<2147483648>",
        "str<0>",
        "str<-1>",
        "bytes<99999999999999999999>",
        "float128",
        "longdouble",
        ">i4",
        "int",
        "pickle",
        "",
        "datetime64",
        "datetime64[]",
        "datetime64[0s]",
        "datetime64[99999999999s]",
        "str<" + "9" * 5000 + ">",
        "__import__('os')",
    ):
        yield attack(f"the dtype {dtype[:30]!r}", dtype=dtype)
    yield attack("a bool of 2", dtype="bool", data=b"\x02\x01")
    yield attack("a uint4 of 16", dtype="uint4", data=b"\x10\x01")
    yield attack("a code point beyond Unicode", dtype="str<1>", data=b"\xff" * 8)
    yield attack("no data", data=None)
    yield attack("data twice", base64="AAA=")
    yield attack("bins that are too long together", data=[bytes(1), bytes(2)])
    yield attack("ten thousand empty bins and too few bytes", data=[b""] * 10_000)


def semantics() -> Iterator[Attack]:
    judged = "work and sizes are judged before anything is allocated or summed"

    def attack(
        name: str, sent: Sequence[bytes], status: int | Sequence[int], code: str | None = None, **more: Any
    ) -> Attack:
        return Attack(name, "semantics", more.pop("invariant", judged), sent, status, code, **more)

    def target(*shape: int) -> dict[str, Any]:
        return {"name": "numpy.broadcast_to", "shape": list(shape)}

    one = {"dtype": "float64", "shape": [], "data": bytes(8)}
    huge = {"op": target(10**15), "inputs": [one]}
    yield attack("a petabyte, dense", as_msgpack(huge, "/v1/broadcast"), 422, "output-too-large", growth=2, seconds=0.5)
    yield attack(
        "a petabyte, strided",
        as_msgpack(huge | {"layout": "strided"}, "/v1/broadcast"),
        200,
        growth=2,
        seconds=0.5,
        invariant="a strided answer costs the bytes of its input",
    )
    window = {"op": target(10**15), "inputs": [one], "window": [[10**14, 10**14 + 2]]}
    yield attack("two elements of a petabyte", as_msgpack(window, "/v1/broadcast"), 200, growth=2, seconds=0.5)
    wraps = {"op": target(2**32, 2**32, 2**2), "inputs": [one]}
    yield attack("a product that wraps to 0", as_msgpack(wraps, "/v1/broadcast"), 422, "output-too-large", growth=2)
    yield attack(
        "the same in JSON",
        as_json({"op": target(10**9), "inputs": [{"shape": [], "data": 1}]}, "/v1/broadcast"),
        422,
        "output-too-large",
        growth=2,
    )
    yield attack(
        "a product of 2^126 checked",
        as_json({"op": target(2**63 - 1, 2**63 - 1), "inputs": [[]], "dtype": "complex128"}),
        200,
        growth=2,
    )
    scalars = {"inputs": [[]] * 100_000 + [[1] * 64]}
    yield attack("100,000 scalars and one input of 64 axes", as_msgpack(scalars), 422, "work-too-large", growth=64)
    yield attack(
        "10,000 scalars explained", as_msgpack({"inputs": [[]] * 10_000, "explain": True}), (200, 422), growth=64
    )
    many = {"inputs": [[2 + number % 2] * 32 for number in range(2000)], "explain": True}
    yield attack("2000 inputs in conflict explained", as_msgpack(many), (200, 422), growth=64)
    sums = {
        "op": target(10**15),
        "inputs": [[]],
        "gradients": [{"dtype": "float32", "shape": [10**15], "strides": [0], "data": bytes(4)}],
    }
    yield attack(
        "a gradient of 10^15 equal elements",
        as_msgpack(sums, "/v1/backprop"),
        200,
        growth=2,
        seconds=0.5,
        invariant="replicated gradients are summed in closed form",
    )
    sums = {
        "op": target(10**8, 10**8),
        "inputs": [[1, 10**8]],
        "gradients": [{"dtype": "float32", "shape": [10**8, 10**8], "strides": [0, 0], "data": bytes(4)}],
    }
    yield attack("a result of 10^8 equal elements", as_msgpack(sums, "/v1/backprop"), (200, 422), growth=8)
    overlap = {
        "op": target(1, 2**15, 2**15),
        "inputs": [[2**15, 2**15]],
        "gradients": [{"dtype": "int8", "shape": [1, 2**15, 2**15], "strides": [0, 1, 1], "data": bytes(2**16 - 1)}],
    }
    yield attack(
        "a gradient whose strides overlap", as_msgpack(overlap, "/v1/backprop"), 422, "invalid-tensor", growth=8
    )
    overlaps = {
        "op": target(*[2] * 28),
        "inputs": [[1] * 28],
        "gradients": [{"dtype": "int64", "shape": [2] * 28, "strides": [1] * 28, "data": bytes(8 * 29)}],
    }
    yield attack(
        "a gradient of 2^28 elements in 29 positions", as_msgpack(overlaps, "/v1/backprop"), 422, growth=2, seconds=0.5
    )
    like = {
        "op": {"name": "ngraph.BroadcastLike", "initial_broadcast_axes": [0]},
        "inputs": [[], [10**15]],
        "gradients": [{"dtype": "float32", "shape": [10**15], "strides": [0], "data": bytes(4)}],
    }
    yield attack("a like_arg of 10^15", as_msgpack(like, "/v1/backprop"), 200, growth=2, seconds=0.5)
    rows = {
        "op": "numpy.broadcast_arrays",
        "inputs": [{"dtype": "int64", "shape": [10**12, 2], "strides": [0, 1], "data": bytes(16)}],
    }
    yield attack("a column of 10^12 equal rows", as_msgpack(rows, "/v1/check/columns"), 422, "work-too-large", growth=2)
    empty = {"op": "numpy.broadcast_arrays", "inputs": [{"dtype": "int64", "shape": [2**62, 0], "data": b""}]}
    yield attack("a column of 2^62 scalars", as_msgpack(empty, "/v1/check/columns"), 422, "invalid-tensor", growth=2)
    scalars = {"requests": [{"inputs": [[]] * 900 + [[1] * 64]}] * 130}
    yield attack(
        "130 rows of 900 inputs", as_msgpack(scalars, "/v1/check/batch"), (200, 413, 422), growth=400, seconds=8
    )
    yield attack(
        "10,001 rows", as_msgpack({"requests": [{}] * 10_001}, "/v1/check/batch"), 422, "work-too-large", growth=64
    )
    pattern = {"op": {"name": "einops.repeat", "pattern": "a " * 50_000 + "-> a"}, "inputs": [[3]]}
    yield attack("a pattern of 100,000 characters", as_msgpack(pattern), 422)
    nested = {"op": {"name": "einops.repeat", "pattern": "(" * 5000 + ")" * 5000 + "-> a"}, "inputs": [[3]]}
    yield attack("a pattern of 5000 parentheses", as_msgpack(nested), 422)
    names = {"op": {"name": "xarray.broadcast", "dims": [["x" * 10**6]]}, "inputs": [[3]]}
    yield attack("a dimension's name of a million letters", as_msgpack(names), (200, 422), growth=32)
    symbols = {"inputs": [[f"n{number}" for number in range(60)] for _ in range(1000)]}
    yield attack("1000 inputs of 60 names", as_msgpack(symbols), (200, 422), growth=64, seconds=6)
    symbols = {"inputs": [[f"n{one}_{two}" for one in range(30)] for two in range(300)], "explain": True}
    yield attack("300 inputs of 30 names of their own", as_msgpack(symbols), (200, 422), growth=96, seconds=6)
    yield attack("a name of a million letters", as_json({"inputs": [["N" * 10**6]]}), 422, growth=32)
    assumed = {"inputs": [["N"]], "assume": {f"n{number}": "2.." for number in range(1500)}}
    yield attack("1500 assumptions", as_msgpack(assumed), 422, "invalid-request", growth=32)
    yield attack(
        "500 inputs translated",
        as_msgpack({"inputs": [[3]] * 500, "to": "torch.expand"}, "/v1/translate"),
        422,
        None,
        growth=32,
    )
    yield attack("a GET of a shape of 100 sizes", [head("GET", "/v1/check?input=" + "9x" * 99 + "9")], 200, None)
    for name, query in (
        ("no input", ""),
        ("an op twice", "op=a&op=b&input=3"),
        ("no UTF-8", "input=%ff%fe"),
        ("a wrong escape", "input=%zz"),
        ("20,000 parameters", "&" * 20_000 + "input=3"),
        ("an attribute of Python's", "input=3&op=numpy.broadcast_to&__class__=3"),
        ("JSON that is none", "input=3&assume={"),
    ):
        yield attack(f"a GET with {name}", [head("GET", "/v1/check?" + query)], (200, 400, 414, 422, 431))
