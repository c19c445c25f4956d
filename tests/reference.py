"""The reference implementation of broadcasting and its gradient. It shares no code with the engine.

A tensor is the list of its elements in C order. An element may be any value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

Shape = Sequence[int]


def coordinates(shape: Shape) -> Iterator[tuple[int, ...]]:
    """Return all coordinates of a shape in C order."""
    return product(*map(range, shape))


def read_from(coordinate: Sequence[int], input_shape: Shape, output_axes: Sequence[int]) -> tuple[int, ...]:
    """Return the input coordinate of an output coordinate: 0 on axes of size 1."""
    return tuple(0 if size == 1 else coordinate[axis] for size, axis in zip(input_shape, output_axes, strict=True))


def broadcast(
    elements: Sequence[Any], input_shape: Shape, output_shape: Shape, output_axes: Sequence[int]
) -> list[Any]:
    """Return the elements of the output."""
    inputs = dict(zip(coordinates(input_shape), elements, strict=True))
    return [inputs[read_from(coordinate, input_shape, output_axes)] for coordinate in coordinates(output_shape)]


def gradient(elements: Sequence[Any], input_shape: Shape, output_shape: Shape, output_axes: Sequence[int]) -> list[Any]:
    """Return the gradient of the input: for each element, the sum over all output elements that read it."""
    sums: dict[tuple[int, ...], Any] = dict.fromkeys(coordinates(input_shape), 0)
    for coordinate, element in zip(coordinates(output_shape), elements, strict=True):
        sums[read_from(coordinate, input_shape, output_axes)] += element
    return list(sums.values())


def box(elements: Sequence[Any], shape: Shape, window: Sequence[tuple[int, int]]) -> list[Any]:
    """Return the elements with coordinates inside a window."""
    inside = [
        all(start <= place < stop for place, (start, stop) in zip(coordinate, window, strict=True))
        for coordinate in coordinates(shape)
    ]
    return [element for element, kept in zip(elements, inside, strict=True) if kept]
