"""ONNX: Expand, which is two-way: the input and `shape`, aligned right, each stretch to the other."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field

from ..plan.alignment import Alignment, check_sizes, meet_right
from ..plan.plan import Plan, Shape
from ..schema.dimensions import Dimensions
from .base import Op
from .framework import PYTHON, Framework

FRAMEWORK = Framework(
    order=60,
    reference=("onnx", "1.23.2"),
    language=PYTHON,
    head="import numpy as np\nfrom onnx import helper, numpy_helper\n\nnodes, initializers = [], []",
    transpose='nodes.append(helper.make_node("Transpose", ["{x}"], ["{y}"], perm={permutation}))',
    reshape='initializers.append(numpy_helper.from_array(np.array({shape}, np.int64), "{y}_shape"))\n'
    'nodes.append(helper.make_node("Reshape", ["{x}", "{y}_shape"], ["{y}"], allowzero=1))',
    executed="onnx 1.23.2 and onnxruntime 1.31.1",
)


class Expand(Op):
    """Broadcast a tensor and a shape against each other: either stretches, so the output may exceed `shape`."""

    name: Literal["onnx.Expand"] = "onnx.Expand"
    target: ClassVar[str | None] = "shape"
    link: ClassVar[str] = "https://onnx.ai/onnx/operators/onnx__Expand.html"
    snippets: ClassVar[tuple[str, ...]] = (
        'initializers.append(numpy_helper.from_array(np.array({shape}, np.int64), "{y}_shape"))\n'
        'nodes.append(helper.make_node("Expand", ["{x}", "{y}_shape"], ["{y}"]))',
    )
    shape: Dimensions = Field(description="A shape that the input meets; both stretch.", examples=[[2, 1, 6]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        target = tuple(self.shape)
        check_sizes(target, "shape", self.name)
        return meet_right(shapes, target)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        return cls(shape=plan.outputs[0].output_shape)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(shape=(2, 1, 6)), ((3, 1),)
