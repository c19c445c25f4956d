"""LiteRT, formerly TensorFlow Lite: the operators of its models, with the rules of NumPy. PRELU expands only its slope.

Sizes must not be negative. The rules were tested with models of one operator, run by the built-in kernels.
"""

from typing import Any, ClassVar

from ..plan.alignment import Alignment, align_second_to_first, check_rank
from ..plan.plan import Shape
from .base import declare
from .families import Choice, Elementwise, Unidirectional
from .framework import MLIR, Framework

FRAMEWORK = Framework(
    order=83,
    reference=("ai-edge-litert", "2.3.0"),
    language=MLIR,
    transpose=(
        "%{y}p = arith.constant dense<{permutation}> : tensor<{x_rank}xi32>\n"
        '%{y} = "tfl.transpose"(%{x}, %{y}p) : ({x_shape}, tensor<{x_rank}xi32>) -> {y_shape}'
    ),
    reshape=(
        "%{y}s = arith.constant dense<{shape}> : tensor<{y_rank}xi32>\n"
        '%{y} = "tfl.reshape"(%{x}, %{y}s) : ({x_shape}, tensor<{y_rank}xi32>) -> {y_shape}'
    ),
    size=None,
)
_LINK = "https://www.tensorflow.org/mlir/tfl_ops#tfl"


def _many_axes_deviation(shapes: tuple[Shape, ...]) -> str | None:
    """Return a sentence if an operator broadcasts more axes than LiteRT's kernels support. Otherwise, return None."""
    if max(map(len, shapes)) > 8 and len(set(shapes)) > 1:
        return "LiteRT 2.3 may fail, or end the process, if this operator broadcasts more than 8 axes."
    return None


_TO = (
    "%{y}s = arith.constant dense<{shape}> : tensor<{y_rank}xi32>\n"
    '%{y} = "tfl.broadcast_to"(%{x}, %{y}s) : ({x_shape}, tensor<{y_rank}xi32>) -> {y_shape}'
)
BROADCAST_TO = declare(Unidirectional, "litert.BROADCAST_TO", _TO, link=f"{_LINK}broadcast_to_tflbroadcasttoop")
ADD = declare(
    Elementwise, "litert.ADD", link=f"{_LINK}add_tfladdop", accepted_deviation=staticmethod(_many_axes_deviation)
)


class SELECT_V2(Choice, name="litert.SELECT_V2"):
    link = f"{_LINK}select_v2_tflselectv2op"

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        if any(shapes) and all(size == 1 for shape in shapes for size in shape):
            return "LiteRT 2.3 returns a scalar if each input of SELECT_V2 has one element."
        return _many_axes_deviation(shapes)


class PRELU(Elementwise, name="litert.PRELU"):
    """Broadcast the slope (input 1) to the shape of input 0. The shapes are right-aligned."""

    link = f"{_LINK}prelu_tflpreluop"
    example_shapes = ((2, 64, 7, 7), (7,))
    accepted_deviation: ClassVar[Any] = staticmethod(_many_axes_deviation)

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        check_rank(shapes[1], shapes[0], 1)
        return align_second_to_first(shapes, len(shapes[0]) - len(shapes[1]))


MESSAGES = """
    litert.ADD | Given shapes, <0> and <1>, are not broadcastable
    litert.SELECT_V2 | Given shapes, <0>, <1> and <2>, are not broadcastable
    litert.BROADCAST_TO | Output shape must be broadcastable from input shape.
    litert.PRELU | HaveSameShapes(input, output) was not true
"""
