"""axiscast: tensor broadcasting as a service, from Python.

    from axiscast import Client
    from axiscast.ops import ngraph

    with Client("http://127.0.0.1:8000") as client:
        client.check(ngraph.Broadcast(shape=(2, 3), broadcast_axes={0}), (3,)).outputs[0].axes   # [1]
        client.broadcast_to([1.0, 2.0, 3.0], (2, 3))

The op classes stand in a module for each framework: axiscast.ops.numpy, .ngraph, .mindspore, .torch, ... Each is
there as axiscast.numpy, ... too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# A star brings what the module's `__all__` lists; type checkers take it for exported.
# ruff: noqa: F403
# The frameworks are listed for type checkers alone; tests/project/test_layers.py says which line is missing.
if TYPE_CHECKING:
    from . import errors as errors
    from . import ops as ops
    from .client.async_client import *
    from .client.call import *
    from .client.client import *
    from .errors import *
    from .library import *
    from .messages import *
    from .messages.tensors import *
    from .messages.why import *
    from .models import *
    from .models.programs.jax_trace import *
    from .models.programs.torch_export import *
    from .ops import dask as dask
    from .ops import einops as einops
    from .ops import jax as jax
    from .ops import julia as julia
    from .ops import keras as keras
    from .ops import linalg as linalg
    from .ops import mindspore as mindspore
    from .ops import mlx as mlx
    from .ops import mxnet as mxnet
    from .ops import ngraph as ngraph
    from .ops import numpy as numpy
    from .ops import onnx as onnx
    from .ops import openvino as openvino
    from .ops import paddle as paddle
    from .ops import poputil as poputil
    from .ops import stablehlo as stablehlo
    from .ops import tensorflow as tensorflow
    from .ops import tinygrad as tinygrad
    from .ops import torch as torch
    from .ops import xarray as xarray
    from .ops import xla as xla
    from .training.watching import *

_ROOMS = [
    *(
        "training.watching",
        "messages",
        "errors",
        "library",
        "models",
        "models.programs.torch_export",
        "models.programs.jax_trace",
    ),
    *("messages.tensors", "messages.why", "client.call", "client.client", "client.async_client"),
]
"""Whose `__all__` this package exports, so that a name loads nothing above its own room: first the one that loads
nothing at all, for the code of others that it runs in, and then from the lowest layer up."""


def _attribute(name: str) -> Any:
    # Loaded when it is first used: `import axiscast` costs a few milliseconds, its parts what they need.
    if name in ("errors", "ops"):
        return _room(name)
    if name == "__all__":
        exported = [name for room in _ROOMS for name in _room(room).__all__]
        return sorted([*_room("ops").FRAMEWORKS, *exported])
    if not name.startswith("_"):
        if name not in _room(_ROOMS[0]).__all__ and name in _room("ops").FRAMEWORKS:
            return _room(f"ops.{name}")
        for room in _ROOMS:
            if name in _room(room).__all__:
                value = globals()[name] = getattr(_room(room), name)
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_advice(name)}")


_OF_CLIENTS = ("backprop", "broadcast", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_broadcast")
"""Methods of a Client that are not functions of this package."""


def _advice(name: str) -> str:
    """Return what to use in place of an unknown name. If no name is similar, return an empty text."""
    if name.startswith("_"):
        return ""
    if name in _OF_CLIENTS:
        op = f"numpy.{name}" if f"numpy.{name}" in _room("ops").OPS else "numpy.broadcast_arrays"
        return (
            f": it is a method of clients, use axiscast.Client.in_process().{name}(...), "
            f'or axiscast.check("{op}", ...) for shapes alone'
        )
    from .ops.aliases import IMPORT_NAMES
    from .ops.help import python_name
    from .wire.wording import close_matches, did_you_mean

    if name in IMPORT_NAMES:
        return did_you_mean([IMPORT_NAMES[name].partition(".")[0]])
    own = close_matches(name, _attribute("__all__"), 2, 0.75)
    ops = [python_name(kind) for kind in _room("ops").OPS.values() if kind.__name__.lower() == name.lower()]
    return did_you_mean((own + ops)[:4])


if not TYPE_CHECKING:  # else every misspelt name would be one of type Any
    __getattr__ = _attribute


def __dir__() -> list[str]:
    return list(_attribute("__all__"))


def _room(name: str) -> Any:
    return import_module(f".{name}", __name__)
