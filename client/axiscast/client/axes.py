"""Axes of results: where each comes from, so that a result is made like the array that it was computed from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..ops import Op, lower


class Axis(NamedTuple):
    """Where an axis of a result comes from."""

    source: int | None
    """The axis of the array that the result is made like; None where it has none."""
    name: str
    """What the axis is called where it has no source."""
    part: slice | None
    """The part of the source that it holds; None where it holds none of it as it was."""


def output_axes(op: Op, shapes: tuple[tuple[int, ...], ...], window: Any) -> Iterator[tuple[int, list[Axis]]]:
    """For each output the input that it is made from, and where its axes come from. Raises ShapeMismatch."""
    names = op.output_dims()
    for number, output in enumerate(lower(op, shapes).outputs):
        whole = output.merges is None and output.input_shape == shapes[output.input]  # no axis is merged or split
        sources = {axis: source for source, axis in enumerate(output.output_axes)} if whole else {}
        bounds = window or [(0, size) for size in output.shape]
        kept = {*sources} - {*output.broadcast_axes}
        yield (
            output.input,
            [
                Axis(
                    sources.get(axis),
                    names[number][axis] if names else f"dim_{axis}",
                    slice(*bounds[axis]) if axis in kept else None,
                )
                for axis in range(len(output.shape))
            ],
        )


def gradient_axes(op: Op, shapes: tuple[tuple[int, ...], ...]) -> Iterator[tuple[int, list[Axis]]]:
    """For each input the output whose gradient it is made from, the first where its elements go nowhere, and where its
    axes come from. Raises ShapeMismatch."""
    outputs = lower(op, shapes).outputs
    for number, shape in enumerate(shapes):
        at = next((at for at, output in enumerate(outputs) if output.input == number), 0)
        output = outputs[at]
        whole = output.input == number and output.merges is None and output.input_shape == shape
        parts = [None if axis in output.broadcast_axes else slice(None) for axis in output.output_axes]
        places = zip(output.output_axes, parts, strict=True) if whole else [(None, None)] * len(shape)
        yield at, [Axis(source, f"dim_{axis}", part) for axis, (source, part) in enumerate(places)]
