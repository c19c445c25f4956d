"""The axes of each result, and the input axes from which the result's axes come.

The axes of an xarray result get their names from these input axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..ops import Op, lower


class ResultAxis(NamedTuple):
    """An axis of a result, and the axis of the source array from which the result's axis comes."""

    source_axis: int | None
    """The axis of the source array, or None if broadcasting added the axis."""
    name: str
    """The name of the axis, if broadcasting added the axis."""
    source_part: slice | None
    """The part of the source axis that the result contains, or None if the axis is expanded."""


def axes_of_outputs(op: Op, shapes: tuple[tuple[int, ...], ...], window: Any) -> Iterator[tuple[int, list[ResultAxis]]]:
    """Yield, for each output, the index of its input and the axes of the result. Raises ShapeMismatch."""
    names = op.output_dims()
    for number, output in enumerate(lower(op, shapes).outputs):
        # The output has the axes of the input unless axes are merged or split.
        has_input_axes = output.merges is None and output.input_shape == shapes[output.input]
        sources = {axis: source for source, axis in enumerate(output.output_axes)} if has_input_axes else {}
        bounds = window or [(0, size) for size in output.shape]
        axes = []
        for axis in range(len(output.shape)):
            name = names[number][axis] if names else f"dim_{axis}"
            is_unchanged = axis in sources and axis not in output.broadcast_axes
            axes.append(ResultAxis(sources.get(axis), name, slice(*bounds[axis]) if is_unchanged else None))
        yield output.input, axes


def axes_of_gradients(op: Op, shapes: tuple[tuple[int, ...], ...]) -> Iterator[tuple[int, list[ResultAxis]]]:
    """Yield, for each input, the index of the output that determines its gradient, and the axes of the gradient.

    If no output uses an input, yield the index of the first output. Raises ShapeMismatch.
    """
    outputs = lower(op, shapes).outputs
    for number, shape in enumerate(shapes):
        output_number = next((i for i, output in enumerate(outputs) if output.input == number), 0)
        output = outputs[output_number]
        has_input_axes = output.input == number and output.merges is None and output.input_shape == shape
        axes = []
        for axis in range(len(shape)):
            source = output.output_axes[axis] if has_input_axes else None
            is_whole = source is not None and source not in output.broadcast_axes
            axes.append(ResultAxis(source, f"dim_{axis}", slice(None) if is_whole else None))
        yield output_number, axes
