"""Frameworks whose functions take and return arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from operations import Array, Framework, even


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
    isolated = True

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


class Keras(Framework):
    isolated = True

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
