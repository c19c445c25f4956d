"""tensorcast: tensor broadcasting as a service, from Python.

    from tensorcast import Client, ngraph

    with Client("http://127.0.0.1:8000") as client:
        client.check(ngraph.Broadcast(shape=(2, 3), broadcast_axes={0}), (3,)).outputs[0].axes   # [1]
        client.broadcast_to([1.0, 2.0, 3.0], (2, 3))

The op classes stand under their frameworks' names: tensorcast.numpy, .ngraph, .mindspore, .torch, ...
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# A star brings what the module's `__all__` lists; type checkers take it for exported.
# ruff: noqa: F403
if TYPE_CHECKING:
    from .client.aio import *
    from .client.calls import *
    from .client.client import *
    from .errors import *
    from .library import *
    from .messages import *
    from .messages.tensors import *
    from .ops import einops as einops
    from .ops import jax as jax
    from .ops import mindspore as mindspore
    from .ops import mxnet as mxnet
    from .ops import ngraph as ngraph
    from .ops import numpy as numpy
    from .ops import onnx as onnx
    from .ops import openvino as openvino
    from .ops import paddle as paddle
    from .ops import poputil as poputil
    from .ops import stablehlo as stablehlo
    from .ops import tensorflow as tensorflow
    from .ops import torch as torch
    from .ops import xarray as xarray

_FRAMEWORKS = [
    "einops",
    "jax",
    "mindspore",
    "mxnet",
    "ngraph",
    "numpy",
    "onnx",
    "openvino",
    "paddle",
    "poputil",
    "stablehlo",
    "tensorflow",
    "torch",
    "xarray",
]
_ROOMS = ["messages", "errors", "library", "messages.tensors", "client.calls", "client.client", "client.aio"]
"""Whose `__all__` this package exports: from the lowest layer up, so that a name loads nothing above its own room."""


def __getattr__(name: str) -> Any:
    # Loaded when it is first used: `import tensorcast` costs a few milliseconds, its parts what they need.
    if name == "errors":
        return import_module(".errors", __name__)
    if name == "__all__":
        return sorted(_FRAMEWORKS + [exported for room in _ROOMS for exported in _room(room).__all__])
    if not name.startswith("_"):
        for room in ["ops"] if name in _FRAMEWORKS else _ROOMS:
            if name in _room(room).__all__:
                value = globals()[name] = getattr(_room(room), name)
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))


def _room(name: str) -> Any:
    return import_module(f".{name}", __name__)
