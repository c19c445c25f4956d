"""Steps of a translation: the reshapes and transpositions around one op that execute a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, pairwise
from math import prod

from pydantic import ValidationError

from ..messages import Reshape, Step, Transpose
from ..ops import Op, from_plan
from ..plan.plan import Placement, Plan, Shape
from ..wire.cancellation import checkpoint


def by_one_op(plan: Plan, kind: type[Op]) -> list[Step] | None:
    """Return the steps with one op that takes every input."""
    if regroups(plan):
        op = from_plan(kind, plan)
        if op is not None:
            return [Step(op=op)]
        plan = coarse(plan)
    refused: set[Plan] = set()  # several arrangements of a plan that is simple are the same
    for arrangements in _arrangements(plan):
        checkpoint()
        for lent in _lent(plan, arrangements[0].after):
            shapes = list(plan.input_shapes)
            for arrangement in arrangements:
                shapes[arrangement.placement.input] = arrangement.before
            for lender, shape in lent.items():
                shapes[lender] = shape
            arranged = Plan(tuple(shapes), tuple(arrangement.core for arrangement in arrangements))
            op = None if arranged in refused else from_plan(kind, arranged)
            if op is None:
                refused.add(arranged)
                continue
            with suppress(ValidationError):  # a reshape on the way has a merged axis that is longer than any tensor's
                return list(steps_around(plan, op, arrangements, lent))
    return None


def _lent(plan: Plan, shape: Shape) -> Iterator[dict[int, Shape]]:
    """The shapes given to the inputs that only lend theirs: as they are; then `shape`, where a reshape leads there."""
    yield {}
    lenders = set(range(len(plan.input_shapes))) - {placement.input for placement in plan.outputs}
    if lenders and all(prod(plan.input_shapes[lender]) == prod(shape) for lender in lenders):
        yield dict.fromkeys(lenders, shape)


def steps_around(plan: Plan, op: Op, arrangements: Sequence[Arrangement], lent: dict[int, Shape]) -> Iterator[Step]:
    """Return the steps before the op, the op, and the steps after it."""
    several = len(plan.input_shapes) > 1
    for arrangement in arrangements:
        placement = arrangement.placement
        shape = plan.input_shapes[placement.input]
        before = [*reshaped(shape, placement.input_shape), *moves(placement.input_shape, arrangement.taken)]
        for move in merge_reshapes(shape, before):
            yield Step(op=move, input=placement.input if several else None)
    for lender, shape in lent.items():
        yield Step(op=Reshape(shape=shape), input=lender)
    yield Step(op=op)
    for arrangement in arrangements:
        placement = arrangement.placement
        after = [*moves(arrangement.after, arrangement.put_back), *reshaped(placement.output_shape, placement.shape)]
        for move in merge_reshapes(arrangement.after, after):
            yield Step(op=move, input=placement.input if several else None)


def moves(shape: Shape, axes: Sequence[int | None]) -> list[Transpose | Reshape]:
    """Return at most one transposition and one reshape, in that order, from `shape` to the named axes.

    None is a new axis of size 1; an axis that is not named has size 1 and is dropped.
    """
    wanted = _shape(shape, axes)
    named = [axis for axis in axes if axis is not None]
    found: list[Transpose | Reshape] = []
    large = [axis for axis in named if shape[axis] != 1]
    if large != sorted(large):  # else only axes of size 1 change places, which a reshape does
        permutation = (*named, *(axis for axis in range(len(shape)) if axis not in named))
        found.append(Transpose(permutation=permutation))
        shape = _shape(shape, permutation)
    return [*found, *reshaped(shape, wanted)]


def reshaped(shape: Shape, wanted: Shape) -> list[Transpose | Reshape]:
    return [] if shape == wanted else [Reshape(shape=wanted)]


def merge_reshapes(shape: Shape, steps: Sequence[Transpose | Reshape]) -> Sequence[Transpose | Reshape]:
    """Return the steps that begin with `shape`. Two reshapes in a row become one."""
    match steps:
        case [Reshape(), Reshape(shape=wanted)]:
            return reshaped(shape, wanted)
        case [Transpose() as move, Reshape(), Reshape() as last]:
            return [move, last]
    return steps


def regroups(plan: Plan) -> bool:
    """Return whether axes are split or merged."""
    return any(
        output.merges is not None or output.input_shape != plan.input_shapes[output.input] for output in plan.outputs
    )


def coarse(plan: Plan) -> Plan:
    """A plan that splits or merges axes, with as few of them as give the same bytes; the input's own, where they do."""
    shape = plan.input_shapes[0]
    if not regroups(plan) or len(plan.outputs) > 1 or 0 in shape:
        return plan
    (output,) = plan.outputs
    source = {axis: prod(output.input_shape[number + 1 :]) for number, axis in enumerate(output.output_axes)}
    axes = iter(range(len(output.output_shape)))
    groups: list[list[tuple[int, int]]] = []  # (size, elements of the input from one to the next; 0: replicated)
    for count in output.merges or (1,) * len(output.output_shape):
        group: list[tuple[int, int]] = []
        for axis in islice(axes, count):
            size, step = output.output_shape[axis], 0 if axis in output.broadcast_axes else source[axis]
            if group and size != 1 and group[-1][1] == size * step:
                group[-1] = (group[-1][0] * size, step)
            elif size != 1:
                group.append((size, step))
        groups.append(group or [(1, 0)])
    flat = [factor for group in groups for factor in group]
    read = sorted((axis for axis, (_, step) in enumerate(flat) if step), key=lambda axis: -flat[axis][1])
    placed = {axis: flat[axis][0] for axis in read}
    free = sorted((axis for axis, (_, step) in enumerate(flat) if not step), key=lambda axis: flat[axis][0] != 1)
    ones = shape.count(1)
    if [size for size in shape if size != 1] == list(placed.values()) and ones <= len(free):
        large, small = iter(read), iter(sorted(free[:ones]))
        placed = {next(small if size == 1 else large): size for size in shape}
    merges = tuple(map(len, groups))
    coarse = Placement(
        output.input,
        tuple(placed.values()),
        tuple(size for size, _ in flat),
        tuple(placed),
        None if set(merges) <= {1} else merges,
    )
    return Plan(plan.input_shapes, (coarse,))


AxisPair = tuple[int | None, int]
"""An axis before the op: the input's axis (None: a new one of size 1), and the output axis on which it lands."""


@dataclass(frozen=True)
class Arrangement:
    """A placement as the op is to see it: some axes of the input, on some axes of the output."""

    placement: Placement
    pairs: Sequence[AxisPair]
    """The axes that the op takes, in order. Those of the input that it does not take have size 1."""
    order: Sequence[int]
    """The output axes that the op gives, in order; a negative one has size 1 and is dropped again. Those that it does
    not give have size 1."""

    @property
    def taken(self) -> list[int | None]:
        """The input axes that the op takes; None is a new one of size 1."""
        return [axis for axis, _ in self.pairs]

    @property
    def before(self) -> Shape:
        """The shape that the op takes."""
        return _shape(self.placement.input_shape, self.taken)

    @property
    def after(self) -> Shape:
        """The shape that the op gives."""
        return _shape(self.placement.output_shape, self.order)

    @property
    def core(self) -> Placement:
        """What is left for the op to do."""
        axes = tuple(self.order.index(output_axis) for _, output_axis in self.pairs)
        return Placement(self.placement.input, self.before, self.after, axes)

    @property
    def put_back(self) -> list[int | None]:
        """For each output axis, the axis that the op gives; None where it gives none."""
        return [self.order.index(axis) if axis in self.order else None for axis in _all(self.placement)]


def _arrangements(plan: Plan) -> Iterator[list[Arrangement]]:
    """Ways to hand the inputs to an op, one arrangement for each output; those with fewer steps first."""
    outputs = plan.outputs
    # As they are: the op alone.
    yield [Arrangement(output, _own(output), _all(output)) for output in outputs]
    # As they are, where an axis of size 1 may as well land elsewhere: it is read at 0 wherever it lands.
    yield [Arrangement(output, _landed_right(output), _all(output)) for output in outputs]
    yield [Arrangement(output, _landed_ascending(output), _all(output)) for output in outputs]
    # In the output's order.
    yield [Arrangement(output, _ascending(_own(output)), _all(output)) for output in outputs]
    # With an axis of size 1 for each that the input lacks: after its first one, and then before it too.
    yield [Arrangement(output, _filled(output, _from_first(output)), _all(output)) for output in outputs]
    yield [Arrangement(output, _filled(output, _all(output)), _all(output)) for output in outputs]
    # Without the axes to be stretched, for an op that only adds axes, or takes them from other inputs.
    yield [Arrangement(output, _ascending(_unstretched(output)), _all(output)) for output in outputs]
    # So too, where the op orders the output's axes: those first that it adds, or as the inputs bring them.
    yield [Arrangement(output, _unstretched(output), _added_first(output)) for output in outputs]
    brought = list(dict.fromkeys(axis for output in outputs for _, axis in _unstretched(output)))
    if all(sorted(brought) == list(_all(output)) for output in outputs):
        yield [Arrangement(output, _unstretched(output), brought) for output in outputs]
    # Without the output's axes of size 1, for an op that takes few axes; of one rank, for one that gives no other.
    rank = max(len(large(output)) for output in outputs)
    orders = [[*range(len(large(output)) - rank, 0), *large(output)] for output in outputs]
    yield [Arrangement(output, _filled(output, axes), axes) for output, axes in zip(outputs, orders, strict=True)]


def own_first(output: Placement) -> Arrangement:
    """Return an output as an op is to see it that adds its axes after those of the input, and stretches none."""
    pairs = _ascending(_unstretched(output))
    own = [axis for _, axis in pairs]
    return Arrangement(output, pairs, [*own, *(axis for axis in _all(output) if axis not in own)])


def _shape(shape: Shape, axes: Sequence[int | None]) -> Shape:
    """The sizes of these axes; None, or a negative one, is new and of size 1."""
    return tuple(1 if axis is None or axis < 0 else shape[axis] for axis in axes)


def _all(output: Placement) -> range:
    return range(len(output.output_shape))


def _landed_right(output: Placement) -> list[AxisPair]:
    """The input's axes on the last of the output's, where only axes of size 1 need land elsewhere for that."""
    new = len(output.output_shape) - len(output.input_shape)
    if any(size != 1 and output.output_axes[axis] != axis + new for axis, size in enumerate(output.input_shape)):
        return _own(output)
    return [(axis, axis + new) for axis in range(len(output.input_shape))]


def _landed_ascending(output: Placement) -> list[AxisPair]:
    """The input's axes in ascending order, where only axes of size 1 need land elsewhere for that; those on axes of
    size 1, as far as there are any, so that they need not stretch."""
    fixed = [(axis, own) for axis, own in enumerate(output.output_axes) if output.input_shape[axis] != 1]
    bounds = [(-1, -1), *fixed, (len(output.input_shape), len(output.output_shape))]
    landed: list[AxisPair] = [*fixed]
    for (axis, low), (next_axis, high) in pairwise(bounds):
        free = sorted(range(low + 1, high), key=lambda own: output.output_shape[own] != 1)
        count = next_axis - axis - 1
        if high <= low or len(free) < count:
            return _own(output)
        landed += zip(range(axis + 1, next_axis), sorted(free[:count]), strict=True)
    return sorted(landed, key=lambda pair: pair[1])


def _from_first(output: Placement) -> range:
    """The output axes from the first that the input has."""
    return range(min(output.output_axes, default=len(output.output_shape)), len(output.output_shape))


def _own(output: Placement) -> list[AxisPair]:
    return list(enumerate(output.output_axes))


def _unstretched(output: Placement) -> list[AxisPair]:
    """The input's axes without those that it fills from size 1."""
    return [(axis, output_axis) for axis, output_axis in _own(output) if output_axis not in output.broadcast_axes]


def _filled(output: Placement, output_axes: Sequence[int]) -> list[AxisPair]:
    """These output axes, each with the input's axis or a new one of size 1."""
    source = {output_axis: axis for axis, output_axis in enumerate(output.output_axes)}
    return [(source.get(axis), axis) for axis in output_axes]


def _ascending(pairs: list[AxisPair]) -> list[AxisPair]:
    return sorted(pairs, key=lambda pair: pair[1])


def _added_first(output: Placement) -> list[int]:
    return [*output.broadcast_axes, *(axis for _, axis in _unstretched(output))]


def large(output: Placement) -> list[int]:
    """The output axes of another size than 1."""
    return [axis for axis in _all(output) if output.output_shape[axis] != 1]
