"""Calls functions of an installed framework on shapes, and prints the shape of each result.

It is the part of aliases.py that runs in the environment of the framework, with NumPy and without axiscast.

    {"name": "torch.mul", "attributes": {}, "requests": [[[2, 1], [3]], ...]}        a line of its input
    {"name": "torch.mul", "dtypes": "ff", "results": [[2, 3], null, ...]}            null: the function raises
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial, reduce
from itertools import product
from typing import Any

import numpy as np

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", GLOG_minloglevel="4", DEV="PYTHON", MS_DISABLE_REF_MODE="0")
Shape = list[int]
Call = Callable[..., Any]
"""A function that takes NumPy arrays and attributes, and returns an array."""
_DTYPES = {"f": np.float32, "i": np.int32, "b": np.bool_, "B": np.uint8}


def function_named(name: str) -> Call:
    """Return the function of a name, which begins with a framework's. Raises AttributeError if it does not exist."""
    framework = name.partition(".")[0]
    return _FRAMEWORKS[framework](name)


def _within(module: Any, path: str) -> Call:
    call: Call = reduce(getattr, path.split("."), module)
    return call


def _calling(function: Call, make: Callable[[Any], Any] = lambda array: array) -> Call:
    """Return a function of NumPy arrays, which passes an equation first and all other attributes last."""

    def call(*arrays: Any, **attributes: Any) -> Any:
        equation = [attributes.pop("equation")] if "equation" in attributes else []
        return function(*equation, *map(make, arrays), *attributes.values())

    return call


def _shaped(function: Call, make: Callable[[Any], Any] = tuple) -> Call:
    """Return a function of NumPy arrays for a function of shapes. The result is an array of the returned shape."""
    return lambda *arrays: np.zeros([*map(int, function(*(make(array.shape) for array in arrays)))])


def _numpy(name: str) -> Call:
    function = _within(np, name.removeprefix("numpy."))
    return _shaped(function) if name.endswith("shapes") else _calling(function)


def _array_api(name: str) -> Call:
    import array_api_strict as xp

    function = _within(xp, name.removeprefix("array_api."))
    return _shaped(function) if name.endswith("shapes") else _calling(function, xp.asarray)


def _torch(name: str) -> Call:
    import torch

    path = name.removeprefix("torch.")
    function = _within(torch, path if hasattr(torch, path.partition(".")[0]) else f"Tensor.{path}")
    if name.endswith("masked_fill"):
        return lambda *arrays: function(*map(torch.tensor, arrays), *([] if arrays[2:] else [0]))
    return _shaped(function) if name.endswith("shapes") else _calling(function, torch.tensor)


def _jax(name: str) -> Call:
    import jax
    import jax.numpy

    function = _within(jax, name.removeprefix("jax."))
    return _shaped(function) if name.endswith("shapes") else _calling(function)


def _tensorflow(name: str) -> Call:
    import tensorflow as tf

    function = _within(tf, name.removeprefix("tensorflow."))
    return _shaped(function, tf.TensorShape) if name.endswith("shape") else _calling(function, tf.constant)


def _keras(name: str) -> Call:
    import keras

    function = _within(keras, name.removeprefix("keras."))
    return _calling(function, keras.ops.convert_to_tensor)


def _paddle(name: str) -> Call:
    import paddle

    function = _within(paddle, name.removeprefix("paddle."))
    if name.endswith("masked_fill"):
        return lambda *arrays: function(*map(paddle.to_tensor, arrays), 0)
    if name.endswith("broadcast_tensors"):
        return lambda *arrays: function([*map(paddle.to_tensor, arrays)])
    return _calling(function, paddle.to_tensor)


def _mindspore(name: str) -> Call:
    import mindspore

    mindspore.set_context(device_target="CPU", pynative_synchronize=True)
    path = name.removeprefix("mindspore.")
    function = _within(mindspore, path if path.partition(".")[0] in ("ops", "mint", "Tensor") else f"ops.{path}")
    call = _calling(function, mindspore.Tensor)
    return lambda *arrays, **attributes: _copied(call(*arrays, **attributes))


def _copied(result: Any) -> Any:
    """Return the computed result. MindSpore reports some errors only then."""
    return tuple(one.asnumpy() for one in result) if isinstance(result, tuple) else result.asnumpy()


def _mxnet(name: str) -> Call:
    import mxnet

    path = name.removeprefix("mxnet.")
    mxnet.util.set_np(shape=True, array=path.startswith("np."))
    of_numpy = path.startswith("np.")
    home = mxnet if path.partition(".")[0] in ("np", "nd") else mxnet.nd
    function, make = _within(home, path), mxnet.np.array if of_numpy else mxnet.nd.array

    def call(*arrays: Any, **attributes: Any) -> Any:
        mxnet.util.set_np(shape=True, array=of_numpy)
        found = function(*[make(array, dtype=array.dtype) for array in arrays], **attributes)
        return [one.asnumpy() for one in found] if isinstance(found, (tuple, list)) else found.asnumpy()

    return call


def _dask(name: str) -> Call:
    import dask.array as da

    function = _within(da, name.removeprefix("dask.array."))

    apply = _calling(function, da.from_array)

    def call(*arrays: Any, **attributes: Any) -> Any:
        result = apply(*arrays, **attributes)
        return tuple(one.compute() for one in result) if isinstance(result, (tuple, list)) else result.compute()

    return call


def _mlx(name: str) -> Call:
    import mlx.core as mx

    function = _within(mx, name.removeprefix("mlx.core."))
    if name.endswith("shapes"):
        return _shaped(function)
    apply = _calling(function, mx.array)

    def call(*arrays: Any, **attributes: Any) -> Any:
        result = apply(*arrays, **attributes)
        mx.eval(result)
        return result

    return call


def _tinygrad(name: str) -> Call:
    from tinygrad import Tensor

    function = _within(Tensor, name.removeprefix("tinygrad.").removeprefix("Tensor."))
    call = _calling(function, Tensor)
    return lambda *arrays, **attributes: call(*arrays, **attributes).realize()


def _einops(name: str) -> Call:
    import einops

    function = _within(einops, name.removeprefix("einops."))

    def call(*arrays: Any, pattern: str, axes_lengths: dict[str, int] = {}) -> Any:  # noqa: B006
        return function(*arrays, pattern, **axes_lengths)

    return call


def _opt_einsum(name: str) -> Call:
    import opt_einsum

    return _calling(_within(opt_einsum, name.removeprefix("opt_einsum.")))


def _xarray(name: str) -> Call:
    import xarray

    function = _within(xarray, name.removeprefix("xarray."))
    if name.endswith("apply_ufunc"):
        function = partial(function, lambda *arrays: reduce(np.add, arrays))

    def call(*arrays: Any, dims: list[list[str]]) -> Any:
        return function(*[xarray.DataArray(array, dims=names) for array, names in zip(arrays, dims, strict=True)])

    return call


def _onnx(name: str) -> Call:
    import onnxruntime
    from onnx import TensorProto, helper, shape_inference
    from onnx.defs import get_schema

    operator = name.removeprefix("onnx.")
    opset = min(get_schema(operator, max_inclusive_version=20).since_version + 3, 20)
    attributes = {"BitShift": {"direction": "LEFT"}, "Mod": {"fmod": 0}}.get(operator, {})
    onnxruntime.set_default_logger_severity(4)

    def call(*given: Any, **lists: Any) -> Any:
        arrays = [*given, *(np.array(values, np.int64) for values in lists.values())]
        names = [f"x{number}" for number in range(len(arrays))]
        kinds = [helper.np_dtype_to_tensor_dtype(array.dtype) for array in arrays]
        inputs = [
            helper.make_tensor_value_info(*each) for each in zip(names, kinds, [a.shape for a in arrays], strict=True)
        ]
        node = helper.make_node(operator, names, ["y"], **attributes)
        kind = _kind_of_output(get_schema(operator, max_inclusive_version=opset), kinds[len(given) - 1], TensorProto)
        graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", kind, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
        shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, dict(zip(names, arrays, strict=True)))

    return call


def _kind_of_output(schema: Any, of_input: int, kinds: Any) -> int:
    types = schema.outputs[0].types
    return of_input if len(types) > 1 else {"tensor(bool)": kinds.BOOL, "tensor(int32)": kinds.INT32}[next(iter(types))]


def _openvino(name: str) -> Call:
    import openvino
    from openvino import opset1, opset15

    operation, _ = name.removeprefix("openvino.").split("-")
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation).removeprefix("_")
    function = getattr(opset15, {"not_equal": "not_equal", "mod": "mod", "floor_mod": "floor_mod"}.get(snake, snake))
    core = openvino.Core()

    def run(node: Any, inputs: list[Any], arrays: Any) -> list[Any]:
        return [*core.compile_model(openvino.Model(node.outputs(), inputs), "CPU")(list(arrays)).values()]

    def call(*arrays: Any, auto_broadcast: str = "numpy") -> Any:
        inputs = [opset15.parameter(array.shape, array.dtype) for array in arrays]
        return run(function(*inputs, auto_broadcast=auto_broadcast), inputs, arrays)

    def call_with_lists(array: Any, mode: str | None = None, **lists: Any) -> Any:
        data = opset15.parameter(array.shape, array.dtype)
        constants = [opset15.constant(np.array(values, np.int64)) for values in lists.values()]
        if name.endswith("Broadcast-1"):
            return run(opset1.broadcast(data, *constants, mode=mode), [data], [array])
        return run(function(data, *constants, **({} if mode is None else {"broadcast_spec": mode})), [data], [array])

    return call_with_lists if operation in ("Broadcast", "Tile") else call


def _xla(name: str) -> Call:
    from jaxlib import xla_client

    function = getattr(xla_client.ops, name.removeprefix("xla."))

    def call(*arrays: Any, broadcast_dimensions: list[int] = []) -> Any:  # noqa: B006
        builder = xla_client.XlaBuilder("f")
        shapes = [xla_client.Shape.array_shape(array.dtype, array.shape) for array in arrays]
        inputs = [xla_client.ops.Parameter(builder, number, shape) for number, shape in enumerate(shapes)]
        result = builder.get_shape(function(*inputs, broadcast_dimensions)).dimensions()
        return np.broadcast_to(np.float32(0), result)

    return call


def _octave(name: str) -> Call:
    from languages.interpreter import octave

    function = name.removeprefix("octave.")
    first = ["@plus"] if function == "bsxfun" else []

    def call(*arrays: Any) -> Any:
        arguments = [*first, *(f"x{number}" for number in range(len(arrays)))]
        return octave().call(f"{function}({', '.join(arguments)})", *arrays)

    return call


def _litert(name: str) -> Call:
    from litert_models import run

    return lambda *arrays, shape=(): run(name.removeprefix("litert."), [*arrays], *([[*shape]] if shape else []))


def _tfjs(name: str) -> Call:
    from languages.interpreter import javascript

    tf, path = javascript(), name.removeprefix("tfjs.")
    method = path.removeprefix("Tensor.")
    arguments = ["x0", "x1", "x2"]

    def call(*arrays: Any, shape: Any = None) -> Any:
        taken = [*arguments[: len(arrays)], *([] if shape is None else [str([*shape])])]
        if method != path and method == "where":  # x.where(condition, y)
            return tf.call("x1.where(x0, x2)", *arrays)
        if method != path:
            return tf.call(f"x0.{method}({', '.join(taken[1:])})", *arrays)
        return tf.call(f"tf.{method}({', '.join(taken)})", *arrays)

    return call


_FRAMEWORKS: dict[str, Callable[[str], Call]] = {
    "array_api": _array_api,
    "dask": _dask, "jax": _jax, "keras": _keras, "mindspore": _mindspore, "mlx": _mlx, "mxnet": _mxnet, "numpy": _numpy,
    "einops": _einops, "opt_einsum": _opt_einsum,
    "onnx": _onnx, "openvino": _openvino, "paddle": _paddle, "tensorflow": _tensorflow, "tinygrad": _tinygrad,
    "litert": _litert, "octave": _octave, "tfjs": _tfjs, "torch": _torch, "xarray": _xarray, "xla": _xla,
}  # fmt: skip


def dtypes_of(call: Call, count: int, attributes: dict[str, Any]) -> str | None:
    """Return the first dtypes for which a function returns a result for `count` arrays of shape (2, 2)."""
    plain = ["f" * count, "i" * count, "b" * count, "b" + "f" * (count - 1), "B" * count]
    for dtypes in [*plain, *map("".join, product("fib", repeat=count))]:
        if result(call, [[2, 2]] * count, dtypes, attributes) is not None:
            return dtypes
    return None


def result(call: Call, shapes: list[Shape], dtypes: str, attributes: dict[str, Any]) -> Shape | None:
    """Return the shape of the result for arrays of ones. If the function raises, return None."""
    try:
        found = call(*[np.ones(shape, _DTYPES[key]) for shape, key in zip(shapes, dtypes, strict=True)], **attributes)
    except Exception:
        return None
    shapes_found = {tuple(map(int, one.shape)) for one in (found if isinstance(found, (tuple, list)) else [found])}
    return list(shapes_found.pop()) if len(shapes_found) == 1 else None


def answers(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        job = json.loads(line)
        name, attributes, requests = job["name"], job["attributes"], job["requests"]
        try:
            call = function_named(name)
        except (AttributeError, KeyError) as error:
            yield {"name": name, "error": f"{type(error).__name__}: {error}"}
            continue
        first = dict(attributes) | ({"dims": [["x", "y"]] * len(requests[0])} if "dims" in attributes else {})
        dtypes = dtypes_of(call, len(requests[0]), {} if "broadcast_dimensions" in attributes else first)
        if dtypes is None:
            yield {"name": name, "error": "no dtypes that it takes"}
            continue
        yield {"name": name, "results": [result(call, shapes, dtypes, attributes) for shapes in requests]}


if __name__ == "__main__":
    for answer in answers(sys.stdin):
        print("\n" + json.dumps(answer), flush=True)
