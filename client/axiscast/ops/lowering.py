"""From a request to its plan, and back to each framework's words. What holds of every op stands here, once."""

from dataclasses import replace

from pydantic import ValidationError

from ..plan.alignment import Alignment, ShapeMismatch
from ..plan.plan import Placement, Plan, Shape
from ..plan.resolution import resolve, try_resolve
from ..wire.errors import InvalidRequest
from .base import Op


def lower(op: Op, shapes: tuple[Shape, ...]) -> Plan:
    """The plan of an op on inputs of these shapes (as many as the op takes).

    Raises ShapeMismatch, with the contract's code, for what the framework raises on.

    >>> from axiscast.ops import numpy
    >>> lower(numpy.broadcast_to(shape=(2, 3)), ((3,),)).outputs[0].broadcast_axes
    (0,)
    """
    return resolve(align(op, shapes))


def align(op: Op, shapes: tuple[Shape, ...]) -> Alignment:
    """Which sizes of a request meet, where they agree or not. Raises ShapeMismatch for what no sizes mend."""
    if exceeds_rank(op, shapes):
        rank = op.limited_rank(shapes)
        raise ShapeMismatch(
            "rank-too-large", f"{op.alias or op.name} takes at most {op.max_rank} axes, and this request has {rank}."
        )
    return op.align(shapes)


def exceeds_rank(op: Op, shapes: tuple[Shape, ...]) -> bool:
    """Whether the framework's own rule refuses a rank of this request."""
    return op.max_rank is not None and op.limited_rank(shapes) > op.max_rank


def from_plan(kind: type[Op], plan: Plan) -> Op | None:
    """The op of this kind that lowers to `plan`; None where its words can't say it. An axis of size 1 that is stretched
    may be one that the op drops and makes anew, as einops does.

    >>> from axiscast.ops import ngraph, numpy
    >>> from_plan(ngraph.Broadcast, lower(numpy.broadcast_to(shape=(2, 3)), ((3,),)))
    Broadcast(name='ngraph.Broadcast', shape=(2, 3), broadcast_axes=(0,))
    """
    count = len(plan.input_shapes)
    if (
        not (plan.outputs and kind.snippets)
        or count < kind.min_inputs
        or (kind.max_inputs is not None and count > kind.max_inputs)
    ):
        return None
    try:
        op = kind.from_plan(plan)
        lowered = None if op is None else try_resolve(align(op, plan.input_shapes))
        return op if lowered is not None and (lowered == plan or lowered == _unstretched(plan)) else None
    except (ShapeMismatch, ValidationError, InvalidRequest):  # a merged axis is longer than an attribute can say
        return None


def _unstretched(plan: Plan) -> Plan:
    """The plan as if each input lacked the axes that it fills from size 1."""
    return replace(plan, outputs=tuple(map(_without_stretched, plan.outputs)))


def _without_stretched(output: Placement) -> Placement:
    kept = [pair for pair in zip(output.input_shape, output.output_axes, strict=True) if _fills(output, *pair)]
    return replace(output, input_shape=tuple(size for size, _ in kept), output_axes=tuple(axis for _, axis in kept))


def _fills(output: Placement, size: int, axis: int) -> bool:
    return size == output.output_shape[axis]
