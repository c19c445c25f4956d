"""Keras: keras.ops.broadcast_to, NumPy's one-way rule.

Where it only infers, of a KerasTensor, Keras 3.15 lets the target have fewer axes, or a 1 under a larger size; what
then runs refuses both.
"""

from typing import Literal

from ..plan.alignment import Conflict
from ..plan.plan import Shape
from .aliases import aliases
from .families import Choice, Elementwise, MatrixProduct, Unidirectional
from .framework import PYTHON, Framework
from .tensorflow import missing_choice, missing_kernel, missing_product

FRAMEWORK = Framework(
    order=85,
    reference=("keras", "3.15.1"),
    language=PYTHON,
    head="import keras\n",
    transpose="{y} = keras.ops.transpose({x}, {permutation})",
    reshape="{y} = keras.ops.reshape({x}, {shape})",
    executed="Keras 3.15.1 on TensorFlow 2.21.0",
)


class broadcast_to(Unidirectional):
    """Broadcast a tensor to a shape: aligned right, size 1 stretches, the rank never shrinks."""

    name: Literal["keras.ops.broadcast_to"] = "keras.ops.broadcast_to"
    link = "https://keras.io/api/ops/numpy/#broadcastto-function"
    snippets = ("{y} = keras.ops.broadcast_to({x}, {shape})",)

    def release_difference(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        return None if conflict else missing_kernel((*shapes, tuple(self.shape)))


class add(Elementwise):
    """Broadcast two tensors against each other, as every operation of two operands does."""

    name: Literal["keras.ops.add"] = "keras.ops.add"
    link = "https://keras.io/api/ops/numpy/#add-function"

    def release_difference(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        return None if conflict else missing_kernel(shapes)


class where(Choice):
    """Broadcast the condition and the two tensors that it chooses from against each other."""

    name: Literal["keras.ops.where"] = "keras.ops.where"
    link = "https://keras.io/api/ops/numpy/#where-function"

    def release_difference(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        return None if conflict else missing_choice(shapes)


class matmul(MatrixProduct):
    """Broadcast the stacks of matrices that are multiplied against each other; a vector is a row or a column."""

    name: Literal["keras.ops.matmul"] = "keras.ops.matmul"
    link = "https://keras.io/api/ops/numpy/#matmul-function"

    def release_difference(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        return None if conflict else missing_product(shapes)


ALIASES = {
    **aliases(
        add,
        """subtract multiply divide true_divide divide_no_nan floor_divide mod power maximum minimum fmax fmin arctan2
        hypot heaviside nextafter ldexp logaddexp logaddexp2 gcd lcm equal not_equal less less_equal greater
        greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift
        bitwise_left_shift bitwise_right_shift isclose""",
        "keras.ops",
    ),
}
