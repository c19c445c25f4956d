"""Poplar: poputil's expandToMatchRanks, broadcastToMatch and canBroadcastToMatch."""

from __future__ import annotations

from ...plan.alignment import (
    Alignment,
    Axis,
    Conflict,
    Output,
    Relation,
    Term,
    changed,
    fit_right_plainly,
    is_known,
    meet_right,
    settle,
)
from ...plan.plan import Plan, Shape
from .. import Op, poputil
from .rule import Outcome, Rule

_LINK = "https://docs.graphcore.ai/projects/poplar-api/en/latest/poplibs/poputil/Broadcast.html"
_REFERENCE = ("poplibs", "3.0.0")


def expand_to_match_ranks(op: poputil.expandToMatchRanks, shapes: tuple[Shape, ...]) -> Alignment:
    """Both outputs have the larger rank; the axes that an input lacks have size 1."""
    rank = max(map(len, shapes))
    axes: list[Axis] = []
    outputs = []
    for number, shape in enumerate(shapes):
        new = rank - len(shape)
        outputs.append(Output(number, tuple(range(new, rank)), range(len(axes), len(axes) + rank)))
        axes += [Axis(Relation.EQUAL, (Term(None, None, 1),)) for _ in range(new)]
        axes += [Axis(Relation.EQUAL, (Term(number, axis, size),)) for axis, size in enumerate(shape)]
    return Alignment(shapes, None, tuple(axes), tuple(outputs))


def broadcast_to_match(op: poputil.broadcastToMatch, shapes: tuple[Shape, ...]) -> Alignment:
    """One input into `shape`, or two or three inputs each stretching to the others."""
    if op.shape is None:
        return meet_right(shapes)
    return fit_right_plainly(shapes[0], tuple(op.shape), "shape", op.name)


def raise_broadcast_to_match(plan: Plan) -> poputil.broadcastToMatch:
    """With `shape` for one input, without for two or three."""
    return poputil.broadcastToMatch(shape=plan.outputs[0].output_shape if len(plan.input_shapes) == 1 else None)


def can_broadcast_to_match(op: poputil.canBroadcastToMatch, shapes: tuple[Shape, ...]) -> Alignment:
    """The rule of broadcastToMatch, asked only. An axis that the release refuses too is blamed first."""
    asked = changed(meet_right(shapes), outputs=())
    settle(changed(asked, axes=tuple(Axis(Relation.MUTUAL, ()) if _passes(axis) else axis for axis in asked.axes)))
    return asked


def _passes(axis: Axis) -> bool:
    """The release's own test of two sizes: a * b < a + b in 64 bits, which a 0, or a product that wraps, passes."""
    sizes = [term.size for term in axis.terms]
    if len(sizes) == 1 or sizes[0] == sizes[1] or not is_known(*sizes):
        return True
    return sizes[0] * sizes[1] % 2**64 < sum(sizes) % 2**64


def _can_differs(op: poputil.canBroadcastToMatch, shapes: tuple[Shape, ...], outcome: Outcome) -> str | None:
    if isinstance(outcome, Conflict) and all(map(_passes, meet_right(shapes).axes)):
        return (
            "poplibs answers true here: it tests a * b < a + b, which a size 0 or an overflow passes; "
            "its broadcastToMatch throws. The documented rule is answered."
        )
    return None


RULES: dict[type[Op], Rule] = {
    poputil.expandToMatchRanks: Rule(
        expand_to_match_ranks,
        link=_LINK,
        reference=_REFERENCE,
        example=(poputil.expandToMatchRanks(), ((2, 3), (4, 2, 3))),
        raise_=lambda plan: poputil.expandToMatchRanks(),
    ),
    poputil.broadcastToMatch: Rule(
        broadcast_to_match,
        link=_LINK,
        reference=_REFERENCE,
        example=(poputil.broadcastToMatch(), ((3, 1), (4,))),
        raise_=raise_broadcast_to_match,
    ),
    poputil.canBroadcastToMatch: Rule(
        can_broadcast_to_match,
        link=_LINK,
        reference=_REFERENCE,
        example=(poputil.canBroadcastToMatch(), ((3, 1), (4,))),
        release_differs=_can_differs,
        weighs_sizes=lambda op: True,
    ),
}
