"""JAX: jax.lax.broadcast."""

from __future__ import annotations

from ...plan.alignment import Alignment, Relation, check_sizes, fit_axes
from ...plan.plan import Plan, Shape
from .. import Op, jax
from .rule import Rule


def broadcast(op: jax.broadcast, shapes: tuple[Shape, ...]) -> Alignment:
    """New leading axes of the given sizes; the operand's own axes follow."""
    sizes = tuple(op.sizes)
    check_sizes(sizes, "sizes", op.name)
    own = tuple(range(len(sizes), len(sizes) + len(shapes[0])))
    return fit_axes(shapes, sizes + shapes[0], own, Relation.EQUAL)


def raise_broadcast(plan: Plan) -> jax.broadcast:
    """The leading axes that the operand lacks, as sizes."""
    output = plan.outputs[0]
    return jax.broadcast(sizes=output.output_shape[: len(output.new_axes)])


RULES: dict[type[Op], Rule] = {
    jax.broadcast: Rule(
        broadcast,
        link="https://docs.jax.dev/en/latest/_autosummary/jax.lax.broadcast.html",
        reference=("jax", "0.10.2"),
        example=(jax.broadcast(sizes=(2, 3)), ((4,),)),
        raise_=raise_broadcast,
    ),
}
