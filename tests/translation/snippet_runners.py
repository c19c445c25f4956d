"""Functions that run the snippets of a framework. Without AXISCAST_FRAMEWORKS=1, only those of NumPy run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest
from languages.interpreter import javascript, octave

Array = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, ...]


def executed(text: str, inputs: dict[str, Any], outputs: list[str]) -> list[Any]:
    """Run the code with these inputs, and return the values of its outputs."""
    scope = dict(inputs)
    exec(text, scope)
    return [scope[name] for name in outputs]


def run_numpy(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    return executed(text, inputs, outputs)


def run_torch(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    import torch

    tensors = {name: torch.from_numpy(array.copy()) for name, array in inputs.items()}
    return [tensor.numpy() for tensor in executed(text, tensors, outputs)]


def run_jax(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    import jax.numpy as jnp

    arrays = {name: jnp.asarray(array) for name, array in inputs.items()}
    return [np.asarray(array) for array in executed(text, arrays, outputs)]


def run_tensorflow(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    import tensorflow as tf

    tensors = {name: tf.constant(array) for name, array in inputs.items()}
    return [tensor.numpy() for tensor in executed(text, tensors, outputs)]


def run_paddle(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    import paddle

    tensors = {name: paddle.to_tensor(array) for name, array in inputs.items()}
    return [tensor.numpy() for tensor in executed(text, tensors, outputs)]


def run_mindspore(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    import mindspore

    tensors = {name: mindspore.Tensor(array) for name, array in inputs.items()}
    return [tensor.asnumpy() for tensor in executed(text, tensors, outputs)]


def run_mxnet(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    import mxnet

    mxnet.util.set_np_shape(False)  # as it starts
    arrays = {name: mxnet.nd.array(array) for name, array in inputs.items()}
    return [array.asnumpy() for array in executed(text, arrays, outputs)]


def run_onnx(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    import onnxruntime
    from onnx import TensorProto, helper

    nodes, initializers = executed(text, {}, ["nodes", "initializers"])
    taken = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, list(array.shape)) for name, array in inputs.items()
    ]
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "snippet", taken, given, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(outputs, inputs))


def run_openvino(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    import openvino

    parameters = {name: openvino.opset1.parameter(array.shape, np.float32) for name, array in inputs.items()}
    nodes = executed(text, dict(parameters), outputs)
    # Several outputs may be one input, unchanged: each gets its own result.
    results = [openvino.opset1.result(node) for node in nodes]
    model = openvino.Model(results, list(parameters.values()))
    given = openvino.compile_model(model, "CPU")(list(inputs.values()))
    return [given[number] for number in range(len(outputs))]


def run_einops(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    return executed(text, inputs, outputs)


def run_xarray(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    return [np.asarray(array) for array in executed(text, inputs, outputs)]


def run_stablehlo(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    """Run the lines as the body of a function, with the verifier and XLA on the CPU."""
    import jax
    from jax._src import xla_bridge
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client

    def kind(shape: Shape) -> str:
        return f"tensor<{''.join(f'{size}x' for size in shape)}f32>"

    made = dict(line.split(" = ", 1) for line in text.splitlines() if " -> " in line)
    kinds = [made[f"%{name}"].rsplit(" -> ", 1)[1] for name in outputs]
    module = (
        f"func.func public @main({', '.join(f'%{name}: {kind(array.shape)}' for name, array in inputs.items())})"
        f" -> ({', '.join(kinds)}) {{\n{text}\n"
        f"return {', '.join(f'%{name}' for name in outputs)} : {', '.join(kinds)}\n}}"
    )
    with mlir.make_ir_context():
        parsed = mlir.ir.Module.parse(module)
        parsed.operation.verify()
        backend = xla_bridge.get_backend("cpu")
        devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
        program = backend.compile_and_load(parsed, devices, xla_client.CompileOptions())
    given = program.execute_sharded([jax.device_put(array) for array in inputs.values()])
    return [np.asarray(arrays[0]) for arrays in given.disassemble_into_single_device_arrays()]


def run_dask(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    import dask.array

    arrays = {name: dask.array.from_array(array) for name, array in inputs.items()}
    return [np.asarray(array.compute()) for array in executed(text, arrays, outputs)]


def run_keras(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    import keras

    tensors = {name: keras.ops.convert_to_tensor(array) for name, array in inputs.items()}
    return [keras.ops.convert_to_numpy(tensor) for tensor in executed(text, tensors, outputs)]


def run_tinygrad(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    """With DEV=PYTHON where there is no clang; then a scalar is taken as a reshape alone."""
    from tinygrad import Tensor

    tensors = {name: Tensor(array.ravel()).reshape(array.shape) for name, array in inputs.items()}
    return [tensor.numpy() for tensor in executed(text, tensors, outputs)]


def run_mlx(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    import mlx.core as mx

    arrays = {name: mx.array(array) for name, array in inputs.items()}
    return [np.asarray(array) for array in executed(text, arrays, outputs)]


def run_array_api(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    import array_api_strict as xp

    arrays = {name: xp.asarray(array) for name, array in inputs.items()}
    return [np.from_dlpack(array) for array in executed(text, arrays, outputs)]


def run_octave(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    return [array.astype(np.float32) for array in octave().run(text, inputs, outputs)]


def run_tfjs(text: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
    return [array.astype(np.float32) for array in javascript().run(text, inputs, outputs)]


RUNNERS: dict[str, tuple[str, Callable[[str, dict[str, Array], list[str]], list[Array]]]] = {
    "numpy": ("numpy", run_numpy),
    "array_api": ("array_api_strict", run_array_api),
    "torch": ("torch", run_torch),
    "jax": ("jax", run_jax),
    "tensorflow": ("tensorflow", run_tensorflow),
    "keras": ("keras", run_keras),
    "mindspore": ("mindspore", run_mindspore),
    "paddle": ("paddle", run_paddle),
    "mxnet": ("mxnet", run_mxnet),
    "dask": ("dask", run_dask),
    "onnx": ("onnxruntime", run_onnx),
    "openvino": ("openvino", run_openvino),
    "xarray": ("xarray", run_xarray),
    "einops": ("einops", run_einops),
    "stablehlo": ("jaxlib", run_stablehlo),
    "tinygrad": ("tinygrad", run_tinygrad),
    "mlx": ("mlx", run_mlx),
    "tfjs": ("@tensorflow/tfjs", run_tfjs),
    "octave": ("octave-cli", run_octave),
}
"""The module of each framework (Python's or Node's) or its program, and the function that runs its snippets."""
ASKED = bool(os.environ.get("AXISCAST_FRAMEWORKS"))


def runs(framework: str) -> Callable[[str, dict[str, Array], list[str]], list[Array]]:
    """Return the function that runs the code of a framework. If it is not installed or not requested, skip the test."""
    module, execute = RUNNERS[framework]
    is_installed = find_spec(module) or which(module) or Path(sys.prefix, "node_modules", module).exists()
    if framework != "numpy" and not (ASKED and is_installed):
        pytest.skip("asked for with AXISCAST_FRAMEWORKS=1, where it is installed")
    return execute
