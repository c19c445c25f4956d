"""The requests that a search begins with: those that were slow once, and the longest that are admitted."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgpack

from .case import JSON, MSGPACK, Case, Rng, Value, a_tensor, names, of_value


def known() -> Iterator[Case]:
    """Those that are known to have been slow, as a start."""
    rng = Rng(0)
    for axes, lead in [(18, [100]), (21, [100]), (18, [])]:
        shape = [2] * axes
        tensor = a_tensor(rng, shape, list(range(1, axes + 1)), "int8")
        op = {"name": "numpy.broadcast_to", "shape": [*lead, *shape]}
        yield of_value("overlaps", "/v1/broadcast", {"op": op, "inputs": [tensor]}, MSGPACK)
    named = names(18)
    pattern = f"{' '.join(named)} -> {' '.join(named[::-1])} z"
    for axes in (12, 15, 18):
        pattern = f"{' '.join(named[:axes])} -> {' '.join(named[:axes][::-1])} z"
        op = {"name": "einops.repeat", "pattern": pattern, "axes_lengths": {"z": 3}}
        yield of_value(
            "permuted", "/v1/broadcast", {"op": op, "inputs": [a_tensor(rng, [2] * axes, None, "int8")]}, MSGPACK
        )
    op = {"name": "numpy.broadcast_to", "shape": [2] * 33}
    yield of_value("streams", "/v1/broadcast", {"op": op, "inputs": [a_tensor(rng, [1], None, "int8")]}, MSGPACK)
    one = {"inputs": [[name] for name in names(45)]}
    yield of_value("symbols", "/v1/check", one)
    yield of_value("rows", "/v1/check/batch", {"requests": [one] * 12})
    yield of_value("rows", "/v1/check/batch", {"requests": [one] * 150})
    yield Case("links", "/v1/check?" + "&".join(f"input={name}" for name in names(45)), method="GET")
    for token in ("1 ", "2 "):
        op = {"name": "einops.repeat", "pattern": "->" + token * 499, "axes_lengths": {}}
        yield of_value("einops", "/v1/check", {"op": op, "inputs": [[]]})
    yield Case("text", "/v1/check", b'{"x":[' + b"[" * 900 + b"]" * 900 + b"]}")
    named = names(45)
    yield of_value("symbols", "/v1/check", {"inputs": [[named[(i + j) % 45] for j in range(8)] for i in range(45)]})
    yield of_value("comparisons", "/v1/compare", {"inputs": [[1] * 8] * 3600})
    op = {"name": "ngraph.Broadcast", "shape": ["M", "N", "M", 2, 2, 3, 2, "M"], "broadcast_axes": [7, 6, 3, 0]}
    hint: Value = {"inputs": [[2, 2, "N", 2]], "op": op}
    yield of_value("hinted", "/v1/check", hint)
    yield of_value("rows", "/v1/check/batch", {"requests": [hint] * 30})
    yield of_value("rows", "/v1/check/batch", {"requests": [{"op": "broad" * 9}] * 1000})
    tensor = {"dtype": "int64", "shape": [0, 64], "data": b""}
    yield of_value("columns", "/v1/check/columns", {"inputs": [tensor] * 780}, MSGPACK)
    yield of_value("answers", "/v1/broadcast", {"op": {"name": "numpy.broadcast_to", "shape": [2**17]}} | {
        "inputs": [a_tensor(rng, [1], None, "complex128")]}, MSGPACK, JSON)  # fmt: skip


def large(most: int) -> Iterator[Case]:
    """As long as is admitted, of each kind of value, for calls in C that keep the GIL until they have done."""
    raw = bytes(most // 4)
    one = {"name": "numpy.broadcast_to", "shape": [1, len(raw)]}
    tensor = {"dtype": "int8", "shape": [len(raw)], "data": raw}
    yield of_value("answers", "/v1/broadcast", {"op": one, "inputs": [tensor], "json_data": "base64"}, JSON, MSGPACK)
    yield of_value("permuted", "/v1/broadcast", {"inputs": [tensor], "layout": "strided"}, MSGPACK)
    count = min(most // 20, 200_000)
    for dtype, element in [
        ("float64", 0.1234567890123), ("int64", "1234567890123456"), ("str<20>", "\U0001f600"), ("complex64", [1, 2]),
        ("datetime64[ns]", "2020-01-01T00:00"), ("bytes<9>", "AQIDBAUGBwgJ"), (None, 1),
    ]:  # fmt: skip
        held = {"shape": [count], "data": [element] * count} | ({"dtype": dtype} if dtype else {})
        yield of_value("lists", "/v1/broadcast", {"inputs": [held]}, JSON, MSGPACK)
    yield of_value(
        "lists", "/v1/broadcast", {"inputs": [{"dtype": "int8", "shape": [3, count], "data": [[1] * count] * 3}]}
    )
    yield of_value("integers", "/v1/check", {"inputs": [[1]] * (min(most // 4, 300_000))}, MSGPACK)
    text = "\u00e9" * (most // 8)
    yield Case("text", "/v1/check", json.dumps({"inputs": [[1]], "op": text}).encode())
    yield Case("text", "/v1/check", b'{"inputs":[%b1]}' % (b"1e5," * min(most // 8, 900_000)))
    rows = min(most // 20, 10_000)
    yield of_value("rows", "/v1/check/batch", {"requests": [{"inputs": [[8, 1, 6, 1], [7, 1, 5]]}] * rows})
    sizes = {"dtype": "int64", "shape": [most // 160, 4], "data": bytes([1, 0, 0, 0, 0, 0, 0, 0]) * (most // 160 * 4)}
    for media, accept in [(MSGPACK, MSGPACK), (JSON, JSON)]:
        yield of_value("columns", "/v1/check/columns", {"inputs": [sizes, sizes], "json_data": "base64"}, media, accept)
    bins = {"dtype": "int8", "shape": [min(most // 4, 400_000)], "data": [b"a"] * min(most // 4, 400_000)}
    yield Case("packed", "/v1/broadcast", msgpack.packb({"inputs": [bins]}), media=MSGPACK)
