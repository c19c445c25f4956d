"""Arrangements: which axes of the inputs and outputs an op receives, and in which order, to perform a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..plan.plan import Placement, Plan, Shape

AxisPair = tuple[int | None, int]
"""A pair of an input axis and its output axis. None means a new input axis of size 1."""


@dataclass(frozen=True)
class Arrangement:
    """A placement (how one output reads one input) and the reshapes and transposes around the op that performs it."""

    placement: Placement
    pairs: Sequence[AxisPair]
    """The axes of the op's input, in order. All input axes that are not listed have size 1."""
    order: Sequence[int]
    """The axes of the op's output, in order. Each integer is the index of an output axis of the placement.

    All output axes that are not listed have size 1. A negative integer means an axis of size 1 that is removed after
    the op.
    """

    @property
    def input_axes(self) -> list[int | None]:
        """The input axes that the op receives. None means a new axis of size 1."""
        return [axis for axis, _ in self.pairs]

    @property
    def input_shape(self) -> Shape:
        """The shape of the op's input."""
        return select_axes(self.placement.input_shape, self.input_axes)

    @property
    def output_shape(self) -> Shape:
        """The shape of the op's output."""
        return select_axes(self.placement.output_shape, self.order)

    @property
    def op_placement(self) -> Placement:
        """The placement that the op itself performs."""
        axes = tuple(self.order.index(output_axis) for _, output_axis in self.pairs)
        return Placement(self.placement.input, self.input_shape, self.output_shape, axes)

    @property
    def restored_axes(self) -> list[int | None]:
        """The axis of the op's output for each output axis of the placement. None means a new axis of size 1."""
        return [self.order.index(axis) if axis in self.order else None for axis in _all_axes(self.placement)]


def select_axes(shape: Shape, axes: Sequence[int | None]) -> Shape:
    """Return the sizes of the listed axes. None or a negative integer means a new axis of size 1."""
    return tuple(1 if axis is None or axis < 0 else shape[axis] for axis in axes)


def nonunit_axes(output: Placement) -> list[int]:
    """Return the output axes whose size is not 1."""
    return [axis for axis in _all_axes(output) if output.output_shape[axis] != 1]


def arrangements(plan: Plan) -> Iterator[list[Arrangement]]:
    """Yield lists of arrangements with which one op can perform a plan. Lists that need few steps come first.

    Each list has one arrangement for each output.
    """
    outputs = plan.outputs
    # In these arrangements, the inputs and outputs are not reshaped or transposed, so the op is the only step.
    yield [Arrangement(output, _original(output), _all_axes(output)) for output in outputs]
    # Axes of size 1 may also map to other output axes, because every index along such an axis reads the same element.
    for pairs in (_right_aligned, _left_aligned):
        yield [Arrangement(output, pairs(output), _all_axes(output)) for output in outputs]
    # In this arrangement, the input's axes are transposed to the order of the output axes.
    yield [Arrangement(output, _in_output_order(_original(output)), _all_axes(output)) for output in outputs]
    # The input gets a new axis of size 1 for each missing axis: first only after its first axis, then also before it.
    for output_axes in (_axes_from_first, _all_axes):
        yield [Arrangement(output, _add_new_axes(output, output_axes(output)), _all_axes(output)) for output in outputs]
    # The input axes that would expand are removed, because some ops can only add new axes, and other ops take the sizes
    # of missing axes from another input.
    yield [Arrangement(output, _in_output_order(_unexpanded(output)), _all_axes(output)) for output in outputs]
    # Some ops fix the order of the output axes: the added axes come first, or the inputs' axes keep their order.
    yield [Arrangement(output, _unexpanded(output), _broadcast_axes_first(output)) for output in outputs]
    order = list(dict.fromkeys(axis for output in outputs for _, axis in _unexpanded(output)))
    if all(sorted(order) == list(_all_axes(output)) for output in outputs):
        yield [Arrangement(output, _unexpanded(output), order) for output in outputs]
    # All axes of size 1 are removed, because some ops have a low rank limit. Some ops also require equal ranks.
    rank = max(len(nonunit_axes(output)) for output in outputs)
    # Octave requires a rank of at least 2.
    for width in dict.fromkeys((rank, max(rank, 2))):
        orders = [[*range(len(nonunit_axes(output)) - width, 0), *nonunit_axes(output)] for output in outputs]
        yield [
            Arrangement(output, _add_new_axes(output, axes), axes) for output, axes in zip(outputs, orders, strict=True)
        ]


def _all_axes(output: Placement) -> range:
    return range(len(output.output_shape))


def _axes_from_first(output: Placement) -> range:
    """Return the first output axis that is also an axis of the input, and all output axes after it."""
    return range(min(output.output_axes, default=len(output.output_shape)), len(output.output_shape))


def _original(output: Placement) -> list[AxisPair]:
    return list(enumerate(output.output_axes))


def _right_aligned(output: Placement) -> list[AxisPair]:
    return _aligned(output, len(output.output_shape) - len(output.input_shape))


def _left_aligned(output: Placement) -> list[AxisPair]:
    return _aligned(output, 0)


def _aligned(output: Placement, new: int) -> list[AxisPair]:
    """Return the axis pairs after `new` new axes if only axes of size 1 move. Otherwise return the original pairs."""
    for axis, size in enumerate(output.input_shape):
        if size != 1 and output.output_axes[axis] != axis + new:
            return _original(output)
    return [(axis, axis + new) for axis in range(len(output.input_shape))]


def _in_output_order(pairs: list[AxisPair]) -> list[AxisPair]:
    return sorted(pairs, key=lambda pair: pair[1])


def _unexpanded(output: Placement) -> list[AxisPair]:
    """Return the axis pairs of the input axes that do not expand."""
    return [(axis, output_axis) for axis, output_axis in _original(output) if output_axis not in output.broadcast_axes]


def _add_new_axes(output: Placement, output_axes: Sequence[int]) -> list[AxisPair]:
    """Return an axis pair for each of these output axes. The input axis is None if it is a new axis of size 1."""
    source = {output_axis: axis for axis, output_axis in enumerate(output.output_axes)}
    return [(source.get(axis), axis) for axis in output_axes]


def _broadcast_axes_first(output: Placement) -> list[int]:
    return [*output.broadcast_axes, *(axis for _, axis in _unexpanded(output))]
