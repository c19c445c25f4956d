"""The models of requests and responses with tensors, and of batches of checks."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema
from typing_extensions import TypeAliasType  # pydantic names the schema of such a type

from ..wire.shapes import MAX_SIZE, Integer, ShapeField
from ..wire.tensors import Array, Tensor, TensorLayout
from ..wire.wording import count_of
from . import CheckAnswer, CheckRequest, IntegerRequest, ProblemDetails
from .base import AnswerModel, ListOf, RequestModel

__all__ = ["BackpropRequest", "BroadcastRequest", "CheckedColumns"]

Bounds = tuple[Integer, Integer]
"""The bounds [start, stop] of a window on one axis."""
JsonForm = TypeAliasType("JsonForm", Literal["list", "base64"])
JsonData = Annotated[JsonForm, Field(description="The form of data in JSON. The default is list.")]

Rows = Annotated[list[Any], BeforeValidator(lambda rows: rows, json_schema_input_type=list[CheckRequest])]
"""The check requests in a batch. Each request is validated later, so an invalid request does not affect the others."""


class CheckBatchRequest(RequestModel):
    """A batch of checks. Each check can have a different op."""

    requests: Rows = Field(
        description="A check request in each row, with any op.", examples=[[{"inputs": [[8, 1, 6, 1], [7, 1, 5]]}]]
    )


class CheckColumnsRequest(RequestModel):
    """A request for n checks of one op. Each input is a tensor that contains n shapes."""

    op: Annotated[Any, WithJsonSchema({"type": ["object", "string"]})] = Field(
        default=None,
        description="The op, which is the same for all checks. An attribute that is a shape may be an int64 tensor of "
        "shape (n, rank).",
        examples=["numpy.broadcast_arrays"],
    )
    inputs: ListOf[Tensor] = Field(
        description="For each input, an int64 tensor of shape (n, rank). Row r is the shape of the input in check r.",
        examples=[[{"shape": [2, 2], "data": [[3, 1], [1, 4]]}]],
    )
    json_data: JsonData = "list"


class Failed(AnswerModel):
    """The result for a row that is not a valid request."""

    error: ProblemDetails = Field(description="The problem of the row.")


class CheckBatchAnswer(AnswerModel):
    """The response to a batch of checks."""

    results: ListOf[CheckAnswer | Failed] = Field(description="The response or the problem of each row, in order.")


class CheckColumnsAnswer(AnswerModel):
    """The response to n checks of one op, as tensors with n rows."""

    compatible: Tensor = Field(description="A bool tensor of shape (n,): whether the shapes in each row broadcast.")
    shape: Tensor = Field(
        description="An int64 tensor of shape (n, rank): the shape of the first output in each row, or -1 if the "
        "shapes do not broadcast."
    )
    broadcast_inputs: ListOf[Tensor] = Field(
        description="For each input that is broadcast, an int64 tensor of shape (n, rank): its shape after "
        "broadcasting in each row, or -1 if the shapes do not broadcast."
    )
    conflict_axis: Tensor = Field(description="An int64 tensor of shape (n,): the lowest axis in conflict, or -1.")


class CheckedColumns(NamedTuple):
    """The results of n checks of one op, as arrays. Arrays with equal values may be the same object."""

    compatible: Array
    """A bool array of shape (n,): whether the shapes in each row broadcast."""
    shape: Array
    """The shape of the first output in each row, as an int64 array of shape (n, rank).

    A row is -1 if the shapes do not broadcast.
    """
    broadcast_inputs: list[Array]
    """For each input that is broadcast, an int64 array of shape (n, rank).

    Each row is the input's shape after broadcasting, or -1 if the shapes do not broadcast.
    """
    conflict_axis: Array
    """An int64 array of shape (n,): the lowest axis that has a conflict, or -1."""

    def __bool__(self) -> bool:
        raise ValueError(
            f"the answer has {count_of(len(self.compatible), 'verdict')}, one for each row: use "
            "answer.compatible.all() or answer.compatible.any()"
        )


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
    if array.dtype.kind == "u" and array.size and array.max() > MAX_SIZE:
        raise ValueError("a size can have at most 63 bits")
    return array.astype(np.int64, casting="same_kind", copy=False)


class BroadcastRequest(IntegerRequest):
    """A broadcast request."""

    inputs: ListOf[Tensor] = Field(
        description="The input tensors.", examples=[[{"dtype": "float32", "shape": [3], "data": [1, 2, 3]}]]
    )
    layout: TensorLayout = Field(
        default="dense", description="strided sends each distinct element only once. The default is dense."
    )
    window: ListOf[Bounds] | None = Field(
        default=None,
        description="[start, stop] for each output axis. The response contains only this part of the output.",
    )
    json_data: JsonData = "list"


class BroadcastAnswer(AnswerModel):
    """The response to a broadcast request."""

    broadcast_inputs: ListOf[Tensor] = Field(
        description="Each input after broadcasting. If an op only broadcasts, these are its outputs."
    )


class BackpropRequest(IntegerRequest):
    """A backprop request, which asks for the gradients of the inputs."""

    inputs: ListOf[ShapeField] = Field(description="The shape of each input.", examples=[[[3]]])
    gradients: ListOf[Tensor] = Field(
        description="The gradient of each broadcast input.",
        examples=[[{"dtype": "float32", "shape": [3], "data": [1, 2, 3]}]],
    )
    layout: TensorLayout | None = Field(
        default=None,
        description="By default, a gradient is strided if only the shape of its input is used, and in MessagePack also "
        "if it is replicated. Otherwise, it is dense.",
    )
    json_data: JsonData = "list"


class BackpropAnswer(AnswerModel):
    """The response to a backprop request."""

    gradients: ListOf[Tensor] = Field(description="The gradient of each input, in order, in the input's shape.")
