"""Write the vectors of ops with a rule of ops/families.py by executing the released package.

    python tests/vectors/execute.py torch > tests/vectors/torch-families.jsonl

The script imports the package and NumPy, but not axiscast. The broadcast of an operand of a computing op is found by
setting the other operands to 0. For an op on shapes, and for a choice between two inputs, only the shape is read.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

Shape = tuple[int, ...]
POOL: list[Shape] = [
    (), (1,), (2,), (3,), (0,), (1, 1), (2, 1), (1, 3), (2, 3), (3, 2), (0, 1), (1, 0), (2, 0), (1, 1, 1), (4, 2, 1),
    (4, 1, 3), (0, 2, 1), (2, 1, 1, 3), (5, 1, 2, 1),
]  # fmt: skip
PAIRS: list[tuple[Shape, Shape]] = [
    ((3,), (2, 1)), ((8, 1, 6, 1), (7, 1, 5)), ((2, 3), (3, 2)), ((2,), (3,)), ((0,), (1,)), ((0,), (2,)),
    *Random(7).sample(list(product(POOL, repeat=2)), 70),
]  # fmt: skip
TARGETS: list[tuple[Shape, Shape]] = [
    *PAIRS, ((2, 1), (-1, 3)), ((2, 1), (2, -1)), ((2, 1), (-1, -1)), ((2, 1), (-1, 2, 3)), ((), (-1,)), ((1,), (-1,)),
    ((2, 1), (-2, 3)), ((3,), (-3,)), ((1, 3), (-1,)), ((0, 1), (-1, 4)), ((1, 3), (2, -1)), ((5,), (4, -1)),
]  # fmt: skip
RANKS = [8, 16, 32, 33, 64]


class Kind(NamedTuple):
    """An op: its kind of arguments, its function, and the limits that explain a refusal."""

    takes: str
    """The kind of arguments: pair, slope, choice, arrays, shapes, two shapes, target or like."""
    function: Callable[..., Any]
    max_rank: int = 0
    equal_ranks: bool = False
    attribute: str = "shape"
    leaves_out: Callable[..., bool] = lambda *shapes: False
    """Returns whether to leave out a request because the release deviates from its documentation."""


def requests(kind: Kind) -> Iterator[tuple[Shape, ...]]:
    """Yield the shapes of the inputs, with the target last if the op has one."""
    if kind.takes == "choice":
        yield from ((*pair, ()) for pair in PAIRS)
        yield from (tuple(Random(number).sample(POOL, 3)) for number in range(40))
        yield from (((1,) * rank, (2, *(1,) * (rank - 1)), (3,)) for rank in RANKS)
        return
    yield from TARGETS if kind.takes == "target" else PAIRS
    if kind.takes in ("arrays", "shapes"):
        yield from ((shape,) for shape in POOL)
        yield from (tuple(Random(number).sample(POOL, 3)) for number in range(20))
        yield ((2, 1), *[(1, 3)] * 39)
    for rank in sorted({*RANKS, *((kind.max_rank, kind.max_rank + 1) if kind.max_rank else ())}):
        long = (2, *(1,) * (rank - 1))
        yield (1,) * rank, long
        yield (3,), (*long[:-1], 3)
        yield from () if kind.takes in ("target", "like") else [(long, (1,) * rank)]


def executed(kind: Kind, make: Callable[[Any], Any], shapes: tuple[Shape, ...]) -> tuple[Shape, list[Any] | None]:
    """Return the output shape of the package and the values of each output. Raises what the package raises."""
    if kind.takes in ("shapes", "two shapes"):
        return tuple(map(int, kind.function(*shapes))), None
    if kind.takes == "choice":
        reached = kind.function(
            *[make(np.ones(shape, bool if number < 1 else int)) for number, shape in enumerate(shapes)]
        )
        return np.asarray(reached).shape, None
    inputs = shapes[:1] if kind.takes == "target" else shapes
    starts = range(0, 1000 * len(inputs), 1000)
    arrays = [np.arange(k, k + prod(shape)).reshape(shape) for k, shape in zip(starts, inputs, strict=True)]
    if kind.takes in ("pair", "slope"):
        zeros = [np.zeros_like(array) for array in arrays]
        results = [kind.function(make(arrays[0]), make(zeros[1])), kind.function(make(zeros[0]), make(arrays[1]))]
    elif kind.takes == "arrays":
        results = list(kind.function(*map(make, arrays)))
    elif kind.takes == "target":
        results = [kind.function(make(arrays[0]), shapes[1])]
    else:
        results = [kind.function(*map(make, arrays))]
    read = [np.asarray(result) for result in results]
    assert len({array.shape for array in read}) == 1
    return read[0].shape, [array.ravel().tolist() for array in read]


def reasons(kind: Kind, shapes: tuple[Shape, ...]) -> list[str]:
    """Return the conflict codes for a request, derived by hand. The list is empty if nothing is wrong."""
    if kind.max_rank and max(map(len, shapes)) > kind.max_rank:
        return ["rank-too-large"]
    if kind.equal_ranks and all(shapes) and len(set(map(len, shapes))) > 1:
        return ["rank-mismatch"]
    if kind.takes == "slope":
        shapes = shapes[::-1]
    is_one_way = kind.takes in ("target", "like", "slope")
    shrinks = is_one_way and len(shapes[0]) > len(shapes[1])
    negative = kind.takes == "target" and min(shapes[1], default=0) < 0
    ranked = [(1,) * (max(map(len, shapes)) - len(shape)) + shape for shape in shapes]
    clashes = any(len({*sizes} - {1}) > 1 for sizes in zip(*ranked, strict=True)) or (
        is_one_way and any(own != 1 == size for own, size in zip(*ranked, strict=True))
    )
    return ["rank-mismatch"] * shrinks + ["invalid-dimension"] * negative or ["size-mismatch"] * clashes


def vectors(package: str) -> Iterator[dict[str, Any]]:
    framework, make, kinds = PACKAGES[package]()
    number = 0
    for name, kind in kinds.items():
        for shapes in dict.fromkeys(requests(kind)):
            if kind.leaves_out(*shapes):
                continue
            number += 1
            inputs = shapes[:1] if kind.takes == "target" else shapes
            attributes = {kind.attribute: shapes[1]} if kind.takes == "target" else {}
            vector = {"id": f"{package}-families-{number:04}", "op": {"name": name, **attributes}, "inputs": inputs}
            try:
                reached, values = executed(kind, make, shapes)
            except Exception as error:
                codes = reasons(kind, shapes)
                if not codes:
                    raise ValueError(f"{name} has no reason to refuse {shapes}") from error
                found = {"compatible": False, "conflict_codes": codes, "raised": type(error).__name__}
            else:
                read = inputs[:1] if kind.takes in ("target", "like") else inputs
                found = {"compatible": True, "outputs": [placed(k, shape, reached) for k, shape in enumerate(read)]}
                found |= {} if values is None else {"values": values}
            yield vector | found | {"framework": framework, "source": "executed"}


def placed(number: int, shape: Shape, reached: Shape) -> dict[str, Any]:
    """Return the output that reads input `number`, right-aligned. The values confirm the alignment."""
    axes = list(range(len(reached) - len(shape), len(reached)))
    own = dict(zip(axes, shape, strict=True))
    replicated = [axis for axis, size in enumerate(reached) if own.get(axis) != size]
    return {"shape": reached, "input": number, "axes": axes, "broadcast_axes": replicated}


Package = tuple[str, Callable[[Any], Any], dict[str, Kind]]
"""Return the package's name and version, the function from an array to a tensor, and the ops."""


def _numpy() -> Package:
    kinds = {"broadcast_shapes": Kind("shapes", np.broadcast_shapes, 32), "add": Kind("pair", np.add, 64)}
    return f"numpy {np.__version__}", np.asarray, {f"numpy.{name}": kind for name, kind in kinds.items()}


def _array_api() -> Package:
    import array_api_strict as xp

    def has_33_axes(*shapes: Shape) -> bool:
        """Return whether the release has more axes than it accepts, which the standard does not limit."""
        return max(map(len, shapes)) > 32

    def many(*arrays: Any) -> list[Any]:
        return [np.from_dlpack(array) for array in xp.broadcast_arrays(*arrays)]

    kinds = {
        "broadcast_to": Kind("target", lambda array, shape: np.from_dlpack(xp.broadcast_to(array, shape))),
        "broadcast_arrays": Kind("arrays", many, leaves_out=has_33_axes),
        "broadcast_shapes": Kind("shapes", xp.broadcast_shapes, leaves_out=has_33_axes),
        "add": Kind("pair", lambda *arrays: np.from_dlpack(xp.add(*arrays))),
        "where": Kind("choice", lambda *arrays: np.from_dlpack(xp.where(*arrays))),
    }
    return (
        f"array-api-strict {xp.__version__}",
        xp.asarray,
        {f"array_api.{name}": kind for name, kind in kinds.items()},
    )


def _torch() -> Package:
    import torch

    def beside_zero(shape: Shape, size: Shape) -> bool:
        return 0 in size and min(size) < -1

    kinds = {
        "broadcast_to": Kind("target", torch.broadcast_to, attribute="size", leaves_out=beside_zero),
        "expand_as": Kind("like", torch.Tensor.expand_as),
        "broadcast_shapes": Kind("shapes", torch.broadcast_shapes),
        "add": Kind("pair", torch.add),
    }
    return f"torch {torch.__version__}", torch.from_numpy, {f"torch.{name}": kind for name, kind in kinds.items()}


def _jax() -> Package:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    kinds = {
        "numpy.broadcast_to": Kind("target", jnp.broadcast_to),
        "numpy.broadcast_arrays": Kind("arrays", jnp.broadcast_arrays),
        "numpy.broadcast_shapes": Kind("shapes", jnp.broadcast_shapes),
        "numpy.add": Kind("pair", jnp.add),
        "lax.add": Kind("pair", jax.lax.add, equal_ranks=True),
    }
    return f"jax {jax.__version__}", jnp.asarray, {f"jax.{name}": kind for name, kind in kinds.items()}


def _tensorflow() -> Package:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    def static(one: Shape, other: Shape) -> list[int]:
        return list(tf.broadcast_static_shape(tf.TensorShape(one), tf.TensorShape(other)).as_list())

    kinds = {"broadcast_static_shape": Kind("two shapes", static), "add": Kind("pair", tf.add)}
    return f"tensorflow {tf.__version__}", tf.constant, {f"tensorflow.{name}": kind for name, kind in kinds.items()}


def _litert() -> Package:
    from importlib.metadata import version

    from litert_models import run

    def has_9_axes(*shapes: Shape) -> bool:
        return max(map(len, shapes)) > 8

    def is_scalar(*shapes: Shape) -> bool:
        """Return whether the release may fail, or returns a scalar for inputs of one element."""
        return has_9_axes(*shapes) or all(size == 1 for shape in shapes for size in shape)

    kinds = {
        "BROADCAST_TO": Kind("target", lambda x, shape: run("BROADCAST_TO", [x], [*shape])),
        "ADD": Kind("pair", lambda *x: run("ADD", [*x]), leaves_out=has_9_axes),
        "SELECT_V2": Kind("choice", lambda *x: run("SELECT_V2", [*x]), leaves_out=is_scalar),
        "PRELU": Kind("slope", lambda x, slope: -run("PRELU", [-x - 1, slope + 1]) - 1, leaves_out=has_9_axes),
    }

    def make(array: Any) -> Any:
        return array if array.dtype == bool else array.astype(np.float32)

    return f"ai-edge-litert {version('ai-edge-litert')}", make, {f"litert.{name}": kind for name, kind in kinds.items()}


def _keras() -> Package:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import keras

    kinds = {"keras.ops.broadcast_to": Kind("target", keras.ops.broadcast_to)}
    return f"keras {keras.__version__} ({keras.backend.backend()})", keras.ops.convert_to_tensor, kinds


def _paddle() -> Package:
    import paddle

    def below_minus_one(shape: Shape, target: Shape) -> bool:
        return min(target, default=0) < -1

    def unchecked(shape: Shape, like: Shape) -> bool:
        """Return whether an input is empty, because Paddle does not compare the sizes of empty tensors."""
        return len(shape) <= len(like) <= 8 and 0 in (*shape, *like)

    kinds = {
        "broadcast_to": Kind("target", paddle.broadcast_to, 8, leaves_out=below_minus_one),
        "expand_as": Kind("like", paddle.expand_as, 8, leaves_out=unchecked),
        "broadcast_tensors": Kind("arrays", lambda *arrays: paddle.broadcast_tensors(list(arrays)), 6),
        "add": Kind("pair", paddle.add, 9),
    }
    return (
        f"paddlepaddle {paddle.__version__}",
        paddle.to_tensor,
        {f"paddle.{name}": kind for name, kind in kinds.items()},
    )


def _dask() -> Package:
    import dask
    import dask.array as da

    kinds = {
        "broadcast_to": Kind("target", lambda array, shape: da.broadcast_to(array, shape).compute(), 64),
        "broadcast_arrays": Kind("arrays", lambda *arrays: [one.compute() for one in da.broadcast_arrays(*arrays)], 64),
    }
    return f"dask {dask.__version__}", da.from_array, {f"dask.array.{name}": kind for name, kind in kinds.items()}


def _mlx() -> Package:
    from importlib.metadata import version

    import mlx.core as mx

    kinds = {
        "broadcast_to": Kind("target", mx.broadcast_to),
        "broadcast_arrays": Kind("arrays", mx.broadcast_arrays),
        "broadcast_shapes": Kind("shapes", mx.broadcast_shapes),
        "add": Kind("pair", mx.add),
    }
    return f"mlx {version('mlx')}", mx.array, {f"mlx.core.{name}": kind for name, kind in kinds.items()}


def _tfjs() -> Package:
    from languages.interpreter import javascript

    def unexpanded(shape: Shape, target: Shape) -> bool:
        """Return whether the release ignores a 0 in the target, because no axis expands to more than 1."""
        own = (1,) * (len(target) - len(shape)) + shape
        return 0 in target and max((t for s, t in zip(own, target, strict=False) if s != t), default=2) <= 1

    def unexpanded_choice(*shapes: Shape) -> bool:
        """Return whether input 1 does not get the common shape, from which the release takes the shape."""
        try:
            return unexpanded(shapes[1], sum(map(np.zeros, shapes), np.zeros(())).shape)
        except ValueError:
            return False

    tf = javascript()
    kinds = {
        "broadcastTo": Kind(
            "target", lambda x, shape: tf.call(f"tf.broadcastTo(x0, {[*shape]})", x), leaves_out=unexpanded
        ),
        "add": Kind("pair", lambda *x: tf.call("tf.add(x0, x1)", *x)),
        "where": Kind("choice", lambda *x: tf.call("tf.where(x0, x1, x2)", *x), leaves_out=unexpanded_choice),
    }
    return f"tfjs {tf.version}", np.asarray, {f"tfjs.{name}": kind for name, kind in kinds.items()}


PACKAGES: dict[str, Callable[[], Package]] = {
    "numpy": _numpy, "array_api": _array_api,
    "torch": _torch, "jax": _jax, "tensorflow": _tensorflow, "keras": _keras, "litert": _litert, "paddle": _paddle,
    "dask": _dask, "mlx": _mlx, "tfjs": _tfjs,
}  # fmt: skip

if __name__ == "__main__":
    for vector in vectors(sys.argv[1]):
        print(json.dumps(vector))
