"""The request for a window of an op's outputs, which contains only the elements that the window needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..arrays.computation import compute_broadcast
from ..arrays.tensor_arguments import ResultOptions
from ..messages.arguments import OpLike, known_op
from ..ops import numpy
from ..wire.problems import Problem
from ..wire.tensors import Array, distinct_elements

WINDOW_OP = numpy.broadcast_arrays()
"""The op of the request. Its inputs are the windows of the outputs, so it returns them unchanged."""


def window_views(op: OpLike, arrays: Sequence[Array], window: Sequence[Any]) -> list[Array] | None:
    """Return the window of each output as a view of its input: the inputs of WINDOW_OP.

    Return None if the request must contain the whole arrays: the views have as many distinct elements as the arrays,
    this version does not know the op, WINDOW_OP does not accept the rank, or the service will report an error.
    """
    if known_op(op) is None or len(window) > WINDOW_OP.max_rank:
        return None
    try:
        views = compute_broadcast(op, arrays, ResultOptions("strided", window))
    except Problem:
        return None
    return views if _nbytes(views) < _nbytes(arrays) else None


def _nbytes(arrays: Sequence[Array]) -> int:
    """Return the number of bytes in a request that contains these arrays."""
    return sum(distinct_elements(array)[0].nbytes for array in arrays)
