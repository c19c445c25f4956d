"""Requests that are small to send and may be large to answer: one function for each kind, with a size to aim at, and
the mutations that lead from one request to another. All of them from a seed."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any
from urllib.parse import quote

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
        """Head and body as they are sent; `number` makes it another request than those before, so that none is
        remembered; after the `last` one on its connection the service is to close it."""
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
    """So many names, as short as can be, or of so many characters."""
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
    """A value whose tensors have as many bytes as their shapes and strides ask for, where that is no more than
    `most`."""
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


# --- kinds ---------------------------------------------------------------------------------------

Kind = Callable[[Rng, int], Case]
KINDS: dict[str, Kind] = {}


def kind(make: Kind) -> Kind:
    KINDS[make.__name__] = make
    return make


def check(name: str, rng: Rng, inputs: Value, op: Value = None, **fields: Value) -> Case:
    value = {"inputs": inputs} | ({"op": op} if op is not None else {}) | fields
    if rng.random() < 0.2:
        value["explain"] = True
    return of_value(name, "/v1/check", value, rng.choice([JSON, JSON, MSGPACK]))


@kind
def symbols(rng: Rng, nbytes: int) -> Case:
    """Names, ranges and unknown sizes that meet on a few axes, with integers that lead or not."""
    axes, count = rng.choice([1, 1, 1, 2, 3, 8, 22, 64]), rng.choice([2, 10, 20, 45, 46, 100, 500, 1000])
    named = names(count)
    rows = upto(rng, min(nbytes / (6 * axes + 2), 60_000 / axes))
    if rng.random() < 0.6:
        step = rng.choice([0, 1, 7])
        inputs = [[named[(row + axis * step) % count] for axis in range(axes)] for row in range(min(rows, count * 2))]
    else:
        inputs = [[a_symbol(rng, named) for _ in range(rng.randint(1, axes))] for _ in range(rows)]
    if rng.random() < 0.4:
        inputs.insert(rng.randint(0, len(inputs)), [rng.choice([1, 2, 3, "2.."]) for _ in range(axes)])
    fields: dict[str, Value] = {}
    if rng.random() < 0.3:
        used = {size for shape in inputs for size in shape if isinstance(size, str) and size.isidentifier()}
        fields["assume"] = {
            name: rng.choice(["1..8", "2..", "0..1", 1, 2, "1..2"])
            for name in sorted(used)[: rng.choice([1, 30, 1000])]
        }
    return check("symbols", rng, inputs, rng.choice([None, None, "torch.broadcast_tensors"]), **fields)


@kind
def chains(rng: Rng, nbytes: int) -> Case:
    """Names that become equal one after another over many axes and inputs: long trails of what follows."""
    axes, count = rng.choice([2, 8, 32, 64]), rng.choice([20, 64, 200, 400])
    named, rows = names(count), max(min(nbytes // (8 * axes), 1000 // axes + 1), 2)
    inputs = [[named[(row * axes + axis + row) % count] for axis in range(axes)] for row in range(rows)]
    lead = [rng.choice([1, "2..", 2, "1..2", named[axis % count]]) for axis in range(axes)]
    inputs.insert(rng.choice([0, len(inputs)]), lead)
    return check("chains", rng, inputs)


@kind
def divides(rng: Rng, nbytes: int) -> Case:
    """einops patterns that split and merge axes whose sizes are not known."""
    count = upto(rng, min(64, nbytes / 12))
    named = names(3 * count)
    groups = [named[3 * number : 3 * number + rng.randint(1, 3)] for number in range(count)]
    left = " ".join(f"({' '.join(group)})" if len(group) > 1 else group[0] for group in groups)
    flat = [name for group in groups for name in group][:64]
    order = rng.sample(flat, len(flat))
    cut = rng.randint(0, len(order))
    right = " ".join(order) if rng.random() < 0.4 else f"({' '.join(order[:cut])}) {' '.join(order[cut:])}"
    lengths = {name: rng.choice([2, 3, 6, 2**31, HUGE, 1]) for group in groups for name in group[1:]}
    shape = [rng.choice(["N", "M", "?", "0..", "6..", "1..100", 6, 12, f"n{axis}"]) for axis in range(count)]
    return check("divides", rng, [shape], {"name": "einops.repeat", "pattern": f"{left}->{right}"[:1000]} | {
        "axes_lengths": lengths})  # fmt: skip


@kind
def targets(rng: Rng, nbytes: int) -> Case:
    """Ops with a target shape, symbols and integers on both sides, of ranks up to 64 and above."""
    name = rng.choice(list(TARGETS))
    named = names(rng.choice([1, 5, 64]))
    rank = rng.choice([8, 8, 32, 64, 65, 1000])
    target = [a_symbol(rng, named) if rng.random() < 0.5 else rng.choice([1, 2, 3, -1]) for _ in range(rank)]
    shape = [a_symbol(rng, named) for _ in range(rng.choice([rank, rank // 2, 4]))]
    return check("targets", rng, [shape], {"name": name, TARGETS[name]: target})


@kind
def hinted(rng: Rng, nbytes: int) -> Case:
    """Shapes that do not fit, for which hints are searched: up to eight axes and inputs."""
    pick = rng.choice(["arrays", "to", "like", "ngraph", "openvino", "stablehlo", "match"])
    rank = rng.choice([4, 6, 8, 8])
    sizes = rng.choice(
        [[2, 3, 5, 7, 11, 13, 17, 19], [2, 3], ["N", "M", 2, 3], [1, 2], [f"{a}.." for a in range(2, 9)]]
    )
    shape, target = a_shape(rng, rng.choice([rank, rank // 2]), sizes), a_shape(rng, rank, sizes)
    inputs = [shape]
    op: Value
    if pick == "arrays":
        inputs, op = [a_shape(rng, rng.choice([rank, rank - 1]), sizes) for _ in range(rng.choice([2, 8]))], None
    elif pick == "to":
        name = rng.choice(list(TARGETS))
        op = {"name": name, TARGETS[name]: target}
    elif pick == "like":
        inputs, op = [shape, target], {"name": "ngraph.BroadcastLike", "initial_broadcast_axes": [0, 2]}
    elif pick == "ngraph":
        op = {"name": "ngraph.Broadcast", "shape": target, "broadcast_axes": rng.sample(range(rank), rank // 2)}
    elif pick == "openvino":
        op = {"name": "openvino.Broadcast-3", "mode": rng.choice(["numpy", "explicit", "bidirectional"])} | {
            "target_shape": target, "axes_mapping": sorted(rng.sample(range(rank), len(shape)))}  # fmt: skip
    elif pick == "match":
        op, inputs = {"name": "poputil.broadcastToMatch"}, [a_shape(rng, rank, sizes) for _ in range(3)]
    else:
        op = {"name": "stablehlo.broadcast_in_dim", "shape": target} | {
            "broadcast_dimensions": rng.sample(range(rank), len(shape))}  # fmt: skip
    return check("hinted", rng, inputs, op)


@kind
def integers(rng: Rng, nbytes: int) -> Case:
    """As many axes of integers as are admitted, in many inputs or few, drawn or not."""
    rank = rng.choice([0, 1, 1, 2, 4, 16, 64, 64, 65])
    rows = upto(rng, min(nbytes / (2 * rank + 3), 110_000 / max(rank, 4)))
    sizes = rng.choice([[1], [1, 2], [2], [HUGE, 1], [1, 1, 1, 3, 2], [0, 1]])
    inputs = [a_shape(rng, rank, sizes) for _ in range(rows)]
    fields = {"dtype": rng.choice([*DTYPES, "datetime64[" + "9" * 400 + "s]"])} if rng.random() < 0.3 else {}
    op = rng.choice([None, None, "torch.broadcast_tensors", "poputil.broadcastToMatch"])
    return check("integers", rng, inputs, op, **fields)


@kind
def einops(rng: Rng, nbytes: int) -> Case:
    """Long patterns: ones, numbers, groups, dots, names that recur, merges of huge lengths."""
    budget = min(nbytes - 60, 1000)
    token = rng.choice(["1 ", "2 ", "() ", "(1) ", "(1 1 1) ", "(a) ", "... ", "\u2026", "x", "7", "(2 3)", "a.", "0 "])
    right = (token * (budget // len(token.encode())))[: budget - 6]
    shape: list[Value] = rng.choice([[], [2], ["N"], [2] * 8])
    left = rng.choice(["", "a", "a b c d e f g h", "...", "1", "() () ()", right])
    lengths = {name: rng.choice([HUGE, 2, 0, -1]) for name in names(rng.choice([0, 1, 64, 1000]))}
    if rng.random() < 0.4:
        named = names(rng.choice([8, 64, 250]))
        left, right = "", rng.choice([" ".join(named), f"({' '.join(named)})"])
        lengths = dict.fromkeys(named, HUGE)
    op = {"name": "einops.repeat", "pattern": f"{left}->{right}"[:1000], "axes_lengths": lengths}
    return check("einops", rng, [shape], op)


@kind
def xarray(rng: Rng, nbytes: int) -> Case:
    """Names of dimensions: many inputs, many names, many excluded, repeated, long."""
    rank, width = rng.choice([0, 1, 2, 8, 64]), rng.choice([1, 1, 1, 100])
    count = rng.choice([1, 8, 64, 64, 65, 1000])
    named = names(count, width)
    rows = upto(rng, min(nbytes / ((width + 5) * max(rank, 1) + 6), 25_000))
    dims = [[named[(row + axis) % count] for axis in range(rank)] for row in range(rows)]
    exclude = rng.choice([[], named[:1000], [named[0]] * min(1000, nbytes // (width + 4))])
    op = {"name": "xarray.broadcast", "dims": dims, "exclude": exclude}
    sizes: list[Value] = rng.choice([[2], [1, 2], ["N", "M"], ["?"], [f"n{number}" for number in range(64)]])
    return check("xarray", rng, [a_shape(rng, rank, sizes) for _ in range(rows)], op)


@kind
def attributes(rng: Rng, nbytes: int) -> Case:
    """Other ops' lists of axes: long, repeated, out of range, unordered."""
    count = upto(rng, nbytes / 8)
    axes = [rng.choice([0, 1, -1, 63, HUGE, number % 64, count - number]) for number in range(count)]
    shape, target = a_shape(rng, rng.choice([1, 8, 64]), [1, 2]), a_shape(rng, rng.choice([8, 64, count]), [1, 2])
    op: dict[str, Value] = rng.choice([
        {"name": "ngraph.Broadcast", "shape": target, "broadcast_axes": axes},
        {"name": "ngraph.BroadcastLike", "initial_broadcast_axes": axes},
        {"name": "stablehlo.broadcast_in_dim", "shape": target, "broadcast_dimensions": axes},
        {"name": "openvino.Broadcast-1", "mode": "explicit", "target_shape": target, "axes_mapping": axes},
        {"name": "openvino.Broadcast-1", "mode": "pdpd", "target_shape": target, "axis": rng.choice([-1, 0, 5])},
        {"name": "mxnet.broadcast_axis", "axis": axes, "size": [2] * count},
        {"name": "mxnet.broadcast_axis", "axis": [0] * count, "size": [1] * count},
        {"name": "mxnet.broadcast_like", "lhs_axes": axes, "rhs_axes": axes},
        {"name": "jax.lax.broadcast", "sizes": target},
        {"name": "poputil.broadcastToMatch", "shape": target},
    ])  # fmt: skip
    two = "like" in str(op["name"]).lower()
    return check("attributes", rng, [shape, a_shape(rng, 64, [1, 2])] if two else [shape], op)


@kind
def faults(rng: Rng, nbytes: int) -> Case:
    """Requests with as many faults as fit: unknown fields, wrong types, names that are close to others."""
    count = min(upto(rng, nbytes / 8), 2000)
    wrong: Value = rng.choice([-1, True, "", "a b", [], {}, None, 1.5, 2**63, [[]], "9" * 50])
    fields = dict.fromkeys(names(count), wrong)
    lengths = dict(list(fields.items())[:1000])
    value: Value = rng.choice([
        fields,
        {"inputs": [[1]]} | fields,
        {"inputs": [[1]], "assume": lengths},
        {"inputs": [[1]], "op": {"name": "numpy.broadcast_to", "shape": [1]} | fields},
        {"inputs": [[1]], "op": {"name": "einops.repeat", "pattern": "a->a", "axes_lengths": lengths}},
        {"inputs": [wrong] * (nbytes // 4)},
        {"inputs": [[wrong] * (nbytes // 4)]},
        {"inputs": [[1]], "op": rng.choice(NAMES)[:-2] + "x" * rng.randint(0, 90)},
        {"inputs": [[1]], "op": {"name": "numpy." + "broadcast" * 10}},
        {"inputs": [[1]], "dtype": rng.choice(["flaot32", "float8_e4m3fnuzfloat8_e4m3b11fnuz", "q" * 40])},
        {"inputs": [{"shape": [1], "data": [1]} | fields] * max(nbytes // (8 * count + 30), 1)},
    ])  # fmt: skip
    path = rng.choice(["/v1/check", "/v1/broadcast", "/v1/backprop", "/v1/compare", "/v1/translate", "/v1/check/batch"])
    return of_value("faults", path, value, rng.choice([JSON, MSGPACK]))


@kind
def rows(rng: Rng, nbytes: int) -> Case:
    """A batch of rows of any of the kinds of check: one of them again and again, or several."""
    inner = max(upto(rng, nbytes / 2, 30), 30)
    makers = [symbols, chains, divides, targets, hinted, integers, einops, xarray, attributes, faults]
    made: list[Value] = []
    used = 0
    several = rng.random() < 0.4
    while used < nbytes * 0.9 and len(made) < 10_000:
        if not made or (several and len(made) < 200):
            case = rng.choice(makers)(rng, min(inner, nbytes - used))
        made.append(case.value)
        used += len(case.body) + 1
    if rng.random() < 0.1:
        made = [rng.choice([{}, 0, {"op": "x"}, {"inputs": [[]]}, None, {"inputs": [[2], [3]]}])] * min(
            nbytes // 13, 10_000
        )
    return of_value("rows", "/v1/check/batch", {"requests": made}, case.media)


@kind
def columns(rng: Rng, nbytes: int) -> Case:
    """Columns of sizes: many rows, many axes, many inputs, ops that merge, rows to be blamed one by one."""
    rank, inputs = rng.choice([0, 1, 2, 4, 16, 64]), rng.choice([1, 2, 2, 3, 100, 1000])
    count = upto(rng, nbytes / (8 * max(rank, 1) * inputs), 0)
    op: Value = rng.choice([None, "numpy.broadcast_arrays", "torch.broadcast_tensors"])
    if inputs == 1:
        op = rng.choice([
            {"name": "einops.repeat", "pattern": " ".join(names(rank)) + " -> (" + " ".join(names(rank)) + " z)",
             "axes_lengths": {"z": 3}},
            {"name": "numpy.broadcast_to", "shape": {"dtype": "int64", "shape": [count, rank], "data": b""}},
            {"name": "jax.lax.broadcast", "sizes": [2] * rng.choice([1, 32])},
            {"name": "mxnet.broadcast_axis", "axis": [0] * 8, "size": [2] * 8},
        ])  # fmt: skip
    elif inputs == 2:
        op = rng.choice(["poputil.expandToMatchRanks", "mxnet.broadcast_like", op, op])
    elif rng.random() < 0.3:
        op = {"name": "xarray.broadcast", "dims": [names(rank)] * inputs}
    data = rng.choice([1, 2, 0, 255])
    value: Value = {"inputs": [
        {"dtype": "int64", "shape": [count, rank], "data": bytes([data, 0, 0, 0, 0, 0, 0, 0]) * (count * rank)}
        for _ in range(inputs)
    ], "op": op, "json_data": rng.choice(["list", "base64"])}  # fmt: skip
    if rng.random() < 0.4:  # as JSON lists
        few = min(count, max(nbytes // (2 * inputs * max(rank, 1) + 1), 1))
        value["inputs"] = [{"shape": [few, rank], "data": [[data % 3] * rank] * few}] * inputs
        return of_value("columns", "/v1/check/batch", repaired(value, nbytes), JSON)
    media, accept = rng.choice([MSGPACK, JSON]), rng.choice(["", JSON, MSGPACK])
    return of_value("columns", "/v1/check/batch", repaired(value, nbytes), media, accept)


def _broadcast(name: str, rng: Rng, tensors: Value, op: Value, **fields: Value) -> Case:
    value: Value = {"op": op, "inputs": tensors} | fields
    if rng.random() < 0.15:
        value["layout"] = "strided"
    if rng.random() < 0.15:
        value["json_data"] = rng.choice(["list", "base64"])
    return of_value(
        name, "/v1/broadcast", value, rng.choice([MSGPACK, MSGPACK, JSON]), rng.choice(["", "", MSGPACK, JSON])
    )


@kind
def overlaps(rng: Rng, nbytes: int) -> Case:
    """Strides that overlap, reversed or scattered, on many axes of few elements."""
    axes, size = rng.choice([2, 5, 10, 14, 18, 21, 24, 31]), rng.choice([2, 2, 2, 3, 4])
    strides = [rng.choice([number + 1, 1, 2, axes - number, 2**number % 97]) for number in range(axes)]
    pick = rng.random()
    if pick < 0.4:
        strides = list(range(1, axes + 1))
    elif pick < 0.6:
        strides = [number * 64 + 1 for number in rng.sample(range(axes), axes)]
    shape = [size] * axes
    lead = rng.choice([[], [100], [2], [3, 3], [2**20], [1000, 1]])
    dtype = rng.choice(DTYPES)
    if rng.random() < 0.15:
        return _backprop("overlaps", rng, [[1] * axes], [a_tensor(rng, shape, strides, "float32")])
    tensor = a_tensor(rng, shape, strides, dtype)
    return _broadcast("overlaps", rng, [tensor], {"name": "numpy.broadcast_to", "shape": [*lead, *shape]})


@kind
def permuted(rng: Rng, nbytes: int) -> Case:
    """einops that reverses or shuffles many axes, and replicates between them."""
    size = rng.choice([2, 2, 2, 3, 5])
    axes, elements = 0, 1
    dtype = rng.choice(["int8", "float32", "bytes<5>", "complex128", "uint16"])
    most = max(nbytes * 0.7, 64) / WIDTHS[dtype]
    while axes < 40 and elements * size <= most:
        axes, elements = axes + 1, elements * size
    axes = upto(rng, axes)
    named = names(axes)
    order = rng.choice([named[::-1], rng.sample(named, axes), named[axes // 2 :] + named[: axes // 2]])
    right = list(order)
    lengths = {}
    for number in range(rng.choice([0, 1, 1, 3, 10])):
        right.insert(rng.randint(0, len(right)), f"z{number}")
        lengths[f"z{number}"] = rng.choice([2, 3, 16, 100])
    text = " ".join(right)
    if rng.random() < 0.2:
        text = f"({text})"
    op = {"name": "einops.repeat", "pattern": f"{' '.join(named)} -> {text}", "axes_lengths": lengths}
    shape = [size] * axes
    if rng.random() < 0.25:
        return _backprop("permuted", rng, [shape], [a_tensor(rng, [size] * (axes + len(lengths)), None, "float32")], op)
    return _broadcast("permuted", rng, [a_tensor(rng, shape, None, dtype)], op)


@kind
def streams(rng: Rng, nbytes: int) -> Case:
    """Small tensors that become answers of up to 16 GiB, in every layout of axes."""
    rank = rng.choice([1, 4, 16, 33, 33, 40, 64])
    log = rng.choice([10, 20, 27, 33, 34])
    target = [2] * min(log, rank) + [1] * (rank - min(log, rank))
    left = log - min(log, rank)
    target[rng.randrange(rank)] *= 2**left
    if rng.random() < 0.5:
        rng.shuffle(target)
    shape = [size if rng.random() < rng.choice([0, 0.1, 0.5]) and size < 50 else 1 for size in target]
    while prod(shape) > max(nbytes * 0.6, 1):
        shape[shape.index(max(shape))] = 1
    return _broadcast("streams", rng, [a_tensor(rng, shape, None, rng.choice(["int8", "bool", "float32"]))],
                      {"name": "numpy.broadcast_to", "shape": target})  # fmt: skip


@kind
def outputs(rng: Rng, nbytes: int) -> Case:
    """Many inputs, or many outputs of one op, each small."""
    rank = rng.choice([0, 1, 4, 64])
    count = upto(rng, min(nbytes / (30 + 2 * rank), 100_000 / max(rank, 4)))
    shape = a_shape(rng, rank, [1, 1, 2])
    while prod(shape) > 64:
        shape[shape.index(2)] = 1
    tensors = [a_tensor(rng, shape, None, rng.choice(["int8", "bytes<5>"]))] * count
    if rng.random() < 0.5:
        tensors[0] = a_tensor(rng, [rng.choice([1, 2, 64, 1000]), *([1] * rank)], None, "int8")
    if rng.random() < 0.2:
        return _backprop("outputs", rng, [shape] * count, [a_tensor(rng, shape, None, "float32")] * count)
    return _broadcast("outputs", rng, tensors, rng.choice(["numpy.broadcast_arrays", "torch.broadcast_tensors"]))


@kind
def lists(rng: Rng, nbytes: int) -> Case:
    """Tensors as JSON lists: of every kind of element, flat or nested."""
    dtype, element = rng.choice([
        ("int8", 1), ("float64", 1.5), ("float16", 0), ("complex64", [1, 2]), ("bool", True), ("str<8>", "abcdefgh"),
        ("str<1>", "\U0001f600"), ("bytes<3>", "AQID"), ("bytes<1>", "AQ=="), ("datetime64[ns]", "2020-01-01"),
        ("datetime64[as]", "1970-01-01T00:00:00.123456789012345678"), ("datetime64[s]", "9999999999-12-31"),
        ("datetime64[D]", 0), ("timedelta64[s]", 1), ("uint64", "18446744073709551615"), ("int64", "1"),
        ("float64", "NaN"),
        ("bfloat16", 1e30), ("float8_e5m2", 0.1), ("int4", 1), ("float64", 10**300), ("float64", 1e-320),
        ("str<100000>", ""), ("bytes<1000>", ""), (None, 1), (None, 1.5), ("float32", 0.123456789),
    ])  # fmt: skip
    each = len(json.dumps(element)) + 1
    count = upto(rng, min((nbytes - 100) / each, 900_000), 1)
    shape, data = [count], [element] * count
    depth = rng.choice([0, 0, 1, 2, 10, 60])
    if depth > 2:
        shape, data = [1] * depth + [count], data
        for _ in range(depth):
            data = [data]
    elif depth:
        inner = rng.choice([1, 2, 8])
        count //= inner
        shape, data = [count, inner], [[element] * inner] * count
    tensor: Value = {"shape": shape, "data": data} | ({"dtype": dtype} if dtype else {})
    accept = rng.choice(["", JSON, MSGPACK])
    if rng.random() < 0.2 and dtype in (None, "float32", "int8", "float64"):
        return of_value("lists", "/v1/backprop", {"inputs": [shape], "gradients": [tensor]}, JSON, accept)
    value = {"inputs": [tensor], "json_data": rng.choice(["list", "base64"])}
    return of_value("lists", "/v1/broadcast", value, rng.choice([JSON, JSON, MSGPACK]), accept)


@kind
def answers(rng: Rng, nbytes: int) -> Case:
    """Answers in JSON of as many elements as are allowed, of every dtype, from few bytes."""
    dtype = rng.choice([*DTYPES, "int64"])
    total = rng.choice([2**10, 2**14, 2**17, 2**17])
    inner = rng.choice([1, 2, 2**7, total])
    shape = rng.choice([[total // inner, inner], [1] * 50 + [total], [total] + [1] * 40, [2] * 17])
    strided = rng.random() < 0.5
    tensor = a_tensor(rng, [1] if not strided else shape, [0] * len(shape) if strided else None, dtype)
    op = {"name": "numpy.broadcast_to", "shape": shape}
    value = {"inputs": [tensor], "op": op, "json_data": rng.choice(["list", "list", "base64"])}
    return of_value("answers", "/v1/broadcast", value, rng.choice([JSON, MSGPACK]), JSON)


@kind
def windows(rng: Rng, nbytes: int) -> Case:
    """A box of an output, of many axes or far from its start."""
    rank = rng.choice([1, 3, 20, 64])
    target = a_shape(rng, rank, [2, 3, 2**20, 1])
    while prod(target) > 2**60:
        target[target.index(max(target))] = 1
    window = [
        [start, rng.randint(start, min(size, start + 64))] for size in target for start in [rng.randint(0, size - 1)]
    ]
    shape = [size if size < 4 and rng.random() < 0.3 else 1 for size in target]
    while prod(shape) > max(nbytes / 2, 1):
        shape[shape.index(max(shape))] = 1
    return _broadcast("windows", rng, [a_tensor(rng, shape)], {"name": "numpy.broadcast_to", "shape": target},
                      window=window)  # fmt: skip


def _backprop(name: str, rng: Rng, shapes: Value, gradients: Value, op: Value = None) -> Case:
    value = {"inputs": shapes, "gradients": gradients} | ({"op": op} if op is not None else {})
    return of_value(name, "/v1/backprop", value, rng.choice([MSGPACK, JSON]), rng.choice(["", JSON, MSGPACK]))


@kind
def gradients(rng: Rng, nbytes: int) -> Case:
    """Gradients, replicated, overlapping or dense, summed over some axes of many."""
    rank = rng.choice([1, 2, 8, 20, 26, 64])
    log = rng.choice([10, 20, 26, 28])
    target = [2] * min(rank, log) + [1] * (rank - min(rank, log))
    target[rng.randrange(rank)] *= 2 ** (log - min(rank, log))
    if rng.random() < 0.5:
        rng.shuffle(target)
    shape = [1 if rng.random() < rng.choice([0.2, 0.5, 0.9]) else size for size in target]
    pick = rng.random()
    strides: list[int] | None = [rng.choice([0, 0, 1, 2, 3, number]) for number in range(rank)]
    if pick < 0.3:
        strides = [0] * rank
    elif pick < 0.5:
        strides = [rng.choice([number + 1, rank - number]) for number in range(rank)]
    while strides and 1 + sum((size - 1) * step for size, step in zip(target, strides, strict=True)) > nbytes / 4:
        strides = [step if rng.random() < 0.5 else 0 for step in strides]
    dtype = rng.choice(["float32", "float64", "complex128", "float16", "bfloat16", "int8", "float8_e5m2", "uint64"])
    op = {"name": rng.choice(["numpy.broadcast_to", "onnx.Expand"]), "shape": target}
    return _backprop("gradients", rng, [shape], [a_tensor(rng, target, strides, dtype)], op)


@kind
def translations(rng: Rng, nbytes: int) -> Case:
    """One op in another's words: many inputs, many axes, einops both ways."""
    rank = rng.choice([1, 8, 32, 64])
    rows = upto(rng, min(nbytes / (2 * rank + 3), 257))
    pick = rng.random()
    op: Value = rng.choice(
        [None, "torch.broadcast_tensors", {"name": "xarray.broadcast", "dims": [names(rank)] * rows}]
    )
    shapes: Value = [a_shape(rng, rank, [1, 2]) for _ in range(rows)]
    if pick < 0.5:
        name = rng.choice(list(TARGETS))
        shapes, op = [a_shape(rng, rank // 2, [1])], {"name": name, TARGETS[name]: a_shape(rng, rank, [1, 2, HUGE])}
    elif pick < 0.7:
        named = names(rank)
        right = rng.sample(named, rank)
        op = {
            "name": "einops.repeat",
            "pattern": f"{' '.join(named)} -> ({' '.join(right)}) z",
            "axes_lengths": {"z": 2},
        }
        shapes = [a_shape(rng, rank, [2, HUGE, 1])]
    value = {"inputs": shapes, "to": rng.choice(NAMES)} | ({"op": op} if op is not None else {})
    return of_value("translations", "/v1/translate", value, rng.choice([JSON, MSGPACK]))


@kind
def comparisons(rng: Rng, nbytes: int) -> Case:
    """The same shapes to every op."""
    rank = rng.choice([0, 1, 8, 8, 64])
    rows = upto(rng, min(nbytes / (2 * rank + 3), 100_000 / max(rank, 4)))
    sizes = rng.choice([[1], [1, 2], [2, 3, 5, 7], [2, 3]])
    value: Value = {"inputs": [a_shape(rng, rank, sizes) for _ in range(rows)]}
    if rng.random() < 0.4:
        value = {"inputs": [a_shape(rng, rank // 2, sizes)], "shape": a_shape(rng, rank, [*sizes, -1])}
    return of_value("comparisons", "/v1/compare", value, rng.choice([JSON, MSGPACK]))


@kind
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
    path = rng.choice(["/v1/check", "/v1/broadcast", "/v1/backprop", "/v1/compare", "/v1/translate", "/v1/check/batch"])
    return Case("text", path, opening % inner)


@kind
def packed(rng: Rng, nbytes: int) -> Case:
    """Bodies that are hard on a MessagePack parser, and on the survey before it."""
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
    path = rng.choice(["/v1/check", "/v1/broadcast", "/v1/backprop", "/v1/compare", "/v1/translate", "/v1/check/batch"])
    return Case("packed", path, body, media=MSGPACK)


@kind
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


@kind
def heads(rng: Rng, nbytes: int) -> Case:
    """What stands in a head: long lists, many fields; and the pages that take no question."""
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


@kind
def chunked(rng: Rng, nbytes: int) -> Case:
    """A body in chunks of one byte."""
    inner = rng.choice([symbols, rows, text, integers])(rng, max(nbytes // 6, 60))
    body = b"".join(b"1\r\n%c\r\n" % byte for byte in inner.body) + b"0\r\n\r\n"
    return replace(inner, kind="chunked", body=body, head="Transfer-Encoding: chunked\r\n", value=None)


@kind
def pipelined(rng: Rng, nbytes: int) -> Case:
    """Many requests on one connection, sent at once."""
    inner = rng.choice([links, symbols, hinted, einops, heads])(rng, rng.choice([100, 400, 1000]))
    wires, room = [b"".join(inner.wire(0))], nbytes - 400
    while room > 0 and len(wires) < 2000:
        wires.insert(0, b"".join(inner.wire(rng.randint(0, 10**9), last=False)))
        room -= len(wires[0])
    return Case("pipelined", "/livez", b"".join(wires), method="GET", accept="*/*", head="Content-Length: 0\r\n")


# --- the first ones, and changes of them ---------------------------------------------------------


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
    yield of_value("columns", "/v1/check/batch", {"inputs": [tensor] * 780}, MSGPACK)
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
        yield of_value("columns", "/v1/check/batch", {"inputs": [sizes, sizes], "json_data": "base64"}, media, accept)
    bins = {"dtype": "int8", "shape": [min(most // 4, 400_000)], "data": [b"a"] * min(most // 4, 400_000)}
    yield Case("packed", "/v1/broadcast", msgpack.packb({"inputs": [bins]}), media=MSGPACK)


def draw(rng: Rng, most: int, kinds: list[str] | None = None) -> Case:
    """A request of one of the kinds, of up to `most` bytes."""
    for _ in range(50):
        size = int(most ** rng.uniform(0.55, 1)) if rng.random() < 0.6 else most
        try:
            case = KINDS[rng.choice(kinds or list(KINDS))](rng, max(size, 200))
        except OverflowError:  # MessagePack has no such integers
            continue
        if case.nbytes <= most:
            return case if case.nbytes < 2**20 else replace(case, value=None)  # some hundred MiB of objects
    return next(known())


def mutated(rng: Rng, case: Case, others: list[Case], most: int) -> Case:
    """Another request, a few changes from this one: of numbers, lengths, repetitions, parts of others."""
    if case.value is None:
        return _mutated_bytes(rng, case, most)
    for _ in range(20):
        value = (
            json.loads(json.dumps(case.value, default=_held), object_hook=_given) if case.nbytes < 10**6 else case.value
        )
        for _ in range(rng.choice([1, 1, 2, 4])):
            value = _changed(rng, value, others)
        value = repaired(value, most)
        media = rng.choice([case.media] * 5 + [JSON, MSGPACK])
        try:
            made = of_value(case.kind, case.path, value, media, rng.choice([case.accept] * 5 + ["", JSON, MSGPACK]))
        except (ValueError, OverflowError, TypeError, RecursionError):
            continue
        if made.nbytes <= most:
            return made
    return case


def _held(value: Value) -> Value:
    return {"<bytes>": value.hex()}


def _given(value: dict[str, Value]) -> Value:
    return bytes.fromhex(value["<bytes>"]) if "<bytes>" in value else value


def _places(value: Value, found: list[tuple[Value, Any]], most: int = 20_000) -> list[tuple[Value, Any]]:
    """Each part of a value, as what holds it and its key there."""
    parts = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, part in parts:
        if len(found) >= most:
            break
        found.append((value, key))
        _places(part, found, most)
    return found


def _changed(rng: Rng, value: Value, others: list[Case]) -> Value:
    places = _places(value, [])
    if not places:
        return value
    # By depth rather than by number: else the sizes of long lists are all that is ever changed.
    holder, key = rng.choice(places[: rng.choice([3, 12, len(places)])])
    part = holder[key]
    if rng.random() < 0.1 and others:
        strange = _places(rng.choice(others).value, [])
        same = [place for place in strange if type(place[0][place[1]]) is type(part)]
        if same:
            other = rng.choice(same)
            holder[key] = other[0][other[1]]
            return value
    if isinstance(part, bool):
        holder[key] = not part
    elif isinstance(part, int):
        holder[key] = rng.choice([part * 2, part + 1, max(part - 1, 0), 0, 1, 2, part // 2, HUGE, rng.randint(0, 100)])
    elif isinstance(part, str):
        spot = rng.randint(0, len(part))
        holder[key] = rng.choice([
            part * 2, part[:spot], part + "a", part[spot:] + part[:spot], part[:spot] * 2, "N", "?",
            f"{part}{rng.randint(0, 99)}",
        ])  # fmt: skip
    elif isinstance(part, list):
        spot = rng.randint(0, len(part))
        holder[key] = rng.choice([
            part * 2, part[:spot], part[::-1], part[spot:] + part[:spot], part + part[:spot],
            rng.sample(part, len(part)), [*part, *part[-1:]], [*part, *rng.choices(part or [1], k=rng.choice([1, 99]))],
        ])  # fmt: skip
        if isinstance(holder, dict) and key in ("shape", "strides") and "data" in holder:
            _together(rng, holder)
    elif isinstance(part, dict) and part:
        name = rng.choice(list(part))
        if rng.random() < 0.5:
            part[name + rng.choice("abc")] = part[name]
        else:
            del part[name]
    return value


def _together(rng: Rng, tensor: dict[str, Value]) -> None:
    """As many strides as sizes."""
    if isinstance(tensor.get("strides"), list) and isinstance(tensor["shape"], list):
        rank = len(tensor["shape"])
        tensor["strides"] = (tensor["strides"] + [rng.randint(0, 70) for _ in range(rank)])[:rank]


def _mutated_bytes(rng: Rng, case: Case, most: int) -> Case:
    field = "body" if case.body else "path"
    text = bytearray(case.body or case.path.encode())
    for _ in range(rng.choice([1, 2, 4])):
        start = rng.randint(0, len(text))
        stop = min(start + rng.choice([1, 4, 30, 1000]), len(text))
        piece = text[start:stop]
        pick = rng.random()
        if pick < 0.4:
            text[stop:stop] = piece * rng.choice([1, 2, 10, max((most - len(text)) // max(len(piece), 1) - 10, 1)])
        elif pick < 0.6:
            del text[start:stop]
        elif piece:
            text[start : start + 1] = bytes([rng.choice(b'0123456789,[]{}" ax.-')])
    if len(text) > most or (field == "path" and not text.startswith(b"/")):
        return case
    if field == "body":
        return replace(case, body=bytes(text))
    path = quote(text.decode("latin-1"), safe="/?&=%,.()[]+->: ").replace(" ", "%20")
    return replace(case, path=path[:HEAD_BYTES])
