"""The models for requests and responses with tensors: broadcast, backprop, and batches of checks."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema

from ..wire.shapes import Integer, ShapeField
from ..wire.tensors import Array, Tensor
from ..wire.wording import count_of
from . import CheckAnswer, CheckRequest, IntegerRequest, ProblemDetails
from .base import AnswerModel, ListOf, RequestModel

__all__ = ["CheckedColumns"]

Bounds = tuple[Integer, Integer]
"""The bounds [start, stop] of a window on one axis."""
_Layout = Literal["dense", "strided"]
JsonData = Annotated[Literal["list", "base64"], Field(description="The form of data in JSON. The default is list.")]
Rows = Annotated[list[Any], BeforeValidator(lambda rows: rows, json_schema_input_type=list[CheckRequest])]
"""The check requests in a batch. Each request is validated later, so an invalid request does not affect the others."""


class CheckBatchRequest(RequestModel):
    """A batch of checks, given either as rows (`requests`) or as columns (`op` and `inputs`)."""

    requests: Rows | None = Field(
        default=None,
        description="Rows: a check request in each row, with any op.",
        examples=[[{"inputs": [[8, 1, 6, 1], [7, 1, 5]]}]],
    )
    op: Annotated[Any, WithJsonSchema({"type": ["object", "string"]})] = Field(
        default=None,
        description="Columns: the op, which is the same for all rows. An attribute that is a shape may be an int64 "
        "tensor of shape (n, rank).",
        examples=["numpy.broadcast_arrays"],
    )
    inputs: ListOf[Tensor] | None = Field(
        default=None,
        description="Columns: for each input, an int64 tensor of shape (n, rank). Row r is the shape of the input in "
        "check r.",
        examples=[[{"shape": [2, 2], "data": [[3, 1], [1, 4]]}]],
    )
    json_data: JsonData = "list"


class Failed(AnswerModel):
    """The result for a row that is not a valid request."""

    error: ProblemDetails = Field(description="The problem of the row.")


class CheckBatchAnswer(AnswerModel):
    """The response to a batch: `results` for rows; `compatible`, `outputs` and `conflict_axis` for columns."""

    results: ListOf[CheckAnswer | Failed] | None = Field(
        default=None, description="Rows: the response or the problem of each row, in order."
    )
    compatible: Tensor | None = Field(
        default=None, description="A bool tensor (n,): whether the shapes of each row broadcast."
    )
    outputs: ListOf[Tensor] | None = Field(
        default=None,
        description="For each output, an int64 tensor of shape (n, rank) with its shape in each row, "
        "or -1 in rows that do not broadcast.",
    )
    conflict_axis: Tensor | None = Field(
        default=None, description="An int64 tensor (n,): the lowest axis in conflict, or -1."
    )


class CheckedColumns(NamedTuple):
    """The results of n checks of one op, as arrays. Outputs with equal shapes may share the same array."""

    compatible: Array
    """A bool array of shape (n,): whether the shapes in each row broadcast."""
    outputs: list[Array]
    """An int64 array of shape (n, rank) per output.

    Each row is the output's shape, or -1 if the shapes do not broadcast.
    """
    conflict_axis: Array
    """An int64 array of shape (n,): the lowest output axis that has a conflict, or -1."""


def column(values: Any) -> Array:
    """Return a column of shapes as an int64 array of shape (n, rank).

    Raises ValueError if the value is not an integer array with two axes.
    """
    form = "a column of shapes must be an integer array of shape (n, rank) with one shape in each row"
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{form}, but these rows differ in length: use check_batch for different ranks") from None
    if array.ndim != 2:
        one = ": use check for a single shape" if array.ndim < 2 else ""
        raise ValueError(f"{form}, not an array with {count_of(array.ndim, 'axis', 'axes')}{one}")
    if array.dtype.kind not in "iu":
        raise ValueError(f"{form}, not an array of {array.dtype}")
    return array.astype(np.int64, casting="same_kind", copy=False)


class BroadcastRequest(IntegerRequest):
    """A broadcast request."""

    inputs: ListOf[Tensor] = Field(
        description="The input tensors.", examples=[[{"dtype": "float32", "shape": [3], "data": [1, 2, 3]}]]
    )
    layout: _Layout = Field(
        default="dense", description="strided sends each distinct element only once. The default is dense."
    )
    window: ListOf[Bounds] | None = Field(
        default=None,
        description="[start, stop] for each output axis. The response contains only this part of the output.",
    )
    json_data: JsonData = "list"


class BroadcastAnswer(AnswerModel):
    """The response to a broadcast request."""

    outputs: ListOf[Tensor] = Field(description="The outputs, in the order of the op.")


class BackpropRequest(IntegerRequest):
    """A backprop request, which asks for the gradients of the inputs."""

    inputs: ListOf[ShapeField] = Field(description="The shape of each input.", examples=[[[3]]])
    gradients: ListOf[Tensor] = Field(
        description="The gradient of each output.", examples=[[{"dtype": "float32", "shape": [3], "data": [1, 2, 3]}]]
    )
    layout: _Layout | None = Field(
        default=None,
        description="By default, a gradient is strided if only the shape of its input is used, and in MessagePack also "
        "if it is replicated. Otherwise, it is dense.",
    )
    json_data: JsonData = "list"


class BackpropAnswer(AnswerModel):
    """The response to a backprop request."""

    gradients: ListOf[Tensor] = Field(description="The gradient of each input, in order, in the input's shape.")
