"""The scenes of a drawing. A scene shows the elements of the inputs, in the shape of the output that reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

from ..checks.symbolic.symbolic import SymbolicPlan
from ..plan.alignment import Conflict
from ..plan.plan import Plan, Shape

LAYERS = 4
"""The maximum number of inputs that a scene shows. If there are more inputs, it states how many are omitted."""
MAX_SCENE_RANK = 8
_MAX_PLACES = 6
"""The maximum number of positions that a scene shows along an axis. The middle of a longer axis is omitted."""


class Panel(NamedTuple):
    """An array that is drawn in its own shape, because it conflicts or is an operand or the result of a product."""

    name: str
    input: int | None
    shape: tuple[Any, ...]
    marked: int | None
    """The axis that conflicts or is summed, or -1 in a result, which has one element for a row and a column."""


class Element(NamedTuple):
    """An input element that an output reads: its indices, and the kind of axis along which the element is copied."""

    indices: tuple[int, ...]
    copy: str


class Layer(NamedTuple):
    """A layer of a scene, which shows one input."""

    input: int
    shape: tuple[Any, ...]
    factors: tuple[Any, ...]
    """The input's shape after the op has split axes. A stretched axis has size 1."""
    axes: tuple[int, ...]
    """The index of the corresponding factor of the scene, for each factor of the input."""
    kinds: tuple[str, ...]
    """How the input fills each factor of the scene: "" (its own elements), "stretch", "new" or "maybe"."""

    def element(self, place: Sequence[int]) -> Element:
        """Return the element at a position, which consists of an index for each factor of the scene."""
        index = tuple(0 if self.kinds[axis] == "stretch" else place[axis] for axis in self.axes)
        crossed = {kind for kind, at in zip(self.kinds, place, strict=True) if at}
        copy = next((kind for kind in ("new", "stretch", "maybe") if kind in crossed), "")
        if self.factors != self.shape and _are_integers((*self.factors, *self.shape)):
            index = _unravel(_ravel(index, self.factors), self.shape)
        return Element(index, copy)


class Scene(NamedTuple):
    """A scene, which shows the inputs that broadcast to one shape."""

    shape: tuple[Any, ...]
    groups: tuple[tuple[Any, ...], ...]
    """The factors (unmerged axes) that the op merges into each axis. An axis that is not merged has one factor."""
    layers: list[Layer]
    omitted_layers: int

    @property
    def factors(self) -> list[Any]:
        """The sizes of all factors."""
        return [size for group in self.groups for size in group]

    @property
    def has_copies(self) -> bool:
        """Whether the op copies, or may copy, an input."""
        kinds = [pair for layer in self.layers for pair in zip(layer.kinds, self.factors, strict=True)]
        return any(kind and size != 1 for kind, size in kinds)

    def factors_at(self, place: Sequence[int]) -> list[int]:
        """Return the index for each factor at a position, which is given as an index for each axis."""
        return [at for index, group in zip(place, self.groups, strict=True) for at in _split(index, group)]


def scenes_of(shapes: tuple[Shape, ...], outcome: Plan | SymbolicPlan | Conflict) -> list[Scene]:
    """Return a scene for each distinct output shape. A conflict has no scene, because the table shows the conflict."""
    by_shape: dict[Any, list[Any]] = {}
    for output in () if isinstance(outcome, Conflict) else outcome.outputs:
        by_shape.setdefault((output.shape, output.output_shape), []).append(output)
    scenes = []
    for outputs in by_shape.values():
        first, factors = outputs[0], outputs[0].output_shape
        counts = first.merges or (1,) * len(factors)
        ends = list(accumulate(counts))
        groups = tuple(factors[end - count : end] for end, count in zip(ends, counts, strict=True))
        if len(groups) <= MAX_SCENE_RANK and all(len(group) == 1 or _are_integers(group) for group in groups):
            layers = [_layer(output, shapes) for output in outputs[:LAYERS]]
            scenes.append(Scene(first.shape, groups, layers, max(0, len(outputs) - LAYERS)))
    return scenes


def _layer(output: Any, shapes: tuple[Shape, ...]) -> Layer:
    kinds = dict.fromkeys(range(len(output.output_shape)), "")
    kinds |= dict.fromkeys(getattr(output, "maybe_broadcast_axes", ()), "maybe")
    kinds |= dict.fromkeys(output.broadcast_axes, "stretch")
    kinds |= dict.fromkeys(kinds.keys() - {*output.output_axes}, "new")
    ones = (axis for axis, size in zip(output.output_axes, output.input_shape, strict=True) if size == 1)
    kinds |= dict.fromkeys(
        (axis for axis in ones if kinds[axis] == "maybe"), "stretch"
    )  # also right if the output has size 1
    return Layer(output.input, shapes[output.input], output.input_shape, output.output_axes, tuple(kinds.values()))


def letter_of(number: int) -> str:
    """Return the name of an input in a picture."""
    return chr(97 + number) if number < 26 else f"input {number}"


def places_along(size: Any) -> list[int | None]:
    """Return the positions that are drawn along an axis. None stands for the omitted positions."""
    if not _are_integers((size,)):
        return [0, 1, None]
    return [*range(size)] if size <= _MAX_PLACES else [0, 1, 2, None, size - 1]


def _are_integers(sizes: Iterable[Any]) -> bool:
    return all(type(size) is int for size in sizes)


def _ravel(index: Sequence[int], shape: Sequence[int]) -> int:
    flat = 0
    for at, size in zip(index, shape, strict=True):
        flat = flat * size + at
    return flat


def _unravel(flat: int, shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(flat // prod(shape[axis + 1 :]) % (size or 1) for axis, size in enumerate(shape))


def _split(index: int, group: Sequence[int]) -> Sequence[int]:
    return (index,) if len(group) == 1 else _unravel(index, group)
