"""StableHLO: broadcast_in_dim."""

from __future__ import annotations

from ...plan.alignment import Alignment, Incompatible, Relation, check_mapping, check_sizes, fit_axes
from ...plan.plan import Plan, Shape
from ...schema.shapes import brief, format_shape
from .. import Op, stablehlo
from .rule import Rule


def broadcast_in_dim(op: stablehlo.broadcast_in_dim, shapes: tuple[Shape, ...]) -> Alignment:
    """Operand axis `i` on output axis `broadcast_dimensions[i]`, in any order."""
    (shape,), target, mapping = shapes, tuple(op.shape), tuple(op.broadcast_dimensions)
    if len(mapping) != len(shape):
        raise Incompatible(
            "axes-count",
            f"broadcast_dimensions {brief(mapping)} has {len(mapping)} entries for the {len(shape)} axes of input 0 "
            f"of shape {format_shape(shape)}: each operand axis needs its output axis.",
        )
    check_mapping(mapping, target, "broadcast_dimensions")
    check_sizes(target, "shape", op.name)
    return fit_axes(shapes, target, mapping, Relation.INTO)


def raise_broadcast_in_dim(plan: Plan) -> stablehlo.broadcast_in_dim:
    """The placement as it stands: every one can be said."""
    output = plan.outputs[0]
    return stablehlo.broadcast_in_dim(shape=output.output_shape, broadcast_dimensions=output.output_axes)


RULES: dict[type[Op], Rule] = {
    stablehlo.broadcast_in_dim: Rule(
        broadcast_in_dim,
        link="https://openxla.org/stablehlo/spec#broadcast_in_dim",
        reference=("jaxlib", "0.10.2"),
        example=(stablehlo.broadcast_in_dim(shape=(2, 3, 2), broadcast_dimensions=(2, 1)), ((1, 3),)),
        raise_=raise_broadcast_in_dim,
    ),
}
