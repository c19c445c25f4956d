"""StableHLO: broadcast_in_dim, to which XLA lowers every broadcast. It can express every placement in a plan."""

from typing import Self

from pydantic import Field

from ..plan.alignment import Alignment, ShapeMismatch, align_mapped, check_mapping, check_sizes
from ..plan.plan import Plan, Shape
from ..plan.relations import Relation
from ..wire.dimensions import Dimensions
from ..wire.shapes import Integers, format_shape, shorten
from .base import Op
from .framework import MLIR, Framework

FRAMEWORK = Framework(
    order=100,
    reference=("jaxlib", "0.10.2"),
    language=MLIR,
    preamble="// f32 stands for the type of your elements\n",
    transpose="",
    reshape="%{y} = stablehlo.reshape %{x} : ({x_shape}) -> {y_shape}",
    executed="jaxlib 0.10.2",
)


class broadcast_in_dim(Op, name="stablehlo.broadcast_in_dim"):
    """Map operand axis `i` to output axis `broadcast_dimensions[i]`, in any order. Size 1 expands."""

    named_axes = {"broadcast_dimensions": None}
    target = "shape"
    link = "https://openxla.org/stablehlo/spec#broadcast_in_dim"
    snippets = ("%{y} = stablehlo.broadcast_in_dim %{x}, dims = {broadcast_dimensions} : ({x_shape}) -> {y_shape}",)
    example_attributes = {"shape": (2, 3, 2), "broadcast_dimensions": (2, 1)}
    example_shapes = ((1, 3),)
    shape: Dimensions = Field(description="The shape of the output.", examples=[[2, 3]])
    broadcast_dimensions: Integers = Field(
        description="The output axis of each operand axis, without repetition.", examples=[[1]]
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        (shape,), target, mapping = shapes, tuple(self.shape), tuple(self.broadcast_dimensions)
        if len(mapping) != len(shape):
            raise ShapeMismatch(
                "axes-count",
                f"broadcast_dimensions {shorten(mapping)} has {len(mapping)} entries for the {len(shape)} axes of "
                f"input 0 of shape {format_shape(shape)}: each operand axis needs an output axis.",
            )
        check_mapping(mapping, target, "broadcast_dimensions")
        check_sizes(target, "shape", self.name)
        return align_mapped(shapes, target, mapping, Relation.BROADCAST_TO)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """Return the op that has the given output shape and output axes."""
        output = plan.outputs[0]
        return cls(shape=output.output_shape, broadcast_dimensions=output.output_axes)
