"""check: the shapes that come out, or why none do. The one implementation, for HTTP and for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from tensorcast.schema.dtypes import UnknownDtype, dtype_named
from tensorcast.schema.memory import Reserve, unlimited
from tensorcast.schema.messages import CheckAnswer, CheckRequest, Condition, ConflictAnswer, OutputShape, Warned
from tensorcast.schema.ops import Op
from tensorcast.schema.problems import Problem
from tensorcast.schema.shapes import format_shape

from .alignment import Alignment, Conflict, Incompatible
from .diagram import draw
from .footprint import answer_bytes
from .hints import Lower, hints
from .limits import MAX_RANK, exact, judge_ranks
from .ops import RULES, lower
from .plan import Placement, Plan, Shape
from .symbolic import SymbolicPlacement, SymbolicPlan, is_symbolic, judge_assumed
from .symbolic import lower as lower_symbolic

_NAMED_INPUTS = 20
"""Inputs of a conflict that an answer lists."""
_JOINED_CONDITIONS = 20
"""Conditions that an answer in text lists."""


def check(request: CheckRequest, reserve: Reserve = unlimited) -> CheckAnswer:
    """The answer to a check. Raises Problem for what the op could never accept. `reserve` is asked for its memory."""
    op, shapes = request.op, tuple(request.inputs)
    itemsize = _itemsize(request.dtype)
    judge_request(op, shapes)
    reserve(answer_bytes(op, shapes))
    if request.assume:
        judge_assumed(op, shapes, request.assume)
    symbolic = is_symbolic(op, shapes)
    lower_here: Lower = partial(lower_symbolic, assume=request.assume or {}) if symbolic else lower
    outcome = _outcome(lower_here, op, shapes)
    warnings = _warnings(op, shapes, outcome)
    if not isinstance(outcome, SymbolicPlan) and not symbolic:  # what releases do is known of integers alone
        differs = RULES[type(op)].release_differs(op, shapes, outcome)
        warnings += [Warned(code="release-differs", message=differs)] if differs else []
    if isinstance(outcome, Conflict):
        conflict = conflict_answer(op, shapes, outcome, lower_here)
        answer = CheckAnswer(compatible=False, conflict=conflict, warnings=warnings)
    else:
        answer = CheckAnswer(
            compatible=True,
            outputs=[_output(placement, itemsize, shapes) for placement in outcome.outputs],
            warnings=warnings,
        )
    if isinstance(outcome, SymbolicPlan):
        answer.conditions = list(outcome.conditions)
        answer.compatible = None if outcome.conditions else True
    name_dims = RULES[type(op)].output_dims
    if name_dims is not None:
        for output, dims in zip(answer.outputs, name_dims(op), strict=False):
            output.dims = dims
    if request.explain and op.highest_rank(shapes) <= MAX_RANK:
        answer.diagram = draw(op, shapes, _alignment(op, shapes), outcome)
    return answer


def as_text(answer: CheckAnswer) -> str:
    """An answer for a terminal: the drawing, if it was asked for, and a sentence for each thing to say."""
    lines = [answer.diagram, ""] if answer.diagram else []
    if answer.conflict is None:
        shapes = dict.fromkeys(format_shape(output.shape) for output in answer.outputs)
        said = "compatible" if answer.compatible else f"compatible if {_joined(answer.conditions)}"
        lines.append(f"{said}: {', '.join(shapes)}" if shapes else said)
    else:
        lines.append(f"incompatible ({answer.conflict.code}): {answer.conflict.message}")
        lines += [f"hint: {hint}" for hint in answer.conflict.hints]
    lines += [f"warning ({warning.code}): {warning.message}" for warning in answer.warnings]
    return "\n".join(lines)


def _joined(conditions: Sequence[Condition]) -> str:
    """All of them in one sentence, the alternatives in parentheses where several are joined."""
    texts = [condition.text for condition in conditions[:_JOINED_CONDITIONS]]
    if len(conditions) > 1:
        texts = [f"({text})" if " or " in text else text for text in texts]
    if len(conditions) > len(texts):
        texts.append(f"{len(conditions) - len(texts)} more conditions")
    return " and ".join(texts)


def judge_request(op: Op, shapes: tuple[Shape, ...]) -> None:
    """Raises Problem for a number of inputs that the op never takes, or for too many axes."""
    if wrong := op.input_count_problem(len(shapes)):
        raise Problem("invalid-request", wrong, pointer="/inputs")
    judge_ranks(op, shapes)


def plan_of(op: Op, shapes: tuple[Shape, ...], reserve: Reserve = unlimited) -> Plan:
    """The plan of a request. Raises Problem (incompatible-shapes, with the conflict) where there is none; `reserve`
    is asked for its memory."""
    judge_request(op, shapes)
    reserve(answer_bytes(op, shapes))
    try:
        return lower(op, shapes)
    except Incompatible as incompatible:
        conflict = conflict_answer(op, shapes, incompatible.conflict)
        raise Problem(
            "incompatible-shapes", conflict.message, conflict=conflict.model_dump(exclude_unset=True)
        ) from None


def conflict_answer(op: Op, shapes: tuple[Shape, ...], conflict: Conflict, lower: Lower = lower) -> ConflictAnswer:
    """A conflict as it is sent, with hints."""
    return ConflictAnswer(
        code=conflict.code,
        message=conflict.message,
        axis=conflict.axis,
        inputs=list(conflict.inputs[:_NAMED_INPUTS]),
        sizes=list(conflict.sizes[:_NAMED_INPUTS]),
        hints=hints(op, shapes, lower),
    )


def _outcome(lower: Lower, op: Op, shapes: tuple[Shape, ...]) -> Plan | SymbolicPlan | Conflict:
    try:
        return lower(op, shapes)
    except Incompatible as incompatible:
        return incompatible.conflict


def _alignment(op: Op, shapes: tuple[Shape, ...]) -> Alignment | None:
    try:
        alignment = RULES[type(op)].align(op, shapes)
    except Incompatible:
        return None
    return alignment if alignment.refusal is None else None


def _itemsize(dtype: str | None) -> int | None:
    try:
        return None if dtype is None else dtype_named(dtype).itemsize
    except UnknownDtype as error:
        raise Problem("invalid-request", f"dtype: {error}", pointer="/dtype") from None


def _output(placement: Placement | SymbolicPlacement, itemsize: int | None, shapes: tuple[Shape, ...]) -> OutputShape:
    if isinstance(placement, Placement):
        elements: int | None = prod(placement.output_shape)
    else:
        elements = _product(placement.shape)
    output = OutputShape(
        shape=list(placement.shape),
        input=placement.input,
        axes=list(placement.output_axes),
        broadcast_axes=list(placement.broadcast_axes),
        elements=None if elements is None else exact(elements),
    )
    if placement.merges is not None or placement.input_shape != shapes[placement.input]:
        output.factors = list(placement.output_shape)
        output.shape = [exact(size) if isinstance(size, int) else size for size in output.shape]  # a merge may be huge
    if isinstance(placement, SymbolicPlacement):
        output.maybe_broadcast_axes = list(placement.maybe_broadcast_axes)
    if itemsize is not None:
        output.nbytes = None if elements is None else exact(elements * itemsize)
    return output


def _stretches(placement: Placement | SymbolicPlacement) -> bool:
    return any(placement.output_shape[axis] != 1 for axis in placement.broadcast_axes)


def _product(shape: Sequence[int | str]) -> int | None:
    """Virtual elements; None where the sizes leave it open."""
    known = [size for size in shape if isinstance(size, int)]
    return prod(known) if len(known) == len(shape) or 0 in known else None


def _warnings(op: Op, shapes: tuple[Shape, ...], outcome: Plan | SymbolicPlan | Conflict) -> list[Warned]:
    warnings = []
    if not isinstance(outcome, Conflict) and len(outcome.outputs) > 1 and RULES[type(op)].output_dims is None:
        stretching = [placement for placement in outcome.outputs if _stretches(placement)]
        if len(stretching) > 1:
            one, other = stretching[:2]
            warnings.append(
                Warned(
                    code="mutual-stretch",
                    message=f"Inputs {one.input} and {other.input} stretch each other: "
                    f"{format_shape(one.input_shape)} and {format_shape(other.input_shape)} become "
                    f"{format_shape(one.shape)}. Where only one was meant to stretch, an axis is missing.",
                )
            )
        ranks = [len(placement.input_shape) for placement in outcome.outputs]
        if min(ranks) != max(ranks):
            low, high = ranks.index(min(ranks)), ranks.index(max(ranks))
            warnings.append(
                Warned(
                    code="rank-promotion",
                    message=f"Input {low} of shape {format_shape(shapes[low])} gets new axes on the left to meet input "
                    f"{high} of shape {format_shape(shapes[high])}. Write them out where that is not meant.",
                )
            )
    return warnings
