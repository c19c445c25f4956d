"""The operations of a framework, and the arrays on which they run."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Request = dict[str, Any]
Run = Callable[[dict[str, Any], list[Array]], list[Any]]
"""The operation's results from its attributes and its inputs, as tensors of the framework."""


def arrays(shapes: list[list[int]]) -> list[Array]:
    """Small whole numbers, so that a sum of products is exact in float32."""
    return [
        (np.arange(prod(shape)) % 7 + 8 * number).astype(np.float32).reshape(shape)
        for number, shape in enumerate(shapes)
    ]


def even(array: Array) -> Array:
    """A condition; an array also if it is a scalar."""
    return np.asarray(array % 2 == 0)


class Framework:
    """A framework's operations, `runs`, by their names without the framework's."""

    isolated = False
    """Whether each request runs in its own process, because the framework may end it."""
    runs: dict[str, Run]

    def to_numpy(self, tensor: Any) -> Array:
        return np.asarray(tensor)
