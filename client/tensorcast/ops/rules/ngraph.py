"""nGraph: ngraph.Broadcast and ngraph.BroadcastLike."""

from __future__ import annotations

from ...plan.alignment import Alignment, Incompatible, Relation, check_sizes, fit_axes, is_known
from ...plan.plan import Plan, Shape
from ...schema.shapes import brief, format_shape
from .. import Op, ngraph
from .rule import Outcome, Rule

_SOURCE = "https://github.com/NervanaSystems/ngraph/blob/v0.26.0"


def broadcast(op: ngraph.Broadcast, shapes: tuple[Shape, ...]) -> Alignment:
    """`arg` has exactly the axes of `shape` that are not in `broadcast_axes`."""
    target = tuple(op.shape)
    kept = _kept_axes(shapes[0], target, tuple(op.broadcast_axes), op.name)
    check_sizes(target, "shape", op.name)
    return fit_axes(shapes, target, kept, Relation.EQUAL)


def broadcast_like(op: ngraph.BroadcastLike, shapes: tuple[Shape, ...]) -> Alignment:
    """As Broadcast to the shape of `like_arg`; with no axes given they are inferred from the left."""
    arg, like = shapes
    axes = tuple(op.initial_broadcast_axes) or _inferred_axes(arg, like)
    return fit_axes(shapes, like, _kept_axes(arg, like, axes, op.name), Relation.EQUAL, lender=1)


def raise_broadcast(plan: Plan) -> ngraph.Broadcast:
    """The axes that `arg` lacks, by number."""
    output = plan.outputs[0]
    return ngraph.Broadcast(shape=output.output_shape, broadcast_axes=output.new_axes)


def raise_broadcast_like(plan: Plan) -> ngraph.BroadcastLike:
    """As for Broadcast; the shape is `like_arg`'s to say."""
    return ngraph.BroadcastLike(initial_broadcast_axes=plan.outputs[0].new_axes)


def _inferred_axes(arg: Shape, like: Shape) -> tuple[int, ...]:
    """Axes past arg's rank, and axes where arg has 1 under a larger size: there the ranks then differ, so that a
    symbol fits only where it is equal."""
    return tuple(
        axis for axis, size in enumerate(like) if axis >= len(arg) or (arg[axis] == 1 and is_known(size) and size > 1)
    )


def _kept_axes(arg: Shape, shape: Shape, broadcast_axes: tuple[int, ...], name: str) -> tuple[int, ...]:
    """The axes of `shape` without `broadcast_axes`: as many as `arg` has."""
    rank = len(shape)
    for axis in broadcast_axes:
        if not 0 <= axis < rank:
            raise Incompatible(
                "axis-out-of-range",
                f"broadcast axis {axis} lies outside the output {format_shape(shape)}: "
                + (f"its axes are 0 to {rank - 1}." if rank else "a scalar has no axes."),
            )
    kept = tuple(axis for axis in range(rank) if axis not in broadcast_axes)
    if len(kept) != len(arg):
        raise Incompatible(
            "rank-mismatch",
            f"Input 0 of shape {format_shape(arg)} has {len(arg)} axes, but the output {format_shape(shape)} without "
            f"broadcast axes {brief(broadcast_axes)} leaves {len(kept)}: {name} names every axis that the input lacks "
            "and no axis that it has.",
        )
    return kept


def _like_differs(op: ngraph.BroadcastLike, shapes: tuple[Shape, ...], outcome: Outcome) -> str | None:
    if isinstance(outcome, Plan) and shapes[0]:
        return (
            "nGraph 0.26 accepts only a scalar arg here: its constructor validates with an empty shape first. "
            "The documented rule is answered."
        )
    return None


RULES: dict[type[Op], Rule] = {
    ngraph.Broadcast: Rule(
        broadcast,
        link=f"{_SOURCE}/doc/sphinx/source/ops/broadcast.rst",
        reference=("ngraph", "0.26.0"),
        example=(ngraph.Broadcast(shape=(2, 3), broadcast_axes=(0,)), ((3,),)),
        raise_=raise_broadcast,
    ),
    ngraph.BroadcastLike: Rule(
        broadcast_like,
        link=f"{_SOURCE}/src/ngraph/op/broadcast.cpp",
        reference=("ngraph", "0.26.0"),
        example=(ngraph.BroadcastLike(initial_broadcast_axes=(1,)), ((2,), (2, 3))),
        raise_=raise_broadcast_like,
        release_differs=_like_differs,
        weighs_sizes=lambda op: not op.initial_broadcast_axes,
    ),
}
