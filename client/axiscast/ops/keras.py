"""Keras: keras.ops.broadcast_to, which follows NumPy's one-way rule, and binary operations.

For a KerasTensor, Keras 3.15 infers a shape in two cases that fail at run time. In the first case, the target has fewer
axes than the input. In the second case, the target has size 1 on an axis where the input has a larger size.
"""

from ..plan.alignment import Conflict, align_right
from ..plan.plan import Shape
from ..plan.resolution import resolve
from .aliases import ELEMENTWISE, SHIFTS, aliases
from .base import declare
from .families import Choice, Elementwise, MatrixProduct, Unidirectional
from .framework import Framework
from .tensorflow import missing_choice, missing_kernel, missing_product

FRAMEWORK = Framework(
    order=85,
    reference=("keras", "3.15.1"),
    link="https://keras.io/api/ops/numpy/#{function}-function",
    preamble="import keras\n",
    transpose="{y} = keras.ops.transpose({x}, {permutation})",
    reshape="{y} = keras.ops.reshape({x}, {shape})",
    has_array_methods=False,
    calls={"keras.ops": "{y} = keras.ops.{function}({arguments})"},
    size="keras.ops.shape({x})[{axis}]",
    executed="Keras 3.15.1 on TensorFlow 2.21.0",
)


class broadcast_to(Unidirectional, name="keras.ops.broadcast_to"):
    link = "https://keras.io/api/ops/numpy/#broadcastto-function"
    snippets = ("{y} = keras.ops.broadcast_to({x}, {shape})",)

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        return missing_kernel((*shapes, tuple(self.shape)))


class add(Elementwise, name="keras.ops.add"):
    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        one, other = shapes
        axis = self._bias_axis(shapes)
        if axis is None:
            return missing_kernel(shapes)
        if 0 in other:
            return "Keras 3.15 fails here on TensorFlow: it reads input 1 as a bias, not a vector."
        aligned = len(one) - len(other) + other.index(one[axis])
        is_same = resolve(align_right(shapes)).outputs[0].shape == one and (aligned == axis or 0 in one)
        return None if is_same else _added_along(one, axis)

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        axis = self._bias_axis(shapes)
        return None if axis is None or 0 in shapes[1] else _added_along(shapes[0], axis)

    def _bias_axis(self, shapes: tuple[Shape, ...]) -> int | None:
        """Return the axis of input 0 along which Keras on TensorFlow adds input 1 as a bias, or None if it adds none.

        To add a bias, the TensorFlow backend calls `tf.nn.bias_add`.
        """
        one, other = shapes
        sizes = [size for size in other if size > 1]
        if self.alias or len(sizes) != 1 or len(one) < 2 or sizes[0] not in (one[1], one[-1]):
            return None
        return len(one) - 1 if one[-1] == sizes[0] else 1


def _added_along(one: Shape, axis: int) -> str:
    where = "the last axis" if one[-1] == one[axis] else "axis 1"
    return f"Keras 3.15 on TensorFlow adds input 1 as a bias along {where}, and returns the shape of input 0."


where = declare(Choice, "keras.ops.where", accepted_deviation=staticmethod(missing_choice))


class matmul(MatrixProduct, name="keras.ops.matmul"):
    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        left, right = shapes
        is_tensordot = len(left) == 1 or len(right) <= 2
        return None if is_tensordot else missing_product(shapes)


ALIASES = aliases(
    add,
    f"""{ELEMENTWISE} {SHIFTS} true_divide divide_no_nan floor_divide mod power fmax fmin arctan2 hypot heaviside
    nextafter ldexp logaddexp logaddexp2 gcd lcm left_shift right_shift isclose""",
    "keras.ops",
)

MESSAGES = """
    keras.ops.add | Cannot broadcast shape, the failure dim has value <...>, which cannot be broadcasted to <...>.
        Input shapes are: <0> and <1>.
    keras.ops.add | Operands could not be broadcast together with shapes <*>
    keras.ops.matmul | Inner dimensions (`x1.shape[-1]` and `x2.shape[-2]`) must be equal, but received
        `x1.shape=<0>` and `x2.shape=<1>`
    | Inputs have incompatible shapes. Received shapes <0> and <1>
        # A Keras layer that merges its inputs could not broadcast them. The shapes do not include the batch axis.
"""
