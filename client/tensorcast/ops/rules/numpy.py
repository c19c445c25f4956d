"""NumPy: numpy.broadcast_arrays and numpy.broadcast_to."""

from __future__ import annotations

from ...plan.alignment import Alignment, fit_right_plainly, meet_right
from ...plan.plan import Shape
from .. import Op, numpy
from .rule import Rule


def broadcast_arrays(op: numpy.broadcast_arrays, shapes: tuple[Shape, ...]) -> Alignment:
    """All inputs aligned right, each stretching to the others."""
    return meet_right(shapes)


def broadcast_to(op: numpy.broadcast_to, shapes: tuple[Shape, ...]) -> Alignment:
    """The input aligned right, stretching into `shape`."""
    return fit_right_plainly(shapes[0], tuple(op.shape), "shape", op.name)


RULES: dict[type[Op], Rule] = {
    numpy.broadcast_arrays: Rule(
        broadcast_arrays,
        link="https://numpy.org/doc/stable/reference/generated/numpy.broadcast_arrays.html",
        reference=("numpy", "2.4.6"),
        example=(numpy.broadcast_arrays(), ((8, 1, 6, 1), (7, 1, 5))),
        raise_=lambda plan: numpy.broadcast_arrays(),
        max_rank=32,  # its iterator stops there, although arrays have up to 64 axes
    ),
    numpy.broadcast_to: Rule(
        broadcast_to,
        link="https://numpy.org/doc/stable/reference/generated/numpy.broadcast_to.html",
        reference=("numpy", "2.4.6"),
        example=(numpy.broadcast_to(shape=(4, 3)), ((3,),)),
        raise_=lambda plan: numpy.broadcast_to(shape=plan.outputs[0].output_shape),
        max_rank=64,
    ),
}
