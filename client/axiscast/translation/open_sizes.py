"""Keeps sizes open in a translation: a size that the original op takes from its input is not replaced by a number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import ValidationError

from ..messages import Step
from ..ops import Op, align, lower
from ..plan.alignment import ShapeMismatch
from ..plan.plan import Plan, Shape
from ..plan.resolution import try_resolve

KEEPS_SIZE = -1
"""The size with which many ops keep the size of their input."""


def with_open_sizes(op: Op, plan: Plan, steps: Sequence[Step]) -> list[Step]:
    """Return the steps of a translation, with -1 in the target shape wherever `op` takes the size from its input.

    `plan` is the plan of `op`. Only a single step on one input is changed. The new step must do the same as `op` for
    other sizes of the input, too.
    """
    if len(steps) != 1 or len(plan.input_shapes) != 1 or op.target is None:
        return [*steps]
    (step,), (shape,) = steps, plan.input_shapes
    if not isinstance(step.op, Op) or step.op.target is None or plan.outputs[0].merges is not None:
        return [*steps]
    axes = dict(_open_axes(op, plan))
    changed = _with_open_axes(step.op, axes) if axes else None
    sizes = ([0] * len(axes), [1] * len(axes), range(2, len(axes) + 2), [shape[own] for own in axes.values()])
    others = [_with_sizes(shape, dict(zip(axes.values(), each, strict=True))) for each in sizes]
    if changed is not None and all(_do_the_same(op, changed, other) for other in others):
        return [Step(op=changed)]
    return [*steps]


def _with_sizes(shape: Shape, sizes: Mapping[int, int]) -> Shape:
    return tuple(sizes.get(axis, size) for axis, size in enumerate(shape))


def _open_axes(op: Op, plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield each output axis whose size differs from the size in the op's target shape, and its input axis."""
    (output,) = plan.outputs
    target = getattr(op, str(op.target))
    if target is None or len(target) != len(output.output_shape) or output.input_shape != plan.input_shapes[0]:
        return
    for own, axis in enumerate(output.output_axes):
        if target[axis] != output.output_shape[axis]:
            yield axis, own


def _with_open_axes(op: Op, axes: Iterable[int]) -> Op | None:
    """Return the op with -1 on these axes of its target shape, or None if the op's attribute does not accept -1."""
    target = _with_sizes(getattr(op, str(op.target)), dict.fromkeys(axes, KEEPS_SIZE))
    try:
        return type(op).model_validate(op.__dict__ | {str(op.target): target})
    except ValidationError:
        return None


def _do_the_same(op: Op, other: Op, shape: Shape) -> bool:
    """Return whether two ops accept an input of this shape, do the same with it, and no warning is given."""
    if other.attribute_warning() is not None:
        return False
    try:
        plan = try_resolve(align(other, (shape,)))
        return plan == lower(op, (shape,)) and other.known_deviation((shape,), None) is None
    except ShapeMismatch:
        return False
