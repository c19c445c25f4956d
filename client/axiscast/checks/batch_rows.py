"""Functions that check a batch of rows. Each row is a request, and an invalid row does not affect the other rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil
from typing import Any

from ..messages import CheckRequest
from ..messages.notation import JsonNotation, RowNotation
from ..messages.validation import validate
from ..wire.prescan import ReserveMemory, no_limit
from ..wire.problems import Problem
from .check import check_to_dict
from .estimates import HINTS_BYTES, memory_estimate, time_estimate
from .limits import MAX_BATCH_ROWS, MAX_BATCH_SECONDS, MAX_SYMBOLIC_MILLISECONDS, RequestSize, validate_request


def check_rows(
    requests: Sequence[Any],
    reserve: ReserveMemory = no_limit,
    seconds: Callable[[], float] = lambda: 0,
    plain: Callable[[Any], bytes | None] = lambda request: None,
    start: int = 0,
) -> Iterator[dict[str, Any] | bytes]:
    """Yield the response to each request as plain values: the result of the check, or {"error": problem}.

    The response is an error if the request is invalid, or if the previous rows took too long. `seconds` returns the
    time that the batch has used so far. `reserve` is called with the memory for each row before the row is checked. If
    it raises Problem (overloaded), the whole batch fails, and can be sent again later.

    If `plain` returns the encoded response to a request, these bytes are yielded instead of plain values. `start` is
    the number of the first row to check.
    """
    MAX_BATCH_ROWS.check(len(requests))
    symbolic = 0.0

    def count_symbolic(request_size: RequestSize) -> None:
        nonlocal symbolic
        if request_size.is_symbolic:
            symbolic += time_estimate(request_size)
            MAX_SYMBOLIC_MILLISECONDS.check(ceil(symbolic))

    for number in range(start, len(requests)):
        request, is_late = requests[number], seconds() > MAX_BATCH_SECONDS
        content = None if is_late else plain(request)
        yield content or check_row(number, request, reserve, is_late, validate_size=count_symbolic)


def check_row(
    number: int,
    request: Any,
    reserve: ReserveMemory = no_limit,
    is_late: bool = False,
    notation: JsonNotation | None = None,
    validate_size: Callable[[RequestSize], None] = lambda request_size: None,
) -> dict[str, Any]:
    """Return the response to one request of a batch. If `is_late` is True, return an error. See `check_rows`.

    `validate_size` may also refuse the request, by raising Problem.
    """
    try:
        if is_late:
            raise Problem(
                "work-too-large", f"the rows before this took {MAX_BATCH_SECONDS} s: send the rest in another batch"
            )
        question = validate(CheckRequest, request, notation or RowNotation())
        request_size = validate_request(question.op, tuple(question.inputs))
        validate_size(request_size)
        reserve(memory_estimate(request_size))
        answer = check_to_dict(question, request_size)
        if "conflict" in answer or any("hint" in warning for warning in answer["warnings"]):
            reserve(HINTS_BYTES)
        return answer
    except Problem as problem:
        if problem.code == "overloaded":
            raise
        problem.move(f"/requests/{number}")
        return {"error": problem.document()}
