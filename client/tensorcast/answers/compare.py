"""compare: what every framework answers to the same shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import ValidationError

from ..messages import CompareAnswer, CompareRequest
from ..ops import OPS, Op
from ..schema.dimensions import Symbol
from ..schema.problems import Problem
from ..schema.work import checkpoint
from .check import Question, plain_answer

_FIELDS = ("compatible", "outputs", "result", "conditions", "conflict", "warnings")


def compare(request: CompareRequest) -> CompareAnswer:
    """A verdict for each op and mode that these inputs, and the target where there is one, are all it takes to ask;
    those of one framework that agree are one.

    Raises Problem where no op can be asked so.
    """
    results: list[dict[str, Any]] = []
    for op in _askable(len(request.inputs), request.shape):
        if _is_symbolic(request) and op.needs_integers():
            continue
        checkpoint()
        answer = plain_answer(Question(request.inputs, op, request.assume, warn=request.warn))
        plain_op = op.model_dump(mode="json", exclude_none=True)
        if not op.shares_axes and answer["compatible"] is False:
            continue  # a product is another operation, of interest only if the shapes fit it
        result = {"op": plain_op} | {field: answer[field] for field in _FIELDS if field in answer}
        same = next((other for other in results if _verdict(other) == _verdict(result)), None)
        if same is None:
            results.append(result)
        else:
            same.setdefault("also", []).append(plain_op)
    if not results:
        advice = "a target shape goes with one input" if request.shape is not None else "give at least one input"
        raise Problem("invalid-request", f"inputs: no op takes {len(request.inputs)} here; {advice}", pointer="/inputs")
    names = left_out(request)
    return CompareAnswer.model_validate({"results": results} | ({"left_out": names} if names else {}))


def left_out(request: CompareRequest) -> list[str]:
    """Return the ops that take known sizes only, if a size is unknown."""
    if not _is_symbolic(request):
        return []
    known = None if request.shape is None else [1] * len(request.shape)
    asked = {op.name for op in _askable(len(request.inputs), request.shape) if not op.needs_integers()}
    return list(dict.fromkeys(op.name for op in _askable(len(request.inputs), known) if op.name not in asked))


def _is_symbolic(request: CompareRequest) -> bool:
    return any(isinstance(size, Symbol) for shape in request.shapes for size in shape)


def _verdict(result: dict[str, Any]) -> tuple[Any, ...]:
    """What an op says, without its name, in the messages too."""
    name, conflict = result["op"]["name"], result.get("conflict")
    return (
        result["op"]["name"].split(".")[0],
        result.get("outputs"),
        result.get("result"),
        result.get("conditions"),
        conflict and {field: conflict[field] for field in ("code", "axis", "inputs", "sizes")},
        conflict and conflict["message"].replace(name, ""),
        [(warning["code"], warning["message"].replace(name, "")) for warning in result["warnings"]],
    )


def _askable(count: int, shape: Sequence[Any] | None) -> Iterator[Op]:
    for kind in OPS.values():
        if shape is not None and kind.target is None:
            continue
        target: dict[str, Any] = {} if shape is None or kind.target is None else {kind.target: shape}
        for mode in _modes(kind):
            try:
                op = kind.model_validate({**target, **mode})
            except ValidationError:
                continue  # it needs more than a target
            if op.input_count_problem(count) is None:
                yield op


def _modes(kind: type[Op]) -> list[dict[str, str]]:
    """The values of the op's attribute `mode`, each as an attribute; nothing to say where it has none."""
    field = kind.model_fields.get("mode")
    return [{}] if field is None else [{"mode": mode} for mode in get_args(field.annotation)]
