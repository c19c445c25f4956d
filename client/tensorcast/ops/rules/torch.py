"""PyTorch: Tensor.expand and broadcast_tensors."""

from __future__ import annotations

from itertools import accumulate
from operator import mul

from ...plan.alignment import Alignment, fit_right_keeping, meet_right, unchecked_sizes
from ...plan.plan import Shape
from .. import Op, torch
from .rule import Outcome, Rule


def expand(op: torch.expand, shapes: tuple[Shape, ...]) -> Alignment:
    """NumPy's one-way rule; -1 keeps the input's size, and may not stand on a new axis."""
    return fit_right_keeping(shapes[0], tuple(op.size), "size", op.name)


def broadcast_tensors(op: torch.broadcast_tensors, shapes: tuple[Shape, ...]) -> Alignment:
    """All inputs aligned right, each stretching to the others."""
    return meet_right(shapes)


def _differs(op: torch.expand, shapes: tuple[Shape, ...], outcome: Outcome) -> str | None:
    (shape,) = shapes
    sizes = unchecked_sizes(shape, tuple(op.size))
    elements = list(accumulate((size % 2**64 for size in sizes), mul))
    if (
        min(sizes, default=0) < 0
        and not (shape and -1 in sizes)  # on an axis that the input lacks: checked
        and elements[-1] == 0
        and max(elements) < 2**64  # their product is, too
    ):
        return "PyTorch 2.13 does not check this negative size, and beside a 0 makes a tensor of negative shape."
    return None


RULES: dict[type[Op], Rule] = {
    torch.expand: Rule(
        expand,
        link="https://pytorch.org/docs/stable/generated/torch.Tensor.expand.html",
        reference=("torch", "2.13.0"),
        example=(torch.expand(size=(3, -1)), ((4,),)),
        raise_=lambda plan: torch.expand(size=plan.outputs[0].output_shape),
        release_differs=_differs,
    ),
    torch.broadcast_tensors: Rule(
        broadcast_tensors,
        link="https://pytorch.org/docs/stable/generated/torch.broadcast_tensors.html",
        reference=("torch", "2.13.0"),
        example=(torch.broadcast_tensors(), ((1, 3), (2, 1))),
        raise_=lambda plan: torch.broadcast_tensors(),
    ),
}
