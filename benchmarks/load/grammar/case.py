"""A request, and the numbers, names, shapes and tensors that requests are made of."""

from __future__ import annotations

import base64
import json
import random
from dataclasses import dataclass
from math import prod
from typing import Any

import msgpack

JSON, MSGPACK = "application/json", "application/vnd.msgpack"
Value = Any


@dataclass(frozen=True)
class Case:
    """One request. `value` is its body before it is encoded, for mutations to change; None where it has none."""

    kind: str
    path: str
    body: bytes = b""
    method: str = "POST"
    media: str = JSON
    accept: str = ""
    head: str = ""
    """Further lines of the head, each with its end."""
    value: Value = None

    @property
    def nbytes(self) -> int:
        """Bytes that its sender chooses: body, query and further fields."""
        return len(self.body) + len(self.path) + len(self.head) + len(self.accept)

    def wire(self, number: int, last: bool = True) -> tuple[bytes, bytes]:
        """Return the header block and the body as bytes.

        `number` makes the request unique, so that no response is cached. After the `last` request, the service should
        close the connection.
        """
        length = "" if "Transfer-Encoding" in self.head else f"Content-Length: {len(self.body)}\r\n"
        accept = f"Accept: {self.accept or self.media};n={number}\r\n"
        content = f"Content-Type: {self.media};n={number}\r\n{length}" if self.method == "POST" else ""
        close = "Connection: close\r\n" if last and self.kind != "pipelined" else ""
        head = f"{self.method} {self.path} HTTP/1.1\r\nHost: localhost\r\n{close}{accept}{content}{self.head}\r\n"
        return head.encode("latin-1", "replace"), self.body


def of_value(kind: str, path: str, value: Value, media: str = JSON, accept: str = "") -> Case:
    """The request that asks `value`, encoded: tensors' bytes as base64 in JSON."""
    body = msgpack.packb(value) if media == MSGPACK else json.dumps(_json(value), separators=(",", ":")).encode()
    return Case(kind, path, body, media=media, accept=accept, value=value)


def _json(value: Value) -> Value:
    if isinstance(value, dict):
        held = {name: part for name, part in value.items() if not isinstance(part, bytes)}
        for name, part in value.items():
            if isinstance(part, bytes):
                held["base64" if name == "data" else name] = base64.b64encode(part).decode()
        return {name: _json(part) for name, part in held.items()}
    if isinstance(value, (list, tuple)):
        return [_json(part) for part in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


# --- numbers, names, shapes ----------------------------------------------------------------------

Rng = random.Random
HUGE = 2**63 - 1
HEAD_BYTES = 31_000
"""What a head may hold, about."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WIDTHS = {"int8": 1, "uint16": 2, "float32": 4, "float64": 8, "complex128": 16, "bool": 1, "float16": 2} | {
    "bfloat16": 2, "int4": 1, "str<3>": 12, "bytes<5>": 5, "datetime64[ns]": 8, "timedelta64[s]": 8,
    "float8_e5m2": 1, "uint64": 8, "bytes<1>": 1, "str<1>": 4, "complex64": 8, "int64": 8,
}  # fmt: skip
DTYPES = list(WIDTHS)
TARGETS = {"numpy.broadcast_to": "shape", "mindspore.broadcast_to": "shape", "onnx.Expand": "shape"} | {
    "torch.expand": "size", "tensorflow.broadcast_to": "shape", "paddle.expand": "shape",
}  # fmt: skip
NAMES = [
    *TARGETS, "numpy.broadcast_arrays", "ngraph.Broadcast", "ngraph.BroadcastLike", "torch.broadcast_tensors",
    "poputil.expandToMatchRanks", "poputil.broadcastToMatch", "poputil.canBroadcastToMatch", "openvino.Broadcast-1",
    "openvino.Broadcast-3", "jax.lax.broadcast", "stablehlo.broadcast_in_dim", "mxnet.broadcast_axis",
    "mxnet.broadcast_like", "xarray.broadcast", "einops.repeat",
]  # fmt: skip


def upto(rng: Rng, most: float, least: int = 1) -> int:
    """A number from `least` to about `most`, small ones and the limit itself likelier than the rest."""
    most = max(int(most), least)
    if rng.random() < 0.3:
        return most
    return min(int(least * (most / max(least, 1) + 1) ** rng.random()) if least else rng.randint(0, most), most)


def a_size(rng: Rng) -> int:
    return rng.choice([1, 1, 2, 2, 3, 4, 6, 7, 64, 1000, 2**20, 2**31, 2**62, HUGE, 0, rng.randint(1, 100)])


def names(count: int, width: int = 1) -> list[str]:
    """Return this number of names, as short as possible or with this number of characters."""
    listed, number = [], 0
    while len(listed) < count:
        text, rest = LETTERS[number % 26], number // 26
        while rest:
            text += (LETTERS + "0123456789")[rest % 36]
            rest //= 36
        listed.append(text + "q" * (width - len(text)))
        number += 1
    return listed


def a_symbol(rng: Rng, named: list[str]) -> int | str:
    if rng.random() < 0.7 and named:
        return rng.choice(named)
    low = rng.choice([0, 1, 2, 5, 2**40])
    return rng.choice(["?", f"{low}..", f"{low}..{low + rng.randint(0, 2**30)}", 1, rng.choice([2, 3, 6])])


def a_shape(rng: Rng, rank: int, sizes: list[Any] | None = None) -> list[Any]:
    return [rng.choice(sizes) if sizes else a_size(rng) for _ in range(rank)]


def a_tensor(rng: Rng, shape: list[int], strides: list[int] | None = None, dtype: str = "") -> dict[str, Value]:
    dtype = dtype or rng.choice(DTYPES)
    tensor: dict[str, Value] = {"dtype": dtype, "shape": shape}
    if strides is not None:
        tensor["strides"] = strides
    tensor["data"] = b""
    return repaired(tensor, 2**26)


def repaired(value: Value, most: int) -> Value:
    """Return a value whose tensors have as many bytes as their shapes and strides need, up to `most`."""
    if isinstance(value, list):
        return [repaired(part, most) for part in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("data"), bytes) and isinstance(value.get("shape"), list):
        shape, strides, width = value["shape"], value.get("strides"), WIDTHS.get(str(value.get("dtype")), 1)
        if all(type(size) is int and size >= 0 for size in [*shape, *(strides or [])]):
            if strides is None:
                need = prod(shape) * width
            else:
                steps = zip(shape, strides, strict=False)
                need = 0 if 0 in shape else (1 + sum((size - 1) * step for size, step in steps)) * width
            if need <= most and need != len(value["data"]):
                return value | {"data": b"\1" * need if width in (1, 2, 5) else b"\1\0\0\0" * (need // 4)}
        return value
    return {name: repaired(part, most) for name, part in value.items()}
