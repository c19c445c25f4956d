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

if TYPE_CHECKING:
    from .client.aio import AsyncClient as AsyncClient
    from .client.calls import CheckedColumns as CheckedColumns
    from .client.calls import Transfer as Transfer
    from .client.client import Client as Client
    from .errors import BodyTooLarge as BodyTooLarge
    from .errors import ConnectionFailed as ConnectionFailed
    from .errors import DeadlineExceeded as DeadlineExceeded
    from .errors import HeadTooLarge as HeadTooLarge
    from .errors import IncompatibleShapes as IncompatibleShapes
    from .errors import InternalError as InternalError
    from .errors import InvalidAnswer as InvalidAnswer
    from .errors import InvalidRequest as InvalidRequest
    from .errors import InvalidTensor as InvalidTensor
    from .errors import MalformedBody as MalformedBody
    from .errors import MalformedRequest as MalformedRequest
    from .errors import MethodNotAllowed as MethodNotAllowed
    from .errors import MisdirectedRequest as MisdirectedRequest
    from .errors import NotAcceptable as NotAcceptable
    from .errors import NotFound as NotFound
    from .errors import NotStrided as NotStrided
    from .errors import OutputTooLarge as OutputTooLarge
    from .errors import Overloaded as Overloaded
    from .errors import RequestTimeout as RequestTimeout
    from .errors import ServiceProblem as ServiceProblem
    from .errors import ShuttingDown as ShuttingDown
    from .errors import TensorcastError as TensorcastError
    from .errors import Unauthenticated as Unauthenticated
    from .errors import UnknownOp as UnknownOp
    from .errors import UnsupportedMediaType as UnsupportedMediaType
    from .errors import Untranslatable as Untranslatable
    from .errors import WorkTooLarge as WorkTooLarge
    from .messages import CheckAnswer as CheckAnswer
    from .messages import CheckRequest as CheckRequest
    from .messages import Comparison as Comparison
    from .messages import ConflictAnswer as ConflictAnswer
    from .messages import OpEntry as OpEntry
    from .messages import OutputShape as OutputShape
    from .messages import TranslateAnswer as TranslateAnswer
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

_ERRORS = [
    "BodyTooLarge",
    "ConnectionFailed",
    "DeadlineExceeded",
    "HeadTooLarge",
    "IncompatibleShapes",
    "InternalError",
    "InvalidAnswer",
    "InvalidRequest",
    "InvalidTensor",
    "MalformedBody",
    "MalformedRequest",
    "MethodNotAllowed",
    "MisdirectedRequest",
    "NotAcceptable",
    "NotFound",
    "NotStrided",
    "OutputTooLarge",
    "Overloaded",
    "RequestTimeout",
    "ServiceProblem",
    "ShuttingDown",
    "TensorcastError",
    "Unauthenticated",
    "UnknownOp",
    "UnsupportedMediaType",
    "Untranslatable",
    "WorkTooLarge",
]
_ANSWERS = ["CheckAnswer", "CheckRequest", "Comparison", "ConflictAnswer", "OpEntry", "OutputShape", "TranslateAnswer"]
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
_HOMES = {
    "AsyncClient": "client.aio",
    "Client": "client.client",
    **dict.fromkeys(["CheckedColumns", "Transfer"], "client.calls"),
    **dict.fromkeys(_ERRORS, "errors"),
    **dict.fromkeys(_ANSWERS, "messages"),
    **dict.fromkeys(_FRAMEWORKS, "ops"),
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    # Loaded when it is first used: `import tensorcast` costs a few milliseconds, its parts what they need.
    if name == "errors":
        return import_module(".errors", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
