"""Write vectors of elementwise ops and matrix products by executing the functions in alias_execution.py.

    python tests/vectors/execute_rules.py "mlx 0.32.4" mlx.core.add mlx.core.where >> tests/vectors/more-families.jsonl

The script imports the framework and NumPy, but not axiscast.
"""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from alias_execution import dtypes_of, function_named, result

Shape = tuple[int, ...]
POOL: list[Shape] = [
    (), (1,), (2,), (3,), (0,), (1, 1), (2, 1), (1, 3), (2, 3), (3, 2), (0, 1), (1, 0), (4, 2, 1), (4, 1, 3),
    (2, 1, 1, 3),
]  # fmt: skip
PAIRS = [
    ((), ()),
    ((2, 1), (1, 3)),
    ((2, 3), (2,)),
    ((0,), (2,)),
    *Random(11).sample(list(product(POOL, repeat=2)), 24),
]
TRIPLES = [((2, 1), (1, 3), ()), ((3,), (2,), (1,)), *[tuple(Random(number).sample(POOL, 3)) for number in range(26)]]
PRODUCTS: list[tuple[Shape, ...]] = [
    ((2, 3), (3, 4)), ((2, 3), (4, 5)), ((3,), (3,)), ((3,), (4,)), ((3,), (3, 4)), ((2, 3), (3,)), ((), (3,)),
    ((3,), ()), ((1, 2, 3), (5, 3, 4)), ((2, 3), (5, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)), ((2, 2, 3), (5, 3, 4)),
    ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((2, 3), (3, 0)), ((2, 1), (3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)),
    ((5, 2, 3), (4,)), ((1,), (1,)),
]  # fmt: skip
EMPTY_FAILS = ("mindspore.maximum", "mxnet.np.where")
"""The functions that do not follow their rule for empty tensors."""


def vector(name: str, shapes: tuple[Shape, ...], found: list[int] | None) -> dict[str, Any]:
    """Return the result and the outputs, which are the inputs after the right-aligned broadcast."""
    if found is None:
        too_short = name.endswith("matmul") and () in shapes
        codes = ["rank-mismatch"] if too_short or (any(shapes[2:]) and "fill" in name) else ["size-mismatch"]
        return {"compatible": False, "conflict_codes": codes}
    if not name.endswith("matmul"):
        return {"compatible": True, "outputs": [placed(number, shape, found) for number, shape in enumerate(shapes)]}
    left, right = shapes
    stack = found[: len(found) - (len(left) > 1) - (len(right) > 1)]
    rows = placed(0, left, [*stack, *left[-2:]] if len(left) > 1 else [*stack, 1, *left])
    columns = placed(1, right, [*stack, *right[-2:]] if len(right) > 1 else [*stack, *right, 1], len(right) == 1)
    return {"compatible": True, "outputs": [rows, columns], "product": found}


def placed(number: int, shape: Shape, reached: list[int], is_column: bool = False) -> dict[str, Any]:
    """Return the output that reads input `number`. The only axis of a column is the axis before the last one."""
    end = len(reached) - is_column
    axes = list(range(end - len(shape), end))
    own = dict(zip(axes, shape, strict=True))
    replicated = [axis for axis, size in enumerate(reached) if own.get(axis) != size]
    return {"shape": reached, "input": number, "axes": axes, "broadcast_axes": replicated}


def main(framework: str, names: list[str]) -> None:
    for name in names:
        call = function_named(name)
        tail = name.rpartition(".")[2]
        requests = PRODUCTS if tail == "matmul" else TRIPLES if tail == "where" else PAIRS
        if tail == "masked_fill":
            requests = [*PAIRS, ((2, 3), (3,), ()), ((2, 3), (3,), (3,)), ((2, 3), (3,), (1,)), ((2, 3), (2,), ())]
        dtypes = {}
        for number, shapes in enumerate(requests):
            if (tail == "matmul" and name.startswith("tensorflow")) or (name in EMPTY_FAILS and any(map(zero, shapes))):
                continue
            count = len(shapes)
            dtypes[count] = "fbf"[:count] if tail == "masked_fill" else dtypes.get(count) or dtypes_of(call, count, {})
            found = result(call, [list(shape) for shape in shapes], dtypes[count], {})
            own = {"id": f"{name}-{number:02}", "op": {"name": name}, "inputs": shapes}
            print(json.dumps(own | vector(name, shapes, found) | {"framework": framework, "source": "executed"}))


def zero(shape: Shape) -> bool:
    return 0 in shape


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
