"""The table: every op's rule, and the one way from a request to a plan."""

from __future__ import annotations

from tensorcast.schema.ops import Op

from ..alignment import Alignment, Incompatible, settle
from ..plan import Plan, Shape
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
    rank = op.highest_rank(shapes)
    if rule.max_rank is not None and rank > rule.max_rank:
        raise Incompatible(
            "rank-too-large", f"{op.name} takes at most {rule.max_rank} axes, and this request has {rank}."
        )
    return rule.align(op, shapes)


__all__ = ["RULES", "Rule", "align", "lower"]
