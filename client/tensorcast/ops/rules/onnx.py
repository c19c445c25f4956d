"""ONNX: Expand."""

from __future__ import annotations

from ...plan.alignment import Alignment, check_sizes, meet_right
from ...plan.plan import Shape
from .. import Op, onnx
from .rule import Rule


def expand(op: onnx.Expand, shapes: tuple[Shape, ...]) -> Alignment:
    """The input and `shape` aligned right, each stretching to the other."""
    target = tuple(op.shape)
    check_sizes(target, "shape", op.name)
    return meet_right(shapes, target)


RULES: dict[type[Op], Rule] = {
    onnx.Expand: Rule(
        expand,
        link="https://onnx.ai/onnx/operators/onnx__Expand.html",
        reference=("onnx", "1.23.2"),
        example=(onnx.Expand(shape=(2, 1, 6)), ((3, 1),)),
        raise_=lambda plan: onnx.Expand(shape=plan.outputs[0].output_shape),
    ),
}
