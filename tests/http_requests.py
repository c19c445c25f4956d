"""Requests that several test files send, and their encoding in MessagePack."""

from __future__ import annotations

from typing import Any

import httpx
import msgpack
import numpy as np

JSON = "application/json"
MSGPACK = "application/vnd.msgpack"
NGRAPH = {"op": {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [0]}, "inputs": [[3]]}
NGRAPH_ANSWER = {
    "compatible": True,
    "op": NGRAPH["op"],
    "shape": [2, 3],
    "outputs": [{"shape": [2, 3], "elements": 6}],
    "broadcast_inputs": [{"input": 0, "shape": [2, 3], "axes": [1], "broadcast_axes": [0]}],
    "warnings": [],
}
ROW = {"dtype": "float32", "shape": [3], "data": np.array([1, 2, 3], "<f4").tobytes()}


def pack(value: Any) -> bytes:
    return bytes(msgpack.packb(value))


def post(http: httpx.Client, path: str, value: Any, **headers: str) -> httpx.Response:
    """Return a request in MessagePack."""
    return http.post(path, content=pack(value), headers={"Content-Type": MSGPACK, **headers})
