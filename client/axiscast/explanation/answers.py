"""The answers of the `why` function: the fields of a diagnosis and its check."""

from __future__ import annotations

from typing import Any

from ..checks.check import check_to_dict
from ..messages.why import WhyAnswer
from ..ops import op_to_dict
from ..wire.problems import Problem
from ..words.errors import invalid_shapes_text
from .diagnosis import Diagnosis, diagnose, is_einsum
from .sentences import sentence_of


def answer_why(text: str) -> WhyAnswer:
    """Return the explanation of an error message."""
    return WhyAnswer.model_validate(why_to_dict(diagnose(text)))


def why_to_dict(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the fields of a WhyAnswer as plain values. Unknown fields are absent."""
    answer: dict[str, Any] = {"op": None, "inputs": diagnosis.inputs, "sizes": diagnosis.sizes}
    if diagnosis.op is not None:
        answer["op"] = op_to_dict(diagnosis.op)
    answer = {name: value for name, value in answer.items() if value is not None}
    try:
        request = diagnosis.request
        check = None if request is None else check_to_dict(request)
    except Problem as problem:
        return {**answer, "message": invalid_shapes_text(problem.detail)}
    if check is None:
        return {**answer, "message": sentence_of(diagnosis, None)}
    if check["compatible"] and is_einsum(answer["op"]["name"]):  # another equation has failed
        return why_to_dict(diagnosis._replace(op=None, node=answer["op"]["name"]))
    if "conflict" in check:
        if diagnosis.is_layer:  # the weight of a layer can't be changed
            check["conflict"]["hints"] = []
        elif diagnosis.has_array_as_target:
            hints = check["conflict"]["hints"]
            check["conflict"]["hints"] = [hint for hint in hints if "input" in hint]
        answer |= {"sizes": sizes} if (sizes := [*check["conflict"]["sizes"]]) else {}
    return {**answer, "check": check, "message": sentence_of(diagnosis, check)}
