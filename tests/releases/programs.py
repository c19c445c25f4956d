"""Runs one operation of an installed framework for each line of standard input, and writes a line for each result.

    python programs.py torch < requests > results

It imports the framework and NumPy, and nothing of this project. A request is `{"op": {"name", ...}, "inputs"}`. A
result has `inferred`, the shapes that the call returned; `shapes` and `values`, what came out when it ran; or `raised`.
It ends with a line of `ended`, the exit status of the process that ran it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Request = dict[str, Any]
Run = Callable[[dict[str, Any], list[Array]], list[Any]]
"""The operation's results from its attributes and its inputs, as tensors of the framework."""
SECONDS, CPU_SECONDS = 10, 3
"""After these a run in a process of its own is ended."""


def arrays(shapes: list[list[int]]) -> list[Array]:
    """Small whole numbers, so that a sum of products is exact in float32."""
    return [
        (np.arange(prod(shape)) % 7 + 8 * number).astype(np.float32).reshape(shape)
        for number, shape in enumerate(shapes)
    ]


def even(array: Array) -> Array:
    """A condition; an array also if it is a scalar."""
    return np.asarray(array % 2 == 0)


class Framework:
    """A framework's operations, `runs`, by their names without the framework's."""

    isolated = False
    """Whether each request runs in a process of its own, since the framework may end it."""
    runs: dict[str, Run]

    def to_numpy(self, tensor: Any) -> Array:
        return np.asarray(tensor)


class Torch(Framework):
    def __init__(self) -> None:
        import torch

        self.runs = {
            "expand": lambda op, x: [torch.from_numpy(x[0]).expand(op["size"])],
            "broadcast_to": lambda op, x: [torch.broadcast_to(torch.from_numpy(x[0]), op["size"])],
            "expand_as": lambda op, x: [torch.from_numpy(x[0]).expand_as(torch.from_numpy(x[1]))],
            "broadcast_tensors": lambda op, x: list(torch.broadcast_tensors(*map(torch.from_numpy, x))),
            "add": lambda op, x: [torch.from_numpy(x[0]) + torch.from_numpy(x[1])],
            "matmul": lambda op, x: [torch.from_numpy(x[0]) @ torch.from_numpy(x[1])],
            "einsum": lambda op, x: [torch.einsum(op["equation"], *map(torch.from_numpy, x))],
            "tile": lambda op, x: [torch.tile(torch.from_numpy(x[0]), op["dims"])],
            "repeat": lambda op, x: [torch.from_numpy(x[0]).repeat(op["repeats"])],
            "masked_fill": lambda op, x: [
                torch.from_numpy(x[0]).masked_fill(torch.from_numpy(even(x[1])), torch.from_numpy(x[2]) if x[2:] else 0)
            ],
        }


class NumPy(Framework):
    def __init__(self) -> None:
        self.runs = {
            "broadcast_to": lambda op, x: [np.broadcast_to(x[0], op["shape"])],
            "broadcast_arrays": lambda op, x: list(np.broadcast_arrays(*x)),
            "add": lambda op, x: [x[0] + x[1]],
            "matmul": lambda op, x: [x[0] @ x[1]],
            "einsum": lambda op, x: [np.einsum(op["equation"], *x)],
            "where": lambda op, x: [np.where(even(x[0]), *x[1:])],
            "tile": lambda op, x: [np.tile(x[0], op["reps"])],
        }


class ArrayApi(Framework):
    def __init__(self) -> None:
        import array_api_strict as xp

        self.runs = {
            "broadcast_to": lambda op, x: [xp.broadcast_to(xp.asarray(x[0]), tuple(op["shape"]))],
            "broadcast_arrays": lambda op, x: list(xp.broadcast_arrays(*map(xp.asarray, x))),
            "broadcast_shapes": lambda op, x: [np.empty(xp.broadcast_shapes(*[array.shape for array in x]))],
            "add": lambda op, x: [xp.add(*map(xp.asarray, x))],
            "where": lambda op, x: [xp.where(xp.asarray(even(x[0])), *map(xp.asarray, x[1:]))],
            "matmul": lambda op, x: [xp.matmul(*map(xp.asarray, x))],
        }

    def to_numpy(self, tensor: Any) -> Array:
        return np.from_dlpack(tensor)


class Jax(Framework):
    def __init__(self) -> None:
        import jax
        import jax.numpy as jnp

        self.runs = {
            "lax.broadcast": lambda op, x: [jax.lax.broadcast(jnp.asarray(x[0]), op["sizes"])],
            "lax.add": lambda op, x: [jax.lax.add(*map(jnp.asarray, x))],
            "numpy.broadcast_to": lambda op, x: [jnp.broadcast_to(x[0], op["shape"])],
            "numpy.broadcast_arrays": lambda op, x: list(jnp.broadcast_arrays(*x)),
            "numpy.add": lambda op, x: [jnp.add(*x)],
            "numpy.matmul": lambda op, x: [jnp.matmul(*x)],
            "numpy.einsum": lambda op, x: [jnp.einsum(op["equation"], *x)],
            "numpy.tile": lambda op, x: [jnp.tile(x[0], op["reps"])],
        }


class TensorFlow(Framework):
    def __init__(self) -> None:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow as tf

        self.runs = {
            "broadcast_to": lambda op, x: [tf.broadcast_to(x[0], np.array(op["shape"], np.int64))],
            "add": lambda op, x: [tf.add(*x)],
            "where": lambda op, x: [tf.where(even(x[0]), *x[1:])],
            "einsum": lambda op, x: [tf.einsum(op["equation"], *map(tf.constant, x))],
            "tile": lambda op, x: [tf.tile(x[0], np.array(op["multiples"], np.int64))],
            "matmul": lambda op, x: [
                tf.matmul(*x, transpose_a=op.get("transpose_a", False), transpose_b=op.get("transpose_b", False))
            ],
        }


class TensorFlowJs(Framework):
    def __init__(self) -> None:
        sys.path.insert(0, str(Path(__file__).parents[1]))
        from languages.interpreter import javascript

        tf = javascript()

        def product(op: dict[str, Any], x: list[Array]) -> list[Any]:
            swaps = (str(op.get(name, False)).lower() for name in ("transposeA", "transposeB"))
            return [tf.call(f"tf.matMul(x0, x1, {', '.join(swaps)})", *x)]

        self.runs = {
            "broadcastTo": lambda op, x: [tf.call(f"tf.broadcastTo(x0, {[*op['shape']]})", *x)],
            "add": lambda op, x: [tf.call("tf.add(x0, x1)", *x)],
            "where": lambda op, x: [tf.call("tf.where(x0, x1, x2)", even(x[0]), *x[1:])],
            "matMul": product,
        }


class LiteRt(Framework):
    isolated = True

    def __init__(self) -> None:
        sys.path.insert(0, str(Path(__file__).parents[1]))
        from litert_models import run

        self.runs = {
            "BROADCAST_TO": lambda op, x: [run("BROADCAST_TO", x, [*op["shape"]])],
            "ADD": lambda op, x: [run("ADD", x)],
            "SELECT_V2": lambda op, x: [run("SELECT_V2", [even(x[0]), *x[1:]])],
            "PRELU": lambda op, x: [run("PRELU", [-x[0], x[1]])],
        }


class Keras(Framework):
    def __init__(self) -> None:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import keras

        self.runs = {
            "ops.broadcast_to": lambda op, x: [keras.ops.broadcast_to(x[0], tuple(op["shape"]))],
            "ops.add": lambda op, x: [keras.ops.add(*x)],
            "ops.where": lambda op, x: [keras.ops.where(even(x[0]), *x[1:])],
            "ops.matmul": lambda op, x: [keras.ops.matmul(*x)],
        }


class Paddle(Framework):
    def __init__(self) -> None:
        import paddle

        to = paddle.to_tensor
        self.runs = {
            "expand": lambda op, x: [paddle.expand(to(x[0]), op["shape"])],
            "broadcast_to": lambda op, x: [paddle.broadcast_to(to(x[0]), op["shape"])],
            "expand_as": lambda op, x: [paddle.expand_as(*map(to, x))],
            "broadcast_tensors": lambda op, x: paddle.broadcast_tensors(list(map(to, x))),
            "add": lambda op, x: [paddle.add(*map(to, x))],
            "where": lambda op, x: [paddle.where(to(even(x[0])), *map(to, x[1:]))],
            "matmul": lambda op, x: [paddle.matmul(*map(to, x))],
            "einsum": lambda op, x: [paddle.einsum(op["equation"], *map(to, x))],
            "tile": lambda op, x: [paddle.tile(to(x[0]), op["repeat_times"])],
        }

    def to_numpy(self, tensor: Any) -> Array:
        array: Array = tensor.numpy()
        return array


class MindSpore(Framework):
    def __init__(self) -> None:
        import mindspore
        from mindspore import ops

        mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="CPU", pynative_synchronize=True)
        self.runs = {
            "broadcast_to": lambda op, x: [ops.broadcast_to(mindspore.Tensor(x[0]), tuple(op["shape"]))],
            "add": lambda op, x: [ops.add(*map(mindspore.Tensor, x))],
            "maximum": lambda op, x: [ops.maximum(*map(mindspore.Tensor, x))],
            "where": lambda op, x: [ops.where(mindspore.Tensor(even(x[0])), *map(mindspore.Tensor, x[1:]))],
            "matmul": lambda op, x: [ops.matmul(*map(mindspore.Tensor, x))],
            "tile": lambda op, x: [ops.tile(mindspore.Tensor(x[0]), tuple(op["dims"]))],
        }

    def to_numpy(self, tensor: Any) -> Array:
        array: Array = tensor.asnumpy()
        return array


class MXNet(Framework):
    def __init__(self) -> None:
        import mxnet as mx

        mx.util.set_np_shape(True)
        nd = mx.nd

        def given(op: dict[str, Any], *names: str) -> dict[str, Any]:
            """The attributes that the request has; a list as a tuple, which is what MXNet reads."""
            return {name: tuple(op[name]) if isinstance(op[name], list) else op[name] for name in names if name in op}

        self.runs = {
            "broadcast_axis": lambda op, x: [nd.broadcast_axis(nd.array(x[0]), **given(op, "axis", "size"))],
            "broadcast_like": lambda op, x: [nd.broadcast_like(*map(nd.array, x), **given(op, "lhs_axes", "rhs_axes"))],
            "broadcast_to": lambda op, x: [nd.broadcast_to(nd.array(x[0]), shape=tuple(op["shape"]))],
            "np.broadcast_to": lambda op, x: [mx.np.broadcast_to(mx.np.array(x[0]), tuple(op["shape"]))],
            "broadcast_add": lambda op, x: [nd.broadcast_add(*map(nd.array, x))],
            "tile": lambda op, x: [nd.tile(nd.array(x[0]), reps=tuple(op["reps"]))],
            "np.where": lambda op, x: [mx.np.where(mx.np.array(even(x[0])), *map(mx.np.array, x[1:]))],
        }
        self.wait = mx.nd.waitall

    def to_numpy(self, tensor: Any) -> Array:
        self.wait()  # raises what a result without elements hides
        array: Array = tensor.asnumpy()
        return array


class Dask(Framework):
    def __init__(self) -> None:
        import dask.array as da

        def tensor(array: Array) -> Any:
            return da.from_array(array, chunks=array.shape)  # it divides by 0 to choose the chunks of an empty one

        self.runs = {
            "array.broadcast_to": lambda op, x: [da.broadcast_to(tensor(x[0]), tuple(op["shape"]))],
            "array.broadcast_arrays": lambda op, x: list(da.broadcast_arrays(*map(tensor, x))),
            "array.matmul": lambda op, x: [da.matmul(*map(tensor, x))],
        }

    def to_numpy(self, tensor: Any) -> Array:
        return np.asarray(tensor.compute(scheduler="synchronous"))


class Xarray(Framework):
    def __init__(self) -> None:
        import warnings

        import xarray as xr

        warnings.simplefilter("ignore")

        def broadcast(op: dict[str, Any], x: list[Array]) -> list[Any]:
            named = [xr.DataArray(array, dims=dims) for array, dims in zip(x, op["dims"], strict=True)]
            return list(xr.broadcast(*named, exclude=op.get("exclude", ())))

        self.runs = {"broadcast": broadcast}


class Einops(Framework):
    """Of PyTorch's tensors, and einsum of NumPy's. A negative length that NumPy takes too raises AssertionError."""

    def __init__(self) -> None:
        import einops
        import torch

        def repeat(op: dict[str, Any], x: list[Array]) -> list[Any]:
            lengths = op.get("axes_lengths", {})
            repeated = einops.repeat(torch.from_numpy(x[0]), op["pattern"], **lengths)
            if min(lengths.values(), default=0) < 0:
                try:
                    einops.repeat(x[0], op["pattern"], **lengths)
                except ValueError:
                    return [repeated]
                raise AssertionError("NumPy takes a negative length")
            return [repeated]

        self.runs = {"repeat": repeat, "einsum": lambda op, x: [einops.einsum(*x, op["pattern"])]}


class OptEinsum(Framework):
    """Of NumPy's arrays."""

    def __init__(self) -> None:
        import opt_einsum

        self.runs = {"contract": lambda op, x: [opt_einsum.contract(op["equation"], *x)]}


class Mlx(Framework):
    isolated = True

    def __init__(self) -> None:
        import mlx.core as mx

        self.runs = {
            "core.broadcast_to": lambda op, x: [mx.broadcast_to(mx.array(x[0]), op["shape"])],
            "core.broadcast_arrays": lambda op, x: mx.broadcast_arrays(*map(mx.array, x)),
            "core.add": lambda op, x: [mx.add(*map(mx.array, x))],
            "core.where": lambda op, x: [mx.where(mx.array(even(x[0])), *map(mx.array, x[1:]))],
            "core.matmul": lambda op, x: [mx.matmul(*map(mx.array, x))],
            "core.einsum": lambda op, x: [mx.einsum(op["equation"], *map(mx.array, x))],
        }


class Tinygrad(Framework):
    def __init__(self) -> None:
        os.environ.setdefault("DEV", "PYTHON")  # needs no compiler
        from tinygrad import Tensor

        def tensor(array: Array) -> Any:
            return Tensor(array.ravel()).reshape(array.shape)

        self.runs = {
            "expand": lambda op, x: [tensor(x[0]).expand(tuple(op["shape"]))],
            "add": lambda op, x: [tensor(x[0]) + tensor(x[1])],
            "where": lambda op, x: [tensor(even(x[0])).where(*map(tensor, x[1:]))],
            "matmul": lambda op, x: [tensor(x[0]) @ tensor(x[1])],
        }

    def to_numpy(self, tensor: Any) -> Array:
        array: Array = tensor.numpy()
        return array


class Onnx(Framework):
    """Run by onnxruntime; onnx infers the shape."""

    def __init__(self) -> None:
        import onnxruntime
        from onnx import TensorProto, helper, numpy_helper

        onnxruntime.set_default_logger_severity(4)

        def run(op: dict[str, Any], x: list[Array]) -> list[Any]:
            kind = op["name"].partition(".")[2]
            x = [even(x[0]), *x[1:]] if kind == "Where" else x
            names = [f"x{number}" for number in range(len(x))]
            taken = [
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape))
                for name, array in zip(names, x, strict=True)
            ]
            constants = []
            for name in {"shape", "repeats"} & set(op):
                constants.append(numpy_helper.from_array(np.array(op[name], np.int64), name))
            attributes = {name: value for name, value in op.items() if name not in ("name", "shape", "repeats")}
            attributes |= {name: float(op[name]) for name in ("alpha", "beta") if name in op}
            node = helper.make_node(kind, [*names, *(one.name for one in constants)], ["y"], **attributes)
            given = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
            graph = helper.make_graph([node], "one", taken, given, constants)
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            session = onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            return list(session.run(None, dict(zip(names, x, strict=True))))

        kinds = ("Expand", "Add", "Sum", "Max", "Min", "Mean", "Where", "PRelu", "MatMul", "Gemm", "Tile")
        self.runs = dict.fromkeys(kinds, run)


class OpenVino(Framework):
    isolated = True

    def __init__(self) -> None:
        import openvino
        from openvino import op as ops
        from openvino import opset1
        from openvino.utils.node_factory import NodeFactory

        self.openvino, self.opset1, self.ops = openvino, opset1, ops
        self.factories = {name: NodeFactory(name) for name in ("opset1", "opset3")}
        self.runs = {
            "Broadcast-1": lambda op, x: [self._broadcast("opset1", op, x)],
            "Broadcast-3": lambda op, x: [self._broadcast("opset3", op, x)],
            "Add-1": lambda op, x: [self._add(op, x)],
            "Tile-1": lambda op, x: [self._node("opset1", "Tile", x, [self._constant(op["repeats"])], {})],
        }

    def _broadcast(self, opset: str, op: dict[str, Any], x: list[Array]) -> Any:
        mode = op.get("mode", "numpy")
        inputs = [self._constant(op["target_shape"])]
        if mode in ("explicit", "pdpd"):  # pdpd ignores it, and is not made without
            inputs.append(self._constant(op.get("axes_mapping", [])))
        attributes = {"mode": mode, "mode.auto_broadcast_axis": op.get("axis", 0)} if mode == "pdpd" else {"mode": mode}
        return self._node(opset, "Broadcast", x, inputs, attributes)

    def _add(self, op: dict[str, Any], x: list[Array]) -> Any:
        attributes: dict[str, Any] = {"auto_broadcast": op.get("auto_broadcast", "numpy")}
        if "axis" in op:
            attributes["auto_broadcast.auto_broadcast_axis"] = op["axis"]
        return self._node("opset1", "Add", x, [], attributes)

    def _constant(self, values: list[int]) -> Any:
        kind, shape = self.openvino.Type.i64, self.openvino.Shape([len(values)])
        return self.ops.Constant(kind, shape, values).output(0)

    def _node(self, opset: str, kind: str, x: list[Array], more: list[Any], attributes: dict[str, Any]) -> Any:
        parameters = [self.opset1.parameter(array.shape, np.float32) for array in x]
        node = self.factories[opset].create(kind, [*(one.output(0) for one in parameters), *more], attributes)
        return _Inferred(self, node, parameters, x)

    def to_numpy(self, tensor: Any) -> Array:
        array: Array = tensor.run()
        return array


class _Inferred:
    """A node whose shape OpenVINO has inferred, and which its CPU plugin is yet to run."""

    def __init__(self, framework: OpenVino, node: Any, parameters: list[Any], x: list[Array]) -> None:
        self.framework, self.node, self.parameters, self.x = framework, node, parameters, x
        partial = node.get_output_partial_shape(0)
        self.shape = [size.get_length() if size.is_static else -1 for size in partial]

    def run(self) -> Array:
        openvino = self.framework.openvino
        model = openvino.Model([self.framework.opset1.result(self.node)], self.parameters)
        array: Array = openvino.compile_model(model, "CPU")(self.x)[0]
        return array


FRAMEWORKS: dict[str, type[Framework]] = {
    "numpy": NumPy, "array_api": ArrayApi, "torch": Torch, "jax": Jax, "tensorflow": TensorFlow,
    "tfjs": TensorFlowJs, "litert": LiteRt, "keras": Keras,
    "paddle": Paddle, "mindspore": MindSpore, "mxnet": MXNet, "dask": Dask, "xarray": Xarray, "einops": Einops,
    "opt_einsum": OptEinsum,
    "mlx": Mlx, "tinygrad": Tinygrad, "onnx": Onnx, "openvino": OpenVino,
}  # fmt: skip


def result(framework: Framework, request: Request) -> Iterator[dict[str, Any]]:
    """What the call inferred, and what came out when it ran: the second is missing where the process ended."""
    found: dict[str, Any] = {}
    try:
        name = request["op"]["name"].partition(".")[2]
        tensors = framework.runs[name](request["op"], arrays(request["inputs"]))
        found["inferred"] = [[int(size) for size in tensor.shape] for tensor in tensors]
        yield found
        ran = [framework.to_numpy(tensor) for tensor in tensors]
        found |= {"shapes": [array.shape for array in ran], "values": [array.ravel().tolist() for array in ran]}
    except Exception as error:
        found["raised"] = f"{type(error).__name__}: {error}"[:300]
    yield found


def answered(framework: Framework, request: Request, out: int) -> None:
    """Writes the lines of one request."""
    for found in result(framework, request):
        os.write(out, json.dumps(found).encode() + b"\n")


def answered_apart(framework: Framework, request: Request, out: int) -> int:
    """The same in a process of its own; returns how it ended."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        answered(framework, request, out)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    out = os.dup(1)
    os.dup2(2, 1)  # so that a framework's own output is not read as a result
    framework = FRAMEWORKS[sys.argv[1]]()
    for line in sys.stdin:
        request, ended = json.loads(line), 0
        if framework.isolated:
            ended = answered_apart(framework, request, out)
        else:
            answered(framework, request, out)
        os.write(out, json.dumps({"ended": ended}).encode() + b"\n")


if __name__ == "__main__":
    main()
