"""StableHLO: broadcast_in_dim, to which XLA lowers every broadcast. It can express every placement in a plan."""

from pydantic import Field

from ..plan.alignment import Alignment, Input, align_mapped, check_entries, check_mapping, check_sizes
from ..plan.plan import Shape
from ..plan.relations import Relation
from ..wire.dimensions import Dimensions
from ..wire.shapes import Integers
from .base import Op
from .framework import MLIR, Framework

FRAMEWORK = Framework(
    order=100,
    reference=("jaxlib", "0.10.2"),
    language=MLIR,
    preamble="// f32 stands for the type of your elements\n",
    reshape="%{y} = stablehlo.reshape %{x} : ({x_shape}) -> {y_shape}",
    size=None,
    executed="jaxlib 0.10.2",
)


class broadcast_in_dim(Op, name="stablehlo.broadcast_in_dim"):
    """Map operand axis `i` to output axis `broadcast_dimensions[i]`, in any order. Size 1 expands."""

    named_axes = {"broadcast_dimensions": None}
    target = "shape"
    plan_fields = {"shape": "output_shape", "broadcast_dimensions": "output_axes"}
    link = "https://openxla.org/stablehlo/spec#broadcast_in_dim"
    snippets = ("%{y} = stablehlo.broadcast_in_dim %{x}, dims = {broadcast_dimensions} : ({x_shape}) -> {y_shape}",)
    example_shapes = ((1, 3),)
    shape: Dimensions = Field(description="The shape of the output.", examples=[[2, 3, 2]])
    broadcast_dimensions: Integers = Field(
        description="The output axis of each operand axis, without repetition.", examples=[[2, 1]]
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        (shape,), target, mapping = shapes, tuple(self.shape), tuple(self.broadcast_dimensions)
        check_entries(mapping, Input(0, shape), "broadcast_dimensions")
        check_mapping(mapping, target, "broadcast_dimensions")
        check_sizes(target, "shape")
        return align_mapped(shapes, target, mapping, Relation.BROADCAST_TO)
