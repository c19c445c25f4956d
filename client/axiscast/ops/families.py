"""Families of ops: rules that many frameworks share. Each family is a base class for ops.

The docstring of a family is the documentation of each of its ops that has no other documentation.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import ClassVar, Self

from pydantic import Field

from ..plan.alignment import (
    Alignment,
    Axis,
    Conflict,
    Count,
    Input,
    Output,
    ShapeMismatch,
    Term,
    align_keeping,
    align_mapped,
    align_right,
    align_to_checked_target,
    check_rank,
    wrong_rank,
)
from ..plan.plan import Plan, Shape
from ..plan.relations import Relation
from ..plan.tiling import align_copies
from ..wire.dimensions import DimensionOrDimensions, Dimensions
from .base import Op


class Multidirectional(Op):
    """Broadcast any number of inputs against each other. Shapes are right-aligned, and size 1 expands."""

    max_inputs: ClassVar[int | None] = None
    outputs: ClassVar[str] = "as many as inputs"
    broadcasts_all_inputs: ClassVar[bool] = True
    plan_fields: ClassVar[Mapping[str, str] | None] = {}
    example_shapes: ClassVar[tuple[Shape, ...]] = ((8, 1, 6, 1), (7, 1, 5))

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_right(shapes)


class CommonShape(Multidirectional):
    """Broadcast any number of shapes against each other, as arrays of these shapes would be broadcast."""

    outputs: ClassVar[str] = "1"


class Elementwise(Multidirectional):
    """Broadcast two inputs against each other, as every binary operation does before it computes."""

    min_inputs: ClassVar[int] = 2
    max_inputs: ClassVar[int | None] = 2
    outputs: ClassVar[str] = "1"


class Choice(Elementwise):
    """Broadcast three inputs against each other: a condition, and two inputs from which it selects elements."""

    min_inputs: ClassVar[int] = 3
    max_inputs: ClassVar[int | None] = 3
    example_shapes: ClassVar[tuple[Shape, ...]] = ((2, 1), (1, 3), ())


class MatrixProduct(Op):
    """Broadcast two stacks of matrices, then multiply them. A vector is a row on the left and a column on the right.

    The operands have the shapes (..., M, K) and (..., K, N). The axes before the last two are right-aligned, and size 1
    expands on these axes. The output has the shape (..., M, N). If an operand is a vector, the output does not have the
    axis M or N of this operand.
    """

    min_inputs: ClassVar[int] = 2
    max_inputs: ClassVar[int | None] = 2
    broadcasts_all_inputs: ClassVar[bool] = True
    has_common_output_axes: ClassVar[bool] = False
    min_rank: ClassVar[int] = 1
    """The minimum rank of an operand."""
    example_shapes: ClassVar[tuple[Shape, ...]] = ((5, 1, 2, 3), (6, 3, 4))

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        for number, shape in enumerate(shapes):
            if len(shape) < self.min_rank:
                raise wrong_rank(number, shape, self.min_rank)
        left, right = shapes
        stacked = align_right((left[:-2], right[:-2])).axes
        rank, every = len(stacked), tuple(range(len(stacked) + 2))
        # For each operand axis, its position in the stacks of matrices (..., M, K) and (..., K, N).
        placed = [every[-len(left) :], every[-len(right) :] if len(right) > 1 else (rank,)]
        for number, attribute in enumerate(self.transposes):
            if getattr(self, attribute):
                placed[number] = (*placed[number][:-2], *placed[number][:-3:-1])

        def term(number: int, place: int) -> Term:
            axis = placed[number].index(place)
            return Term(number, axis, shapes[number][axis])

        # These are the axes M and N. If an operand is a vector, its axis M or N does not exist and has no term.
        rows = (term(0, rank),) if len(left) > 1 else ()
        columns = (term(1, rank + 1),) if len(right) > 1 else ()
        inner = summed(term(0, rank + 1), term(1, rank))
        axes = (*stacked, Axis(Relation.BROADCAST, rows), inner, Axis(Relation.BROADCAST, columns))
        outputs = Output(0, placed[0], every), Output(1, placed[1], (*every[:rank], rank + 1, rank + 2))
        result = (*range(rank), *[rank] * len(rows), *[rank + 2] * len(columns))
        return Alignment(shapes, None, axes, outputs, result=result)

    def highest_rank(self, shapes: Sequence[Sequence[object]]) -> int:
        """Return the highest rank of the broadcast operands, which are matrices even if the inputs are vectors."""
        return max(super().highest_rank(shapes), 2)


def summed(*terms: Term) -> Axis:
    """Return the axis over which a product sums.

    The sizes must be equal, and the axis does not appear in the result.
    """
    return Axis(Relation.EQUAL, terms, ("summed",))


class Unidirectional(Op):
    """Broadcast an input to `shape`. Shapes are right-aligned, size 1 expands, and no axis is removed."""

    target: ClassVar[str | None] = "shape"
    plan_fields: ClassVar[Mapping[str, str] | None] = {"shape": "output_shape"}
    example_shapes: ClassVar[tuple[Shape, ...]] = ((3,),)
    shape: Dimensions = Field(description="The shape of the output.", examples=[[4, 3]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_to_checked_target(shapes[0], tuple(self.shape), "shape")


class UnidirectionalKeeping(Unidirectional):
    """Broadcast an input to `shape`, in which -1 keeps the input's size. The size of a new axis must not be -1."""

    example_shapes: ClassVar[tuple[Shape, ...]] = ((2, 1),)

    shape: Dimensions = Field(description="The shape of the output. -1 keeps the input's size.", examples=[[-1, 2]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_keeping(shapes[0], tuple(self.shape), "shape")


class LenientUnidirectional(Unidirectional):
    # Unidirectional in a framework that accepts an integer as the shape of an output with one axis.
    shape: DimensionOrDimensions = Field(  # type: ignore[assignment]  # the base class refuses an integer
        description="The shape of the output.", examples=[[4, 3]]
    )


class LenientUnidirectionalKeeping(UnidirectionalKeeping):
    # UnidirectionalKeeping in a framework that accepts an integer as the shape of an output with one axis.
    shape: DimensionOrDimensions = Field(  # type: ignore[assignment]  # the base class refuses an integer
        description="The shape of the output. -1 keeps the input's size.", examples=[[-1, 2]]
    )


class UnidirectionalLike(Op):
    """Broadcast input 0 to the shape of input 1. Shapes are right-aligned, size 1 expands, and no axis is removed."""

    min_inputs: ClassVar[int] = 2
    max_inputs: ClassVar[int | None] = 2
    plan_fields: ClassVar[Mapping[str, str] | None] = {}
    example_shapes: ClassVar[tuple[Shape, ...]] = ((3, 1), (2, 3, 4))

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        shape, like = shapes
        check_rank(shape, like)
        axes = tuple(range(len(like) - len(shape), len(like)))
        return align_mapped(shapes, like, axes, Relation.BROADCAST_TO, shape_source=1)


COPIES = (
    "The number of copies along each axis. The shorter of this list and the input's shape gets leading entries of 1."
)


class Tile(Op):
    """Repeat an input along its axes, like tiles. The shorter of the copies and the shape gets leading entries of 1.

    Along each output axis, the copies follow one another. With the copies (1, 2), an input of shape (2, 3) becomes
    (2, 6).
    """

    counts: ClassVar[str] = "reps"
    """The name of the attribute that holds the number of copies along each axis."""
    takes_fewer_counts: ClassVar[bool] = True
    """Whether the list of copies can be shorter than the input's shape."""
    adds_axes: ClassVar[bool] = True
    """Whether the list of copies can be longer than the input's shape."""
    example_shapes: ClassVar[tuple[Shape, ...]] = ((2, 3),)

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        (shape,), counts = shapes, getattr(self, self.counts)
        is_short, is_long = len(counts) < len(shape), len(counts) > len(shape)
        if (is_short and not self.takes_fewer_counts) or (is_long and not self.adds_axes):
            needed = Count(len(shape), None if self.adds_axes else len(shape))
            raise ShapeMismatch("rank-mismatch", "entries", self.counts, counts, Input(0, shape), needed)
        return align_copies(shape, counts, self.counts)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self | None:
        """Return the op that makes as many copies along each axis as the broadcast axes in this output axis require."""
        output, counts, start = plan.outputs[0], [], 0
        for merged in output.merges or (1,) * len(output.output_shape):
            axes = range(start, start + merged)
            counts.append(prod(output.output_shape[axis] for axis in axes if axis in output.broadcast_axes))
            start += merged
        return cls.model_validate({cls.counts: counts})

    def limited_rank(self, shapes: tuple[Shape, ...]) -> int:
        return max(len(shapes[0]), len(getattr(self, self.counts)))

    def highest_rank(self, shapes: Sequence[Sequence[object]]) -> int:
        """Return the number of output axes before axes are merged, which can be twice the output's rank."""
        shape, counts = shapes[0], getattr(self, self.counts)
        pairs = zip(reversed(shape), reversed(counts), strict=False)
        merged = sum(all(type(size) is int and size != 1 for size in pair) for pair in pairs)
        return max(len(shape), len(counts)) + merged


class TileOfReps(Tile):
    reps: DimensionOrDimensions = Field(description=COPIES, examples=[[2, 1]])


def takes_negative_copies(release: str) -> Callable[[Tile, tuple[Shape, ...], Conflict], str | None]:
    """Return the `refused_deviation` of a release that accepts a negative number of copies on an axis of size 0."""

    def refused_deviation(op: Tile, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        if conflict.code != "invalid-dimension":
            return None
        counts = getattr(op, op.counts)
        own = (1,) * len(counts) + shapes[0]
        is_accepted = all(size == 0 for size, count in zip(reversed(own), reversed(counts), strict=False) if count < 0)
        accepts = f"{release} accepts a negative number of copies on an axis of size 0."
        return accepts if is_accepted and min(counts) < 0 else None

    return refused_deviation
