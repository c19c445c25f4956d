"""PaddlePaddle: paddle.expand."""

from __future__ import annotations

from ...plan.alignment import Alignment, fit_right, fit_right_keeping
from ...plan.plan import Plan, Shape
from .. import Op, paddle
from .rule import Outcome, Rule

MAX_RANK = 8
"""Sizes of `shape` that Paddle takes."""


def expand(op: paddle.expand, shapes: tuple[Shape, ...]) -> Alignment:
    """NumPy's one-way rule; -1 keeps the input's size; an empty shape keeps the input as it is."""
    (shape,), target = shapes, tuple(op.shape)
    return fit_right_keeping(shape, target, "shape", op.name) if target else fit_right(shape, shape)


def raise_expand(plan: Plan) -> paddle.expand:
    """The shape; none where it would be too long, which keeps the input as it is."""
    shape = plan.outputs[0].output_shape
    return paddle.expand(shape=shape if len(shape) <= MAX_RANK else ())


def _differs(op: paddle.expand, shapes: tuple[Shape, ...], outcome: Outcome) -> str | None:
    (shape,), new = shapes, len(op.shape) - len(shapes[0])
    if not 0 <= new <= MAX_RANK - len(shape) or min(op.shape[:new], default=0) < 0:
        return None
    own = op.shape[new:]
    if min(own, default=0) < -1 and all(want < 0 or have in (1, want) for have, want in zip(shape, own, strict=True)):
        return "Paddle 3.3 takes a size below -1, on an axis that the input has, for 0, whatever the input's size."
    return None


RULES: dict[type[Op], Rule] = {
    paddle.expand: Rule(
        expand,
        link="https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/expand_en.html",
        reference=("paddlepaddle", "3.3.1"),
        example=(paddle.expand(shape=(2, -1)), ((3,),)),
        raise_=raise_expand,
        max_rank=MAX_RANK,
        limited_rank=lambda op, shapes: len(op.shape),
        release_differs=_differs,
    ),
}
