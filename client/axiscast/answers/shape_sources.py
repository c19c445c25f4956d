"""Translations in which an op takes missing sizes from another tensor, the lender."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import count
from math import gcd, prod

from ..messages import Reshape, Step, Transpose
from ..ops import Op, from_plan
from ..plan.plan import Placement, Plan, Shape
from ..wire.cancellation import checkpoint
from .arrangements import own_axes_first
from .translation_steps import merge_reshapes, moves, reshape_to, steps_around, steps_with_one_op

MAX_FAILURES = 16
"""The most failed pairs of tensors before the search ends. Each takes a millisecond or more."""


class _Enough(Exception):
    """The search for a lender has failed MAX_FAILURES times."""


def by_lenders(plan: Plan, kind: type[Op]) -> list[Step] | None:
    """Return steps with one op for each output, applied to its input and a lender with the missing sizes.

    The lender is any input or output that has these sizes, reshaped if necessary. If there is no lender, or if ops of
    this kind do not take two tensors, return None.
    """
    if kind.max_inputs is not None and kind.max_inputs < 2:
        return None
    shapes, steps, failures = list(plan.input_shapes), [], count(1)
    pending = sorted(plan.outputs, key=lambda output: not is_rearranged(output))
    for _ in range(2):  # a lender may be an output that is made after the one that needs it
        left = []
        for placement in pending:
            checkpoint()
            try:
                moved = is_rearranged(placement)
                own = _rearranged(placement, shapes, kind) if moved else _expanded(placement, shapes, kind, failures)
            except _Enough:
                return None
            if own is None:
                left.append(placement)
            else:
                steps += own
                shapes[placement.input] = placement.shape
        pending = left
    if pending:
        return None
    wanted = {output.input for output in plan.outputs}
    while steps and steps[-1].input is not None and steps[-1].input not in wanted:
        steps.pop()  # it only restores the shape of a lender
    return steps


def by_all(plan: Plan, kind: type[Op]) -> list[Step] | None:
    """Return steps with one op that broadcasts every input, also those that are only lenders.

    The outputs of lenders are not used. If no input is only a lender, or if the lenders are not right-aligned with the
    output, return None.
    """
    lenders = set(range(len(plan.input_shapes))) - {output.input for output in plan.outputs}
    if not lenders or len(plan.outputs) != 1:
        return None
    (output,) = plan.outputs
    lent = [_right_aligned(lender, plan.input_shapes[lender], output.output_shape) for lender in sorted(lenders)]
    if None in lent:
        return None
    placements = sorted(filter(None, [output, *lent]), key=lambda placement: placement.input)
    return _without(lenders, steps_with_one_op(Plan(plan.input_shapes, tuple(placements)), kind))


def emptied(plan: Plan) -> tuple[list[Step], Plan]:
    """Return the plan with each empty input reshaped to its output's shape, and the reshaping steps."""
    shapes, outputs, steps = list(plan.input_shapes), [], []
    for output in plan.outputs:
        if 0 in output.input_shape and output.input_shape != output.shape:
            steps.append(Step(op=Reshape(shape=output.shape), input=output.input if len(shapes) > 1 else None))
            shapes[output.input] = output.shape
            output = _kept(output.input, output.shape)
        outputs.append(output)
    return steps, Plan(tuple(shapes), tuple(outputs))


def is_rearranged(placement: Placement) -> bool:
    """Return whether an output has as many elements as its input, so that reshapes and transpositions suffice."""
    return prod(placement.input_shape) == prod(placement.output_shape)


def lends(shape: Shape, placement: Placement) -> bool:
    """Return whether a tensor can be reshaped to a lender with all sizes that an output's input lacks.

    Each axis of such a shape has size 1 or the output's size, and the output's axes may be split.
    """
    lacking, elements, whole = prod(_lacking(placement)), prod(shape), prod(placement.output_shape)
    if 0 in (elements, whole):
        return elements == whole
    return elements % lacking == 0 and whole % elements == 0


def _lacking(placement: Placement) -> list[int]:
    return [placement.output_shape[axis] for axis in placement.broadcast_axes]


def _kept(number: int, shape: Shape) -> Placement:
    return Placement(number, shape, shape, tuple(range(len(shape))))


def _moved(placement: Placement, shape: Shape) -> Sequence[Transpose | Reshape]:
    """Return the steps from an input of this shape to an output with the same elements."""
    if 0 in placement.output_shape:
        return reshape_to(shape, placement.output_shape)
    source: dict[int, int] = {axis: own for own, axis in enumerate(placement.output_axes)}
    order = [source.get(axis) for axis in range(len(placement.output_shape))]
    return merge_reshapes(shape, [*reshape_to(shape, placement.input_shape), *moves(placement.input_shape, order)])


def _rearranged(placement: Placement, shapes: Sequence[Shape], kind: type[Op]) -> list[Step] | None:
    """Return the steps that make an output, and an op on it and a tensor of its shape, which may be itself."""
    shape, number = placement.output_shape, placement.input
    count = max(kind.min_inputs, 1)
    outputs = tuple(_kept(place, shape) for place in range(kind.output_count(count)))
    op = from_plan(kind, Plan((shape,) * count, outputs))
    if op is None:
        return None
    lender = next((other for other, its in enumerate(shapes) if its == shape and other != number), number)
    own = number if len(shapes) > 1 else None
    done = Step(op=op, input=own) if count == 1 else Step(op=op, inputs=[number, lender])
    before = [Step(op=move, input=own) for move in _moved(placement, shapes[number])]
    after = [Step(op=move, input=own) for move in reshape_to(shape, placement.shape)]
    return [*before, done, *after]


def _expanded(
    placement: Placement, shapes: Sequence[Shape], kind: type[Op], failures: Iterator[int]
) -> list[Step] | None:
    """Return steps with an op on an input and a lender, which is reshaped if necessary."""
    number, here = placement.input, replace(placement, input=0)
    others = {shape: other for other, shape in enumerate(shapes) if other != number}.values()
    for lender in sorted(others, key=lambda other: shapes[other] != placement.output_shape):
        for lent, found in _by_pair(here, shapes[number], shapes[lender], kind):
            if (own := _without({1}, found)) is not None:
                steps = [Step(op=move, input=lender) for move in reshape_to(shapes[lender], lent)]
                for step in own:
                    both = step.input is None
                    steps.append(Step(op=step.op, inputs=[number, lender]) if both else _renamed(step, number, lender))
                moved = any(step.input == lender for step in steps)
                return [*steps, Step(op=Reshape(shape=shapes[lender]), input=lender)] if moved else steps
            if next(failures) >= MAX_FAILURES:
                raise _Enough
    return None


def _renamed(step: Step, number: int, lender: int) -> Step:
    return Step(op=step.op, input=lender if step.input else number)


def _without(lenders: Collection[int], steps: list[Step] | None) -> list[Step] | None:
    """Return the steps without those that change lenders after the op."""
    if steps is None:
        return None
    at = next(number for number, step in enumerate(steps) if step.input is None)
    return [*steps[: at + 1], *(step for step in steps[at + 1 :] if step.input not in lenders)]


def _by_pair(
    placement: Placement, shape: Shape, lender: Shape, kind: type[Op]
) -> Iterator[tuple[Shape, list[Step] | None]]:
    """Yield shapes of the lender, each with the steps on input 0, the tensor, and input 1, the lender.

    The steps are None if no op does it.
    """
    if kind.output_count(2) == 1:
        if prod(lender) == prod(placement.output_shape):
            yield placement.output_shape, steps_with_one_op(Plan((shape, placement.output_shape), (placement,)), kind)
        if kind.selects_shape_axes and (lent := _lent_axes(placement, lender, once=True)) is not None:
            yield lent, steps_with_one_op(Plan((shape, lent), (placement,)), kind)
        return
    if lends(lender, placement):
        if own := _right_aligned(1, lender, placement.output_shape):
            yield lender, steps_with_one_op(Plan((shape, lender), (placement, own)), kind)
        split, fitted = _split(placement, lender)
        own = Placement(1, fitted, split.output_shape, tuple(range(len(fitted))))
        yield fitted, steps_with_one_op(Plan((shape, fitted), (split, own)), kind)
    if kind.selects_shape_axes and (lent := _lent_axes(placement, lender, once=False)) is not None:
        arrangement = own_axes_first(placement)
        core, whole = arrangement.op_placement, Plan((shape, lent), (placement,))
        op = from_plan(kind, Plan((core.input_shape, lent), (core, _beside(core, lent))))
        yield lent, None if op is None else list(steps_around(whole, op, [arrangement], {}))


def _lent_axes(placement: Placement, lender: Shape, once: bool) -> Shape | None:
    """Return a shape of the lender that includes the sizes that an output's input lacks.

    It is the lender's own shape, if this includes them; otherwise these sizes, and an axis for the rest. With `once`,
    an axis can be used for several missing axes of its size.
    """
    sizes = [size for size in _lacking(placement) if size != 1]
    wanted = Counter(dict.fromkeys(sizes, 1) if once else sizes)
    if wanted <= Counter(lender):
        return lender
    elements, taken = prod(lender), tuple(wanted.elements())
    if elements == 0:
        return (*taken, 0)
    return (*taken, elements // prod(taken)) if prod(taken) and elements % prod(taken) == 0 else None


def _beside(placement: Placement, shape: Shape) -> Placement:
    """Return how a tensor with all sizes that an output's input lacks is broadcast with it: the axes of other sizes
    come last, where they meet nothing."""
    free = _repeated(placement)
    reached, axes = list(placement.output_shape), []
    for size in shape:
        axis = next((axis for axis in free if placement.output_shape[axis] == size), None)
        if axis is None:
            axis = len(reached)
            reached.append(size)
        else:
            free.remove(axis)
        axes.append(axis)
    return Placement(1, shape, tuple(reached), tuple(axes))


def _repeated(placement: Placement) -> list[int]:
    return [axis for axis in placement.broadcast_axes if placement.output_shape[axis] != 1]


def _right_aligned(number: int, shape: Shape, reached: Shape) -> Placement | None:
    """Return the right-aligned placement of a tensor in a shape. If it does not fit, return None."""
    new = len(reached) - len(shape)
    if new < 0 or any(size not in (1, own) for size, own in zip(shape, reached[new:], strict=True)):
        return None
    return Placement(number, shape, reached, tuple(range(new, len(reached))))


def _split(placement: Placement, shape: Shape) -> tuple[Placement, Shape]:
    """Return a placement with its output axes split where a shape of as many elements as `shape` needs it, and that
    shape. The lender has the sizes that the input lacks; `lends` says whether there is one."""
    if 0 in placement.output_shape:
        return placement, placement.output_shape
    left = prod(shape) // prod(_lacking(placement))
    repeated = set(placement.broadcast_axes)
    fitted: list[int] = []
    parts: list[tuple[int, ...]] = []  # of each output axis
    for axis, size in enumerate(placement.output_shape):
        taken = size if axis in repeated else gcd(left, size)
        left //= 1 if axis in repeated else taken
        parts.append((taken, size // taken) if 1 < taken < size else (size,))
        fitted += (taken, 1) if 1 < taken < size else (taken,)
    starts = [sum(map(len, parts[:axis])) for axis in range(len(parts))]
    own_shape: list[int] = []
    own_axes: list[int] = []
    for size, axis in zip(placement.input_shape, placement.output_axes, strict=True):
        split = parts[axis] if size == placement.output_shape[axis] else (size,)
        own_shape += split
        own_axes += range(starts[axis], starts[axis] + len(split))
    merges = placement.merges or (1,) * len(parts)
    if len(fitted) == len(parts):
        return placement, tuple(fitted)
    counts, at = [], 0
    for merged in merges:
        counts.append(sum(map(len, parts[at : at + merged])))
        at += merged
    whole = tuple(size for part in parts for size in part)
    return Placement(placement.input, tuple(own_shape), whole, tuple(own_axes), tuple(counts)), tuple(fitted)
