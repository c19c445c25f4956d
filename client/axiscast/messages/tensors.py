"""Requests and answers that hold tensors: broadcast, backprop, and batches of checks."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema

from ..wire.shapes import Integer, ShapeField, StopAtFirstError
from ..wire.tensors import Array, Tensor
from ..wire.wording import count_of
from . import CheckAnswer, CheckRequest, IntegerRequest, ProblemDetails
from .base import AnswerModel, ListOf, RequestModel

__all__ = ["CheckedColumns"]

Bounds = tuple[Integer, Integer]
"""[start, stop] on one axis."""
Rows = Annotated[list[Any], BeforeValidator(lambda rows: rows, json_schema_input_type=list[CheckRequest])]
"""Requests of check, each validated when its turn has come: a bad one spoils no other."""


class CheckBatchRequest(RequestModel):
    """Many shape checks at once: rows (`requests`), or columns (`op` and `inputs`)."""

    requests: Rows | None = Field(
        default=None,
        description="Rows: a request of check each, whatever its op.",
        examples=[[{"inputs": [[8, 1, 6, 1], [7, 1, 5]]}]],
    )
    op: Annotated[Any, WithJsonSchema({"type": ["object", "string"]})] = Field(
        default=None,
        description="Columns: the op of every row. An attribute that is a shape may be an int64 tensor (n, rank).",
        examples=["numpy.broadcast_arrays"],
    )
    inputs: Annotated[list[Tensor], StopAtFirstError()] | None = Field(
        default=None,
        description="Columns: for each input an int64 tensor (n, rank), in whose row r is its shape in query r.",
        examples=[[{"shape": [2, 2], "data": [[3, 1], [1, 4]]}]],
    )
    json_data: Literal["list", "base64"] = Field(
        default="list", description="How a JSON answer holds columns; list when left out."
    )


class Failed(AnswerModel):
    """A row that is no valid request."""

    error: ProblemDetails = Field(description="What is wrong with it.")


class CheckBatchAnswer(AnswerModel):
    """Of rows: `results`, in order. Of columns: `compatible`, `outputs` and `conflict_axis`."""

    results: ListOf[CheckAnswer | Failed] | None = Field(
        default=None, description="Rows: the answer to each, or what is wrong with it."
    )
    compatible: Tensor | None = Field(default=None, description="bool (n,): whether each broadcasts.")
    outputs: ListOf[Tensor] | None = Field(
        default=None, description="For each output int64 (n, rank): its shape, all -1 where not compatible."
    )
    conflict_axis: Tensor | None = Field(
        default=None, description="int64 (n,): the lowest conflicting output axis, -1 where there is none."
    )


class CheckedColumns(NamedTuple):
    """The answers to columns of n rows, as arrays. Outputs of one shape may be one array."""

    compatible: Array
    """bool (n,)"""
    outputs: list[Array]
    """For each output int64 (n, rank): its shape, all -1 where not compatible."""
    conflict_axis: Array
    """int64 (n,): the lowest conflicting output axis; -1 where there is none."""


def column(values: Any) -> Array:
    """Return a column of shapes as an int64 array (n, rank).

    Raises ValueError for what is not an integer array of two axes.
    """
    form = "a column of shapes is an integer array (n, rank), a shape in each row"
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(
            f"{form}, and these rows differ in length: use check_batch for shapes of several ranks"
        ) from None
    if array.ndim != 2:
        one = ": use check for a single shape" if array.ndim < 2 else ""
        raise ValueError(f"{form}, not one of {count_of(array.ndim, 'axis', 'axes')}{one}")
    if array.dtype.kind not in "iu":
        raise ValueError(f"{form}, not one of {array.dtype}")
    return array.astype(np.int64, casting="same_kind", copy=False)


class BroadcastRequest(IntegerRequest):
    """Tensors in, broadcast tensors out."""

    inputs: Annotated[list[Tensor], StopAtFirstError()] = Field(
        description="The input tensors.", examples=[[{"dtype": "float32", "shape": [3], "data": [1, 2, 3]}]]
    )
    layout: Literal["dense", "strided"] = Field(
        default="dense",
        description="strided costs the bytes of the input, not those of the output; dense when left out.",
    )
    window: Annotated[list[Bounds], StopAtFirstError()] | None = Field(
        default=None, description="[start, stop] on each output axis: only that box of the output."
    )
    json_data: Literal["list", "base64"] = Field(
        default="list", description="How a JSON answer holds data; list when left out."
    )


class BroadcastAnswer(AnswerModel):
    """The outputs, in the op's order."""

    outputs: ListOf[Tensor] = Field(description="The broadcast tensors.")


class BackpropRequest(IntegerRequest):
    """Gradients of the outputs in, gradients of the inputs out."""

    inputs: Annotated[list[ShapeField], StopAtFirstError()] = Field(
        description="The shape of each input.", examples=[[[3]]]
    )
    gradients: Annotated[list[Tensor], StopAtFirstError()] = Field(
        description="The gradient of each output.",
        examples=[[{"dtype": "float32", "shape": [3], "data": [1, 2, 3]}]],
    )
    layout: Literal["dense", "strided"] | None = Field(
        default=None,
        description="Where it is left out, a gradient is strided where its input only lends its shape, and in "
        "MessagePack also where it is replicated; else dense.",
    )
    json_data: Literal["list", "base64"] = Field(
        default="list", description="How a JSON answer holds data; list when left out."
    )


class BackpropAnswer(AnswerModel):
    """The gradient of each input, in order."""

    gradients: ListOf[Tensor] = Field(description="One for each input, of its shape.")
