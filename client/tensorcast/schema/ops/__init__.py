"""The catalogue's op classes. A new op is one class in its framework's file and one line here."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from . import (
    einops,
    jax,
    mindspore,
    mxnet,
    ngraph,
    numpy,
    onnx,
    openvino,
    paddle,
    poputil,
    stablehlo,
    tensorflow,
    torch,
    xarray,
)
from .base import Op

AnyOp = Annotated[
    numpy.broadcast_arrays
    | numpy.broadcast_to
    | ngraph.Broadcast
    | ngraph.BroadcastLike
    | mindspore.broadcast_to
    | poputil.expandToMatchRanks
    | poputil.broadcastToMatch
    | poputil.canBroadcastToMatch
    | openvino.Broadcast1
    | openvino.Broadcast3
    | onnx.Expand
    | torch.expand
    | torch.broadcast_tensors
    | tensorflow.broadcast_to
    | jax.broadcast
    | stablehlo.broadcast_in_dim
    | paddle.expand
    | mxnet.broadcast_axis
    | mxnet.broadcast_like
    | xarray.broadcast
    | einops.repeat,
    Field(discriminator="name"),
]

OPS: dict[str, type[Op]] = {
    op.model_fields["name"].default: op
    for op in AnyOp.__origin__.__args__  # type: ignore[attr-defined]
}
"""Every op class by its name on the wire."""


def _named(value: Any) -> Any:
    """A bare string is an op without attributes."""
    return {"name": value} if isinstance(value, str) else value


OpField = Annotated[AnyOp, BeforeValidator(_named, json_schema_input_type=AnyOp | str)]
"""An op as a request says it: a map, a bare name, or an op object."""

__all__ = [
    "OPS",
    "AnyOp",
    "Op",
    "OpField",
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
