"""Write vectors of matrix products by executing the released package.

    python tests/vectors/execute_products.py torch >> tests/vectors/matmul.jsonl

The script imports the package and NumPy, but not axiscast. `product` is the shape of the result. `values` are the
products of an operand with identity matrices, which show how the operand is broadcast.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
Shape = tuple[int, ...]
Array = np.ndarray[Any, np.dtype[Any]]
Multiply = Callable[..., Array]
VECTORS: list[Shape] = [(), (0,), (1,), (3,), (4,)]
MATRICES: list[Shape] = [(2, 3), (3, 2), (3, 4), (1, 3), (3, 1), (1, 1), (0, 3), (3, 0), (0, 0)]
STACKS: list[Shape] = [(), (1,), (2,), (0,), (2, 1), (1, 5), (1, 1, 2)]
OPERANDS = [*VECTORS, *((*stack, *matrix) for stack in STACKS for matrix in MATRICES)]
FITTING = [
    ((*one, rows, inner), (*other, inner, columns))
    for one, other in product(STACKS, repeat=2)
    for rows, inner, columns in ((2, 3, 4), (0, 3, 4), (2, 0, 4), (2, 3, 0), (1, 1, 1), (2, 1, 4))
]


def pairs(seed: int) -> list[tuple[Shape, Shape]]:
    """Yield pairs of operands: vectors, matrices, and stacks of matrices, most of which fit."""
    draw = Random(seed)
    vectors = [*product(VECTORS, repeat=2), *product(VECTORS, [(2, 3), (3, 4), (5, 3, 4), (0, 4, 3)])]
    vectors += [(right, left) for left, right in vectors[len(VECTORS) ** 2 :]]
    return list(dict.fromkeys([*vectors, *draw.sample(FITTING, 90), *draw.sample([*product(OPERANDS, repeat=2)], 60)]))


def filled(shape: Shape, start: int) -> Array:
    return np.arange(start, start + prod(shape), dtype=np.float64).reshape(shape)


def placements(left: Shape, right: Shape, swaps: tuple[bool, bool]) -> list[dict[str, Any]]:
    """Return the operands after the broadcast, derived by hand: stacks of matrices, with a vector as row or column."""
    shapes = [
        (*shape[:-2], *shape[:-3:-1]) if swap else shape for shape, swap in zip((left, right), swaps, strict=True)
    ]
    stack = np.broadcast_shapes(left[:-2], right[:-2])
    matrices = [(1, *shapes[0])[-2:], (*shapes[1], 1)[:2] if len(right) < 2 else shapes[1][-2:]]
    outputs = []
    for number, (shape, swap, matrix) in enumerate(zip((left, right), swaps, matrices, strict=True)):
        whole = (*stack, *matrix)
        axes = list(range(len(whole) - len(shape), len(whole)))
        if len(shape) == 1 and number == 1:
            axes = [len(whole) - 2]
        if swap:
            axes[-2:] = axes[:-3:-1]
        own = dict(zip(axes, shape, strict=True))
        copied = [axis for axis, size in enumerate(whole) if own.get(axis) != size]
        outputs.append({"shape": whole, "input": number, "axes": axes, "broadcast_axes": copied})
    return outputs


def read(multiply: Multiply, left: Shape, right: Shape, swaps: tuple[bool, bool], stack: Shape) -> list[Any]:
    """Return the product of each operand with identity matrices in stacks as large as those of the other operand."""
    inner = left[-2] if swaps[0] else left[-1]
    identity = np.broadcast_to(np.eye(inner), (*stack, inner, inner))
    one = multiply(filled(left, 0), identity, swaps[0], False)
    other = multiply(identity, filled(right, 1000), False, swaps[1])
    return [one.ravel().tolist(), other.ravel().tolist()]


def reasons(left: Shape, right: Shape, min_rank: int) -> list[str]:
    return ["rank-mismatch"] if min(len(left), len(right)) < min_rank else ["size-mismatch"]


def products(
    name: str,
    multiply: Multiply,
    min_rank: int,
    names: tuple[str, str] | None,
    leaves_out: Callable[[Shape, Shape], bool] = lambda left, right: False,
) -> Iterator[dict[str, Any]]:
    """Yield a vector for each pair, with transpositions by these attributes if the package has them."""
    draw = Random(name)
    for left, right in pairs(11):
        if leaves_out(left, right):
            continue
        swaps = (False, False)
        if names and min(len(left), len(right)) >= 2:
            swaps = (draw.random() < 0.4, draw.random() < 0.4)
        given = [(*s[:-2], *s[:-3:-1]) if swap else s for s, swap in zip((left, right), swaps, strict=True)]
        attributes = dict(zip(names, swaps, strict=True)) if names and any(swaps) else {}
        vector = {"op": {"name": name, **attributes}, "inputs": given}
        try:
            result = multiply(filled(given[0], 0), filled(given[1], 1000), *swaps)
        except Exception as error:
            codes = reasons(left, right, min_rank)
            yield vector | {"compatible": False, "conflict_codes": codes, "raised": type(error).__name__}
            continue
        outputs = placements(given[0], given[1], swaps)
        stack = tuple(np.broadcast_shapes(left[:-2], right[:-2]))
        values = read(multiply, given[0], given[1], swaps, stack)
        yield vector | {"compatible": True, "outputs": outputs, "values": values, "product": result.shape}


def _numpy() -> tuple[str, Iterator[dict[str, Any]]]:
    def multiply(one: Array, other: Array, *_: bool) -> Array:
        return np.asarray(np.matmul(one, other))

    return f"numpy {np.__version__}", products("numpy.matmul", multiply, 1, None)


def _array_api() -> tuple[str, Iterator[dict[str, Any]]]:
    import array_api_strict as xp

    def multiply(one: Array, other: Array, *_: bool) -> Array:
        return np.from_dlpack(xp.matmul(xp.asarray(one), xp.asarray(other)))

    return f"array-api-strict {xp.__version__}", products("array_api.matmul", multiply, 1, None)


def _torch() -> tuple[str, Iterator[dict[str, Any]]]:
    import torch

    def multiply(one: Array, other: Array, *_: bool) -> Array:
        return torch.matmul(torch.from_numpy(one.copy()), torch.from_numpy(other.copy())).numpy()

    return f"torch {torch.__version__}", products("torch.matmul", multiply, 1, None)


def _tensorflow() -> tuple[str, Iterator[dict[str, Any]]]:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    def multiply(one: Array, other: Array, *swaps: bool) -> Array:
        return np.asarray(tf.matmul(tf.constant(one), tf.constant(other), *swaps))

    names = ("transpose_a", "transpose_b")
    return f"tensorflow {tf.__version__}", products("tensorflow.matmul", multiply, 2, names)


def _tfjs() -> tuple[str, Iterator[dict[str, Any]]]:
    from languages.interpreter import javascript

    tf = javascript()

    def multiply(one: Array, other: Array, *swaps: bool) -> Array:
        return tf.call(f"tf.matMul(x0, x1, {', '.join(str(swap).lower() for swap in swaps)})", one, other)

    def repeats(left: Shape, right: Shape) -> bool:
        """Return whether the release repeats a list of matrices that it must repeat in another order, or too often."""
        counts = prod(left[:-2]), prod(right[:-2])
        return left[:-2] != right[:-2] and (1 not in counts or 0 in counts)

    return f"tfjs {tf.version}", products("tfjs.matMul", multiply, 2, ("transposeA", "transposeB"), repeats)


def _onnx() -> tuple[str, Iterator[dict[str, Any]]]:
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    onnxruntime.set_default_logger_severity(4)

    def run(kind: str, arrays: list[Array], **attributes: Any) -> Array:
        """Return the result. Raises an exception if onnx or onnxruntime refuses, or if they disagree."""
        names = ["a", "b", "c"][: len(arrays)]
        taken = [
            helper.make_tensor_value_info(name, TensorProto.DOUBLE, list(array.shape))
            for name, array in zip(names, arrays, strict=True)
        ]
        given = [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)]
        node = helper.make_node(kind, names, ["y"], **attributes)
        model = helper.make_model(
            helper.make_graph([node], "product", taken, given),
            opset_imports=[helper.make_opsetid("", 17)],
            ir_version=8,
        )
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type.shape
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        result = np.asarray(session.run(["y"], dict(zip(names, arrays, strict=True)))[0])
        assert tuple(dimension.dim_value for dimension in inferred.dim) == result.shape
        return result

    def multiply(one: Array, other: Array, *_: bool) -> Array:
        return run("MatMul", [one, other])

    def gemms() -> Iterator[dict[str, Any]]:
        draw = Random(5)
        sizes = [*product((0, 1, 2, 3), (0, 1, 3), (0, 1, 4)), (2, 3, 4), (4, 3, 2)]
        for rows, inner, columns in sizes:
            swaps = [draw.randint(0, 1) for _ in range(2)]
            left, right = (
                (inner, rows) if swaps[0] else (rows, inner),
                (columns, inner) if swaps[1] else (inner, columns),
            )
            if draw.random() < 0.3:
                right = (right[0] + 1, right[1]) if draw.random() < 0.5 else (right[0], right[1] + 1)
            added = draw.choice([None, None, (), (columns,), (rows, 1), (1, columns), (rows, columns), (5,)])
            scales = draw.choice([{}, {"alpha": 0.5}, {"beta": 2.0}, {"alpha": 0.0, "beta": 0.25}])
            named = {f"trans{letter}": 1 for letter, swap in zip("AB", swaps, strict=True) if swap}
            shapes = [left, right, *([] if added is None else [added])]
            yield from gemm(shapes, named | scales)

    def gemm(shapes: list[Shape], attributes: dict[str, Any]) -> Iterator[dict[str, Any]]:
        vector = {"op": {"name": "onnx.Gemm", **attributes}, "inputs": shapes}
        try:
            result = run("Gemm", [filled(shape, 1000 * number) for number, shape in enumerate(shapes)], **attributes)
        except Exception as error:
            yield vector | {"compatible": False, "conflict_codes": ["size-mismatch"], "raised": type(error).__name__}
            return
        outputs = []
        for shape in shapes[2:]:
            axes = list(range(2 - len(shape), 2))
            own = dict(zip(axes, shape, strict=True))
            copied = [axis for axis, size in enumerate(result.shape) if own.get(axis) != size]
            outputs.append({"shape": result.shape, "input": 2, "axes": axes, "broadcast_axes": copied})
        yield vector | {"compatible": True, "outputs": outputs, "product": result.shape}

    def both() -> Iterator[dict[str, Any]]:
        yield from products("onnx.MatMul", multiply, 1, None)
        yield from gemms()

    return f"onnx {onnx.__version__} and onnxruntime {onnxruntime.__version__}", both()


PACKAGES = {
    "numpy": _numpy,
    "array_api": _array_api,
    "torch": _torch,
    "tensorflow": _tensorflow,
    "onnx": _onnx,
    "tfjs": _tfjs,
}

if __name__ == "__main__":
    framework, found = PACKAGES[sys.argv[1]]()
    for number, vector in enumerate(found, 1):
        whole = {"id": f"{sys.argv[1]}-products-{number:04}"} | vector | {"framework": framework, "source": "executed"}
        print(json.dumps(whole))
