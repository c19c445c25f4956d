"""The plan, which describes a broadcast in the same form for every framework.

A plan contains only integers and does not depend on a framework. The following laws are checked when a Placement is
created. P2 to P5 are the constraints C2 to C5 of StableHLO's broadcast_in_dim.

    P1  sizes are integers >= 0 (a bool is not an integer)
    P2  each input axis has one output axis
    P3  each output axis is less than the output's rank
    P4  an input does not map two axes to the same output axis
    P5  each input size is 1 or equals the size of its output axis
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import prod

Shape = tuple[int, ...]


class PlanLawError(ValueError):
    """A placement breaks one of the laws P1 to P5. The cause is a bug in the rule that created the placement."""

    def __init__(self, law: str, placement: Placement) -> None:
        super().__init__(f"law {law} does not hold for {placement}")
        self.law = law


@dataclass(frozen=True, slots=True)
class Placement:
    """The mapping from one input to one output: input axis `i` becomes output axis `output_axes[i]`."""

    input: int
    """The index of the input from which the output takes its elements."""
    input_shape: Shape
    """The input's shape after the op splits axes, if the op does so."""
    output_shape: Shape
    """The output's shape before axes are merged. `shape` is the output's shape after axes are merged."""
    output_axes: tuple[int, ...]
    merges: tuple[int, ...] | None = None
    """The number of `output_shape` axes that are merged into each output axis, or None if no axes are merged."""

    def __post_init__(self) -> None:
        shape, axes, sizes, rank = self.input_shape, self.output_axes, self.output_shape, len(self.output_shape)
        for size in sizes:  # every check runs these loops, which are faster than all()
            if type(size) is not int or size < 0:
                raise PlanLawError("P1", self)
        if len(axes) != len(shape):
            raise PlanLawError("P2", self)
        fits = True
        for size, axis in zip(shape, axes, strict=True):
            if type(size) is not int or size < 0:
                raise PlanLawError("P1", self)
            if type(axis) is not int or not 0 <= axis < rank:
                raise PlanLawError("P3", self)
            if size != 1 and size != sizes[axis]:
                fits = False
        if len(set(axes)) != len(axes):
            raise PlanLawError("P4", self)
        if not fits:
            raise PlanLawError("P5", self)

    @property
    def new_axes(self) -> tuple[int, ...]:
        """The output axes that do not exist in the input, in ascending order."""
        return tuple(axis for axis in range(len(self.output_shape)) if axis not in self.output_axes)

    @property
    def broadcast_axes(self) -> tuple[int, ...]:
        """The output axes along which the input is replicated, in ascending order.

        Either the axis does not exist in the input, or the input has size 1 and the output has another size.
        """
        is_replicated = [True] * len(self.output_shape)
        for axis, size in zip(self.output_axes, self.input_shape, strict=True):
            is_replicated[axis] = size != self.output_shape[axis]
        return tuple([axis for axis, replicated in enumerate(is_replicated) if replicated])

    @property
    def shape(self) -> Shape:
        """The output's shape: `output_shape` after axes are merged."""
        if self.merges is None:
            return self.output_shape
        ends = list(accumulate(self.merges))
        return tuple(prod(self.output_shape[end - count : end]) for end, count in zip(ends, self.merges, strict=True))

    @property
    def elements(self) -> int:
        """The number of elements in the output: the product of its sizes."""
        return prod(self.output_shape)


@dataclass(frozen=True, slots=True)
class Plan:
    """The effect of an op on inputs of certain shapes. For each output, a placement maps the axes of one input."""

    input_shapes: tuple[Shape, ...]
    """The shapes of all inputs, including an input that is used only for its shape."""
    outputs: tuple[Placement, ...]
    result: Shape | None = None
    """The shape of the operation's result, such as a matrix product, if it differs from the outputs' shape."""
