"""Functions that check whether shapes broadcast, and return the output shapes or the conflict.

The library and the service both use these functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from itertools import repeat
from math import prod
from operator import or_
from typing import TYPE_CHECKING, Any, TypeAlias

from ..messages import CheckAnswer, CheckRequest
from ..ops import Op, align, lower, op_to_dict
from ..plan.alignment import Alignment, Conflict, RightAlignment, ShapeMismatch
from ..plan.plan import Placement, Plan, Shape
from ..plan.resolution import resolve
from ..wire.problems import Problem
from ..wire.shapes import MAX_SIZE
from ..words.conflicts import conflict_text
from .hints.hints import Lower, find_hints, find_matching_hints
from .limits import MAX_RANK, RequestSize, int64_or_text, validate_request
from .warnings import input_warnings

if TYPE_CHECKING:
    from .symbolic.symbolic import SymbolicPlacement, SymbolicPlan

AnyPlan: TypeAlias = "Plan | SymbolicPlan"
Resolved: TypeAlias = "tuple[dict[str, Any], AnyPlan | None, Alignment]"
"""The response fields, the plan and the alignment of a check. The fast path computes no plan."""

_MAX_LISTED_INPUTS = 20
"""The maximum number of conflicting inputs that a response lists."""


def answer_check(request: CheckRequest) -> CheckAnswer:
    """Return the response to a check. Raises Problem if the op never accepts such a request."""
    return CheckAnswer.model_validate(check_to_dict(request))


def check_to_dict(
    request: CheckRequest, request_size: RequestSize | None = None, explains_conflict: bool = True
) -> dict[str, Any]:
    """Return the response to a check as plain values, in the fields of a CheckAnswer.

    Pass `request_size` if the size of the request is already computed. If `explains_conflict` is False, the response
    contains neither a conflict nor hints, which take the most time. Raises Problem if the op never accepts such a
    request.
    """
    size = request_size or validate_request(request.op, tuple(request.inputs))
    op, shapes, rank, _, _, is_symbolic = size
    assume, itemsize = request.assume or {}, _itemsize(request.dtype)
    if assume:
        from .symbolic.symbolic import validate_assumptions

        validate_assumptions(op, shapes, assume)
    lower_here = _lowering(is_symbolic, assume)
    conflict, plan = None, None
    response: dict[str, Any] = {"compatible": True, "op": op_to_dict(op)}
    warnings: list[dict[str, Any]] = []
    try:
        fields, plan, alignment = _resolve(size, assume, itemsize)
    except ShapeMismatch as mismatch:
        conflict = mismatch.conflict
        response["compatible"] = False
        if explains_conflict:
            response["conflict"] = conflict_to_dict(op, shapes, conflict, lower_here)
    else:
        response |= fields
        inputs = fields["broadcast_inputs"]
        if len(inputs) > 1 and op.has_common_output_axes and op.output_dims() is None:
            warnings = input_warnings(op, shapes, alignment, inputs, lower_here, request.warn)
    if plan is not None and not isinstance(plan, Plan):
        response["conditions"] = [condition.model_dump(exclude_unset=True) for condition in plan.conditions]
        response["compatible"] = None if plan.conditions else True
        if plan.axis_sizes:
            response["axis_sizes"] = [{"axis": axis, "message": text} for axis, text in plan.axis_sizes.items()]
        if plan.conditions and explains_conflict and (hints := find_matching_hints(op, shapes, lower_here)):
            response["hints"] = hints
    # The catalogue lists the known deviations of releases only for integer sizes.
    elif not is_symbolic and (deviation := op.known_deviation(shapes, conflict)):
        warnings.append({"code": "release-differs", "message": deviation})
    response["warnings"] = warnings
    if assume:
        _add_assumptions(response, assume)
    if request.explain and rank <= MAX_RANK:
        from ..drawing.drawing import describe_drawing  # few checks ask for a drawing
        from ..drawing.drawing_text import drawing_as_text

        response["diagram"] = drawing_as_text(describe_drawing(op, shapes, conflict or plan or lower(op, shapes)))
    return response


def _add_assumptions(response: dict[str, Any], assume: Mapping[str, Any]) -> None:
    """Add the assumptions about the names in each hint's request to this request, so that it is complete."""
    hints = [*response.get("conflict", response).get("hints", ())]
    hints += [warning[field] for warning in response["warnings"] for field in ("hint", "all_pairs") if field in warning]
    for request in (hint["request"] for hint in hints):
        lists = [value for value in (*request["inputs"], *request["op"].values()) if isinstance(value, list)]
        names = {str(size) for sizes in lists for size in sizes}
        known = {name: size if isinstance(size, int) else str(size) for name, size in assume.items() if name in names}
        if known:
            request["assume"] = known


def _lowering(is_symbolic: bool, assume: Mapping[str, Any]) -> Lower:
    """Return the function that lowers a request. Most requests do not need the solver for symbolic sizes."""
    if not is_symbolic:
        return lower
    from .symbolic.symbolic import lower_symbolic

    return partial(lower_symbolic, assume=assume)


def _resolve(size: RequestSize, assume: Mapping[str, Any], itemsize: int | None) -> Resolved:
    """Return the response fields, the plan and the alignment. Raises ShapeMismatch if the shapes do not broadcast."""
    op, shapes, rank, _, _, is_symbolic = size
    dims = op.output_dims()
    plan: AnyPlan
    if is_symbolic:
        from .symbolic.symbolic import lower_symbolic

        plan = lower_symbolic(op, shapes, assume)
        alignment = plan.apart
    else:
        # `rank` is an upper bound for the rank that the op limits. For most requests, this bound is within the limit.
        alignment = op.align(shapes) if op.max_rank is None or rank <= op.max_rank else align(op, shapes)
        right_aligned = alignment if dims is None and isinstance(alignment, RightAlignment) else None
        if right_aligned is not None and (common := right_aligned.broadcast_shape()) is not None:
            masks = right_aligned.nonunit_masks
            all_axes, shape = reduce(or_, masks), [*common]
            inputs = [
                input_to_dict(number, shape, len(own), len(common), all_axes & ~masks[number])
                for number, own in enumerate(shapes)
            ]
            output = _output_to_dict(common, itemsize)
            return _with_outputs([output] * op.output_count(len(shapes)), inputs), None, alignment
        plan = resolve(alignment)
    outputs = [
        _output_to_dict(shape, itemsize, names)
        for shape, names in zip(op.output_shapes(plan), dims or repeat(None), strict=False)
    ]
    return _with_outputs(outputs, [_placed_to_dict(placed, shapes) for placed in plan.outputs]), plan, alignment


def _with_outputs(outputs: list[dict[str, Any]], inputs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the response fields with the shapes. An op without outputs has no `shape`."""
    shape = {"shape": outputs[0]["shape"]} if outputs else {}
    return {**shape, "outputs": outputs, "broadcast_inputs": inputs}


def plan_or_conflict(size: RequestSize, assume: Mapping[str, Any] | None = None) -> AnyPlan | Conflict:
    """Return the plan of a request, or the conflict if the shapes do not broadcast."""
    try:
        return _lowering(size.is_symbolic, assume or {})(size.op, size.shapes)
    except ShapeMismatch as mismatch:
        return mismatch.conflict


def plan_or_problem(request_size: RequestSize) -> Plan:
    """Return the plan of a request. If the shapes do not broadcast, raises Problem (incompatible-shapes)."""
    try:
        return lower(request_size.op, request_size.shapes)
    except ShapeMismatch as mismatch:
        conflict = conflict_to_dict(request_size.op, request_size.shapes, mismatch.conflict)
        raise Problem("incompatible-shapes", conflict["message"], conflict=conflict) from None


def conflict_to_dict(op: Op, shapes: tuple[Shape, ...], conflict: Conflict, lower: Lower = lower) -> dict[str, Any]:
    """Return a conflict and its hints as plain values, in the fields of a ConflictAnswer."""
    return {
        "code": conflict.code,
        **({} if conflict.axis is None else {"axis": conflict.axis}),
        **({"axes": list(conflict.axes[:_MAX_LISTED_INPUTS])} if conflict.axes else {}),
        "inputs": list(conflict.inputs[:_MAX_LISTED_INPUTS]),
        "sizes": list(conflict.sizes[:_MAX_LISTED_INPUTS]),
        "hints": find_hints(op, shapes, lower, conflict=conflict),
        "message": conflict_text(conflict),
    }


def _itemsize(dtype: str | None) -> int | None:
    if dtype is None:
        return None
    # This module imports NumPy, and a check without a dtype must not import it.
    from ..wire.dtypes import UnknownDtype, dtype_from_name

    try:
        return dtype_from_name(dtype).itemsize
    except UnknownDtype as error:
        raise Problem("invalid-request", f"dtype: {error}", pointer="/dtype") from None


def _output_to_dict(shape: Sequence[int | str], itemsize: int | None, dims: list[str] | None = None) -> dict[str, Any]:
    """Return an output as plain values, in the fields of an OutputShape."""
    output: dict[str, Any] = {"shape": [*map(_size_to_json, shape)]}
    integers = [size for size in shape if isinstance(size, int)]
    is_known = len(integers) == len(shape) or 0 in integers  # otherwise the count depends on symbolic sizes
    if is_known:
        output["elements"] = int64_or_text(prod(integers))
    if dims is not None:
        output["dims"] = dims
    if itemsize is not None and is_known:
        output["nbytes"] = int64_or_text(prod(integers) * itemsize)
    return output


def _placed_to_dict(placement: Placement | SymbolicPlacement, shapes: tuple[Shape, ...]) -> dict[str, Any]:
    """Return an input after broadcasting as plain values, in the fields of a BroadcastInput."""
    fields: dict[str, Any] = {"input": placement.input, "shape": [*placement.shape]}
    if placement.merges is not None or placement.input_shape != shapes[placement.input]:
        fields["shape"] = [*map(_size_to_json, placement.shape)]
        fields["factors"] = placement.output_shape
    fields["axes"] = placement.output_axes
    fields["broadcast_axes"] = placement.broadcast_axes
    if not isinstance(placement, Placement) and placement.maybe_broadcast_axes:
        fields["maybe_broadcast_axes"] = placement.maybe_broadcast_axes
    return fields


def _size_to_json(size: int | str) -> int | str:
    return str(size) if isinstance(size, int) and size > MAX_SIZE else size


def input_to_dict(number: int, shape: Any, input_rank: int, rank: int, missing: int) -> dict[str, Any]:
    """Return a right-aligned input after broadcasting as plain values, in the fields of a BroadcastInput.

    `missing` is a bit mask with the axes on which other inputs have a size other than 1, but not this input. The lowest
    bit represents the last axis.
    """
    new = rank - input_rank
    expanded = [axis for axis in range(new, rank) if missing >> (rank - 1 - axis) & 1]
    return {
        "input": number,
        "shape": shape,
        "axes": tuple(range(new, rank)),
        "broadcast_axes": (*range(new), *expanded),
    }
