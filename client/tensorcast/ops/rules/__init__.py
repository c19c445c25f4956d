"""The table: every op's rule, and the one way from a request to a plan."""

from __future__ import annotations

from dataclasses import replace

from pydantic import ValidationError

from ...plan.alignment import Alignment, Incompatible, settle
from ...plan.plan import Placement, Plan, Shape
from .. import Op
from . import (
    einops,
    jax,
    mindspore,
    mxnet,
    ngraph,
    numpy,
    onnx,
    openvino,
    paddle,
    poputil,
    stablehlo,
    tensorflow,
    torch,
    xarray,
)
from .rule import Rule

RULES: dict[type[Op], Rule] = {
    **numpy.RULES,
    **ngraph.RULES,
    **mindspore.RULES,
    **poputil.RULES,
    **openvino.RULES,
    **onnx.RULES,
    **torch.RULES,
    **tensorflow.RULES,
    **jax.RULES,
    **stablehlo.RULES,
    **paddle.RULES,
    **mxnet.RULES,
    **xarray.RULES,
    **einops.RULES,
}


def lower(op: Op, shapes: tuple[Shape, ...]) -> Plan:
    """The plan of an op on inputs of these shapes (as many as the op takes).

    Raises Incompatible, with the contract's code, for what the framework raises on.
    """
    return settle(align(op, shapes))


def align(op: Op, shapes: tuple[Shape, ...]) -> Alignment:
    """Which sizes of a request meet, where they agree or not. Raises Incompatible for what no sizes mend."""
    rule = RULES[type(op)]
    if exceeds_rank(op, shapes):
        rank = rule.limited_rank(op, shapes)
        raise Incompatible(
            "rank-too-large", f"{op.name} takes at most {rule.max_rank} axes, and this request has {rank}."
        )
    return rule.align(op, shapes)


def exceeds_rank(op: Op, shapes: tuple[Shape, ...]) -> bool:
    """Whether the framework's own rule refuses a rank of this request."""
    rule = RULES[type(op)]
    return rule.max_rank is not None and rule.limited_rank(op, shapes) > rule.max_rank


def raise_(kind: type[Op], plan: Plan) -> Op | None:
    """The op of this kind that lowers to `plan`; None where its words can't say it. An axis of size 1 that is stretched
    may be one that the op drops and makes anew, as einops does."""
    count = len(plan.input_shapes)
    if not plan.outputs or count < kind.min_inputs or (kind.max_inputs is not None and count > kind.max_inputs):
        return None
    try:
        op = RULES[kind].raise_(plan)
        return op if op is not None and lower(op, plan.input_shapes) in (plan, _unstretched(plan)) else None
    except (Incompatible, ValidationError):  # the latter: a merged axis is longer than an attribute can say
        return None


def _unstretched(plan: Plan) -> Plan:
    """The plan as if each input lacked the axes that it fills from size 1."""
    return replace(plan, outputs=tuple(map(_without_stretched, plan.outputs)))


def _without_stretched(output: Placement) -> Placement:
    kept = [pair for pair in zip(output.input_shape, output.output_axes, strict=True) if _fills(output, *pair)]
    return replace(output, input_shape=tuple(size for size, _ in kept), output_axes=tuple(axis for _, axis in kept))


def _fills(output: Placement, size: int, axis: int) -> bool:
    return size == output.output_shape[axis]


__all__ = ["RULES", "Rule", "align", "exceeds_rank", "lower", "raise_"]
