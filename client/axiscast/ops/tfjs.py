"""TensorFlow.js: NumPy's rules in JavaScript. Sizes must not be negative, and matrix products do not accept vectors.

The release gives wrong results for some tensors without elements and for some stacks of matrices. A check then returns
the warning `release-differs`. These results are from the CPU backend.
"""

import json
from math import prod
from typing import ClassVar

from pydantic import Field, StrictBool

from ..plan.alignment import align_right
from ..plan.plan import Shape
from ..plan.resolution import resolve
from .aliases import aliases, same_names
from .base import declare
from .families import Choice, Elementwise, MatrixProduct, Unidirectional
from .framework import Framework, Language

FRAMEWORK = Framework(
    order=82,
    reference=("@tensorflow/tfjs", "4.22.0"),
    link="https://js.tensorflow.org/api/4.22.0/#{function}",
    language=Language("javascript", "//", json.dumps),
    preamble='import * as tf from "@tensorflow/tfjs";\n',
    transpose="const {y} = tf.transpose({x}, {permutation});",
    reshape="const {y} = tf.reshape({x}, {shape});",
    calls={"tfjs": "const {y} = tf.{function}({arguments});"},
    executed="TensorFlow.js 4.22.0",
)


class broadcastTo(Unidirectional, name="tfjs.broadcastTo"):
    snippets = ("const {y} = tf.broadcastTo({x}, {shape});",)

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        return _unexpanded(shapes[0], tuple(self.shape))


add = declare(Elementwise, "tfjs.add")


class where(Choice, name="tfjs.where"):
    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        return _unexpanded(shapes[1], resolve(align_right(shapes)).outputs[1].shape)


def _unexpanded(shape: Shape, target: Shape) -> str | None:
    """Return a sentence if the release returns size 1 on an axis where the target has size 0, or None if not."""
    new = len(target) - len(shape)
    expanded = [size for axis, size in enumerate(target) if axis < new or shape[axis - new] != size]
    if 0 in expanded and max(expanded) <= 1:
        return "TensorFlow.js 4.22 returns size 1 instead of 0 here, unless another axis expands to more than 1."
    return None


class matMul(MatrixProduct, name="tfjs.matMul"):
    """Broadcast two stacks of matrices, then multiply them. Vectors are not accepted."""

    min_rank: ClassVar[int] = 2
    transposes = ("transposeA", "transposeB")
    transposeA: StrictBool = Field(
        default=False, description="Whether input 0 is transposed: its shape is then (..., K, M)."
    )
    transposeB: StrictBool = Field(
        default=False, description="Whether input 1 is transposed: its shape is then (..., N, K)."
    )

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        left, right = shapes
        rows, inner = left[-2:][:: -1 if self.transposeA else 1]
        columns = right[-2 if self.transposeB else -1]
        stacks = left[:-2], right[:-2]
        common = resolve(align_right(stacks)).outputs[0].shape
        computed = max(prod(stacks[0]), prod(stacks[1]))
        is_complete = computed * rows * columns == prod(common) * rows * columns
        if is_complete and (not prod(common) * rows * columns * inner or all(_ends(common, own) for own in stacks)):
            return None
        return (
            "TensorFlow.js 4.22 returns wrong elements here: its CPU backend repeats the shorter list of matrices as "
            "a whole."
        )


def _ends(shape: Shape, stack: Shape) -> bool:
    """Return whether `shape` ends with the sizes of a stack of matrices, without leading sizes of 1."""
    while stack[:1] == (1,):
        stack = stack[1:]
    return not stack or shape[-len(stack) :] == stack


ALIASES = {
    **aliases(
        add,
        """sub mul div floorDiv divNoNan mod pow maximum minimum squaredDifference atan2 prelu equal notEqual less
        lessEqual greater greaterEqual logicalAnd logicalOr logicalXor""",
        "tfjs",
        "tfjs.Tensor",
    ),
    **same_names("tfjs.Tensor", add, where, matMul, broadcastTo),
}

MESSAGES = """
    tfjs.add | Operands could not be broadcast together with shapes <0,> and <1,>.
    tfjs.broadcastTo | broadcastTo(): <0> cannot be broadcast to <=shape>.
    tfjs.matMul | Error in matMul: inner shapes (<...>) and (<...>) of Tensors with shapes <0,> and <1,> and
        transposeA=<?transposeA> and transposeB=<?transposeB> must match
    tfjs.broadcastTo | broadcastTo(): shape.length=<...> < input.rank=
"""
