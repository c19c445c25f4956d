"""Functions that find hints, which are changed requests that broadcast. Each hint is tested before it is returned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations, count
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError

from ...ops import OPS, Op, align, from_plan
from ...ops import lower as lower_integers
from ...ops.einsum import LabeledProduct
from ...plan.alignment import Alignment, Conflict, RightAlignment, ShapeMismatch, align_right
from ...plan.plan import Placement, Plan, Shape
from ...plan.resolution import has_integer_mismatch, try_resolve
from ...wire.cancellation import checkpoint
from ...wire.dimensions import Symbol
from ...words.hints import hint_text, reshape_code
from .equation_hints import Candidate, Try, changed_attributes, equation_candidates, reshape_candidate

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
Candidates = Callable[[Op, tuple[Shape, ...], Shape | None, Try, Sequence[int]], Iterator[Candidate]]
"""A function that yields the changed requests that broadcast. Its last argument lists the inputs that may change."""


def find_hints(
    op: Op,
    shapes: tuple[Shape, ...],
    lower: Lower = lower_integers,
    candidates: Candidates | None = None,
    accepts: Callable[[Alignment], bool] | None = None,
    conflict: Conflict | None = None,
) -> list[dict[str, Any]]:
    """Return up to MAX_HINTS changed requests that broadcast, as plain values in the fields of messages.Hint.

    The most likely change is first. `lower` returns the plan of a changed request. By default, all kinds of changes are
    tried. `accepts` can reject the alignment of a changed request. `conflict` is the reason why the request itself does
    not broadcast, if that is known.
    """
    target = getattr(op, op.target) if op.target else None
    if not is_small(op, shapes):
        return []
    of_integers = lower is lower_integers
    found: dict[object, dict[str, Any]] = {}
    numbers = _opposed_inputs(op, shapes, conflict) if of_integers else range(len(shapes))
    trials = _Trials(lower, accepts)
    try:
        for candidate in (candidates or _candidates)(op, shapes, target, trials, numbers):
            other, inputs = candidate.op, candidate.inputs
            if of_integers and isinstance(other, LabeledProduct) and other.known_deviation(inputs, None):
                continue  # the release refuses the equation
            found.setdefault((other, inputs), hint_to_dict(candidate, shapes, trials.output))
            if len(found) == MAX_HINTS:
                break
    except _Enough:
        pass
    own = framework_of(op.name)
    return sorted(found.values(), key=lambda hint: framework_of(hint["request"]["op"]["name"]) != own)


def framework_of(op: str) -> str:
    """Return the framework in the name of an op."""
    return op.partition(".")[0]


class _Trials:
    """A function that tests changed requests (see Try). It raises _Enough after a limited number of tests."""

    output: Sequence[int | str] = ()
    """The shape of the output, or of the result of a product, of the last request that broadcasts."""

    def __init__(self, lower: Lower, accepts: Callable[[Alignment], bool] | None) -> None:
        self._lower, self._accepts = lower, accepts
        self._count, self._symbolic_count = count(), count()

    def __call__(self, op: Op, shapes: tuple[Shape, ...]) -> bool:
        if next(self._count) >= MAX_HINT_TRIES:
            raise _Enough
        checkpoint()
        try:
            output = self._output(op, shapes)
        except ShapeMismatch:
            return False
        self.output = output or ()
        return output is not None

    def _output(self, op: Op, shapes: tuple[Shape, ...]) -> Sequence[int | str] | None:
        alignment = align(op, shapes)
        if self._accepts is not None and not self._accepts(alignment):
            return None
        of_integers = self._lower is lower_integers
        if isinstance(alignment, RightAlignment):
            if of_integers:
                return alignment.broadcast_shape()
            if has_integer_mismatch(alignment):
                return None  # most changed requests are rejected here, where it is cheap
        if not of_integers and next(self._symbolic_count) >= MAX_SYMBOLIC_HINT_TRIES:
            raise _Enough
        plan = try_resolve(alignment) if of_integers else self._lower(op, shapes)
        if plan is None or (not isinstance(plan, Plan) and plan.conditions):
            return None
        if plan.result is not None:
            return plan.result
        return plan.outputs[0].shape if plan.outputs else ()


def _opposed_inputs(op: Op, shapes: tuple[Shape, ...], conflict: Conflict | None) -> Sequence[int]:
    """Return the inputs of which one must change if integer sizes conflict: two inputs if all are right-aligned.

    Right-aligned inputs meet on the same axes, whatever the shapes of the other inputs are.
    """
    inputs = [] if conflict is None else [number for number in conflict.inputs[:2] if number is not None]
    try:
        if len(inputs) == 2 and isinstance(op.align(shapes), RightAlignment):
            return inputs
    except ShapeMismatch:  # the op's rule refuses the shapes before it aligns them
        pass
    return range(len(shapes))


class _Enough(Exception):
    """The exception that ends a hint search when the search has reached its maximum number of tries."""


def is_small(op: Op, shapes: tuple[Shape, ...]) -> bool:
    """Return whether a request is small enough for a hint search."""
    lists = [value for value in (*shapes, *op.__dict__.values()) if isinstance(value, (tuple, dict))]
    return len(shapes) <= MAX_HINT_INPUTS and max(map(len, lists)) <= MAX_HINT_ENTRIES


def hint_to_dict(found: Candidate, shapes: tuple[Shape, ...], output: Sequence[int | str]) -> dict[str, Any]:
    """Return a hint for a request with these shapes as plain values, in the fields of messages.Hint."""
    plain_op = found.op.model_dump(mode="json", exclude_none=True)
    if found.op.alias is not None:
        plain_op["name"] = found.op.alias
    request = {"op": plain_op, "inputs": [list(shape) for shape in found.inputs]}
    number = found.facts.get("input")
    suffix = "" if number is None else reshape_code(shapes[number], found.inputs[number])
    code = {"suffix": suffix} if suffix else {}
    hint = {"code": found.code, **found.facts, **code, "output": list(output), "request": request}
    return {**hint, "message": hint_text(hint)}


def _candidates(
    op: Op, shapes: tuple[Shape, ...], target: Shape | None, fitting: Try, numbers: Sequence[int]
) -> Iterator[Candidate]:
    if isinstance(op, LabeledProduct):
        yield from equation_candidates(op, shapes, fitting)
        return
    is_found = False
    for candidate in _likely_candidates(op, shapes, target, fitting, numbers):
        is_found = True
        yield candidate
    if not is_found:
        yield from swapped_candidates(op, shapes, target, fitting, numbers, exact=False)


def _likely_candidates(
    op: Op, shapes: tuple[Shape, ...], target: Shape | None, fitting: Try, numbers: Sequence[int]
) -> Iterator[Candidate]:
    if not op.has_common_output_axes:
        yield from multiplied_candidates(op, shapes, fitting)
    yield from swapped_candidates(op, shapes, target, fitting, numbers)
    yield from reshaped_candidates(op, shapes, fitting, numbers)
    if target is None and op.has_common_output_axes:
        yield from _paired(op, shapes, fitting)
    if target is not None and len(shapes) == 1:
        yield from _other_target(op, shapes, target, fitting)
        yield from _other_op(op, shapes, target, fitting)
    elif len(shapes) == 2 and op.name == "ngraph.BroadcastLike":
        yield from _other_axes(shapes, fitting)


def multiplied_candidates(op: Op, shapes: tuple[Shape, ...], fitting: Try) -> Iterator[Candidate]:
    """Yield matrix products with transposed or exchanged operands, or with a new axis in a vector."""
    if _sums_agree(op, shapes):
        return  # only the leading axes conflict, and transposing the last two axes does not change the leading axes
    for numbers in ((1,), (0,), (0, 1)):
        changed = _transposed(op, shapes, numbers)
        if changed and fitting(changed.op, changed.inputs):
            yield changed
    left, right, *others = shapes
    vectors = [(1, (*right, 1)), (0, (*left[:-1], 1, *left[-1:]))]
    vectors += [(0, (*left, 1))] if len(left) == 1 else []
    vectors += [(1, (1, *right))] if len(right) == 1 else []
    for number, shape in vectors:
        inputs = _with(shapes, number, shape)
        if shapes[number] and fitting(op, inputs):
            yield reshape_candidate(op, inputs, number)
    exchanged = (right, left, *others)
    if left != right and fitting(op, exchanged):
        yield Candidate("exchange-inputs", op, exchanged, {"inputs": [0, 1]})


def _sums_agree(op: Op, shapes: tuple[Shape, ...]) -> bool:
    """Return whether all sizes are equal on each axis that a matrix product sums over."""
    try:
        axes = align(op, shapes).axes
    except ShapeMismatch:
        return False
    return all(len({term.size for term in axis.terms}) == 1 for axis in axes if axis.requirement is not None)


def _transposed(op: Op, shapes: tuple[Shape, ...], numbers: tuple[int, ...]) -> Candidate | None:
    """Return the matrix product with these operands transposed, using the op's own attributes if possible."""
    if any(len(shapes[number]) < 2 or shapes[number][-1] == shapes[number][-2] for number in numbers):
        return None
    if op.transposes:
        changes = {op.transposes[number]: not getattr(op, op.transposes[number]) for number in numbers}
        kinds = {name: type(getattr(op, name)) for name in changes}  # a bool, or an integer in ONNX
        changes = {name: kinds[name](value) for name, value in changes.items()}
        changed = type(op).model_validate(op.__dict__ | changes)
        return Candidate("attributes", changed, shapes, {"attributes": changes})
    inputs = shapes
    for number in numbers:
        *stack, rows, columns = shapes[number]
        inputs = _with(inputs, number, (*stack, columns, rows))
    if len(numbers) == 1:
        return reshape_candidate(op, inputs, numbers[0], "transpose")
    return Candidate("transpose", op, inputs, {"inputs": list(numbers)})


def _with(shapes: tuple[Shape, ...], number: int, shape: Shape) -> tuple[Shape, ...]:
    return (*shapes[:number], shape, *shapes[number + 1 :])


def swapped_candidates(
    op: Op, shapes: tuple[Shape, ...], target: Shape | None, fitting: Try, numbers: Sequence[int], exact: bool = True
) -> Iterator[Candidate]:
    """Yield requests in which an input in `numbers` swaps two axes to match another input or the target.

    If `exact` is true, the other shape has the same rank, and both sizes are equal. Otherwise, the other shape is
    right-aligned, and one of the swapped sizes can be 1.
    """
    for number in numbers:
        shape = shapes[number]
        partners = [*shapes[:number], *shapes[number + 1 :], target or ()]
        partners = [partner for partner in partners if len(partner) == len(shape) or not exact]
        for one, other in combinations(range(len(shape)), 2) if partners else ():
            first, second = shape[one], shape[other]
            if first == second or not any(_is_swapped(shape, partner, one, other, exact) for partner in partners):
                continue
            if op.names_axis(number, (one, other), len(shape)):
                continue
            swapped = list(shape)
            swapped[one], swapped[other] = second, first
            inputs = _with(shapes, number, tuple(swapped))
            if fitting(op, inputs):
                yield reshape_candidate(op, inputs, number, "swap-axes", axes=[one, other])
                return


def _is_swapped(shape: Shape, partner: Shape, one: int, other: int, exact: bool) -> bool:
    if len(partner) < len(shape) - one:
        return False  # the partner lacks the first of the two axes
    pairs = (shape[one], partner[other - len(shape)]), (shape[other], partner[one - len(shape)])
    return all(size == wanted or (size == 1 and not exact) for size, wanted in pairs)


def reshaped_candidates(op: Op, shapes: tuple[Shape, ...], fitting: Try, numbers: Sequence[int]) -> Iterator[Candidate]:
    """Yield requests in which an input in `numbers` has new axes of size 1, or lacks its leading axes of size 1."""
    ranks = [len(shape) for shape in shapes]
    room = max([*ranks, len(getattr(op, op.target) or ()) if op.target else 0])
    for number in sorted(numbers, key=ranks.__getitem__):
        shape = shapes[number]
        for rank in range(len(shape) + 1, room + 1 if shape else 0):
            # A new axis before axis 0 changes nothing. The last axes stay last if they fit there, as those of a mask.
            for own in reversed([*combinations(range(1, rank), len(shape) - 1)]):
                kept = (0, *own)
                if op.named_axes and op.names_axis(
                    number, [axis for axis, new in enumerate(kept) if axis != new], len(shape)
                ):
                    continue
                sizes = [1] * rank
                for axis, size in zip(kept, shape, strict=True):
                    sizes[axis] = size
                wider = tuple(sizes)
                inputs = _with(shapes, number, wider)
                if fitting(op, inputs):
                    yield reshape_candidate(op, inputs, number)
                    break
        narrower = shape
        while narrower[:1] == (1,) and not op.names_axis(number, range(len(shape)), len(shape)):
            narrower = narrower[1:]
            inputs = _with(shapes, number, narrower)
            if fitting(op, inputs):
                yield reshape_candidate(op, inputs, number)
                break


def _paired(op: Op, shapes: tuple[Shape, ...], fitting: Try) -> Iterator[Candidate]:
    """Yield a request that combines each row of one input with each row of the other, such as points with centers."""
    if len(shapes) != 2 or min(map(len, shapes)) < 2 or shapes[0][1:] != shapes[1][1:]:
        return
    rows, *others = shapes[0]
    wider = (rows, 1, *others)
    inputs = _with(shapes, 0, wider)
    if fitting(op, inputs):
        yield reshape_candidate(op, inputs, 0, "all-pairs")


def _other_target(op: Op, shapes: tuple[Shape, ...], target: Shape, fitting: Try) -> Iterator[Candidate]:
    """Yield requests in which the input's size replaces a -1 in the target, or whose op accepts -1."""
    (shape,) = shapes
    new = len(target) - len(shape)
    if new < 0 or -1 not in target:
        return
    spelled = tuple(shape[axis - new] if size == -1 and axis >= new else size for axis, size in enumerate(target))
    if any(isinstance(size, Symbol) and size.name is None for size in spelled):
        return  # a size without a name cannot be written
    try:
        changed = type(op).model_validate(op.__dict__ | {str(op.target): spelled})
    except ValidationError:  # this attribute does not accept symbolic names
        changed = op
    if changed != op and fitting(changed, shapes):
        yield _other_candidate(op, changed, shapes)
    keeping = _op("mindspore.broadcast_to", shape=target)
    if op.name != keeping.name and fitting(keeping, shapes):
        yield _other_candidate(op, keeping, shapes)


def _other_op(op: Op, shapes: tuple[Shape, ...], target: Shape, fitting: Try) -> Iterator[Candidate]:
    """Yield requests that use a different op to broadcast the same input to the same target."""
    for other in (*_own_ops(op, shapes[0], target), *_ops_with_target(shapes[0], target)):
        if other != op and fitting(other, shapes):
            yield _other_candidate(op, other, shapes)


def _own_ops(op: Op, shape: Shape, target: Shape) -> Iterator[Op]:
    """Yield the ops of the same class, and then of the same framework, that broadcast `shape` to `target`."""
    if any(type(size) is not int or size < 0 for size in (*shape, *target)):
        return
    plans = []
    for axes in combinations(range(len(target)), len(shape)):
        if all(size in (1, target[axis]) for size, axis in zip(shape, axes, strict=True)):
            plans.append(Plan((shape,), (Placement(0, shape, target, axes),)))
    with suppress(ShapeMismatch):  # a larger target, if the shapes broadcast against each other
        plans += filter(None, [try_resolve(align_right((shape,), target))])
    if getattr(op, "mode", "") == "explicit":  # an op of OpenVINO keeps its mode if other axes fit
        for plan in plans:
            yield type(op).model_validate(op.__dict__ | {"axes_mapping": plan.outputs[0].output_axes})
    kinds = [OPS[name] for name in OPS if framework_of(name) == framework_of(op.name) and OPS[name].target]
    for kind in sorted(kinds, key=lambda kind: kind is not type(op)):
        for plan in plans:
            if (same := from_plan(kind, plan)) is not None:
                yield same


def _other_candidate(op: Op, other: Op, shapes: tuple[Shape, ...]) -> Candidate:
    """Return the candidate that applies `other` to the same shapes: the same op with other attributes, or another."""
    if type(other) is type(op):
        return Candidate("attributes", other, shapes, {"attributes": changed_attributes(op, other)})
    return Candidate("other-op", other, shapes, {})


def _ops_with_target(shape: Shape, target: Shape) -> Iterator[Op]:
    """Yield ops that may broadcast `shape` to `target`, except ops that obviously fail."""
    yield _op("numpy.broadcast_to", shape=target)
    for axes in combinations(range(len(target)), len(shape)):
        pairs = [(size, target[axis]) for size, axis in zip(shape, axes, strict=True)]
        if all(_may_equal(size, wanted) for size, wanted in pairs):
            lacking = tuple(axis for axis in range(len(target)) if axis not in axes)
            yield _op("ngraph.Broadcast", shape=target, broadcast_axes=lacking)
        if all(size == 1 or _may_equal(size, wanted) for size, wanted in pairs):
            yield _op("openvino.Broadcast-3", mode="explicit", target_shape=target, axes_mapping=axes)
    yield _op("openvino.Broadcast-3", mode="bidirectional", target_shape=target)


def _op(name: str, **attributes: Any) -> Op:
    """Return an op by its name, so that only its framework's file is loaded, and only for a hint."""
    return OPS[name].model_validate(attributes)


def _may_equal(size: int | Symbol, wanted: int | Symbol) -> bool:
    """Return whether two sizes are equal, or can become equal under an assumption about a named size."""
    if isinstance(size, Symbol) or isinstance(wanted, Symbol):
        return size == wanted or any(isinstance(side, Symbol) and side.name for side in (size, wanted))
    return size == wanted


def _other_axes(shapes: tuple[Shape, ...], fitting: Try) -> Iterator[Candidate]:
    """Yield requests with explicit axes for ngraph.BroadcastLike, which cannot always infer the axes."""
    arg, like = shapes
    for lacking in combinations(range(len(like)), max(len(like) - len(arg), 0)):
        other = _op("ngraph.BroadcastLike", initial_broadcast_axes=lacking)
        if lacking and fitting(other, shapes):
            facts = {"attributes": {"initial_broadcast_axes": list(lacking)}}
            yield Candidate("attributes", other, shapes, facts)
