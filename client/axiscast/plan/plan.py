"""The plan: what every framework's broadcast is lowered to. Integers only, no framework in sight.

Laws, checked whenever a Placement is built (P2 to P5 are the constraints C2 to C5 of StableHLO's
broadcast_in_dim):

    P1  sizes are integers >= 0 (a bool is no integer)
    P2  one output axis for each input axis
    P3  each output axis lies inside the output's rank
    P4  no output axis is named twice by one input
    P5  each input size is 1 or equals the size of its output axis
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import prod

Shape = tuple[int, ...]


class PlanLawError(ValueError):
    """A placement that is no broadcast. `law` is P1 to P5. Never a caller's fault: a rule lowered wrongly."""

    def __init__(self, law: str, placement: Placement) -> None:
        super().__init__(f"{law} does not hold for {placement}")
        self.law = law


@dataclass(frozen=True, slots=True)
class Placement:
    """How one output reads one input: input axis `i` lands on output axis `output_axes[i]`."""

    input: int
    """Which of the request's inputs is read."""
    input_shape: Shape
    """The input's shape; split, where the op splits axes."""
    output_shape: Shape
    """The shape to which axes refer; `shape` is the output's."""
    output_axes: tuple[int, ...]
    merges: tuple[int, ...] | None = None
    """Where the op merges axes: how many axes of `output_shape` each axis of the output is made of."""

    def __post_init__(self) -> None:
        shape, axes, sizes, rank = self.input_shape, self.output_axes, self.output_shape, len(self.output_shape)
        for size in sizes:  # loops, since every check passes here
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
        """The output axes that the input lacks, ascending."""
        return tuple(axis for axis in range(len(self.output_shape)) if axis not in self.output_axes)

    @property
    def broadcast_axes(self) -> tuple[int, ...]:
        """The output axes along which the input is replicated, ascending: those that it lacks (at any
        size), and those that it fills from size 1 to another size."""
        replicated = [True] * len(self.output_shape)
        for axis, size in zip(self.output_axes, self.input_shape, strict=True):
            replicated[axis] = size != self.output_shape[axis]
        return tuple([axis for axis, again in enumerate(replicated) if again])

    @property
    def shape(self) -> Shape:
        """The output's shape: `output_shape`, with the axes merged that are to be."""
        if self.merges is None:
            return self.output_shape
        ends = list(accumulate(self.merges))
        return tuple(prod(self.output_shape[end - count : end]) for end, count in zip(ends, self.merges, strict=True))

    @property
    def elements(self) -> int:
        """Virtual elements of the output: the product of its shape."""
        return prod(self.output_shape)


@dataclass(frozen=True, slots=True)
class Plan:
    """What an op does to inputs of these shapes: one placement for each output."""

    input_shapes: tuple[Shape, ...]
    """Every input, those included that only lend their shape."""
    outputs: tuple[Placement, ...]
    result: Shape | None = None
    """The shape of what the operation computes, if it is not that of the outputs: a product's."""
