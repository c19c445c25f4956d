"""The reference: broadcasting and its gradient, one coordinate at a time. Shares no code with the engine.

A tensor is the list of its elements in C order; an element may be anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

Shape = Sequence[int]


def coordinates(shape: Shape) -> Iterator[tuple[int, ...]]:
    """Every coordinate of a shape, in C order."""
    return product(*map(range, shape))


def read_from(coordinate: Sequence[int], input_shape: Shape, output_axes: Sequence[int]) -> tuple[int, ...]:
    """Where the element at an output coordinate stands in the input: at 0 on the axes of size 1."""
    return tuple(0 if size == 1 else coordinate[axis] for size, axis in zip(input_shape, output_axes, strict=True))


def broadcast(
    elements: Sequence[Any], input_shape: Shape, output_shape: Shape, output_axes: Sequence[int]
) -> list[Any]:
    """The output's elements."""
    inputs = dict(zip(coordinates(input_shape), elements, strict=True))
    return [inputs[read_from(coordinate, input_shape, output_axes)] for coordinate in coordinates(output_shape)]


def gradient(elements: Sequence[Any], input_shape: Shape, output_shape: Shape, output_axes: Sequence[int]) -> list[Any]:
    """The input's gradient from the output's: to each input element, the sum over all that read it."""
    sums: dict[tuple[int, ...], Any] = dict.fromkeys(coordinates(input_shape), 0)
    for coordinate, element in zip(coordinates(output_shape), elements, strict=True):
        sums[read_from(coordinate, input_shape, output_axes)] += element
    return list(sums.values())


def box(elements: Sequence[Any], shape: Shape, window: Sequence[tuple[int, int]]) -> list[Any]:
    """The elements whose coordinates lie inside a window."""
    inside = [
        all(start <= place < stop for place, (start, stop) in zip(coordinate, window, strict=True))
        for coordinate in coordinates(shape)
    ]
    return [element for element, kept in zip(elements, inside, strict=True) if kept]
