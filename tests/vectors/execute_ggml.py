"""Write the vectors of ggml by executing the libraries of ggml that the package pywhispercpp contains.

    python tests/vectors/execute_ggml.py > tests/vectors/ggml.jsonl

The script needs pywhispercpp and NumPy, but not axiscast. If the shapes do not fit, ggml ends the process. Therefore,
the script calls `ggml_can_repeat`, which is the condition that ggml asserts. In memory, axis 0 of ggml is the
innermost.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import product
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

Shape = tuple[int, ...]
Array = np.ndarray[Any, np.dtype[Any]]
SHAPES: list[Shape] = [
    (), (1,), (2,), (3,), (4,), (6,), (0,), (2, 3), (4, 3), (4, 6), (1, 3), (2, 1), (6, 2), (0, 3), (2, 0), (2, 3, 1),
    (4, 3, 2), (2, 6, 4), (1, 1, 2), (2, 1, 2), (1, 2, 3, 2), (2, 2, 3, 4), (2, 4, 6, 4), (1, 1, 1, 2), (2, 2, 1, 1),
]  # fmt: skip
FITTING: list[tuple[Shape, Shape]] = [
    ((2,), (4,)), ((3,), (6,)), ((2, 3), (4, 3)), ((2, 3), (4, 6)), ((2, 3), (2, 3)), ((2, 3), (4, 6, 2)),
    ((4,), (4, 7)), ((1, 3), (5, 3)), ((2, 1, 2), (4, 5, 2)), ((1, 2, 3, 2), (2, 4, 6, 4)), ((), (3, 2)),
    ((2, 2, 1, 1), (4, 2, 3, 3)),
    ((2, 3, 1), (2, 3)), ((4, 1, 1, 1), (8,)), ((3, 2, 2), (6, 4, 2, 3)), ((0,), (0,)), ((0, 3), (0, 6)), ((2,), (0,)),
    ((2, 3), (4, 0)), ((0, 3), (0, 4)), ((0, 3), (5, 0)),
]  # fmt: skip
MAX_RANK = 4
F32 = 0


class Parameters(ctypes.Structure):
    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


def libraries() -> tuple[Any, Any]:
    """Return the base library and the CPU library of ggml."""
    package = find_spec("pywhispercpp")
    assert package is not None
    assert package.origin is not None
    folder = Path(package.origin).parents[1] / "pywhispercpp.libs"
    names = ("libgomp*", "libggml-base*", "libggml-cpu*")
    _, base, cpu = (ctypes.CDLL(str(next(folder.glob(name))), mode=ctypes.RTLD_GLOBAL) for name in names)
    pointer = ctypes.c_void_p
    base.ggml_version.restype = ctypes.c_char_p
    for name in ("ggml_init", "ggml_new_tensor", "ggml_repeat", "ggml_add", "ggml_new_graph", "ggml_get_data"):
        getattr(base, name).restype = pointer
    base.ggml_init.argtypes = [Parameters]
    base.ggml_new_tensor.argtypes = [pointer, ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_int64)]
    base.ggml_can_repeat.restype = ctypes.c_bool
    base.ggml_can_repeat.argtypes = [pointer, pointer]
    base.ggml_repeat.argtypes = base.ggml_add.argtypes = [pointer, pointer, pointer]
    base.ggml_new_graph.argtypes = base.ggml_free.argtypes = base.ggml_get_data.argtypes = [pointer]
    base.ggml_build_forward_expand.argtypes = [pointer, pointer]
    cpu.ggml_graph_compute_with_ctx.argtypes = [pointer, pointer, ctypes.c_int]
    return base, cpu


BASE, CPU = libraries()
VERSION = f"ggml {BASE.ggml_version().decode()}"


def padded(shape: Shape) -> Shape:
    return (*shape, *(1,) * (MAX_RANK - len(shape)))


class Context:
    """Memory of ggml, and the tensors in this memory."""

    def __init__(self) -> None:
        self.pointer = BASE.ggml_init(Parameters(16 * 2**20, None, False))

    def tensor(self, array: Array) -> Any:
        sizes = (ctypes.c_int64 * MAX_RANK)(*padded(array.shape))
        tensor = BASE.ggml_new_tensor(self.pointer, F32, MAX_RANK, sizes)
        data = np.asarray(array, np.float32).ravel(order="F")
        if data.size:
            ctypes.memmove(BASE.ggml_get_data(tensor), data.tobytes(), data.nbytes)
        return tensor

    def computed(self, tensor: Any, shape: Shape) -> Array:
        graph = BASE.ggml_new_graph(self.pointer)
        BASE.ggml_build_forward_expand(graph, tensor)
        CPU.ggml_graph_compute_with_ctx(self.pointer, graph, 1)
        if not prod(shape):
            return np.zeros(shape, np.float32)
        data = (ctypes.c_float * prod(shape)).from_address(BASE.ggml_get_data(tensor))
        return np.array(data, np.float32).reshape(shape, order="F")


def executed(op: str, repeated: Shape, whole: Shape) -> list[Array] | None:
    """Return the outputs, or None if the shapes do not fit."""
    context = Context()
    shape = whole if len(whole) >= len(repeated) else padded(whole)[: len(repeated)]
    small = np.arange(prod(repeated)).reshape(repeated) + (0 if op == "ggml.repeat" else 1000)
    large = np.arange(prod(whole)).reshape(whole)
    try:
        one, other = context.tensor(small), context.tensor(large)
        if not BASE.ggml_can_repeat(one, other):
            return None
        if op == "ggml.repeat":
            return [context.computed(BASE.ggml_repeat(context.pointer, one, other), shape)]
        zeros = context.tensor(np.zeros(repeated)), context.tensor(np.zeros(whole))
        return [
            context.computed(BASE.ggml_add(context.pointer, other, zeros[0]), shape),
            context.computed(BASE.ggml_add(context.pointer, zeros[1], one), shape),
        ]
    finally:
        BASE.ggml_free(context.pointer)


def placed(number: int, shape: Shape, reached: Shape) -> dict[str, Any]:
    """Return an output, left-aligned. If an axis has several copies of a size other than 1, `axes` is None."""
    own = padded(shape)[: len(reached)]
    if any(size not in (1, whole) for size, whole in zip(own, reached, strict=True)):
        return {"shape": reached, "input": number, "axes": None, "broadcast_axes": None}
    axes = list(range(len(shape)))
    replicated = [axis for axis, size in enumerate(reached) if axis not in axes or own[axis] != size]
    return {"shape": reached, "input": number, "axes": axes, "broadcast_axes": replicated}


def differs(repeated: Shape, whole: Shape) -> bool:
    """Return whether both tensors are empty and their sizes do not fit. ggml accepts this, but its rule does not."""
    pairs = zip(padded(repeated), padded(whole), strict=True)
    return 0 in repeated and 0 in whole and any(size and whole % size if size else whole for size, whole in pairs)


def vectors() -> Iterator[dict[str, Any]]:
    drawn = [*FITTING, *Random(3).sample([*product(SHAPES, repeat=2)], 100)]
    for op in ("ggml.repeat", "ggml.add"):
        requests = [pair for pair in dict.fromkeys(drawn) if not differs(*pair)]
        for number, (repeated, whole) in enumerate(requests, 1):
            inputs = (repeated, whole) if op == "ggml.repeat" else (whole, repeated)
            vector = {"id": f"{op}-{number:03}", "op": {"name": op}, "inputs": inputs}
            outputs = executed(op, repeated, whole)
            if outputs is None:
                found: dict[str, Any] = {"compatible": False, "conflict_codes": ["size-mismatch"]}
            else:
                read = [(0, inputs[0])] if op == "ggml.repeat" else [*enumerate(inputs)]
                found = {
                    "compatible": True,
                    "outputs": [
                        placed(each, shape, array.shape) for (each, shape), array in zip(read, outputs, strict=True)
                    ],
                    "values": [array.astype(int).ravel().tolist() for array in outputs],
                }
            yield vector | found | {"framework": VERSION, "source": "executed"}


if __name__ == "__main__":
    for line in vectors():
        print(json.dumps(line))
