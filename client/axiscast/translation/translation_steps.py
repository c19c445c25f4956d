"""The steps of a translation: one op that performs a plan, and the reshapes and transposes that it needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import prod
from typing import NamedTuple

from pydantic import ValidationError

from ..messages import Reshape, Step, Transpose
from ..ops import Op, from_plan
from ..plan.plan import Placement, Plan, Shape
from ..wire.cancellation import checkpoint
from .arrangements import Arrangement, arrangements, select_axes

Moves = Sequence[Transpose | Reshape]


def steps_with_one_op(plan: Plan, kind: type[Op]) -> list[Step] | None:
    """Return steps that use one op of this kind on all inputs, or None if no such steps perform the plan."""
    if regroups(plan):
        op = from_plan(kind, plan)
        if op is not None:
            return [Step(op=op)]
        plan = with_fewest_axes(plan)
    refused: set[Plan] = set()  # for a simple plan, several arrangements are equal
    for arranged in arrangements(plan):
        checkpoint()
        for source_shapes in _source_shapes(plan, arranged[0].output_shape):
            shapes = list(plan.input_shapes)
            for arrangement in arranged:
                shapes[arrangement.placement.input] = arrangement.input_shape
            for source, shape in source_shapes.items():
                shapes[source] = shape
            op_plan = Plan(tuple(shapes), tuple(arrangement.op_placement for arrangement in arranged))
            op = None if op_plan in refused or not _has_one_order(arranged, kind) else from_plan(kind, op_plan)
            if op is None:
                refused.add(op_plan)
                continue
            with suppress(ValidationError):  # a merged axis may be too long for a tensor
                return list(steps_around(plan, op, arranged, source_shapes))
    return None


def _has_one_order(arranged: Sequence[Arrangement], kind: type[Op]) -> bool:
    """Return whether the op's outputs have the same axes, if the op computes one tensor from them."""
    return not kind.computes() or all([*each.order] == [*arranged[0].order] for each in arranged)


def _source_shapes(plan: Plan, shape: Shape) -> Iterator[dict[int, Shape]]:
    """Yield possible shapes for the sources, which are inputs that only supply sizes.

    First, each source keeps its own shape. Then each source is reshaped to `shape`, if the numbers of elements are
    equal.
    """
    yield {}
    sources = set(range(len(plan.input_shapes))) - {placement.input for placement in plan.outputs}
    if sources and all(prod(plan.input_shapes[source]) == prod(shape) for source in sources):
        yield dict.fromkeys(sources, shape)


def steps_around(plan: Plan, op: Op, arranged: Sequence[Arrangement], sources: dict[int, Shape]) -> Iterator[Step]:
    """Yield the steps before the op, the op itself, and the steps after the op."""
    several = len(plan.input_shapes) > 1
    is_one = op.computes()
    for arrangement in arranged:
        placement = arrangement.placement
        shape = plan.input_shapes[placement.input]
        before = [*reshape_to(shape, placement.input_shape), *moves(placement.input_shape, arrangement.input_axes)]
        for move in merge_reshapes(shape, before):
            yield Step(op=move, input=placement.input if several else None)
    for source, shape in sources.items():
        yield Step(op=Reshape(shape=shape), input=source)
    yield Step(op=op)
    for arrangement in arranged[:1] if is_one else arranged:
        placement, shape = arrangement.placement, arrangement.output_shape
        after = [*moves(shape, arrangement.restored_axes), *reshape_to(placement.output_shape, placement.shape)]
        for move in merge_reshapes(shape, after):
            yield Step(op=move, input=placement.input if several and not is_one else None)


def moves(shape: Shape, axes: Sequence[int | None]) -> list[Transpose | Reshape]:
    """Return at most one transpose and one reshape after it, which select these axes of a shape.

    None means a new axis of size 1. Axes that are not selected have size 1.
    """
    target = select_axes(shape, axes)
    selected = [axis for axis in axes if axis is not None]
    steps: list[Transpose | Reshape] = []
    nonunit = [axis for axis in selected if shape[axis] != 1]
    if nonunit != sorted(nonunit):  # otherwise only axes of size 1 move, so a reshape is enough
        permutation = (*selected, *(axis for axis in range(len(shape)) if axis not in selected))
        steps.append(Transpose(permutation=permutation))
        shape = select_axes(shape, permutation)
    return [*steps, *reshape_to(shape, target)]


def reshape_to(shape: Shape, target: Shape) -> list[Transpose | Reshape]:
    """Return the step that reshapes to a target shape, or no steps if the shapes are equal."""
    return [] if shape == target else [Reshape(shape=target)]


def merge_reshapes(shape: Shape, steps: Moves) -> Moves:
    """Return these steps on a tensor of this shape, with two successive reshapes merged into one."""
    match steps:
        case [Reshape(), Reshape(shape=target)]:
            return reshape_to(shape, target)
    return steps


def regroups(plan: Plan) -> bool:
    """Return whether a plan splits or merges axes."""
    return any(each.merges is not None or each.input_shape != plan.input_shapes[each.input] for each in plan.outputs)


class Factor(NamedTuple):
    """An output axis before any axes are merged."""

    size: int
    stride: int
    """The distance, in input elements, from one index to the next, or 0 if the input is broadcast along this axis."""


def with_fewest_axes(plan: Plan) -> Plan:
    """Return a plan with the same output bytes and as few split and merged axes as possible.

    The input keeps its own axes if possible. A plan with several outputs, or with empty inputs, is returned unchanged.
    """
    shape = plan.input_shapes[0]
    if not regroups(plan) or len(plan.outputs) > 1 or 0 in shape:
        return plan
    (output,) = plan.outputs
    groups = _factors(output)
    factors = [factor for group in groups for factor in group]
    sizes = _input_sizes(shape, factors)
    output_shape = tuple(factor.size for factor in factors)
    merges = tuple(map(len, groups)) if max(map(len, groups), default=1) > 1 else None
    placement = Placement(output.input, tuple(sizes.values()), output_shape, tuple(sizes), merges)
    return Plan(plan.input_shapes, (placement,))


def _factors(output: Placement) -> list[list[Factor]]:
    """Return the factors of each merged output axis. Adjacent axes that one stride can describe form one factor."""
    strides = {axis: prod(output.input_shape[number + 1 :]) for number, axis in enumerate(output.output_axes)}
    groups, start = [], 0
    for count in output.merges or (1,) * len(output.output_shape):
        group: list[Factor] = []
        for axis in range(start, start + count):
            size = output.output_shape[axis]
            stride = 0 if axis in output.broadcast_axes else strides[axis]
            if size == 1:
                continue
            if group and group[-1].stride == size * stride:
                group[-1] = Factor(group[-1].size * size, stride)
            else:
                group.append(Factor(size, stride))
        groups.append(group or [Factor(1, 0)])
        start += count
    return groups


def _input_sizes(shape: Shape, factors: Sequence[Factor]) -> dict[int, int]:
    """Return the sizes of the input axes, keyed by output axis, in the order of the input axes.

    If no factor splits or merges the input's own axes, these axes are returned, including axes of size 1.
    """
    axes = range(len(factors))
    read = sorted((axis for axis in axes if factors[axis].stride), key=lambda axis: -factors[axis].stride)
    sizes = {axis: factors[axis].size for axis in read}
    ones = shape.count(1)
    broadcast = sorted((axis for axis in axes if not factors[axis].stride), key=lambda axis: factors[axis].size != 1)
    if [size for size in shape if size != 1] != list(sizes.values()) or ones > len(broadcast):
        return sizes
    nonunit, unit = iter(read), iter(sorted(broadcast[:ones]))
    return {next(unit if size == 1 else nonunit): size for size in shape}
