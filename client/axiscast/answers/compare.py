"""Functions that compare the results of all frameworks for the same shapes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

from pydantic import ValidationError

from ..messages import CompareAnswer, CompareRequest
from ..ops import OPS, Op
from ..wire.cancellation import checkpoint
from ..wire.dimensions import Symbol
from ..wire.problems import Problem
from ..wire.wording import count_of
from .check import check_to_dict
from .plain_check import PlainCheck

_FIELDS = ("compatible", "outputs", "result", "conditions", "hints", "conflict", "warnings")


def answer_compare(request: CompareRequest) -> CompareAnswer:
    """Return the result of each op and mode that needs only these inputs and, if given, the target shape.

    If several ops of one framework give the same result, they share one entry. Raises Problem if no op accepts these
    inputs.
    """
    return CompareAnswer.model_validate(compare_to_dict(request))


def compare_to_dict(request: CompareRequest) -> dict[str, Any]:
    """Return the response of `answer_compare` as plain values, in the fields of a CompareAnswer."""
    results: list[dict[str, Any]] = []
    keys: list[tuple[Any, ...]] = []
    is_symbolic = _is_symbolic(request)
    for op in _comparable_ops(request):
        if is_symbolic and op.needs_integers():
            continue
        checkpoint()
        question = PlainCheck(request.inputs, op, request.assume, warn=request.warn)
        # A matrix product is a different operation, so it is listed only if the shapes fit or the user requests it by
        # name.
        is_listed = op.has_common_output_axes or op.name in request.ops
        answer = check_to_dict(question, explains_conflict=is_listed)
        if not is_listed and answer["compatible"] is False:
            continue
        plain_op = op.model_dump(mode="json", exclude_none=True)
        key = _result_key(op.name, answer)
        if key in keys:
            results[keys.index(key)]["also"].append(plain_op)
        else:
            keys.append(key)
            results.append({"op": plain_op, "also": []} | {key: answer[key] for key in _FIELDS if key in answer})
    if not results:
        raise _no_ops(request)
    for result in results:
        if not result["also"]:
            del result["also"]
    names = skipped_ops(request)
    return {"results": results} | ({"left_out": names} if names else {})


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


def _result_key(name: str, answer: dict[str, Any]) -> tuple[Any, ...]:
    """Return a key that is the same for equal results of one framework, even if messages contain different op names."""
    conflict = answer.get("conflict")
    return (
        name.split(".")[0],
        answer.get("outputs"),
        answer.get("result"),
        answer.get("conditions"),
        conflict and {field: conflict[field] for field in ("code", "axis", "inputs", "sizes")},
        conflict and conflict["message"].replace(name, ""),
        [(warning["code"], warning["message"].replace(name, "")) for warning in answer["warnings"]],
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
    count, shape = len(request.inputs), request.shape
    for kind, mode in _kinds(shape is not None):
        name = kind.model_fields["name"].default
        if not kind.takes(count):
            continue
        if request.ops and not any(f"{name}.".startswith(f"{op}.") for op in request.ops):
            continue
        try:
            op = kind.model_validate(mode if shape is None else {str(kind.target): shape, **mode})
        except ValidationError:
            continue  # the op does not accept this target
        if op.input_count_problem(count) is None:
            yield op


@cache
def _kinds(has_target: bool) -> list[tuple[type[Op], dict[str, str]]]:
    """Return a pair of class and mode for each op that needs no attribute except the target.

    If `has_target` is True, only op classes with a target are returned. If `has_target` is False, op classes with a
    required target are omitted.
    """
    kinds = []
    for kind in OPS.values():
        fields = kind.model_fields.items()
        needed = {name for name, field in fields if field.is_required()} - {"mode", kind.target if has_target else ""}
        if not needed and (kind.target is not None or not has_target):
            modes = get_args(kind.model_fields["mode"].annotation) if "mode" in kind.model_fields else ()
            kinds += [(kind, {"mode": mode}) for mode in modes] or [(kind, {})]
    return kinds
