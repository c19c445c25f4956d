"""OpenVINO: Broadcast-1 (numpy, explicit, pdpd) and Broadcast-3 (numpy, explicit, bidirectional)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...plan.alignment import (
    Alignment,
    Axis,
    Conflict,
    Incompatible,
    Relation,
    Term,
    check_mapping,
    check_rank,
    check_sizes,
    fit_axes,
    fit_right,
    meet_right,
    settle,
)
from ...plan.plan import Plan, Shape
from ...schema.shapes import brief, format_shape
from .. import Op, openvino
from .rule import Outcome, Rule

_LINK = "https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement"


def broadcast(op: openvino.Broadcast1 | openvino.Broadcast3, shapes: tuple[Shape, ...]) -> Alignment:
    """The input placed in `target_shape` as `mode` says."""
    (shape,) = shapes
    target = tuple(op.target_shape)
    if op.mode == "explicit":
        return _explicit(shape, target, tuple(op.axes_mapping or ()))
    if isinstance(op, openvino.Broadcast1) and op.mode == "pdpd":
        return _pdpd(shape, target, 0 if op.axis is None else op.axis)
    if op.mode == "numpy":
        check_rank(shape, target, f"{op.name} in mode numpy")
    check_sizes(target, "target_shape", "OpenVINO")
    return fit_right(shape, target) if op.mode == "numpy" else meet_right(shapes, target)


def _explicit(shape: Shape, target: Shape, mapping: tuple[int, ...]) -> Alignment:
    """Input axis `i` on output axis `mapping[i]`, ascending; a scalar may name one axis, of size 1."""
    named = f"axes_mapping {brief(mapping)}"
    if len(mapping) != len(shape) and not (shape == () and len(mapping) == 1):
        raise Incompatible(
            "axes-count",
            f"{named} has {len(mapping)} entries for {len(shape)} axes of input 0 of shape {format_shape(shape)}: "
            "explicit mode maps each input axis to one output axis.",
        )
    check_mapping(mapping, target, "axes_mapping")
    if list(mapping) != sorted(mapping):
        raise Incompatible(
            "axes-not-sorted",
            f"{named} is not ascending: explicit mode does not transpose; transpose the input first.",
        )
    check_sizes(target, "target_shape", "OpenVINO")
    if shape == () and mapping:
        # The release compares a scalar's one mapped axis with the size 1 and then ignores it.
        placed = fit_axes(((),), target, (), Relation.EQUAL)
        one = Axis(Relation.EQUAL, (Term(0, None, 1), Term(None, mapping[0], target[mapping[0]])))
        axes = (*placed.axes[: mapping[0]], one, *placed.axes[mapping[0] + 1 :])
        return Alignment(placed.input_shapes, target, axes, placed.outputs)
    return fit_axes((shape,), target, mapping, Relation.INTO)


def _pdpd(shape: Shape, target: Shape, axis: int) -> Alignment:
    """The input fills the target's axes from `axis` to the last, both stretching; -1 aligns right."""
    rank = len(target)
    if axis < -1:
        raise Incompatible("axis-out-of-range", f"axis {axis} is below -1: pdpd counts from 0, and -1 aligns right.")
    start = rank - len(shape) if axis == -1 else axis
    placed = fit_axes((shape,), target, tuple(range(max(start, 0), min(start + len(shape), rank))), Relation.MUTUAL)
    if start < 0 or start + len(shape) != rank:
        refusal = Incompatible(
            "rank-mismatch",
            f"Input 0 of shape {format_shape(shape)}, placed from axis {start}, does not end with the last axis of "
            f"the target {format_shape(target)}: pdpd wants {max(rank - max(start, 0), 0)} input axes there; "
            "axis=-1 aligns right.",
        )
        # The release compares the sizes that meet before it runs out of axes.
        return replace(placed, axes=placed.axes if start >= 0 else (), outputs=(), refusal=refusal)
    check_sizes(target, "target_shape", "OpenVINO")
    return placed


def _raise_as(kind: type[openvino.Broadcast1 | openvino.Broadcast3]) -> Callable[[Plan], Op]:
    """Mode numpy where the input is aligned right, explicit elsewhere; the other modes say nothing more."""

    def raise_(plan: Plan) -> Op:
        output = plan.outputs[0]
        rank = len(output.output_shape)
        if output.output_axes == tuple(range(rank - len(output.output_axes), rank)):
            return kind(mode="numpy", target_shape=output.output_shape)
        return kind(mode="explicit", target_shape=output.output_shape, axes_mapping=output.output_axes)

    return raise_


def _differs(op: openvino.Broadcast1 | openvino.Broadcast3, shapes: tuple[Shape, ...], outcome: Outcome) -> str | None:
    (shape,) = shapes
    code = outcome.code if isinstance(outcome, Conflict) else None
    if code == "axis-repeated":
        return "OpenVINO 2026.4 accepts a repeated axes_mapping in shape inference and then reads outside the input."
    if code == "invalid-dimension" and -1 in op.target_shape:
        return "OpenVINO 2026.4 reads a -1 in a constant target as a dynamic dimension, and fails or gives 0 when run."
    if code == "invalid-dimension" and _fits(op, shapes, tuple(max(size, 0) for size in op.target_shape)):
        return "OpenVINO 2026.4 takes a size below -1 in a constant target for 0."
    if code == "rank-mismatch" and op.mode == "pdpd":
        start = op.axis or 0 if isinstance(op, openvino.Broadcast1) else 0
        if start >= 0 and start + len(shape) > len(op.target_shape):
            return "OpenVINO 2026.4 accepts this in shape inference and then reads outside the input."
    if isinstance(outcome, Plan):
        if op.mode == "bidirectional" and shape == () and op.target_shape == ():
            return "OpenVINO 2026.4 infers a scalar here, but its CPU plugin crashes or returns undefined values."
        if 0 in shape:
            return "OpenVINO 2026.4 infers this shape, but its CPU plugin crashes or hangs on an input with a size 0."
        if op.mode == "bidirectional" and 0 in op.target_shape and 0 in outcome.outputs[0].output_shape:
            return (
                "OpenVINO 2026.4 infers this shape, but its CPU plugin takes 1 over 0 where the target is a constant."
            )
    return None


def _fits(op: openvino.Broadcast1 | openvino.Broadcast3, shapes: tuple[Shape, ...], target: Shape) -> bool:
    try:
        settle(broadcast(op.model_copy(update={"target_shape": target}), shapes))
    except Incompatible:
        return False
    return True


RULES: dict[type[Op], Rule] = {
    openvino.Broadcast1: Rule(
        broadcast,
        link=f"{_LINK}/broadcast-1.html",
        reference=("openvino", "2026.4.1"),
        example=(
            openvino.Broadcast1(mode="explicit", target_shape=(1, 16, 50, 50), axes_mapping=(1,)),
            ((16,),),
        ),
        raise_=_raise_as(openvino.Broadcast1),
        release_differs=_differs,
    ),
    openvino.Broadcast3: Rule(
        broadcast,
        link=f"{_LINK}/broadcast-3.html",
        reference=("openvino", "2026.4.1"),
        example=(openvino.Broadcast3(mode="bidirectional", target_shape=(2, 1)), ((1, 3),)),
        raise_=_raise_as(openvino.Broadcast3),
        release_differs=_differs,
    ),
}
