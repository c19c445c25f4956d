"""The sizes at which a model is probed: a number for each name that its inputs have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from math import isqrt, prod
from typing import NamedTuple

from onnx import TensorProto

from ...wire.dimensions import Symbol
from ..size_expressions import as_name, canonical, names_in
from .graph import sizes_of, text
from .inference import Source

MAX_RANK = 8
"""Integers of a constant up to which it may be a shape."""
STEP = 64
"""What the strides of a network divide, and what sizes are multiplied by so that they do."""
_FEW = 12
"""Primes that are used in the first place."""
_BY_EXPORTER = re.compile(
    r".*_dynamic_axes_\d+|[su]\d+|unk__\d+|unknown_\d+|.*_?dim_?\d+|[dD]\d+|DynamicDimension[._]\d+|None|sym_?\d+"
)
"""Names that an exporter makes up: of torch, tf2onnx and paddle2onnx, and those given to sizes without a name."""


class FreeSize(NamedTuple):
    """A name of a size of the inputs."""

    name: str
    axes: frozenset[int]
    """The axes that it is the size of, of whatever inputs."""
    inputs: frozenset[str]
    is_spatial: bool
    """Whether it is the height, the width or the length of a signal: too small a size would leave nothing of it."""

    @property
    def is_made_up(self) -> bool:
        """Whether an exporter made up the name, so that it says nothing of which sizes differ."""
        return _BY_EXPORTER.fullmatch(self.name) is not None


def free_sizes(source: Source) -> list[FreeSize]:
    """Return the names of the sizes of a model's inputs. The names in an expression stand for themselves."""
    places: dict[str, list[tuple[int, str, bool]]] = {}
    for value in source.model.graph.input:
        dims = value.type.tensor_type.shape.dim
        for axis, size in enumerate(dims):
            written = text(size.dim_param)
            for name in sorted(names_in(written)) if written else ():
                spatial = axis >= 2 and (len(dims) > 3 or axis == len(dims) - 1)
                places.setdefault(name, []).append((axis, value.name, spatial))
    return [
        FreeSize(
            name, frozenset(axis for axis, _, _ in found), frozenset(value for _, value, _ in found), found[0][2]
        )
        for name, found in places.items()
    ]  # fmt: skip


def choices(sizes: Iterable[FreeSize], taken: frozenset[int], step: int, together: bool) -> dict[str, int]:
    """Return a number for each name: `step` times distinct primes, none a number that the model itself has (`taken`).

    With `together`, names that an exporter made up are equal if they are of one axis.
    """
    sizes = list(sizes)
    groups = _groups(sizes) if together else {}
    small = _preferred(5 if step == 1 else 2, {number // step for number in taken if number % step == 0})
    large = _preferred(37, taken)
    chosen: dict[str, int] = {}
    used: set[int] = set()
    result: dict[str, int] = {}
    for size in sizes:
        group = groups.get(size.name, size.name)
        if group not in chosen:
            primes = large if size.is_spatial and step == 1 else small
            chosen[group] = next(step * prime for prime in primes if step * prime not in used)
            used.add(chosen[group])
        result[size.name] = chosen[group]
    return result


def _groups(sizes: list[FreeSize]) -> dict[str, str]:
    """The name that stands for each one. Names that an exporter made up stand for each other if they share an axis,
    and for the one name of that axis that somebody gave."""
    parents = {size.name: size.name for size in sizes}

    def top(name: str) -> str:
        while parents[name] != name:
            name = parents[name]
        return name

    for axis in sorted({axis for size in sizes for axis in size.axes}):
        here = [size for size in sizes if axis in size.axes]
        given = [size.name for size in here if not size.is_made_up]
        equal = [size.name for size in here if size.is_made_up] + (given if len(given) == 1 else [])
        for name in equal[1:]:
            parents[top(name)] = top(equal[0])
    return {name: top(name) for name in parents}


def _preferred(first: int, taken: Iterable[int]) -> Iterator[int]:
    """The primes from `first`. Those that are taken come after a few that are not, so that sizes stay small."""
    few = [prime for prime, _ in zip(_primes(first), range(_FEW), strict=False)]
    taken = {*taken}
    yield from sorted(few, key=taken.__contains__)
    yield from _primes(few[-1] + 1)


def _primes(first: int) -> Iterator[int]:
    return (number for number in count(first) if all(number % factor for factor in range(2, isqrt(number) + 1)))


def within(sizes: Mapping[str, int], ranges: Mapping[str, str]) -> dict[str, int]:
    """Return sizes inside of the ranges that are assumed of them, as near as possible."""
    spans = {name: Symbol(span) for name, span in ranges.items() if ".." in span}
    return {
        name: min(max(size, span.low), span.high) if (span := spans.get(as_name(name))) else size
        for name, size in sizes.items()
    }


def of_expressions(source: Source, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return sizes with a number for each text that is no expression of them, though it looks like one."""
    result = dict(sizes)
    for value in source.model.graph.input:
        for size in value.type.tensor_type.shape.dim:
            written = text(size.dim_param)
            if written and names_in(written) <= sizes.keys() and not isinstance(canonical(written, result), int):
                result[written] = max(result.values(), default=1) + 2
    return result


def numbers_in(source: Source) -> frozenset[int]:
    """Return the sizes and the integers of the model's own constants, with which no probe is to agree by chance."""
    graph = source.model.graph
    found = {size for tensor in graph.initializer for size in tensor.dims}
    found |= {size.dim_value for size in sizes_of(graph.input) if size.HasField("dim_value")}
    constants = [*graph.initializer]
    constants += [entry.t for node in graph.node if node.op_type == "Constant" for entry in node.attribute]
    for tensor in constants:
        if prod(tensor.dims) > MAX_RANK:
            continue
        found |= {*tensor.int64_data, *tensor.int32_data}
        if tensor.data_type == TensorProto.INT64 and len(tensor.raw_data) % 8 == 0:
            found |= {*memoryview(tensor.raw_data).cast("q")}
    return frozenset(found)


def given_by_file(source: Source) -> dict[str, int]:
    """Return the sizes that the file's own metadata gives: the batch and the image size, as ultralytics writes them."""
    notes = {entry.key: entry.value for entry in source.model.metadata_props}
    numbers = [int(number) for number in re.findall(r"\d{1,6}", notes.get("imgsz", ""))]
    batch = re.fullmatch(r"\d{1,6}", notes.get("batch", ""))
    by_axis = dict(zip((2, 3), numbers[:2] if len(numbers) > 1 else numbers * 2, strict=False))
    by_axis |= {0: int(batch[0])} if batch else {}
    inputs = [value.type.tensor_type.shape.dim for value in source.model.graph.input]
    return {
        text(dims[axis].dim_param): size
        for dims in inputs if len(dims) == 4
        for axis, size in by_axis.items() if dims[axis].dim_param
    }  # fmt: skip
