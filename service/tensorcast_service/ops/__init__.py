"""The table: every op's rule, and the one way from a request to a plan."""

from __future__ import annotations

from tensorcast.schema.ops import Op

from ..alignment import Incompatible, settle
from ..plan import Plan, Shape
from . import (
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
}


def lower(op: Op, shapes: tuple[Shape, ...]) -> Plan:
    """The plan of an op on inputs of these shapes (as many as the op takes).

    Raises Incompatible, with the contract's code, for what the framework raises on.
    """
    rule = RULES[type(op)]
    rank = highest_rank(op, shapes)
    if rule.max_rank is not None and rank > rule.max_rank:
        raise Incompatible(
            "rank-too-large", f"{op.name} takes at most {rule.max_rank} axes, and this request has {rank}."
        )
    return settle(rule.align(op, shapes))


def raise_(kind: type[Op], plan: Plan) -> Op | None:
    """The op of this kind that lowers to `plan`; None where its words can't say it."""
    count = len(plan.input_shapes)
    if not plan.outputs or count < kind.min_inputs or (kind.max_inputs is not None and count > kind.max_inputs):
        return None
    op = RULES[kind].raise_(plan)
    try:
        return op if op is not None and lower(op, plan.input_shapes) == plan else None
    except Incompatible:
        return None


def highest_rank(op: Op, shapes: tuple[Shape, ...]) -> int:
    """The largest rank that the request names, in an input or in the target attribute."""
    target = getattr(op, op.target) if op.target else None
    return max(map(len, shapes + ((target,) if target is not None else ())))


__all__ = ["RULES", "Rule", "highest_rank", "lower", "raise_"]
