"""Write the vectors of ops that repeat a tensor along its axes, by executing the released package.

    python tests/vectors/execute_tiles.py torch >> tests/vectors/tile.jsonl

The script imports the package and NumPy, but not axiscast. `gradients` are computed by the package's own automatic
differentiation, if it has one. Requests for which the release deviates from its documentation are left out.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from math import prod
from random import Random
from typing import Any, NamedTuple

import numpy as np

Shape = tuple[int, ...]
Array = np.ndarray[Any, np.dtype[Any]]
SHAPES: list[Shape] = [
    (), (1,), (3,), (0,), (2, 3), (1, 3), (2, 1), (1, 1), (0, 3), (2, 0), (2, 1, 3), (1, 2, 2), (2, 3, 2), (1, 1, 2, 1),
]  # fmt: skip
COUNTS: list[Shape] = [
    (), (1,), (2,), (0,), (2, 1), (1, 3), (2, 2), (0, 2), (2, 0), (1, 1), (3, 1, 2), (1, 2, 1), (2, 1, 0), (2, 1, 1, 2),
]  # fmt: skip
NEGATIVE: list[tuple[Shape, Shape]] = [
    ((2, 3), (2, -1)), ((2, 3), (-1, 2)), ((3,), (-2,)), ((2, 3), (-1, -1)), ((), (-1,)), ((1,), (-1,)),
    ((3,), (-1, 2)), ((2, 3), (0, -1)), ((0, 3), (1, -1)), ((0, 3), (-1, 1)),
]  # fmt: skip
TOO_LARGE: list[tuple[Shape, Shape]] = [
    ((2,), (2**62,)), ((3,), (2**62,)), ((4, 2), (1, 2**62)), ((2,), (2**62, 2**62)),
]  # fmt: skip
MAX_GRADIENT_RANK = 32
"""The maximum rank of vectors with gradients. PyTorch computes a gradient with twice as many axes, at most 64."""
RANKS = [5, 6, 7, 8, 9, 16, 32, 33, 64]


class Kind(NamedTuple):
    """An op: its function, the name of its attribute, and the limits that explain a refusal."""

    function: Callable[[Array, Shape], Any]
    attribute: str = "reps"
    fewer_counts: bool = True
    adds_axes: bool = True
    max_rank: int = 0
    gradient: Callable[[Array, Shape, Array], Any] | None = None
    leaves_out: Callable[[Shape, Shape], bool] = lambda shape, counts: False
    """Returns whether to leave out a request because the release deviates from its documentation."""


def requests() -> Iterator[tuple[Shape, Shape]]:
    """Yield the shape of the input and the numbers of copies."""
    draw = Random(11)
    equal = [(shape, counts) for shape, counts in product(SHAPES, COUNTS) if len(shape) == len(counts)]
    yield from draw.sample(equal, 45)
    yield from draw.sample([*product(SHAPES, COUNTS)], 75)
    yield from NEGATIVE
    yield from TOO_LARGE
    for rank in RANKS:
        yield (2,), (2,) + (1,) * (rank - 1)
        yield (2, *(1,) * (rank - 1)), (2,)
    for rank in RANKS[:-1]:
        yield (1,) * (rank - 1) + (2,), (1,) * (rank - 1) + (2,)
    for rank in (3, 4, 5, 6):
        yield (2,) * rank, (2,) * rank
        yield (2, 1) * (rank // 2), (1, 3) * (rank // 2)


def conflicts(kind: Kind, shape: Shape, counts: Shape) -> list[str]:
    """Return the conflict codes for a request, derived by hand. The list is empty if nothing is wrong."""
    rank = max(len(shape), len(counts))
    if kind.max_rank and rank > kind.max_rank:
        return ["rank-too-large"]
    if (len(counts) < len(shape) and not kind.fewer_counts) or (len(counts) > len(shape) and not kind.adds_axes):
        return ["rank-mismatch"]
    pairs = zip(reversed((1,) * rank + shape), reversed((1,) * rank + counts), strict=False)
    if min(counts, default=0) < 0 or any(size * count >= 2**63 for size, count in pairs):
        return ["invalid-dimension"]
    return []


def placed(shape: Shape, counts: Shape, reached: Shape) -> dict[str, Any]:
    """Return the output. An axis with both several copies and a size other than 1 merges axes, so `axes` is None."""
    rank = len(reached)
    own, copies = ((1,) * (rank - len(sizes)) + sizes for sizes in (shape, counts))
    if any(size != 1 != count for size, count in zip(own, copies, strict=True)):
        return {"shape": reached, "input": 0, "axes": None, "broadcast_axes": None}
    axes = list(range(rank - len(shape), rank))
    replicated = [axis for axis in range(rank) if axis not in axes or own[axis] != reached[axis]]
    return {"shape": reached, "input": 0, "axes": axes, "broadcast_axes": replicated}


def vectors(package: str) -> Iterator[dict[str, Any]]:
    framework, kinds = PACKAGES[package]()
    for name, kind in kinds.items():
        number = 0
        for shape, counts in dict.fromkeys(requests()):
            if kind.leaves_out(shape, counts):
                continue
            number += 1
            op = {"name": name, kind.attribute: counts}
            vector = {"id": f"tile-{name.lower()}-{number:03}", "op": op, "inputs": [shape]}
            array = np.arange(prod(shape)).reshape(shape)
            codes = conflicts(kind, shape, counts)
            try:
                tiled = np.asarray(kind.function(array, counts))
            except Exception as error:
                if not codes:
                    raise ValueError(f"{name} has no reason to refuse {shape} with {counts}") from error
                found = {"compatible": False, "conflict_codes": codes, "raised": type(error).__name__}
            else:
                if codes:
                    raise ValueError(f"{name} accepts {shape} with {counts}, and {codes} was expected")
                outputs = [placed(shape, counts, tiled.shape)]
                found = {"compatible": True, "outputs": outputs, "values": [tiled.ravel().tolist()]}
                if kind.gradient is not None and tiled.ndim <= MAX_GRADIENT_RANK:
                    step = np.arange(tiled.size, dtype=np.float64).reshape(tiled.shape)
                    gradient = np.asarray(kind.gradient(array.astype(np.float64), counts, step))
                    found["gradients"] = [gradient.ravel().tolist()]
            yield vector | found | {"framework": framework, "source": "executed"}


def _overflows(shape: Shape, counts: Shape) -> bool:
    """Return whether the number of elements exceeds 64 bits. NumPy then crashes, because it does not check for this."""
    return prod(shape) * prod(counts) >= 2**64


def _negative_and_empty(shape: Shape, counts: Shape) -> bool:
    return min(counts, default=0) < 0 and 0 in shape


Package = tuple[str, dict[str, Kind]]
"""Return the package's name and version, and the ops."""


def _numpy() -> Package:
    def differs(shape: Shape, counts: Shape) -> bool:
        return _negative_and_empty(shape, counts) or _overflows(shape, counts)

    return f"numpy {np.__version__}", {"numpy.tile": Kind(np.tile, max_rank=64, leaves_out=differs)}


def _torch() -> Package:
    import torch

    def tile(array: Array, counts: Shape) -> Any:
        return torch.tile(torch.from_numpy(array), counts)

    def repeat(array: Array, counts: Shape) -> Any:
        return torch.from_numpy(array).repeat(counts)

    def gradient(function: Callable[[Any, Shape], Any]) -> Callable[[Array, Shape, Array], Any]:
        def computed(array: Array, counts: Shape, step: Array) -> Any:
            tensor = torch.from_numpy(array).requires_grad_()
            function(tensor, counts).backward(torch.from_numpy(step))
            return tensor.grad

        return computed

    def large(shape: Shape, counts: Shape) -> bool:
        return _negative_and_empty(shape, counts) and all(
            size == 0 for size, count in zip(reversed(shape), reversed(counts), strict=False) if count < 0
        )

    return f"torch {torch.__version__}", {
        "torch.tile": Kind(tile, "dims", gradient=gradient(torch.tile), leaves_out=large),
        "torch.repeat": Kind(
            repeat, "repeats", fewer_counts=False, gradient=gradient(torch.Tensor.repeat), leaves_out=large
        ),
    }


def _jax() -> Package:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def gradient(array: Array, counts: Shape, step: Array) -> Any:
        return jax.vjp(lambda each: jnp.tile(each, counts), array)[1](step)[0]

    return f"jax {jax.__version__}", {"jax.numpy.tile": Kind(jnp.tile, gradient=gradient)}


def _tensorflow() -> Package:
    import tensorflow as tf

    def tile(array: Array, counts: Shape) -> Any:
        return tf.tile(array, tf.constant(counts, tf.int64))

    def gradient(array: Array, counts: Shape, step: Array) -> Any:
        tensor = tf.constant(array)
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            tiled = tile(tensor, counts)
        return tape.gradient(tiled, tensor, tf.constant(step))

    kind = Kind(tile, "multiples", fewer_counts=False, adds_axes=False, gradient=gradient)
    return f"tensorflow {tf.__version__}", {"tensorflow.tile": kind}


def _onnx() -> Package:
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4

    def tile(array: Array, counts: Shape) -> Any:
        repeats = numpy_helper.from_array(np.array(counts, np.int64), "repeats")
        taken = helper.make_tensor_value_info("x", TensorProto.INT64, list(array.shape))
        given = helper.make_tensor_value_info("y", TensorProto.INT64, None)
        node = helper.make_node("Tile", ["x", "repeats"], ["y"])
        graph = helper.make_graph([node], "one", [taken], [given], [repeats])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph.output[0]
        tiled = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": array})[0]
        assert [size.dim_value for size in inferred.type.tensor_type.shape.dim] == list(tiled.shape)
        return tiled

    kind = Kind(tile, "repeats", fewer_counts=False, adds_axes=False)
    return f"onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}", {"onnx.Tile": kind}


def _paddle() -> Package:
    import paddle

    def tile(array: Array, counts: Shape) -> Any:
        return paddle.tile(paddle.to_tensor(array), counts).numpy()

    def gradient(array: Array, counts: Shape, step: Array) -> Any:
        tensor = paddle.to_tensor(array, stop_gradient=False)
        paddle.tile(tensor, counts).backward(paddle.to_tensor(step))
        return tensor.grad.numpy()

    return f"paddle {paddle.__version__}", {"paddle.tile": Kind(tile, "repeat_times", max_rank=7, gradient=gradient)}


def _mindspore() -> Package:
    import mindspore
    from mindspore import ops

    mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="CPU", pynative_synchronize=True)

    with suppress(SystemError):  # MindSpore was built for NumPy 1, and its first call fails with NumPy 2
        ops.tile(mindspore.Tensor([0]), (1,))

    def tile(array: Array, counts: Shape) -> Any:
        return ops.tile(mindspore.Tensor(array), counts).asnumpy()

    def differs(shape: Shape, counts: Shape) -> bool:
        return max(len(shape), len(counts)) > 8 or (0 in shape and sum(count > 1 for count in counts) == 1)

    return f"mindspore {mindspore.__version__}", {"mindspore.tile": Kind(tile, "dims", leaves_out=differs)}


def _openvino() -> Package:
    import openvino
    from openvino import opset1

    core = openvino.Core()

    def tile(array: Array, counts: Shape) -> Any:
        parameter = opset1.parameter(list(array.shape), np.int64)
        model = openvino.Model([opset1.tile(parameter, np.array(counts, np.int64))], [parameter])
        return core.compile_model(model, "CPU")([array])[0]

    def differs(shape: Shape, counts: Shape) -> bool:
        is_long = max(len(shape), len(counts)) > 32
        return is_long or not counts or min(counts) < 0 or max(counts) == 2**62

    version = openvino.__version__.partition("-")[0]
    return f"openvino {version}", {"openvino.Tile-1": Kind(tile, "repeats", leaves_out=differs)}


def _mxnet() -> Package:
    import mxnet as mx

    mx.util.set_np_shape(True)

    def tile(array: Array, counts: Shape) -> Any:
        tiled = mx.nd.tile(mx.nd.array(array, dtype="int64"), reps=counts)
        mx.nd.waitall()
        return tiled.asnumpy()

    def differs(shape: Shape, counts: Shape) -> bool:
        """Return whether the kernel may not take as many axes, or NumPy may not read them."""
        repeated = sum(count != 1 for count in counts)
        return _negative_and_empty(shape, counts) or repeated > 2 or max(len(shape), len(counts)) > 32

    return f"mxnet {mx.__version__}", {"mxnet.tile": Kind(tile, leaves_out=differs)}


PACKAGES = {
    "numpy": _numpy, "torch": _torch, "jax": _jax, "tensorflow": _tensorflow, "onnx": _onnx, "paddle": _paddle,
    "mindspore": _mindspore, "openvino": _openvino, "mxnet": _mxnet,
}  # fmt: skip

if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    for line in vectors(sys.argv[1]):
        print(json.dumps(line))
