"""MindSpore: mindspore.ops.broadcast_to."""

from __future__ import annotations

from ...plan.alignment import Alignment, fit_right_keeping, unchecked_sizes
from ...plan.plan import Shape
from .. import Op, mindspore
from .rule import Outcome, Rule


def broadcast_to(op: mindspore.broadcast_to, shapes: tuple[Shape, ...]) -> Alignment:
    """NumPy's one-way rule; -1 keeps the input's size, and may not stand on a new axis."""
    return fit_right_keeping(shapes[0], tuple(op.shape), "shape", op.name)


def _differs(op: mindspore.broadcast_to, shapes: tuple[Shape, ...], outcome: Outcome) -> str | None:
    sizes = unchecked_sizes(shapes[0], tuple(op.shape))
    if 0 in sizes and min(sizes) < -1 and -1 not in sizes:
        return (
            "MindSpore 2.10 does not check sizes below -1, and beside a 0 makes a tensor of negative shape. "
            "They are refused here."
        )
    return None


RULES: dict[type[Op], Rule] = {
    mindspore.broadcast_to: Rule(
        broadcast_to,
        link="https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.broadcast_to.html",
        reference=("mindspore", "2.10.0"),
        example=(mindspore.broadcast_to(shape=(-1, 2)), ((2, 1),)),
        raise_=lambda plan: mindspore.broadcast_to(shape=plan.outputs[0].output_shape),
        release_differs=_differs,
    ),
}
