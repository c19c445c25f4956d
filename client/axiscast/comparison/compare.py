"""Functions that compare the results of all frameworks for the same shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import ceil
from typing import Any, NamedTuple, get_args

from pydantic import ValidationError

from ..checks.check import check_to_dict
from ..checks.estimates import compare_time_estimate
from ..checks.limits import MAX_SYMBOLIC_MILLISECONDS
from ..checks.symbolic.symbolic import shared_plans
from ..messages import CheckRequest, CompareAnswer, CompareRequest
from ..ops import OPS, Op, op_to_dict
from ..wire.cancellation import checkpoint
from ..wire.dimensions import Symbol
from ..wire.problems import Problem
from ..wire.wording import count_of

_FIELDS = ("compatible", "op", "shape", "outputs", "broadcast_inputs", "conflict", "conditions", "hints", "warnings")


def answer_compare(request: CompareRequest) -> CompareAnswer:
    """Return the result of each op and mode that needs only these inputs and, if given, the target shape.

    If several ops of one framework give the same result, they share one entry. Raises Problem if no op accepts these
    inputs.
    """
    return CompareAnswer.model_validate(compare_to_dict(request))


@shared_plans()
def compare_to_dict(request: CompareRequest) -> dict[str, Any]:
    """Return the response of `answer_compare` as plain values, in the fields of a CompareAnswer."""
    results: list[dict[str, Any]] = []
    keys: list[tuple[Any, ...]] = []
    is_symbolic = _is_symbolic(request)
    if is_symbolic:
        MAX_SYMBOLIC_MILLISECONDS.check(ceil(compare_time_estimate(request.shapes)))
    for op in _comparable_ops(request):
        if is_symbolic and op.needs_integers():
            continue
        checkpoint()
        question = CheckRequest.model_construct(inputs=request.inputs, op=op, assume=request.assume, warn=request.warn)
        # A matrix product is a different operation, so it is listed only if the shapes fit or the user requests it by
        # name.
        is_listed = op.has_common_output_axes or op.name in request.ops
        answer = check_to_dict(question, explains_conflict=is_listed)
        if not is_listed and answer["compatible"] is False:
            continue
        plain_op = op_to_dict(op)
        key = _result_key(op, answer)
        if key in keys:
            results[keys.index(key)]["also"].append(plain_op)
        else:
            keys.append(key)
            results.append({field: answer[field] for field in _FIELDS if field in answer} | {"also": []})
    if not results:
        raise _no_ops(request)
    for result in results:
        if not result["also"]:
            del result["also"]
    others = {"left_out": skipped_ops(request), "skipped": _skipped(request)}
    return {"results": results} | {field: ops for field, ops in others.items() if ops}


def skipped_ops(request: CompareRequest) -> list[str]:
    """Return the names of the ops that are skipped because they support integer sizes only.

    If the request has no symbolic sizes, no op is skipped.
    """
    if not _is_symbolic(request):
        return []
    known = None if request.shape is None else [1] * len(request.shape)
    compared = {op.name for op in _comparable_ops(request) if not op.needs_integers()}
    with_known_target = _comparable_ops(request.model_copy(update={"shape": known}))
    return list(dict.fromkeys(op.name for op in with_known_target if op.name not in compared))


def _is_symbolic(request: CompareRequest) -> bool:
    return any(isinstance(size, Symbol) for shape in request.shapes for size in shape)


def _result_key(op: Op, answer: dict[str, Any]) -> tuple[Any, ...]:
    """Return a key that is the same for equal results of one framework. Hints may differ, since they contain the op."""
    return (
        op.name.split(".")[0],
        op.has_common_output_axes,
        answer.get("shape"),
        answer.get("broadcast_inputs"),
        answer.get("conditions"),
        {field: value for field, value in answer.get("conflict", {}).items() if field != "hints"},
        [{field: warning[field] for field in ("code", "message")} for warning in answer["warnings"]],
    )


def _no_ops(request: CompareRequest) -> Problem:
    """Return the problem of a request for which no op can be compared."""
    inputs = count_of(len(request.inputs), "input")
    if request.ops:
        named = f"{', '.join(request.ops[:5])} can't take {inputs} without attributes"
        return Problem("invalid-request", f"ops: {named}: check each op in a separate request", pointer="/ops")
    advice = "a target shape needs exactly one input" if request.shape is not None else "send at least one input"
    return Problem("invalid-request", f"inputs: no op takes {inputs} here: {advice}", pointer="/inputs")


def _comparable_ops(request: CompareRequest) -> Iterator[Op]:
    """Yield the requested ops that need only this number of inputs and, if given, the target shape."""
    yield from (op for _, _, op in _requested_ops(request) if not isinstance(op, _Skip))


def _requested_ops(request: CompareRequest) -> Iterator[tuple[type[Op], dict[str, str], Op | _Skip]]:
    """Yield the class and the mode of each requested op, and the op or the reason why it can't be compared."""
    for kind, mode in _kinds():
        name = kind.model_fields["name"].default
        if not request.ops or any(f"{name}.".startswith(f"{op}.") for op in request.ops):
            yield kind, mode, _op_or_reason(kind, mode, request)


class _Skip(NamedTuple):
    """The reason why an op can't be compared, and whether the op only lacks an attribute."""

    reason: str
    lacks_attribute: bool = False


def _op_or_reason(kind: type[Op], mode: dict[str, str], request: CompareRequest) -> Op | _Skip:
    """Return the op with the target shape of the request, or the reason why the op can't be compared."""
    count, shape = len(request.inputs), request.shape
    if not kind.takes(count):
        return _Skip(f"takes {kind.input_counts()}, not {count}")
    if shape is not None and kind.target is None:
        return _Skip("has no attribute for a target shape")
    required = {name for name, field in kind.model_fields.items() if field.is_required()} - {"mode"}
    if shape is None and kind.target in required:
        return _Skip("needs a target shape")
    if needed := required - {kind.target}:
        return _lacking(sorted(needed))
    try:
        op = kind.model_validate(mode if shape is None else {str(kind.target): shape, **mode})
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False)
        if first["type"] == "attribute_needed":
            return _lacking([first["ctx"]["field"]])
        return _Skip(f"does not accept this target shape: {first['msg']}")
    problem = op.input_count_problem(count)
    return op if problem is None else _Skip(problem)


def _lacking(attributes: Sequence[str]) -> _Skip:
    return _Skip(f"needs the attribute {' and '.join(attributes)}, so check it separately", lacks_attribute=True)


@cache
def _kinds() -> list[tuple[type[Op], dict[str, str]]]:
    """Return a pair of class and mode for each op."""
    kinds = []
    for kind in OPS.values():
        modes = get_args(kind.model_fields["mode"].annotation) if "mode" in kind.model_fields else ()
        kinds += [(kind, {"mode": mode}) for mode in modes] or [(kind, {})]
    return kinds


def _skipped(request: CompareRequest) -> list[dict[str, Any]]:
    """Return the ops in the `ops` of the request that can't be compared, and the reasons, in the fields of SkippedOp.

    If other ops of a requested framework are compared, only those ops are returned that need more attributes.
    """
    if not request.ops:
        return []
    left_out = skipped_ops(request)
    found = [(kind.model_fields["name"].default, *found) for kind, *found in _requested_ops(request)]
    compared = {_request_for(name, request) for name, _, op in found if isinstance(op, Op)}
    skipped = []
    for name, mode, reason in found:
        if isinstance(reason, Op) or name in left_out:
            continue
        is_listed = reason.lacks_attribute and OPS[name].has_common_output_axes
        if name in request.ops or is_listed or _request_for(name, request) not in compared:
            skipped.append({"op": {"name": name, **mode}, "reason": reason.reason})
    return skipped


def _request_for(name: str, request: CompareRequest) -> str:
    """Return the requested op or framework to which an op belongs."""
    return next(op for op in request.ops if f"{name}.".startswith(f"{op}."))
