"""Requests of which the bytes are odd, not the values: text, MessagePack, links, heads, framing."""

from __future__ import annotations

import json
from dataclasses import replace
from urllib.parse import quote

import msgpack

from .case import HEAD_BYTES, MSGPACK, Case, Rng, names
from .checks import einops, hinted, integers, rows, symbols


def text(rng: Rng, nbytes: int) -> Case:
    """Bodies that are hard on a JSON parser, whatever they mean."""
    part, close = rng.choice([
        (b"[", b"]"), (b'{"a":', b"}"), (b'["\\ud83d\\ude00",', b"]"), (b"1,", b""), (b"[],", b""), (b"{},", b""),
        (b'"",', b""), (b'"a\\n",', b""), (b" ", b""), (b"1e5,", b""), (b"0." + b"1" * 400 + b",", b""),
        (b"1" * 4300 + b",", b""), (b"-0,", b""), (b'{"a":1},', b""), (b'"\xc3\xa9",', b""), (b"null,", b""),
        (b"1e400,", b""), (b'"\\u00e9\\u00e9",', b""), (b"1" * 4301 + b",", b""), (b"2.5e-320,", b""),
    ])  # fmt: skip
    values = sum(map(part.count, (b",", b"[", b"{", b":")))
    times = max(min(nbytes // (len(part) + len(close)), 999_990 // max(values, 1)), 1)
    depth = rng.choice([times, 990, 500, 10]) if close else times
    if close:
        unit = (
            part * min(depth, times)
            + (b"" if part.endswith(b",") or part == b"[" else b"1")
            + close * min(depth, times)
        )
        if part.endswith(b","):
            unit = part * min(depth, times) + b"1" + close * min(depth, times)
        inner = b",".join([unit] * max(nbytes // (len(unit) + 1), 1))
    elif part == b" ":
        inner = part * times
    else:
        inner = (part * times)[:-1]
    opening = rng.choice([
        b'{"inputs":[%b]}', b'{"x":[%b]}', b'{"requests":[%b]}', b'{"inputs":[{"shape":[1],"data":[%b]}]}',
        b'{"inputs":[[1]],"op":[%b]}', b"[%b]", b'{"inputs":[%b',
    ])  # fmt: skip
    if rng.random() < 0.1:
        long = rng.choice([b"a", b"\xc3\xa9", b"\\n", b"\\u00e9", b"\xf0\x9f\x98\x80"])
        opening, inner = b'{"inputs":[[1]],"op":"%b"}', long * (nbytes // len(long))
    if rng.random() < 0.05:
        keys = min(nbytes // 9, 2001)
        opening, inner = b"{%b}", b",".join(b'"%d":1' % number for number in range(keys))
    path = rng.choice(
        [
            "/v1/check",
            "/v1/broadcast",
            "/v1/backprop",
            "/v1/compare",
            "/v1/translate",
            "/v1/check/batch",
            "/v1/check/columns",
        ]
    )
    return Case("text", path, opening % inner)


def packed(rng: Rng, nbytes: int) -> Case:
    """Bodies that are hard on a MessagePack parser, and on the prescan before it."""
    unit = rng.choice([
        b"\x01", b"\xc0", b"\x80", b"\x90", b"\xa0", b"\xc4\x00", b"\xa1a", b"\x91\x90", b"\x81\xa1a\x01", b"\xc4\x01a",
        b"\xc5\x10\x00" + b"\0" * 4096, b"\xcb" + b"\0" * 8, b"\xcf" + b"\xff" * 8, b"\xd9\x20" + b"a" * 32,
        b"\x92\x01\x01", b"\xd9\x04\xf0\x9f\x98\x80",
    ])  # fmt: skip
    count = max(min(nbytes // len(unit), 999_900 // (3 if unit[0] in (0x81, 0x92) else 2 if unit[0] == 0x91 else 1)), 1)
    listed = b"\xdd" + count.to_bytes(4, "big") + unit * count
    if rng.random() < 0.1:
        depth = min(rng.choice([1023, 500, 5000]), nbytes)
        listed = b"\x91" * depth + b"\x01"
    if rng.random() < 0.2:
        data = (
            b"\x83" + msgpack.packb("dtype") + msgpack.packb(rng.choice(["int8", "bytes<5>"])) + msgpack.packb("shape")
        )
        data += msgpack.packb([rng.choice([count, count * 4096, 0])]) + msgpack.packb("data") + listed
        body = b"\x81" + msgpack.packb("inputs") + b"\x91" + data
    else:
        body = b"\x81" + msgpack.packb(rng.choice(["inputs", "requests", "x", "op", "gradients"])) + listed
    if rng.random() < 0.1:
        body = body[:-1]
    path = rng.choice(
        [
            "/v1/check",
            "/v1/broadcast",
            "/v1/backprop",
            "/v1/compare",
            "/v1/translate",
            "/v1/check/batch",
            "/v1/check/columns",
        ]
    )
    return Case("packed", path, body, media=MSGPACK)


def links(rng: Rng, nbytes: int) -> Case:
    """The GET form, as any page's image could send it."""
    nbytes = min(nbytes, HEAD_BYTES)
    pick = rng.choice(["names", "ones", "einops", "assume", "hints", "long", "many", "draw"])
    parts: list[tuple[str, str]]
    if pick == "names":
        parts = [("input", name) for name in names(min(rng.choice([20, 45, 45, 400]), nbytes // 9))]
        if rng.random() < 0.3:
            parts.append(("input", "2"))
    elif pick == "ones":
        parts = [("input", rng.choice(["1", "", "1,1,1,1"]))] * max(nbytes // 9, 1)
    elif pick == "einops":
        pattern = "->" + rng.choice(["1 ", "2 ", "() "]) * 300
        parts = [("op", "einops.repeat"), ("input", ""), ("pattern", pattern)]
    elif pick == "assume":
        named = names(min(nbytes // 20, 1000))
        parts = [("input", name) for name in named[:45]] + [("assume", json.dumps(dict.fromkeys(named[:45], "1..8")))]
    elif pick == "hints":
        parts = [("input", "7,6,5,4,3,2,3,2"), ("shape", "2,3,4,5,6,7,2,3")]
        parts += [("op", rng.choice(["numpy.broadcast_to", "onnx.Expand", "tensorflow.broadcast_to"]))]
    elif pick == "long":
        parts = [("input", rng.choice(["1" * 2000, " " * 2000, "1x" * 999 + "1", "a," * 999, " , " * 600]))] * max(
            nbytes // 2010, 1
        )
    elif pick == "many":
        parts = [(name, "1") for name in names(nbytes // 5)]
    else:
        parts = [("input", ",".join(["9" * 18] * 64))] * max(nbytes // 1300, 1) + [("explain", "1")]
    text = rng.random() < 0.3
    query = "&".join(f"{name}={quote(value)}" for name, value in [*parts, *([("format", "text")] if text else [])])
    return Case("links", f"/v1/check?{query}", method="GET", accept=rng.choice(["", "", "text/plain", MSGPACK]))


def heads(rng: Rng, nbytes: int) -> Case:
    """Requests with long or many header fields, and requests for pages."""
    nbytes = min(nbytes, HEAD_BYTES)
    path = rng.choice([
        "/metrics", "/openapi.json", "/docs", "/v1/ops", "/", "/livez", "/readyz", "/nothing/" + "a" * 200,
        "/v1/check?input=1", "/problems/overloaded", "/v1/ops/numpy.broadcast_to",
    ])  # fmt: skip
    unit, name = rng.choice([("a/b;q=0.1,", "Accept"), ('"x",', "If-None-Match"), ("gzip,", "Accept-Encoding"),
                             ("a=b; ", "Cookie"), (";=,", "Accept"), ("1", "traceparent"), ("*/*;", "Accept"),
                             (",", "Content-Encoding")])  # fmt: skip
    long = f"{name}: {unit * (nbytes // len(unit))}\r\n"
    many = "".join(f"x{number}: {'a' * (nbytes // 90 - 9)}\r\n" for number in range(90))
    head = rng.choice(["", long, many])
    return Case("heads", path, method=rng.choice(["GET", "GET", "HEAD", "OPTIONS"]), accept="*/*", head=head)


def chunked(rng: Rng, nbytes: int) -> Case:
    """A body in chunks of one byte."""
    inner = rng.choice([symbols, rows, text, integers])(rng, max(nbytes // 6, 60))
    body = b"".join(b"1\r\n%c\r\n" % byte for byte in inner.body) + b"0\r\n\r\n"
    return replace(inner, kind="chunked", body=body, head="Transfer-Encoding: chunked\r\n", value=None)


def pipelined(rng: Rng, nbytes: int) -> Case:
    """Many requests on one connection, sent at once."""
    inner = rng.choice([links, symbols, hinted, einops, heads])(rng, rng.choice([100, 400, 1000]))
    wires, room = [b"".join(inner.wire(0))], nbytes - 400
    while room > 0 and len(wires) < 2000:
        wires.insert(0, b"".join(inner.wire(rng.randint(0, 10**9), last=False)))
        room -= len(wires[0])
    return Case("pipelined", "/livez", b"".join(wires), method="GET", accept="*/*", head="Content-Length: 0\r\n")
