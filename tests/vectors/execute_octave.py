"""Write the vectors of Octave by executing octave-cli, which must be on the PATH.

    python tests/vectors/execute_octave.py > tests/vectors/octave.jsonl

The script imports NumPy, but not axiscast. The broadcast of an operand of plus is found by setting the other operands
to 0. The shapes are those that Octave's size() returns.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import product
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from languages.interpreter import octave

Shape = tuple[int, ...]
POOL: list[Shape] = [
    (), (1,), (2,), (3,), (0,), (1, 1), (2, 1), (1, 3), (2, 3), (3, 2), (0, 1), (1, 0), (2, 0), (1, 1, 1), (4, 2, 1),
    (2, 1, 4), (2, 3, 1), (1, 1, 3), (0, 2, 1), (2, 3, 0), (2, 1, 1, 3), (2, 3, 1, 1), (2, 1, 4, 1, 1),
    (1, 3, 4, 2, 2, 1),
]  # fmt: skip
COUNTS: list[Shape] = [(1,), (2,), (0,), (1, 1), (2, 1), (1, 3), (2, 2, 2), (1, 1, 2), (2, 1, 1), (3, -2)]
OPERANDS: list[tuple[Shape, ...]] = [
    ((3, 4), (5, 1)), ((2, 3), (2,)), ((2, 3), (3,)), ((8, 1, 6), (1, 7)), ((64,), (2, 64, 7, 7)), ((0,), (1, 4)),
    *Random(3).sample(list(product(POOL, repeat=2)), 180),
    *(((1,) * rank, (2, *(1,) * (rank - 2), 3)) for rank in (6, 8, 16, 32, 64)),
]  # fmt: skip
REPS: list[tuple[Shape, Shape]] = [
    ((2, 3), (2,)), ((2, 3), (-1, 1)), ((2, 3), (1, 1, 4)), ((3,), (1, 4)), ((2, 3, 4), (3,)), ((), (2, 3, 4)),
    *Random(4).sample(list(product(POOL, COUNTS)), 80),
]  # fmt: skip


def existing(shape: Shape) -> Shape:
    """Return the shape without axes of size 1 at its end, after the second axis."""
    while shape[2:] and shape[-1] == 1:
        shape = shape[:-1]
    return shape


def placed(number: int, shape: Shape, reached: Shape) -> dict[str, Any]:
    """Return the output that reads input `number`, left-aligned. The values confirm the alignment."""
    if existing(shape) != shape:
        return {"shape": reached, "input": number, "axes": None}
    copied = [axis for axis, size in enumerate(reached) if axis >= len(shape) or shape[axis] != size]
    return {"shape": reached, "input": number, "axes": [*range(len(shape))], "broadcast_axes": copied}


def sums() -> Iterator[dict[str, Any]]:
    for shapes in dict.fromkeys(OPERANDS):
        arrays = [np.arange(prod(shape)).reshape(shape) + 1000 * number for number, shape in enumerate(shapes)]
        names = ", ".join(f"x{number}" for number in range(len(arrays)))
        vector = {"op": {"name": "octave.plus"}, "inputs": shapes}
        try:
            results = [
                octave().call(f"plus({names})", *[one if one is own else 0 * one for one in arrays]) for own in arrays
            ]
        except RuntimeError as error:
            if "nonconformant" not in str(error):
                raise
            yield vector | {"compatible": False, "conflict_codes": ["size-mismatch"], "raised": str(error)}
            continue
        outputs = [placed(number, shape, results[0].shape) for number, shape in enumerate(shapes)]
        values = [result.astype(int).ravel().tolist() for result in results]
        yield vector | {"compatible": True, "outputs": outputs, "values": values}


def copies() -> Iterator[dict[str, Any]]:
    for shape, reps in dict.fromkeys(REPS):
        result = octave().call(f"repmat(x0, {[*reps]})", np.arange(prod(shape)).reshape(shape))
        yield {
            "op": {"name": "octave.repmat", "reps": reps},
            "inputs": [shape],
            "compatible": True,
            "outputs": [{"shape": result.shape, "input": 0, "axes": None}],
            "values": [result.astype(int).ravel().tolist()],
        }


if __name__ == "__main__":
    for number, vector in enumerate([*sums(), *copies()], 1):
        about = {"framework": f"octave {octave().version}", "source": "executed"}
        print(json.dumps({"id": f"octave-{number:04}"} | vector | about))
