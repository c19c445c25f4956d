"""nGraph: an attribute names the output's new axes. On all other axes, the sizes must be equal.

Size 1 does not expand. `BroadcastLike` can infer the new axes, and then aligns `arg` on the left. An axis is new if it
does not exist in `arg`. It is also new if `arg` has size 1 and the output has a larger size. This rule therefore also
compares sizes.
"""

from pydantic import Field

from ..plan.alignment import (
    Alignment,
    Input,
    ShapeMismatch,
    Target,
    align_mapped,
    are_integers,
    check_mapping,
    check_sizes,
)
from ..plan.plan import Shape
from ..plan.relations import Relation
from ..wire.dimensions import Dimensions
from ..wire.shapes import AxisSet
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
    size="{x}->get_shape()[{axis}]",
)
_SOURCE = "https://github.com/NervanaSystems/ngraph/blob/v0.26.0"


class Broadcast(Op, name="ngraph.Broadcast"):
    """Replicate `arg` along `broadcast_axes`. The shape of `arg` must be `shape` without these axes."""

    target = "shape"
    plan_fields = {"shape": "output_shape", "broadcast_axes": "new_axes"}
    link = f"{_SOURCE}/doc/sphinx/source/ops/broadcast.rst"
    snippets = (
        "auto {y} = std::make_shared<ngraph::op::Broadcast>({x}, ngraph::Shape{shape}, "
        "ngraph::AxisSet{broadcast_axes});",
    )
    example_shapes = ((3,),)
    shape: Dimensions = Field(description="The shape of the output.", examples=[[2, 3]])
    broadcast_axes: AxisSet = Field(
        description="The axes of `shape` that `arg` lacks. Order and repetitions are ignored.", examples=[[0]]
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        target = tuple(self.shape)
        kept = _kept_axes(shapes[0], target, tuple(self.broadcast_axes))
        check_sizes(target, "shape")
        return align_mapped(shapes, target, kept, Relation.EQUAL)


class BroadcastLike(Op, name="ngraph.BroadcastLike"):
    """Replicate `arg` to the shape of `like_arg`, along the given axes or inferred axes."""

    min_inputs = 2
    max_inputs = 2
    plan_fields = {"initial_broadcast_axes": "new_axes"}
    link = f"{_SOURCE}/src/ngraph/op/broadcast.cpp"
    snippets = (
        "auto {y} = std::make_shared<ngraph::op::BroadcastLike>({x0}, {x1}, ngraph::AxisSet{initial_broadcast_axes});",
    )
    example_shapes = ((2,), (2, 3))
    initial_broadcast_axes: AxisSet = Field(
        description="The axes of `like_arg` that `arg` lacks. If it is (), left alignment determines these axes.",
        examples=[[1]],
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        """Align `arg` to the shape of `like_arg` as Broadcast does, with the given axes or inferred axes."""
        arg, like = shapes
        axes = tuple(self.initial_broadcast_axes) or _inferred_axes(arg, like)
        return align_mapped(shapes, like, _kept_axes(arg, like, axes), Relation.EQUAL, shape_source=1)

    def compares_sizes(self) -> bool:
        return not self.initial_broadcast_axes

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        if shapes[0]:
            return (
                "nGraph 0.26 accepts only a scalar `arg` here, because the op is first validated with an empty "
                "shape. This result follows the documented rule."
            )
        return None


def _inferred_axes(arg: Shape, like: Shape) -> tuple[int, ...]:
    """Return the axes that do not exist in `arg`, and the axes on which `arg` has size 1 and `like` has a larger size.

    Each inferred axis reduces the number of remaining axes. A symbolic size is therefore never inferred, and must be
    equal.
    """
    pairs = enumerate(zip(arg, like, strict=False))
    expanded = (axis for axis, sizes in pairs if are_integers(*sizes) and sizes[0] == 1 < sizes[1])
    return (*expanded, *range(len(arg), len(like)))


def _kept_axes(arg: Shape, shape: Shape, broadcast_axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes of `shape` that are not in `broadcast_axes`.

    Raises ShapeMismatch if `arg` has a different rank.
    """
    check_mapping(broadcast_axes, shape, "broadcast_axes")
    kept = tuple(axis for axis in range(len(shape)) if axis not in broadcast_axes)
    if len(kept) != len(arg):
        facts = "broadcast_axes", broadcast_axes, Target(shape)
        raise ShapeMismatch("rank-mismatch", "added-axes", Input(0, arg), *facts)
    return kept
