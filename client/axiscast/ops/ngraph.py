"""nGraph: the axes that are new in the output are named, and all others must match exactly.

No size 1 is stretched. `BroadcastLike` may infer the axes, and then aligns `arg` on the left: an axis is new where
`arg` ends before it, or where `arg` has 1 under a larger size, which asks for sizes and not for ranks alone.
"""

from typing import Literal, Self

from pydantic import Field

from ..plan.alignment import Alignment, Conflict, ShapeMismatch, align_mapped, are_integers, check_sizes
from ..plan.plan import Plan, Shape
from ..plan.relations import Relation
from ..wire.dimensions import Dimensions
from ..wire.shapes import AxisSet, format_shape, shorten
from .base import Op
from .framework import CPP, Framework

FRAMEWORK = Framework(
    order=20,
    reference=("ngraph", "0.26.0"),
    language=CPP,
    preamble="#include <ngraph/ngraph.hpp>\n",
    transpose="auto {y} = std::make_shared<ngraph::op::Reshape>({x}, ngraph::AxisVector{permutation}, "
    "ngraph::Shape{y_shape});",
    reshape="auto {y} = std::make_shared<ngraph::op::Reshape>(\n"
    "    {x}, ngraph::get_default_order(ngraph::Shape{x_shape}), ngraph::Shape{y_shape});",
)
_SOURCE = "https://github.com/NervanaSystems/ngraph/blob/v0.26.0"


class Broadcast(Op):
    """Replicate `arg` along `broadcast_axes`; its shape must be `shape` without those axes."""

    name: Literal["ngraph.Broadcast"] = "ngraph.Broadcast"
    target = "shape"
    link = f"{_SOURCE}/doc/sphinx/source/ops/broadcast.rst"
    snippets = (
        "auto {y} = std::make_shared<ngraph::op::Broadcast>({x}, ngraph::Shape{shape}, "
        "ngraph::AxisSet{broadcast_axes});",
    )
    shape: Dimensions = Field(description="The shape of the output.", examples=[[2, 3]])
    broadcast_axes: AxisSet = Field(
        description="The axes of `shape` that `arg` lacks: a set, order and repeats are ignored.",
        examples=[[0]],
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        target = tuple(self.shape)
        kept = _kept_axes(shapes[0], target, tuple(self.broadcast_axes), self.name)
        check_sizes(target, "shape", self.name)
        return align_mapped(shapes, target, kept, Relation.EQUAL)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """The axes that `arg` lacks, by number."""
        output = plan.outputs[0]
        return cls(shape=output.output_shape, broadcast_axes=output.new_axes)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(shape=(2, 3), broadcast_axes=(0,)), ((3,),)


class BroadcastLike(Op):
    """Replicate `arg` to the shape of `like_arg`, along the given axes or those inferred from the left."""

    name: Literal["ngraph.BroadcastLike"] = "ngraph.BroadcastLike"
    min_inputs = 2
    max_inputs = 2
    link = f"{_SOURCE}/src/ngraph/op/broadcast.cpp"
    snippets = (
        "auto {y} = std::make_shared<ngraph::op::BroadcastLike>({x0}, {x1}, ngraph::AxisSet{initial_broadcast_axes});",
    )
    initial_broadcast_axes: AxisSet = Field(
        description="The axes of `like_arg` that `arg` lacks; () infers them, `arg` aligned left.",
        examples=[[1]],
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        """As Broadcast to the shape of `like_arg`; without axes they are inferred from the left."""
        arg, like = shapes
        axes = tuple(self.initial_broadcast_axes) or _inferred_axes(arg, like)
        return align_mapped(shapes, like, _kept_axes(arg, like, axes, self.name), Relation.EQUAL, shape_source=1)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """As for Broadcast; the shape is `like_arg`'s to say."""
        return cls(initial_broadcast_axes=plan.outputs[0].new_axes)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(initial_broadcast_axes=(1,)), ((2,), (2, 3))

    def compares_sizes(self) -> bool:
        return not self.initial_broadcast_axes

    def known_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        if conflict is None and shapes[0]:
            return (
                "nGraph 0.26 accepts only a scalar arg here: its constructor validates with an empty shape first. "
                "The documented rule is answered."
            )
        return None


def _inferred_axes(arg: Shape, like: Shape) -> tuple[int, ...]:
    """Axes past arg's rank, and axes where arg has 1 under a larger size: there the ranks then differ, so that a
    symbol fits only where it is equal."""
    return tuple(
        axis
        for axis, size in enumerate(like)
        if axis >= len(arg) or (are_integers(arg[axis], size) and arg[axis] == 1 < size)
    )


def _kept_axes(arg: Shape, shape: Shape, broadcast_axes: tuple[int, ...], name: str) -> tuple[int, ...]:
    """The axes of `shape` without `broadcast_axes`: as many as `arg` has."""
    rank = len(shape)
    for axis in broadcast_axes:
        if not 0 <= axis < rank:
            raise ShapeMismatch(
                "axis-out-of-range",
                f"broadcast axis {axis} lies outside the output {format_shape(shape)}: "
                + (f"its axes are 0 to {rank - 1}." if rank else "a scalar has no axes."),
            )
    kept = tuple(axis for axis in range(rank) if axis not in broadcast_axes)
    if len(kept) != len(arg):
        raise ShapeMismatch(
            "rank-mismatch",
            f"Input 0 of shape {format_shape(arg)} has {len(arg)} axes, but the output {format_shape(shape)} without "
            f"broadcast axes {shorten(broadcast_axes)} leaves {len(kept)}: {name} names every axis that the input "
            "lacks and no axis that it has.",
        )
    return kept
