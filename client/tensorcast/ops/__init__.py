"""The catalogue's op classes. A new op is one class in its framework's file and one line here."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

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


_LONGEST = 100
"""Characters of a name that are looked at: every op's name is shorter, and an unknown one is copied several times."""


def _named(value: Any) -> Any:
    """A bare string is an op without attributes."""
    given = {"name": value} if isinstance(value, str) else value
    name = given.get("name") if isinstance(given, dict) else None
    return given | {"name": name[:_LONGEST]} if isinstance(name, str) and len(name) > _LONGEST else given


OpField = Annotated[AnyOp, BeforeValidator(_named, json_schema_input_type=AnyOp | str)]
"""An op as a request says it: a map, a bare name, or an op object."""


def _in_integers(op: Op) -> Op:
    for attribute, axis, symbol in op.symbols():
        raise PydanticCustomError(
            "symbolic",
            "must hold integers here: {symbol} on axis {axis} is for check alone",
            {"field": attribute, "axis": axis, "symbol": str(symbol)},
        )
    return op


IntegerOpField = Annotated[OpField, AfterValidator(_in_integers)]
"""An op of integers alone: what tensors can be broadcast by."""

__all__ = [
    "OPS",
    "AnyOp",
    "IntegerOpField",
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
