"""axiscast implements the broadcasting rules of tensor frameworks, as a library and as a client for a service.

    from axiscast import Client
    from axiscast.ops import ngraph

    with Client("http://127.0.0.1:8000") as client:
        client.check(ngraph.Broadcast(shape=(2, 3), broadcast_axes={0}), (3,)).shape            # (2, 3)
        client.broadcast_to([1.0, 2.0, 3.0], (2, 3))

Each framework has a module of op classes: axiscast.ops.numpy, axiscast.ops.ngraph, axiscast.ops.torch and others.
Each of these modules also has a short name, such as axiscast.numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# A star import exports the names in the `__all__` of a module.
# ruff: noqa: F403
# Only type checkers read this list of frameworks. tests/project/test_layers.py reports a missing framework.
if TYPE_CHECKING:
    from . import errors as errors
    from . import ops as ops
    from .client.async_client import *
    from .client.call import *
    from .client.client import *
    from .errors import *
    from .library import *
    from .messages import *
    from .messages.findings import *
    from .messages.tensors import *
    from .messages.why import *
    from .models.check import *
    from .models.programs.jax_trace import *
    from .models.programs.torch_export import *
    from .models.report import *
    from .ops import array_api as array_api
    from .ops import dask as dask
    from .ops import einops as einops
    from .ops import ggml as ggml
    from .ops import jax as jax
    from .ops import julia as julia
    from .ops import keras as keras
    from .ops import linalg as linalg
    from .ops import litert as litert
    from .ops import mindspore as mindspore
    from .ops import mlx as mlx
    from .ops import mxnet as mxnet
    from .ops import ngraph as ngraph
    from .ops import numpy as numpy
    from .ops import octave as octave
    from .ops import onnx as onnx
    from .ops import openvino as openvino
    from .ops import opt_einsum as opt_einsum
    from .ops import paddle as paddle
    from .ops import poputil as poputil
    from .ops import stablehlo as stablehlo
    from .ops import tensorflow as tensorflow
    from .ops import tfjs as tfjs
    from .ops import tinygrad as tinygrad
    from .ops import torch as torch
    from .ops import xarray as xarray
    from .ops import xla as xla
    from .training.watching import *

__version__ = "0.1.0"
"""The version of the package, which equals the version in pyproject.toml."""

_EXPORTS = [
    *(
        "training.watching",
        "messages",
        "errors",
        "library",
        "messages.findings",
        "models.report",
        "models.check",
        "models.programs.torch_export",
        "models.programs.jax_trace",
    ),
    *("messages.tensors", "messages.why", "client.call", "client.client", "client.async_client"),
]
"""The modules whose `__all__` this package exports.

The modules are in the order of their layers, so that using a name imports no module from a higher layer. Only the first
module is not in this order: it is first because it imports nothing.
"""

_WATCHING = ("SuspiciousBroadcast", "watch")
"""The names in `training.watching`, so that no other name loads this module."""


def _find_attribute(name: str) -> Any:
    # Modules are imported when a name is first used, so that `import axiscast` takes only a few milliseconds.
    if name in ("errors", "ops"):
        return _import(name)
    if name == "__all__":
        exported = [name for module in _EXPORTS for name in _import(module).__all__]
        return sorted([*_import("ops").FRAMEWORKS, *exported])
    if not name.startswith("_"):
        if name not in _WATCHING and name in _import("ops").FRAMEWORKS:
            return _import(f"ops.{name}")
        for module in _EXPORTS[:1] if name in _WATCHING else _EXPORTS[1:]:
            if name in _import(module).__all__:
                value = globals()[name] = getattr(_import(module), name)
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_suggestion(name)}")


def _suggestion(name: str) -> str:
    """Return a suggestion for an unknown name, or an empty string if no name is similar."""
    if name.startswith("_"):
        return ""
    from .ops.aliases import IMPORT_NAMES
    from .ops.help import python_name
    from .wire.wording import close_matches, did_you_mean

    if name in IMPORT_NAMES:
        return did_you_mean([IMPORT_NAMES[name].partition(".")[0]])
    own = close_matches(name, _find_attribute("__all__"), 2, 0.75)
    ops = [python_name(kind) for kind in _import("ops").OPS.values() if kind.__name__.lower() == name.lower()]
    return did_you_mean((own + ops)[:4])


def load_ipython_extension(shell: Any) -> None:
    """Show explanations of shape errors under their tracebacks, after `%load_ext axiscast` in IPython or a notebook."""
    from .training.notebook import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Stop explaining shape errors, after `%unload_ext axiscast`."""
    shell.set_custom_exc((), None)


if not TYPE_CHECKING:  # otherwise, type checkers would accept every misspelt name
    __getattr__ = _find_attribute


def __dir__() -> list[str]:
    return list(_find_attribute("__all__"))


def _import(name: str) -> Any:
    return import_module(f".{name}", __name__)
