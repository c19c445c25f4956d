"""Conversion of a request to its plan (lowering), and of a plan to a framework's op."""

from dataclasses import replace

from pydantic import ValidationError

from ..plan.alignment import Alignment, ShapeMismatch
from ..plan.plan import Placement, Plan, Shape
from ..plan.resolution import resolve, try_resolve
from ..wire.errors import InvalidRequest
from .base import Op


def lower(op: Op, shapes: tuple[Shape, ...]) -> Plan:
    """Return the plan for an op with inputs of these shapes. The op must accept the number of shapes.

    Raises ShapeMismatch if the framework refuses the request.

    >>> from axiscast.ops import numpy
    >>> lower(numpy.broadcast_to(shape=(2, 3)), ((3,),)).outputs[0].broadcast_axes
    (0,)
    """
    return resolve(align(op, shapes))


def align(op: Op, shapes: tuple[Shape, ...]) -> Alignment:
    """Return the alignment of a request: the sizes that are combined on each axis, even if they do not fit.

    Raises ShapeMismatch if the request does not broadcast, whatever its sizes are.
    """
    if exceeds_rank(op, shapes):
        raise ShapeMismatch("rank-too-large", "max-rank", op.max_rank, op.limited_rank(shapes))
    return op.align(shapes)


def exceeds_rank(op: Op, shapes: tuple[Shape, ...]) -> bool:
    """Return whether a rank in this request exceeds the framework's limit."""
    return op.max_rank is not None and op.limited_rank(shapes) > op.max_rank


def from_plan(kind: type[Op], plan: Plan) -> Op | None:
    """Return the op of this class that lowers to `plan`, or None if no op of this class does so.

    The op may remove an axis of size 1 and add the axis again instead of expanding the axis, as einops does.

    >>> from axiscast.ops import ngraph, numpy
    >>> from_plan(ngraph.Broadcast, lower(numpy.broadcast_to(shape=(2, 3)), ((3,),)))
    Broadcast(name='ngraph.Broadcast', shape=(2, 3), broadcast_axes=(0,))
    """
    if not (plan.outputs and kind.takes(len(plan.input_shapes))):
        return None
    try:
        op = kind.from_plan(plan)
        lowered = None if op is None else try_resolve(align(op, plan.input_shapes))
        is_same = lowered is not None and (lowered == plan or lowered == _without_expanded_axes(plan))
        return op if is_same else None
    except (ShapeMismatch, ValidationError, InvalidRequest):  # for example, a merged axis is too long for an attribute
        return None


def _without_expanded_axes(plan: Plan) -> Plan:
    """Return the plan without those input axes of size 1 that expand."""
    return replace(plan, outputs=tuple(map(_without_expanded, plan.outputs)))


def _without_expanded(output: Placement) -> Placement:
    pairs = zip(output.input_shape, output.output_axes, strict=True)
    kept = [(size, axis) for size, axis in pairs if size == output.output_shape[axis]]
    return replace(output, input_shape=tuple(size for size, _ in kept), output_axes=tuple(axis for _, axis in kept))
