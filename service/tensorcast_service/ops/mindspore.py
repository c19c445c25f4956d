"""MindSpore: mindspore.ops.broadcast_to."""

from __future__ import annotations

from dataclasses import replace

from tensorcast.schema.ops import Op, mindspore
from tensorcast.schema.shapes import format_shape

from ..alignment import Alignment, Incompatible, check_rank, check_sizes, fit_right
from ..plan import Shape
from .rule import Outcome, Rule


def broadcast_to(op: mindspore.broadcast_to, shapes: tuple[Shape, ...]) -> Alignment:
    """NumPy's one-way rule; -1 keeps the input's size, and may not stand on a new axis."""
    (shape,) = shapes
    target = tuple(op.shape)
    check_rank(shape, target, op.name)
    return replace(fit_right(shape, keep_sizes(shape, target, op.name)), target=target)


def keep_sizes(shape: Shape, target: Shape, name: str) -> Shape:
    """The target with each -1 replaced by the size that the input has there, aligned right."""
    new = len(target) - len(shape)
    for axis, size in enumerate(target[:new]):
        if size == -1:
            raise Incompatible(
                "invalid-dimension",
                f"shape {format_shape(target)} has -1 on axis {axis}, which input 0 of shape {format_shape(shape)} "
                f"lacks: -1 keeps a size that is there; write the size of a new axis.",
                axis=axis,
                inputs=(None,),
                sizes=(-1,),
            )
    kept = target[:new] + tuple(have if want == -1 else want for have, want in zip(shape, target[new:], strict=True))
    check_sizes(kept, "shape", name)
    return kept


def _differs(op: mindspore.broadcast_to, shapes: tuple[Shape, ...], outcome: Outcome) -> str | None:
    if 0 in op.shape and min(op.shape) < -1:
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
        release_differs=_differs,
    ),
}
