"""MLIR's linalg dialect: broadcast, with an attribute that names the new axes. On other axes, sizes must be equal."""

from pydantic import Field

from ..plan.alignment import Alignment, Input, ShapeMismatch, Target, align_mapped, check_mapping, check_sizes
from ..plan.plan import Shape
from ..plan.relations import Relation
from ..wire.dimensions import Dimensions
from ..wire.shapes import Integers
from .base import Op
from .framework import MLIR, Framework

FRAMEWORK = Framework(
    order=107,
    reference=("iree-base-compiler", "3.13.0"),
    language=MLIR,
    preamble="// f32 stands for the type of your elements\n",
    transpose="%{y}_init = tensor.empty() : {y_shape}\n"
    "%{y} = linalg.transpose ins(%{x} : {x_shape}) outs(%{y}_init : {y_shape}) permutation = {permutation}",
    reshape="%{y}_sizes = arith.constant dense<{shape}> : tensor<{y_rank}xindex>\n"
    "%{y} = tensor.reshape %{x}(%{y}_sizes) : ({x_shape}, tensor<{y_rank}xindex>) -> {y_shape}",
    size=None,
)


class broadcast(Op, name="linalg.broadcast"):
    """Replicate the input along the new axes `dimensions`. On all other axes, the sizes must be equal."""

    target = "shape"
    plan_fields = {"shape": "output_shape", "dimensions": "new_axes"}
    link = "https://mlir.llvm.org/docs/Dialects/Linalg/#linalgbroadcast-linalgbroadcastop"
    snippets = (
        "%{y}_init = tensor.empty() : {y_shape}\n"
        "%{y} = linalg.broadcast ins(%{x} : {x_shape}) outs(%{y}_init : {y_shape}) dimensions = {dimensions}",
    )
    example_shapes = ((2, 3),)
    shape: Dimensions = Field(
        description="The shape of the output, which is the shape of `init`.", examples=[[2, 4, 3]]
    )
    dimensions: Integers = Field(
        description="The axes of the output that the input lacks, in any order, without repetition.", examples=[[1]]
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        (shape,), target, added = shapes, tuple(self.shape), tuple(self.dimensions)
        if len(shape) + len(added) != len(target):
            facts = Input(0, shape), "dimensions", added, Target(target)
            raise ShapeMismatch("axes-count", "added-axes", *facts)
        check_mapping(added, target, "dimensions")
        check_sizes(target, "shape")
        own = tuple(axis for axis in range(len(target)) if axis not in added)
        return align_mapped(shapes, target, own, Relation.EQUAL)
