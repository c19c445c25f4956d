"""Functions that choose the sizes with which a model is tried: an integer for each dynamic size of the inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count, islice
from math import isqrt, prod

from onnx import TensorProto

from ...wire.dimensions import Symbol
from ..size_expressions import as_name, canonical, names_in
from .graph import decoded, dimensions_of
from .inference import PreparedModel

MAX_SHAPE_ELEMENTS = 8
"""The maximum number of integers in a constant that may be a shape."""
STEP = 64
"""The factor by which sizes are multiplied to make them divisible by the strides of networks."""
_PREFERRED_PRIMES = 12
"""The number of small primes that are used before larger primes."""


def free_sizes(prepared: PreparedModel) -> dict[str, bool]:
    """Return the named sizes of a model's inputs, including all names in size expressions.

    The value for each name is whether the size is spatial: a height, a width or a length. If such a size is small, the
    model may get empty tensors.
    """
    spatial: dict[str, bool] = {}
    for value in prepared.model.graph.input:
        dims = value.type.tensor_type.shape.dim
        for axis, size in enumerate(dims):
            expression = decoded(size.dim_param)
            for name in sorted(names_in(expression)) if expression else ():
                is_spatial = axis >= 2 and (len(dims) > 3 or axis == len(dims) - 1)
                spatial.setdefault(name, is_spatial)
    return spatial


def choose_sizes(
    sizes: Mapping[str, bool], avoided: frozenset[int], step: int, first: int, first_spatial: int
) -> dict[str, int]:
    """Return an integer for each named size. Each integer is `step` times a different prime.

    The primes begin at `first`, and at `first_spatial` for the height, width or length of an image or a sound. Integers
    in `avoided` are not used if there are other small primes.
    """
    factors = {number // step for number in avoided if number % step == 0}
    small, large = _prefer_primes(first, factors), _prefer_primes(first_spatial, factors)
    chosen: dict[str, int] = {}
    for name, is_spatial in sizes.items():
        primes = large if is_spatial else small
        chosen[name] = next(step * prime for prime in primes if step * prime not in chosen.values())
    return chosen


def _prefer_primes(first: int, avoided: Iterable[int]) -> Iterator[int]:
    """Yield the primes, starting with `first`. Among the first few primes, the avoided primes come last.

    The avoided primes still come before all larger primes, so that the sizes stay small.
    """
    few = list(islice(_primes(first), _PREFERRED_PRIMES))
    avoided = {*avoided}
    yield from sorted(few, key=avoided.__contains__)
    yield from _primes(few[-1] + 1)


def _primes(first: int) -> Iterator[int]:
    return (number for number in count(first) if all(number % factor for factor in range(2, isqrt(number) + 1)))


def clamp_to_ranges(sizes: Mapping[str, int], ranges: Mapping[str, str]) -> dict[str, int]:
    """Return the sizes, in which the nearest limit replaces each size that is outside its assumed range."""
    symbols = {name: Symbol(text) for name, text in ranges.items() if ".." in text}
    return {
        name: min(max(size, symbol.low), symbol.high) if (symbol := symbols.get(as_name(name))) else size
        for name, size in sizes.items()
    }


def add_expressions(prepared: PreparedModel, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes, with an added integer for each name that looks like an expression but can't be evaluated."""
    result = dict(sizes)
    for size in dimensions_of(prepared.model.graph.input):
        expression = decoded(size.dim_param)
        if expression and names_in(expression) <= sizes.keys() and not isinstance(canonical(expression, result), int):
            result[expression] = max(result.values(), default=1) + 2
    return result


def numbers_in(prepared: PreparedModel) -> frozenset[int]:
    """Return the integers that a model contains as sizes or in short constants, because a probe should avoid them."""
    graph = prepared.model.graph
    numbers = {size for tensor in graph.initializer for size in tensor.dims}
    numbers |= {size.dim_value for size in dimensions_of(graph.input) if size.HasField("dim_value")}
    constants = [*graph.initializer]
    constants += [entry.t for node in graph.node if node.op_type == "Constant" for entry in node.attribute]
    for tensor in constants:
        if prod(tensor.dims) > MAX_SHAPE_ELEMENTS:
            continue
        numbers |= {*tensor.int64_data, *tensor.int32_data}
        if tensor.data_type == TensorProto.INT64 and len(tensor.raw_data) % 8 == 0:
            numbers |= {*memoryview(tensor.raw_data).cast("q")}
    return frozenset(numbers)
