"""Translations that use a source, which is a tensor whose shape supplies the sizes missing from the op's input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import count
from math import gcd, prod

from ..messages import Reshape, Step
from ..ops import Op, from_plan
from ..plan.plan import Placement, Plan, Shape
from ..wire.cancellation import checkpoint
from .arrangements import own_axes_first
from .translation_steps import Moves, merge_reshapes, moves, reshape_to, steps_around, steps_with_one_op

MAX_FAILURES = 16
"""The number of failed tensor pairs after which the search for a source stops. A pair takes at least a millisecond."""


class _TooManyFailures(Exception):
    """The exception that ends the search for a source after MAX_FAILURES failed attempts."""


def steps_with_sources(plan: Plan, kind: type[Op]) -> list[Step] | None:
    """Return the steps that compute each output with one op, from its input and a tensor with the missing sizes.

    This tensor is called the source. It is any input or output that has the missing sizes, reshaped if necessary.
    Return None if there is no source, or if ops of this kind do not accept two tensors.
    """
    if kind.max_inputs is not None and kind.max_inputs < 2:
        return None
    shapes, steps, failures = list(plan.input_shapes), [], count(1)
    pending = sorted(plan.outputs, key=lambda output: not is_rearranged(output))
    for _ in range(2):  # a later step may compute the source
        remaining = []
        for placement in pending:
            checkpoint()
            try:
                if is_rearranged(placement):
                    added = _rearrange(placement, shapes, kind)
                else:
                    added = _expand(placement, shapes, kind, failures)
            except _TooManyFailures:
                return None
            if added is None:
                remaining.append(placement)
            else:
                steps += added
                shapes[placement.input] = placement.shape
        pending = remaining
    if pending:
        return None
    used = {output.input for output in plan.outputs}
    while steps and steps[-1].input is not None and steps[-1].input not in used:
        steps.pop()  # this step only restores the shape of a source
    return steps


def steps_broadcasting_all(plan: Plan, kind: type[Op]) -> list[Step] | None:
    """Return the steps with one op that broadcasts all inputs, including inputs that only supply sizes.

    Return None if no input only supplies sizes, or if such an input is not right-aligned with the output.
    """
    sources = set(range(len(plan.input_shapes))) - {output.input for output in plan.outputs}
    if not sources or len(plan.outputs) != 1:
        return None
    (output,) = plan.outputs
    aligned = [_right_aligned(source, plan.input_shapes[source], output.output_shape) for source in sorted(sources)]
    if None in aligned:
        return None
    placements = sorted(filter(None, [output, *aligned]), key=lambda placement: placement.input)
    return _without_restoring(sources, steps_with_one_op(Plan(plan.input_shapes, tuple(placements)), kind))


def reshape_empty_inputs(plan: Plan) -> tuple[list[Step], Plan]:
    """Return the steps that reshape each empty input to the shape of its output, and the plan for what remains."""
    shapes, outputs, steps = list(plan.input_shapes), [], []
    for output in plan.outputs:
        if 0 in output.input_shape and output.input_shape != output.shape:
            steps.append(Step(op=Reshape(shape=output.shape), input=output.input if len(shapes) > 1 else None))
            shapes[output.input] = output.shape
            output = _identity(output.input, output.shape)
        outputs.append(output)
    return steps, Plan(tuple(shapes), tuple(outputs))


def is_rearranged(placement: Placement) -> bool:
    """Return whether reshapes and transposes alone compute the output, which then has as many elements as its input."""
    return prod(placement.input_shape) == prod(placement.output_shape)


def can_be_source(shape: Shape, placement: Placement) -> bool:
    """Return whether a tensor of this shape can be reshaped to a source with all sizes missing from the input.

    On each axis, the reshaped source then has size 1 or the output's size. For this, output axes may be split.
    """
    missing, elements, output_elements = prod(_missing_sizes(placement)), prod(shape), prod(placement.output_shape)
    if 0 in (elements, output_elements):
        return elements == output_elements
    return elements % missing == 0 and output_elements % elements == 0


def _missing_sizes(placement: Placement) -> list[int]:
    return [placement.output_shape[axis] for axis in placement.broadcast_axes]


def _identity(number: int, shape: Shape) -> Placement:
    return Placement(number, shape, shape, tuple(range(len(shape))))


def _moves_to_output(placement: Placement, shape: Shape) -> Moves:
    """Return the reshapes and transposes that turn an input of this shape into an output with as many elements."""
    if 0 in placement.output_shape:
        return reshape_to(shape, placement.output_shape)
    input_axes: dict[int, int] = {output_axis: axis for axis, output_axis in enumerate(placement.output_axes)}
    order = [input_axes.get(axis) for axis in range(len(placement.output_shape))]
    return merge_reshapes(shape, [*reshape_to(shape, placement.input_shape), *moves(placement.input_shape, order)])


def _rearrange(placement: Placement, shapes: Sequence[Shape], kind: type[Op]) -> list[Step] | None:
    """Return steps that rearrange an input to an output, and then apply the op to the output and a tensor of its shape.

    If no other tensor has this shape, the op receives the output twice.
    """
    shape, number = placement.output_shape, placement.input
    tensors = max(kind.min_inputs, 1)
    outputs = tuple(_identity(place, shape) for place in range(kind.broadcast_input_count(tensors)))
    op = from_plan(kind, Plan((shape,) * tensors, outputs))
    if op is None:
        return None
    source = next((other for other, found in enumerate(shapes) if found == shape and other != number), number)
    step_input = number if len(shapes) > 1 else None
    step = Step(op=op, input=step_input) if tensors == 1 else Step(op=op, inputs=[number, source])
    before = [Step(op=move, input=step_input) for move in _moves_to_output(placement, shapes[number])]
    after = [Step(op=move, input=step_input) for move in reshape_to(shape, placement.shape)]
    return [*before, step, *after]


def _expand(placement: Placement, shapes: Sequence[Shape], kind: type[Op], fails: Iterator[int]) -> list[Step] | None:
    """Return the steps that apply an op to an input and a source. The source is reshaped if necessary."""
    number, pair_placement = placement.input, replace(placement, input=0)
    others = {shape: other for other, shape in enumerate(shapes) if other != number}.values()
    for source in sorted(others, key=lambda other: shapes[other] != placement.output_shape):
        for source_shape, found in _steps_with_pair(pair_placement, shapes[number], shapes[source], kind):
            if (pair_steps := _without_restoring({1}, found)) is not None:
                steps = [Step(op=move, input=source) for move in reshape_to(shapes[source], source_shape)]
                for step in pair_steps:
                    if step.input is None:
                        steps.append(Step(op=step.op, inputs=[number, source]))
                    else:
                        steps.append(Step(op=step.op, input=(number, source)[step.input]))
                if any(step.input == source for step in steps):
                    steps.append(Step(op=Reshape(shape=shapes[source]), input=source))
                return steps
            if next(fails) >= MAX_FAILURES:
                raise _TooManyFailures
    return None


def _without_restoring(sources: Collection[int], steps: list[Step] | None) -> list[Step] | None:
    """Return these steps without the steps that change a source after the op."""
    if steps is None:
        return None
    op = next(number for number, step in enumerate(steps) if step.input is None)
    return [*steps[: op + 1], *(step for step in steps[op + 1 :] if step.input not in sources)]


def _steps_with_pair(
    placement: Placement, shape: Shape, source: Shape, kind: type[Op]
) -> Iterator[tuple[Shape, list[Step] | None]]:
    """Yield possible source shapes, each with the steps on the tensor (input 0) and the source (input 1).

    The steps are None if no op of this kind can use the source shape.
    """
    if kind.broadcast_input_count(2) == 1:
        if prod(source) == prod(placement.output_shape):
            yield placement.output_shape, steps_with_one_op(Plan((shape, placement.output_shape), (placement,)), kind)
        if kind.selects_shape_axes and (source_shape := _source_axes(placement, source, once=True)) is not None:
            yield source_shape, steps_with_one_op(Plan((shape, source_shape), (placement,)), kind)
        return
    if can_be_source(source, placement):
        if aligned := _right_aligned(1, source, placement.output_shape):
            yield source, steps_with_one_op(Plan((shape, source), (placement, aligned)), kind)
        split, source_shape = _split(placement, source)
        aligned = Placement(1, source_shape, split.output_shape, tuple(range(len(source_shape))))
        yield source_shape, steps_with_one_op(Plan((shape, source_shape), (split, aligned)), kind)
    if kind.selects_shape_axes and (source_shape := _source_axes(placement, source, once=False)) is not None:
        arrangement = own_axes_first(placement)
        first, plan = arrangement.op_placement, Plan((shape, source_shape), (placement,))
        op = from_plan(kind, Plan((first.input_shape, source_shape), (first, _place_beside(first, source_shape))))
        yield source_shape, None if op is None else list(steps_around(plan, op, [arrangement], {}))


def _source_axes(placement: Placement, source: Shape, once: bool) -> Shape | None:
    """Return a source shape that supplies every size missing from the placement's input.

    If possible, this is the source's own shape. Otherwise it consists of the missing sizes and one axis for all
    remaining elements. If `once` is True, one axis of the source may supply the size of several missing axes.
    """
    sizes = [size for size in _missing_sizes(placement) if size != 1]
    wanted = Counter(dict.fromkeys(sizes, 1) if once else sizes)
    if wanted <= Counter(source):
        return source
    elements, taken = prod(source), tuple(wanted.elements())
    if elements == 0:
        return (*taken, 0)
    return (*taken, elements // prod(taken)) if prod(taken) and elements % prod(taken) == 0 else None


def _place_beside(placement: Placement, shape: Shape) -> Placement:
    """Return the placement of a source for an op that takes only some of the source's axes.

    Source axes with a missing size become the broadcast axes of the output. All other source axes become new output
    axes at the end.
    """
    free = [axis for axis in placement.broadcast_axes if placement.output_shape[axis] != 1]
    output_shape, axes = list(placement.output_shape), []
    for size in shape:
        axis = next((axis for axis in free if placement.output_shape[axis] == size), None)
        if axis is None:
            axis = len(output_shape)
            output_shape.append(size)
        else:
            free.remove(axis)
        axes.append(axis)
    return Placement(1, shape, tuple(output_shape), tuple(axes))


def _right_aligned(number: int, shape: Shape, output_shape: Shape) -> Placement | None:
    """Return the right-aligned placement of a tensor in an output shape, or None if the tensor does not fit."""
    new = len(output_shape) - len(shape)
    if new < 0 or any(size not in (1, wanted) for size, wanted in zip(shape, output_shape[new:], strict=True)):
        return None
    return Placement(number, shape, output_shape, tuple(range(new, len(output_shape))))


def _split(placement: Placement, shape: Shape) -> tuple[Placement, Shape]:
    """Return a placement whose output axes are split, and a source shape that broadcasts to the split axes.

    The source shape has as many elements as `shape`, and supplies every size missing from the input. Call this function
    only if `can_be_source` is True.
    """
    if 0 in placement.output_shape:
        return placement, placement.output_shape
    parts, source_shape = _split_axes(placement, prod(shape) // prod(_missing_sizes(placement)))
    if len(source_shape) == len(parts):  # no axis is split
        return placement, source_shape
    starts = [sum(map(len, parts[:axis])) for axis in range(len(parts))]
    input_shape: list[int] = []
    input_axes: list[int] = []
    for size, axis in zip(placement.input_shape, placement.output_axes, strict=True):
        part = parts[axis] if size == placement.output_shape[axis] else (size,)
        input_shape += part
        input_axes += range(starts[axis], starts[axis] + len(part))
    merges, start = [], 0
    for merged in placement.merges or (1,) * len(parts):
        merges.append(sum(map(len, parts[start : start + merged])))
        start += merged
    output_shape = tuple(size for part in parts for size in part)
    split = Placement(placement.input, tuple(input_shape), output_shape, tuple(input_axes), tuple(merges))
    return split, source_shape


def _split_axes(placement: Placement, elements: int) -> tuple[list[tuple[int, ...]], Shape]:
    """Return the parts into which each output axis is split, and the size of the source on each part.

    The source supplies every size missing from the input, and has `elements` times as many elements as these sizes
    require. Each remaining output axis takes the greatest common divisor of its size and the remaining factor.
    """
    parts: list[tuple[int, ...]] = []
    source_shape: list[int] = []
    for axis, size in enumerate(placement.output_shape):
        if axis in placement.broadcast_axes:
            taken = size
        else:
            taken = gcd(elements, size)
            elements //= taken
        is_split = 1 < taken < size
        parts.append((taken, size // taken) if is_split else (size,))
        source_shape += (taken, 1) if is_split else (taken,)
    return parts, tuple(source_shape)
