"""Functions that find hints, which are changed requests that broadcast. Each hint is tested before it is returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from pydantic import ValidationError

from ...ops import FRAMEWORKS, Op, align, from_plan, op_to_dict, own_ops
from ...ops import lower as lower_integers
from ...ops.einsum import LabeledProduct
from ...plan.alignment import Alignment, Conflict, RightAlignment, ShapeMismatch, align_right, are_integers
from ...plan.plan import Placement, Plan, Shape
from ...plan.relations import Relation
from ...plan.resolution import has_integer_mismatch, try_resolve
from ...wire.cancellation import checkpoint
from ...wire.dimensions import Symbol
from ...words.hints import hint_text, reshape_code
from .equation_hints import Candidate, changed_attributes, equation_candidates, reshape_candidate
from .reshapes import Alternatives, reshaped_candidates, squeezed_candidates

if TYPE_CHECKING:
    from ..symbolic.symbolic import SymbolicPlan

MAX_HINTS = 3
MAX_HINT_INPUTS = 8
MAX_HINT_ENTRIES = 8
"""The maximum number of sizes per shape, and of entries per attribute, for which hints are searched.

A hint for a larger request would rarely be what the user meant.
"""
MAX_HINT_TRIES = 64
"""The maximum number of changed requests that one search tries. All tries together take about two milliseconds."""
MAX_SYMBOLIC_HINT_TRIES = 8
"""The maximum number of changed requests with symbolic sizes that one search checks. Each takes half a millisecond."""

Lower: TypeAlias = "Callable[[Op, tuple[Shape, ...]], Plan | SymbolicPlan]"
"""A function that returns the plan of an op on shapes, or raises ShapeMismatch."""


def find_hints(
    op: Op, shapes: tuple[Shape, ...], lower: Lower = lower_integers, conflict: Conflict | None = None
) -> list[dict[str, Any]]:
    """Return up to MAX_HINTS changed requests that broadcast, as plain values in the fields of messages.Hint.

    The most likely change is first. `lower` returns the plan of a changed request. `conflict` is the reason why the
    request itself does not broadcast, if that is known.
    """
    if not is_small(op, shapes) or (conflict and conflict.reason[:1] == ("kept-new-axis",)):
        return []  # no change of an input gives a new axis its size
    trials = _Trials(lower)
    if isinstance(op, LabeledProduct):
        found = trials.hints(shapes, zip(equation_candidates(op, shapes, conflict)))
    else:
        numbers = _opposed_inputs(op, shapes, conflict) if trials.of_integers else range(len(shapes))
        found = trials.hints(shapes, _likely_candidates(op, shapes, numbers, conflict))
        found = found or trials.hints(shapes, [swapped_candidates(op, shapes, numbers, exact=False)])
    return found


def find_matching_hints(op: Op, shapes: tuple[Shape, ...], lower: Lower) -> list[dict[str, Any]]:
    """Return changes to a request that broadcasts only for some sizes. The changed requests broadcast for all sizes.

    In each request, one input is reshaped or swaps two axes, and all of its sizes then meet equal sizes. If no other
    input contains these sizes, no request is returned.
    """
    if isinstance(op, LabeledProduct) or not is_small(op, shapes):
        return []
    if not op.has_common_output_axes:
        return _Trials(lower).hints(shapes, zip(_multiplied_candidates(op, shapes)))

    def meets_equal_sizes(changed: Alignment) -> bool:
        old = dict(enumerate(shapes))
        moved = [number for number, shape in enumerate(changed.input_shapes) if shape != old[number]]
        for terms in (axis.terms for axis in changed.axes):
            for term in terms:
                others = [other.size for other in terms if other is not term]
                is_unnamed = isinstance(term.size, Symbol) and term.size.name is None
                if term.input in moved and term.size != 1 and others and (is_unnamed or term.size not in others):
                    return False
        return True

    numbers = range(len(shapes))
    candidates = chain([swapped_candidates(op, shapes, numbers)], reshaped_candidates(op, shapes, numbers))
    return _Trials(lower, meets_equal_sizes).hints(shapes, candidates)


class _Trials:
    """Tests of changed requests. Their number is limited."""

    def __init__(self, lower: Lower, accepts: Callable[[Alignment], bool] = lambda alignment: True) -> None:
        self._lower, self._accepts = lower, accepts
        self.of_integers = lower is lower_integers
        self._left, self._symbolic_left = MAX_HINT_TRIES, MAX_SYMBOLIC_HINT_TRIES

    def hints(self, shapes: tuple[Shape, ...], groups: Iterable[Iterable[Candidate]]) -> list[dict[str, Any]]:
        """Return up to MAX_HINTS hints for a request with these shapes, at most one from each group of candidates."""
        found: dict[object, dict[str, Any]] = {}
        with suppress(_Enough):
            for group in groups:
                for candidate in group:
                    output = self._output(candidate.op, candidate.inputs)
                    if output is None or (
                        candidate.op.target
                        and candidate.code == "reshape"
                        and not _reaches_target(candidate.op, output)
                    ):
                        continue
                    # The release of the framework may refuse an equation that its rule accepts.
                    is_equation = self.of_integers and isinstance(candidate.op, LabeledProduct)
                    if not is_equation or not candidate.op.known_deviation(candidate.inputs, None):
                        found.setdefault(candidate[1:3], hint_to_dict(candidate, shapes, output))
                    break
                if len(found) == MAX_HINTS:
                    break
        return [*found.values()]

    def _output(self, op: Op, shapes: tuple[Shape, ...]) -> Sequence[int | str] | None:
        """Return the shape of the output, or of the result of a product, or None if the shapes do not broadcast."""
        self._left -= 1
        if self._left < 0:
            raise _Enough
        checkpoint()
        try:
            alignment = align(op, shapes)
            if self.of_integers:
                return integer_output(alignment)
            if not self._accepts(alignment):
                return None
            if isinstance(alignment, RightAlignment) and has_integer_mismatch(alignment):
                return None  # most changed requests are rejected here, where it is cheap
            self._symbolic_left -= 1
            if self._symbolic_left < 0:
                raise _Enough
            plan = self._lower(op, shapes)
        except ShapeMismatch:
            return None
        return _output_of(plan) if isinstance(plan, Plan) or not plan.conditions else None


def _reaches_target(op: Op, output: Sequence[int | str]) -> bool:
    """Return whether an output has the target shape, in which a negative size stands for any size."""
    target: Shape | None = getattr(op, op.target) if op.target else None
    if target is None or not are_integers(*target):
        return True
    return len(target) == len(output) and all(
        wanted == size or wanted < 0 for wanted, size in zip(target, output, strict=True)
    )


def integer_output(alignment: Alignment) -> Sequence[int | str] | None:
    """Return the shape of the output for an alignment of integer sizes, or None if the sizes do not fit.

    If the op computes a product, this is the shape of its result.
    """
    if isinstance(alignment, RightAlignment):
        return alignment.broadcast_shape()
    plan = try_resolve(alignment)
    return None if plan is None else _output_of(plan)


def _output_of(plan: Plan | SymbolicPlan) -> Sequence[int | str]:
    if plan.result is not None:
        return plan.result
    return plan.outputs[0].shape if plan.outputs else ()


def _opposed_inputs(op: Op, shapes: tuple[Shape, ...], conflict: Conflict | None) -> Sequence[int]:
    """Return the inputs that may have to change if integer sizes conflict: at most two if all are right-aligned.

    Right-aligned inputs meet on the same axes, whatever the shapes of the other inputs are.
    """
    inputs = [] if conflict is None else [number for number in conflict.inputs[:2] if number is not None]
    may_be_right_aligned = len(inputs) == 2 and op.has_common_output_axes and op.target is None
    try:
        if may_be_right_aligned and isinstance(op.align(shapes), RightAlignment):
            return [number for number in inputs if _can_fit(shapes[number], shapes[:number] + shapes[number + 1 :])]
    except ShapeMismatch:  # the op's rule refuses the shapes before it aligns them
        pass
    return range(len(shapes))


def _can_fit(shape: Shape, others: tuple[Shape, ...]) -> bool:
    """Return whether the sizes of a shape may fit the other shapes if they are on other axes."""
    common = others[0] if len(others) == 1 else RightAlignment(others, Relation.BROADCAST).broadcast_shape()
    return common is not None and (1 in common or len(common) < len(shape) or {*shape} <= {1, *common})


class _Enough(Exception):
    """The exception that ends a hint search when the search has reached its maximum number of tries."""


def is_small(op: Op, shapes: tuple[Shape, ...]) -> bool:
    """Return whether a request is small enough for a hint search."""
    lists = [value for value in (*shapes, *op.__dict__.values()) if isinstance(value, (tuple, dict))]
    return len(shapes) <= MAX_HINT_INPUTS and max(map(len, lists)) <= MAX_HINT_ENTRIES


def hint_to_dict(found: Candidate, shapes: tuple[Shape, ...], output: Sequence[int | str]) -> dict[str, Any]:
    """Return a hint for a request with these shapes as plain values, in the fields of messages.Hint."""
    request = {"op": op_to_dict(found.op, keeps_alias=True), "inputs": [list(shape) for shape in found.inputs]}
    number, framework = found.facts.get("input"), FRAMEWORKS[found.op.name.partition(".")[0]]
    suffix = "" if number is None else reshape_code(shapes[number], found.inputs[number], framework)
    code = {"suffix": suffix} if suffix else {}
    hint = {"code": found.code, **found.facts, **code, "output": list(output), "request": request}
    hint["message"] = hint_text(hint)
    return hint


def _likely_candidates(
    op: Op, shapes: tuple[Shape, ...], numbers: Sequence[int], conflict: Conflict | None
) -> Alternatives:
    target: Shape | None = getattr(op, op.target) if op.target else None
    if not op.has_common_output_axes:
        yield from zip(_multiplied_candidates(op, shapes, conflict))
    yield swapped_candidates(op, shapes, numbers)
    for number in numbers:
        if 1 in shapes[number]:
            yield squeezed_candidates(op, shapes, number, target)
    yield from reshaped_candidates(op, shapes, numbers)
    if target is None and op.has_common_output_axes:
        yield from zip(_paired(op, shapes))
    if target is not None and len(shapes) == 1:
        yield from zip(_other_target(op, shapes, target))
        yield from zip(_others(op, shapes, _own_ops(op, shapes[0], target)))
    elif len(shapes) == 2 and op.name == "ngraph.BroadcastLike":
        yield from zip(_other_axes(op, shapes))


def _multiplied_candidates(op: Op, shapes: tuple[Shape, ...], conflict: Conflict | None = None) -> Iterator[Candidate]:
    """Yield matrix products with transposed or exchanged operands, or with a new axis in a vector."""
    if not (conflict and conflict.axes) and _sums_agree(op, shapes):
        return  # only the leading axes conflict, and transposing the last two axes does not change the leading axes
    for numbers in ((1,), (0,), (0, 1)):
        if all(len(shapes[number]) > 1 and shapes[number][-1] != shapes[number][-2] for number in numbers):
            yield _transposed(op, shapes, numbers)
    left, right, *others = shapes
    vectors = [(1, (*right, 1)), (0, (*left[:-1], 1, *left[-1:]))]
    vectors += [(0, (*left, 1))] if len(left) == 1 else []
    vectors += [(1, (1, *right))] if len(right) == 1 else []
    for number, shape in vectors:
        if shapes[number]:
            yield reshape_candidate(op, shapes, number, shape)
    if left != right:
        yield Candidate("exchange-inputs", op, (right, left, *others), {"inputs": [0, 1]})


def _sums_agree(op: Op, shapes: tuple[Shape, ...]) -> bool:
    """Return whether all sizes are equal on each axis that a matrix product sums over."""
    try:
        axes = align(op, shapes).axes
    except ShapeMismatch:
        return False
    return all(len({term.size for term in axis.terms}) == 1 for axis in axes if axis.requirement is not None)


def _transposed(op: Op, shapes: tuple[Shape, ...], numbers: tuple[int, ...]) -> Candidate:
    """Return the matrix product with these operands transposed, using the op's own attributes if possible."""
    if op.transposes:
        values = {name: getattr(op, name) for name in (op.transposes[number] for number in numbers)}
        changes = {name: type(value)(not value) for name, value in values.items()}  # a bool, or an integer in ONNX
        return _other_candidate(op, type(op).model_validate(op.__dict__ | changes), shapes)
    inputs = tuple(
        (*shape[:-2], shape[-1], shape[-2]) if number in numbers else shape for number, shape in enumerate(shapes)
    )
    if len(numbers) == 1:
        return reshape_candidate(op, shapes, numbers[0], inputs[numbers[0]], "transpose")
    return Candidate("transpose", op, inputs, {"inputs": list(numbers)})


def swapped_candidates(
    op: Op, shapes: tuple[Shape, ...], numbers: Sequence[int], exact: bool = True
) -> Iterator[Candidate]:
    """Yield requests in which an input in `numbers` swaps two axes to match another input or the target.

    If `exact` is true, the other shape has the same rank, and both sizes are equal. Otherwise, the other shape is
    right-aligned, and one of the swapped sizes can be 1.
    """
    target = getattr(op, op.target) if op.target else None
    for number in numbers:
        shape = shapes[number]
        partners = [*shapes[:number], *shapes[number + 1 :], target or ()]
        if exact:
            partners = [partner for partner in partners if len(partner) == len(shape)]
        pairs = {pair for partner in partners for pair in _matching_swaps(shape, partner, exact)}
        for one, other in sorted(pairs):
            if not op.names_axis(number, (one, other), len(shape)):
                swapped = list(shape)
                swapped[one], swapped[other] = shape[other], shape[one]
                yield reshape_candidate(op, shapes, number, tuple(swapped), "swap-axes", axes=[one, other])


def _matching_swaps(shape: Shape, partner: Shape, exact: bool) -> Iterator[tuple[int, int]]:
    """Yield the pairs of axes of a shape that match the partner after a swap. See `swapped_candidates`."""
    new = len(shape) - len(partner)
    axes = [axis for axis in range(max(new, 0), len(shape)) if not exact or shape[axis] != partner[axis]]
    for one, other in combinations(axes, 2):
        first, second = shape[one], shape[other]
        if first == second:
            continue
        if (first == partner[other - new] or (first == 1 and not exact)) and (
            second == partner[one - new] or (second == 1 and not exact)
        ):
            yield one, other


def _paired(op: Op, shapes: tuple[Shape, ...]) -> Iterator[Candidate]:
    """Yield a request that combines each row of one input with each row of the other, such as points with centers."""
    if len(shapes) == 2 and min(map(len, shapes)) >= 2 and shapes[0][1:] == shapes[1][1:]:
        rows, *others = shapes[0]
        yield reshape_candidate(op, shapes, 0, (rows, 1, *others), "all-pairs")


def _other_target(op: Op, shapes: tuple[Shape, ...], target: Shape) -> Iterator[Candidate]:
    """Yield the request in which the input's size replaces a -1 in the target."""
    (shape,) = shapes
    new = len(target) - len(shape)
    if new < 0 or -1 not in target:
        return
    spelled = tuple(shape[axis - new] if size == -1 and axis >= new else size for axis, size in enumerate(target))
    if any(isinstance(size, Symbol) and size.name is None for size in spelled):
        return  # a size without a name cannot be written
    with suppress(ValidationError):  # this attribute may not accept symbolic names
        yield from _others(op, shapes, [type(op).model_validate(op.__dict__ | {str(op.target): spelled})])


def _others(op: Op, shapes: tuple[Shape, ...], ops: Iterable[Op]) -> Iterator[Candidate]:
    """Yield requests that apply these ops to the same shapes."""
    return (_other_candidate(op, other, shapes) for other in ops if other != op)


def _own_ops(op: Op, shape: Shape, target: Shape) -> Iterator[Op]:
    """Yield the ops of the same class, and then of the same framework, that may broadcast `shape` to `target`."""
    plans = []
    if not any(type(size) is not int or size < 0 for size in (*shape, *target)):
        for axes in combinations(range(len(target)), len(shape)):
            if all(size in (1, target[axis]) for size, axis in zip(shape, axes, strict=True)):
                plans.append(Plan((shape,), (Placement(0, shape, target, axes),)))
        with suppress(ShapeMismatch):  # a larger target, if the shapes broadcast against each other
            plans += filter(None, [try_resolve(align_right((shape,), target))])
    mode = type(op).model_fields.get("mode")  # an op of OpenVINO keeps its mode if other axes fit
    if mode is not None and op.__dict__["mode"] == "explicit":
        for plan in plans:
            yield type(op).model_validate(op.__dict__ | {"axes_mapping": plan.outputs[0].output_axes})
    kinds = [kind for kind in own_ops(op.name.partition(".")[0]) if kind.target]
    for kind in sorted(kinds, key=lambda kind: kind is not type(op)):
        yield from filter(None, [from_plan(kind, plan) for plan in plans])
    if mode is not None and "bidirectional" in get_args(mode.annotation):
        yield type(op).model_validate({"mode": "bidirectional", str(op.target): target})


def _other_candidate(op: Op, other: Op, shapes: tuple[Shape, ...]) -> Candidate:
    """Return the candidate that applies `other` to the same shapes: the same op with other attributes, or another."""
    if type(other) is type(op):
        return Candidate("attributes", other, shapes, {"attributes": changed_attributes(op, other)})
    return Candidate("other-op", other, shapes, {})


def _other_axes(op: Op, shapes: tuple[Shape, ...]) -> Iterator[Candidate]:
    """Yield requests with explicit axes for ngraph.BroadcastLike, which cannot always infer the axes."""
    arg, like = shapes
    for axes in combinations(range(len(like)), max(len(like) - len(arg), 0)):
        if axes:
            yield from _others(op, shapes, [type(op).model_validate({"initial_broadcast_axes": axes})])
