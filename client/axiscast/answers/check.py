"""check: the shapes that come out, or why none do. The one implementation, for HTTP and for the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial, reduce
from itertools import repeat
from math import prod
from operator import or_
from typing import Any, NamedTuple

from pydantic import ValidationError

from ..messages import CheckAnswer, CheckRequest, Comparison, Condition, Warned
from ..ops import Op, align, lower, read_op
from ..plan.alignment import Alignment, Conflict, RightAlignment, ShapeMismatch
from ..plan.plan import Placement, Plan, Shape
from ..plan.resolution import resolve_axes
from ..wire.problems import Problem
from ..wire.shapes import MAX_SIZE, format_shape
from .diagram import draw
from .hints import Lower, find_hints
from .limits import MAX_RANK, RequestSize, int64_or_text, validate_request
from .symbolic import SymbolicPlacement, SymbolicPlan, validate_assumptions
from .symbolic import lower as lower_symbolic
from .two_sided import KEPT_INPUTS
from .warnings import input_warnings

AnyPlacement = Placement | SymbolicPlacement

_NAMED_INPUTS = 20
"""Inputs of a conflict that an answer lists."""
_JOINED_CONDITIONS = 20
"""Conditions that an answer in text lists."""


DEFAULT_OP: Op = CheckRequest.model_fields["op"].default
"""The op of a request that names none: this object, and no other op that is equal to it."""
_LEFT_OUT_PLAIN = {"name": DEFAULT_OP.name}


class PlainCheck(NamedTuple):
    """A CheckRequest, as valid as one, of no other fields than these: most have none, and it takes less to make."""

    inputs: Sequence[Shape]
    op: Op = DEFAULT_OP
    assume: Mapping[str, Any] | None = None
    dtype: None = None
    explain: bool = False
    warn: Sequence[str] = ()


def plain_check(inputs: Any, op: Op = DEFAULT_OP) -> PlainCheck | None:
    """The PlainCheck of these inputs; None where they are not all lists or tuples of integers that are sizes."""
    if type(inputs) is not list and type(inputs) is not tuple:
        return None
    for shape in inputs:
        if type(shape) is not list and type(shape) is not tuple:
            return None
        for size in shape:
            if type(size) is not int or not 0 <= size <= MAX_SIZE:
                return None
    return PlainCheck([*map(tuple, inputs)], op)


def read_plain_check(value: Any) -> PlainCheck | None:
    """Return a request with `inputs`, perhaps `op`, and no other field as a PlainCheck.

    If the request has other fields or sizes, or is invalid, return None.
    """
    if type(value) is not dict or "inputs" not in value or not value.keys() <= {"inputs", "op"}:
        return None
    if "op" not in value:
        return plain_check(value["inputs"])
    fields = {"name": value["op"]} if type(value["op"]) is str else value["op"]
    if type(fields) is not dict or type(fields.get("name")) is not str:
        return None
    try:
        op = read_op(fields)
    except ValidationError:
        return None
    return None if op is None else plain_check(value["inputs"], op)


def answer_check(request: CheckRequest) -> CheckAnswer:
    """The answer to a check, typed. Raises Problem for what the op could never accept."""
    return CheckAnswer.model_validate(check_to_dict(request))


def check_to_dict(
    request: CheckRequest | PlainCheck, request_size: RequestSize | None = None, explains_conflict: bool = True
) -> dict[str, Any]:
    """Return the answer to a check, as the plain values of a CheckAnswer that are sent.

    `request_size` is that of the request, if it is known. If `explains_conflict` is False, the answer omits the
    conflict and its hints, which cost most. Raises Problem for what the op could never accept.
    """
    request_size = request_size or validate_request(request.op, tuple(request.inputs))
    op, shapes, rank, symbolic = request_size.op, request_size.shapes, request_size.rank, request_size.is_symbolic
    itemsize = _itemsize(request.dtype)
    if request.assume:
        validate_assumptions(op, shapes, request.assume)
    dims = op.output_dims()
    lower_here: Lower = partial(lower_symbolic, assume=request.assume or {}) if symbolic else lower
    plan: Plan | SymbolicPlan | None = None
    alignment: Alignment | None = None
    conflict: Conflict | None = None
    outputs: list[dict[str, Any]] = []
    try:
        if symbolic:
            plan = lower_symbolic(op, shapes, request.assume or {})
            alignment = plan.apart
        else:
            # The rank that an op limits is one of which `rank` is the highest.
            alignment = op.align(shapes) if op.max_rank is None or rank <= op.max_rank else align(op, shapes)
            right = alignment if dims is None and isinstance(alignment, RightAlignment) else None
            if right is not None and (sizes := right.broadcast_shape()) is not None:
                outputs = _right_outputs(shapes, sizes, right.nonunit_masks or [], itemsize)
            else:
                plan = resolve_axes(alignment)
    except ShapeMismatch as incompatible:
        conflict = incompatible.conflict
    answer: dict[str, Any] = {"compatible": conflict is None}
    if op is DEFAULT_OP:
        answer["op"] = _LEFT_OUT_PLAIN
    elif op.alias is not None:
        answer["op"] = op.model_dump(mode="json", exclude_none=True)
    warnings: list[dict[str, Any]] = []
    if conflict is not None:
        if explains_conflict:
            answer["conflict"] = conflict_answer(op, shapes, conflict, lower_here)
    else:
        if plan is not None:
            placements: Sequence[AnyPlacement] = plan.outputs
            outputs = [
                _output(placement, itemsize, shapes, names)
                for placement, names in zip(placements, dims or repeat(None), strict=False)
            ]
        answer["outputs"] = outputs
        if plan is not None and plan.result is not None:
            answer["result"] = _sent_result(plan.result, itemsize)
        if len(outputs) > 1 and dims is None and op.has_common_output_axes and alignment is not None:
            warnings = input_warnings(op, shapes, alignment, outputs, lower_here, request.warn)
    if mistake := op.attribute_warning():
        warnings.append(dict(zip(("code", "message"), mistake, strict=True)))
    if isinstance(plan, SymbolicPlan):
        answer["conditions"] = [condition.model_dump(exclude_unset=True) for condition in plan.conditions]
        answer["compatible"] = None if plan.conditions else True
    elif not symbolic and (differs := op.known_deviation(shapes, conflict)):  # known of integers alone
        warnings.append({"code": "release-differs", "message": differs})
    answer["warnings"] = warnings
    if request.explain and rank <= MAX_RANK:
        answer["diagram"] = draw(op, shapes, _alignment(op, shapes), conflict or plan or lower(op, shapes))
    return answer


def check_as_text(answer: CheckAnswer) -> str:
    """An answer for a terminal: the drawing, if it was asked for, and a sentence for each thing to say."""
    lines = [answer.diagram, ""] if answer.diagram else []
    if answer.conflict is None:
        shapes = result_shapes_text(answer)
        verdict = "compatible" if answer.compatible else f"compatible if {join_conditions(answer.conditions)}"
        lines.append(f"{verdict}: {shapes}" if shapes else verdict)
    else:
        lines.append(f"incompatible ({answer.conflict.code}): {answer.conflict.message}")
        lines += [f"hint: {hint.text}" for hint in answer.conflict.hints]
    return "\n".join([*lines, *warning_lines(answer.warnings)])


def result_shapes_text(answer: CheckAnswer | Comparison) -> str:
    """Return the shapes that shapes which broadcast lead to, in words: the result's, else those of the outputs."""
    shapes = [answer.result.shape] if answer.result else [output.shape for output in answer.outputs]
    return ", ".join(dict.fromkeys(map(format_shape, shapes)))


def warning_lines(warnings: Iterable[Warned]) -> Iterator[str]:
    """Yield warnings for a terminal. A hint of one says no more than its message."""
    for warning in warnings:
        yield f"warning ({warning.code}): {warning.message}"


def join_conditions(conditions: Sequence[Condition]) -> str:
    """All of them in one sentence, the alternatives in parentheses where several are joined."""
    texts = [condition.text for condition in conditions[:_JOINED_CONDITIONS]]
    if len(conditions) > 1:
        texts = [f"({text})" if " or " in text else text for text in texts]
    if len(conditions) > len(texts):
        texts.append(f"{len(conditions) - len(texts)} more conditions")
    return " and ".join(texts)


def plan_or_problem(request_size: RequestSize) -> Plan:
    """The plan of a request. Raises Problem (incompatible-shapes, with the conflict) where there is none."""
    try:
        return lower(request_size.op, request_size.shapes)
    except ShapeMismatch as incompatible:
        conflict = conflict_answer(request_size.op, request_size.shapes, incompatible.conflict)
        raise Problem("incompatible-shapes", conflict["message"], conflict=conflict) from None


def conflict_answer(op: Op, shapes: tuple[Shape, ...], conflict: Conflict, lower: Lower = lower) -> dict[str, Any]:
    """A conflict as it is sent (a ConflictAnswer), with hints."""
    return {
        "code": conflict.code,
        "message": conflict.message,
        "axis": conflict.axis,
        "inputs": list(conflict.inputs[:_NAMED_INPUTS]),
        "sizes": list(conflict.sizes[:_NAMED_INPUTS]),
        **({"axes": list(conflict.axes[:_NAMED_INPUTS])} if conflict.axes else {}),
        "hints": find_hints(op, shapes, lower),
    }


def _alignment(op: Op, shapes: tuple[Shape, ...]) -> Alignment | None:
    try:
        alignment = op.align(shapes)
    except ShapeMismatch:
        return None
    return alignment if alignment.refusal is None else None


def _itemsize(dtype: str | None) -> int | None:
    if dtype is None:
        return None
    from ..wire.dtypes import UnknownDtype, dtype_from_name  # takes NumPy, which a check without a dtype does not

    try:
        return dtype_from_name(dtype).itemsize
    except UnknownDtype as error:
        raise Problem("invalid-request", f"dtype: {error}", pointer="/dtype") from None


def _output(
    placement: AnyPlacement,
    itemsize: int | None,
    shapes: tuple[Shape, ...],
    dims: list[str] | None,
) -> dict[str, Any]:
    """An output as it is sent (an OutputShape)."""
    shape: list[int | str] = list(placement.shape)
    output: dict[str, Any] = {"shape": shape, "input": placement.input}
    if placement.merges is not None or placement.input_shape != shapes[placement.input]:
        output["factors"] = placement.output_shape
        output["shape"] = [
            int64_or_text(size) if isinstance(size, int) else size for size in shape
        ]  # a merge may be huge
    output["axes"] = placement.output_axes
    output["broadcast_axes"] = placement.broadcast_axes
    elements: int | None
    if isinstance(placement, SymbolicPlacement):
        output["maybe_broadcast_axes"] = placement.maybe_broadcast_axes
        elements = _product(placement.shape)
    else:
        elements = placement.elements
    output["elements"] = None if elements is None else int64_or_text(elements)
    if dims is not None:
        output["dims"] = dims
    if itemsize is not None:
        output["nbytes"] = None if elements is None else int64_or_text(elements * itemsize)
    return output


def _sent_result(shape: Sequence[int | str], itemsize: int | None) -> dict[str, Any]:
    """A result as it is sent (a ResultShape)."""
    elements = _product(shape)
    result = {"shape": shape, "elements": None if elements is None else int64_or_text(elements)}
    if itemsize is not None:
        result["nbytes"] = None if elements is None else int64_or_text(elements * itemsize)
    return result


def _product(shape: Sequence[int | str]) -> int | None:
    """Virtual elements; None where the sizes leave it open."""
    integers = [size for size in shape if isinstance(size, int)]
    return prod(integers) if len(integers) == len(shape) or 0 in integers else None


def _right_outputs(
    shapes: tuple[Shape, ...], sizes: Shape, filled: Sequence[int], itemsize: int | None
) -> list[dict[str, Any]]:
    """The outputs, as `_output` gives them, of right-aligned inputs that meet at these sizes, by the axes that each of
    them fills (RightAlignment.nonunit_masks). Most checks are answered here, in one loop and without placements."""
    elements = prod(sizes)
    sent = int64_or_text(elements)
    outputs: list[dict[str, Any]] = []
    axes_of = _axes if len(shapes) <= KEPT_INPUTS else _axes.__wrapped__
    for number, axes, replicated in axes_of(tuple(map(len, shapes)), tuple(filled), len(sizes)):
        outputs.append({"shape": sizes, "input": number, "axes": axes, "broadcast_axes": replicated, "elements": sent})
    if itemsize is not None:
        for output in outputs:
            output["nbytes"] = int64_or_text(elements * itemsize)
    return outputs


@lru_cache(256)
def _axes(
    ranks: tuple[int, ...], filled: tuple[int, ...], rank: int
) -> list[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """For each input, of these ranks and filling these axes, the output axes that it has, and those along which it is
    replicated. Kept, since few of them are asked for again and again, with other sizes."""
    whole, every = reduce(or_, filled, 0), range(rank)
    return [
        (
            number,
            tuple(every[rank - own :]),
            tuple(axis for axis in every if axis < rank - own or (whole & ~filled[number]) >> rank - 1 - axis & 1),
        )
        for number, own in enumerate(ranks)
    ]
