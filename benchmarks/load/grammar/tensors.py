"""Requests that bear tensors: broadcasts and gradients."""

from __future__ import annotations

import json
from math import prod

from .case import DTYPES, JSON, MSGPACK, WIDTHS, Case, Rng, Value, a_shape, a_tensor, names, of_value, upto


def _broadcast(name: str, rng: Rng, tensors: Value, op: Value, **fields: Value) -> Case:
    value: Value = {"op": op, "inputs": tensors} | fields
    if rng.random() < 0.15:
        value["layout"] = "strided"
    if rng.random() < 0.15:
        value["json_data"] = rng.choice(["list", "base64"])
    return of_value(
        name, "/v1/broadcast", value, rng.choice([MSGPACK, MSGPACK, JSON]), rng.choice(["", "", MSGPACK, JSON])
    )


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


def permuted(rng: Rng, nbytes: int) -> Case:
    """Einops that reverses or shuffles many axes, and replicates between them."""
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
