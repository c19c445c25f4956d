"""Write the vectors of ops that repeat a tensor along its axes, by executing the released package.

    python tests/vectors/execute_tiles.py torch >> tests/vectors/tile.jsonl

The script imports the package and NumPy, but not axiscast. `gradients` are computed by the package's own automatic
differentiation, if it has one. Requests for which the release deviates from its documentation are left out.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from random import Random
from typing import Any, NamedTuple

import numpy as np

Shape = tuple[int, ...]
Array = np.ndarray[Any, np.dtype[Any]]
SHAPES: list[Shape] = [
    (), (1,), (3,), (0,), (2, 3), (1, 3), (2, 1), (1, 1), (0, 3), (2, 0), (2, 1, 3), (1, 2, 2), (2, 3, 2), (1, 1, 2, 1),
]  # fmt: skip
COUNTS: list[Shape] = [
    (), (1,), (2,), (0,), (2, 1), (1, 3), (2, 2), (0, 2), (2, 0), (1, 1), (3, 1, 2), (1, 2, 1), (2, 1, 0), (2, 1, 1, 2),
]  # fmt: skip
NEGATIVE: list[tuple[Shape, Shape]] = [
    ((2, 3), (2, -1)), ((2, 3), (-1, 2)), ((3,), (-2,)), ((2, 3), (-1, -1)), ((), (-1,)), ((1,), (-1,)),
    ((3,), (-1, 2)), ((2, 3), (0, -1)), ((0, 3), (1, -1)), ((0, 3), (-1, 1)),
]  # fmt: skip
TOO_LARGE: list[tuple[Shape, Shape]] = [
    ((2,), (2**62,)), ((3,), (2**62,)), ((4, 2), (1, 2**62)), ((2,), (2**62, 2**62)),
]  # fmt: skip
MAX_GRADIENT_RANK = 32
"""The maximum rank of vectors with gradients. PyTorch computes a gradient with twice as many axes, at most 64."""
RANKS = [5, 6, 7, 8, 9, 16, 32, 33, 64]


class Kind(NamedTuple):
    """An op: its function, the name of its attribute, and the limits that explain a refusal."""

    function: Callable[[Array, Shape], Any]
    attribute: str = "reps"
    fewer_counts: bool = True
    adds_axes: bool = True
    max_rank: int = 0
    gradient: Callable[[Array, Shape, Array], Any] | None = None
    leaves_out: Callable[[Shape, Shape], bool] = lambda shape, counts: False
    """Returns whether to leave out a request because the release deviates from its documentation."""


def requests() -> Iterator[tuple[Shape, Shape]]:
    """Yield the shape of the input and the numbers of copies."""
    draw = Random(11)
    equal = [(shape, counts) for shape, counts in product(SHAPES, COUNTS) if len(shape) == len(counts)]
    yield from draw.sample(equal, 45)
    yield from draw.sample([*product(SHAPES, COUNTS)], 75)
    yield from NEGATIVE
    yield from TOO_LARGE
    for rank in RANKS:
        yield (2,), (2,) + (1,) * (rank - 1)
        yield (2, *(1,) * (rank - 1)), (2,)
    for rank in RANKS[:-1]:
        yield (1,) * (rank - 1) + (2,), (1,) * (rank - 1) + (2,)
    for rank in (3, 4, 5, 6):
        yield (2,) * rank, (2,) * rank
        yield (2, 1) * (rank // 2), (1, 3) * (rank // 2)


def conflicts(kind: Kind, shape: Shape, counts: Shape) -> list[str]:
    """Return the conflict codes for a request, derived by hand. The list is empty if nothing is wrong."""
    rank = max(len(shape), len(counts))
    if kind.max_rank and rank > kind.max_rank:
        return ["rank-too-large"]
    if (len(counts) < len(shape) and not kind.fewer_counts) or (len(counts) > len(shape) and not kind.adds_axes):
        return ["rank-mismatch"]
    pairs = zip(reversed((1,) * rank + shape), reversed((1,) * rank + counts), strict=False)
    if min(counts, default=0) < 0 or any(size * count >= 2**63 for size, count in pairs):
        return ["invalid-dimension"]
    return []


def placed(shape: Shape, counts: Shape, reached: Shape) -> dict[str, Any]:
    """Return the output. An axis with both several copies and a size other than 1 merges axes, so `axes` is None."""
    rank = len(reached)
    own, copies = ((1,) * (rank - len(sizes)) + sizes for sizes in (shape, counts))
    if any(size != 1 != count for size, count in zip(own, copies, strict=True)):
        return {"shape": reached, "input": 0, "axes": None, "broadcast_axes": None}
    axes = list(range(rank - len(shape), rank))
    replicated = [axis for axis in range(rank) if axis not in axes or own[axis] != reached[axis]]
    return {"shape": reached, "input": 0, "axes": axes, "broadcast_axes": replicated}


def vectors(package: str) -> Iterator[dict[str, Any]]:
    framework, kinds = PACKAGES[package]()
    for name, kind in kinds.items():
        number = 0
        for shape, counts in dict.fromkeys(requests()):
            if kind.leaves_out(shape, counts):
                continue
            number += 1
            op = {"name": name, kind.attribute: counts}
            vector = {"id": f"tile-{name.lower()}-{number:03}", "op": op, "inputs": [shape]}
            array = np.arange(prod(shape)).reshape(shape)
            codes = conflicts(kind, shape, counts)
            try:
                tiled = np.asarray(kind.function(array, counts))
            except Exception as error:
                if not codes:
                    raise ValueError(f"{name} has no reason to refuse {shape} with {counts}") from error
                found = {"compatible": False, "conflict_codes": codes, "raised": type(error).__name__}
            else:
                if codes:
                    raise ValueError(f"{name} accepts {shape} with {counts}, and {codes} was expected")
                outputs = [placed(shape, counts, tiled.shape)]
                found = {"compatible": True, "outputs": outputs, "values": [tiled.ravel().tolist()]}
                if kind.gradient is not None and tiled.ndim <= MAX_GRADIENT_RANK:
                    step = np.arange(tiled.size, dtype=np.float64).reshape(tiled.shape)
                    gradient = np.asarray(kind.gradient(array.astype(np.float64), counts, step))
                    found["gradients"] = [gradient.ravel().tolist()]
            yield vector | found | {"framework": framework, "source": "executed"}


def _overflows(shape: Shape, counts: Shape) -> bool:
    """Return whether the number of elements exceeds 64 bits. NumPy then crashes, because it does not check for this."""
    return prod(shape) * prod(counts) >= 2**64


def _negative_and_empty(shape: Shape, counts: Shape) -> bool:
    return min(counts, default=0) < 0 and 0 in shape


Package = tuple[str, dict[str, Kind]]
"""Return the package's name and version, and the ops."""


def _numpy() -> Package:
    def differs(shape: Shape, counts: Shape) -> bool:
        return _negative_and_empty(shape, counts) or _overflows(shape, counts)

    return f"numpy {np.__version__}", {"numpy.tile": Kind(np.tile, max_rank=64, leaves_out=differs)}


def _torch() -> Package:
    import torch

    def tile(array: Array, counts: Shape) -> Any:
        return torch.tile(torch.from_numpy(array), counts)

    def repeat(array: Array, counts: Shape) -> Any:
        return torch.from_numpy(array).repeat(counts)

    def gradient(function: Callable[[Any, Shape], Any]) -> Callable[[Array, Shape, Array], Any]:
        def computed(array: Array, counts: Shape, step: Array) -> Any:
            tensor = torch.from_numpy(array).requires_grad_()
            function(tensor, counts).backward(torch.from_numpy(step))
            return tensor.grad

        return computed

    def large(shape: Shape, counts: Shape) -> bool:
        return _negative_and_empty(shape, counts) and all(
            size == 0 for size, count in zip(reversed(shape), reversed(counts), strict=False) if count < 0
        )

    return f"torch {torch.__version__}", {
        "torch.tile": Kind(tile, "dims", gradient=gradient(torch.tile), leaves_out=large),
        "torch.repeat": Kind(
            repeat, "repeats", fewer_counts=False, gradient=gradient(torch.Tensor.repeat), leaves_out=large
        ),
    }


PACKAGES = {name.removeprefix("_"): value for name, value in [*globals().items()] if name in ("_numpy", "_torch")}

if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    for line in vectors(sys.argv[1]):
        print(json.dumps(line))
