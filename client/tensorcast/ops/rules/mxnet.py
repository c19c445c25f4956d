"""MXNet: broadcast_axis and broadcast_like."""

from __future__ import annotations

from ...plan.alignment import Alignment, Axis, Incompatible, Output, Relation, Term, check_sizes, fit_axes
from ...plan.plan import Plan, Shape
from ...schema.shapes import as_list, brief, format_shape
from .. import Op, mxnet
from .rule import Rule


def broadcast_axis(op: mxnet.broadcast_axis, shapes: tuple[Shape, ...]) -> Alignment:
    """Each named axis, of size 1, gets its size; one that is named again must still be 1."""
    (shape,) = shapes
    axes, sizes = as_list(op.axis), tuple(as_list(op.size))
    _check_counts(axes, sizes, "axis", "size")
    for axis in axes:
        if not 0 <= axis < len(shape):
            raise _outside(axis, "axis", 0, shape)
    check_sizes(sizes, "size", op.name)
    terms = [[Term(0, axis, size)] for axis, size in enumerate(shape)]
    for position, (axis, size) in enumerate(zip(axes, sizes, strict=True)):
        terms[axis].append(Term(None, position, size))
    return _stretched(shapes, terms)


def broadcast_like(op: mxnet.broadcast_like, shapes: tuple[Shape, ...]) -> Alignment:
    """The axes `lhs_axes`, each of size 1, get the sizes of `rhs_axes`; without both, lhs stretches into rhs."""
    lhs, rhs = shapes
    if op.lhs_axes is None or op.rhs_axes is None:
        if len(lhs) != len(rhs):
            raise Incompatible(
                "rank-mismatch",
                f"Input 0 of shape {format_shape(lhs)} has {len(lhs)} axes and input 1 of shape {format_shape(rhs)} "
                f"has {len(rhs)}: {op.name} aligns no ranks; name lhs_axes and rhs_axes, or reshape.",
            )
        return fit_axes(shapes, rhs, tuple(range(len(lhs))), Relation.INTO, lender=1)
    _check_counts(op.lhs_axes, op.rhs_axes, "lhs_axes", "rhs_axes")
    if not op.lhs_axes:
        raise Incompatible("axes-count", "lhs_axes and rhs_axes are empty: name an axis of each, or leave both out.")
    terms = [[Term(0, axis, size)] for axis, size in enumerate(lhs)]
    for one, other in zip(op.lhs_axes, op.rhs_axes, strict=True):
        if not -len(lhs) <= one < len(lhs):
            raise _outside(one, "lhs_axes", 0, lhs)
        if not -len(rhs) <= other < len(rhs):
            raise _outside(other, "rhs_axes", 1, rhs)
        axis = other % len(rhs)
        terms[one % len(lhs)][1:] = [Term(1, axis, rhs[axis])]  # of an axis named twice the last counts
    return _stretched(shapes, terms)


def raise_broadcast_axis(plan: Plan) -> mxnet.broadcast_axis:
    """The axes that are stretched, and their sizes."""
    output = plan.outputs[0]
    axes = output.broadcast_axes
    return mxnet.broadcast_axis(axis=axes, size=[output.output_shape[axis] for axis in axes])


def raise_broadcast_like(plan: Plan) -> mxnet.broadcast_like:
    """No axes where `lhs` fills the shape of `rhs`; else its axes of size 1, each with an axis of the size it gets."""
    output, (lhs, rhs) = plan.outputs[0], plan.input_shapes
    if output.output_shape == rhs:
        return mxnet.broadcast_like()
    pairs = [
        (axis, rhs.index(size))
        for axis, (own, size) in enumerate(zip(lhs, output.output_shape, strict=False))
        if own == 1 and size in rhs
    ]
    return mxnet.broadcast_like(lhs_axes=[one for one, _ in pairs], rhs_axes=[other for _, other in pairs])


def _stretched(shapes: tuple[Shape, ...], terms: list[list[Term]]) -> Alignment:
    """Input 0, axis by axis, each stretching from size 1 to what it meets."""
    axes = tuple(Axis(Relation.FROM_ONE, tuple(meeting)) for meeting in terms)
    every = tuple(range(len(axes)))
    return Alignment(shapes, None, axes, (Output(0, every, every),))


def _check_counts(one: object, other: object, name: str, other_name: str) -> None:
    first, second = as_list(one), as_list(other)
    if len(first) != len(second):
        raise Incompatible(
            "axes-count",
            f"{name} {brief(first)} has {len(first)} entries and {other_name} {brief(second)} has {len(second)}: "
            "give as many.",
        )


def _outside(axis: int, attribute: str, number: int, shape: Shape) -> Incompatible:
    return Incompatible(
        "axis-out-of-range",
        f"{attribute} names axis {axis}, outside input {number} of shape {format_shape(shape)}.",
    )


_LINK = "https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/legacy/ndarray/op/index.html#mxnet.ndarray.op"
RULES: dict[type[Op], Rule] = {
    mxnet.broadcast_axis: Rule(
        broadcast_axis,
        link=f"{_LINK}.broadcast_axis",
        reference=("mxnet", "1.9.1"),
        example=(mxnet.broadcast_axis(axis=(0, 2), size=(2, 4)), ((1, 3, 1),)),
        raise_=raise_broadcast_axis,
    ),
    mxnet.broadcast_like: Rule(
        broadcast_like,
        link=f"{_LINK}.broadcast_like",
        reference=("mxnet", "1.9.1"),
        example=(mxnet.broadcast_like(lhs_axes=(0,), rhs_axes=(-1,)), ((1, 2, 3), (5, 6, 7))),
        raise_=raise_broadcast_like,
    ),
}
