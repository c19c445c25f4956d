"""TensorFlow: tf.broadcast_to, NumPy's one-way rule."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field

from ..plan.alignment import Alignment, fit_right_plainly
from ..plan.plan import Plan, Shape
from ..schema.dimensions import Dimensions
from .base import Op
from .framework import PYTHON, Framework

FRAMEWORK = Framework(
    order=80,
    reference=("tensorflow", "2.21.0"),
    language=PYTHON,
    head="import tensorflow as tf\n",
    transpose="{y} = tf.transpose({x}, {permutation})",
    reshape="{y} = tf.reshape({x}, {shape})",
    executed="TensorFlow 2.21.0",
)


class broadcast_to(Op):
    """Broadcast a tensor to a shape: aligned right, size 1 stretches, the rank never shrinks."""

    name: Literal["tensorflow.broadcast_to"] = "tensorflow.broadcast_to"
    target: ClassVar[str | None] = "shape"
    link: ClassVar[str] = "https://www.tensorflow.org/api_docs/python/tf/broadcast_to"
    snippets: ClassVar[tuple[str, ...]] = ("{y} = tf.broadcast_to({x}, tf.TensorShape({shape}))",)
    shape: Dimensions = Field(description="The shape of the output.", examples=[[2, 3]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return fit_right_plainly(shapes[0], tuple(self.shape), "shape", self.name)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        return cls(shape=plan.outputs[0].output_shape)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(shape=(2, 3)), ((3,),)
