"""A batch of checks: rows, each a request of its own, of which a bad one spoils no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..messages import CheckRequest
from ..messages.notation import JsonNotation, RowNotation
from ..messages.validation import validate
from ..wire.prescan import ReserveMemory, unlimited_memory
from ..wire.problems import Problem
from .check import check_to_dict
from .estimates import HINTS_BYTES, memory_estimate
from .limits import MAX_BATCH_ROWS, MAX_BATCH_SECONDS, validate_request
from .plain_check import read_plain_check


def check_rows(
    requests: Sequence[Any], reserve: ReserveMemory = unlimited_memory, seconds: Callable[[], float] = lambda: 0
) -> Iterator[dict[str, Any]]:
    """The answer to each request, as plain values: of check, or {"error": problem} where it is not valid, or where
    those before it took too long. `reserve` is asked for the memory of each before it is made, and `seconds` for the
    time that was spent so far.

    Raises Problem (overloaded) where there is no memory for a row now: the whole batch is then to be sent again.
    """
    MAX_BATCH_ROWS.check(len(requests))
    for number, request in enumerate(requests):
        yield check_row(number, request, reserve, seconds() > MAX_BATCH_SECONDS)


def check_row(
    number: int,
    request: Any,
    reserve: ReserveMemory = unlimited_memory,
    is_late: bool = False,
    notation: JsonNotation | None = None,
) -> dict[str, Any]:
    """The answer to one request of a batch; the same as in `check_rows`."""
    try:
        if is_late:
            raise Problem(
                "work-too-large", f"the rows before this one took {MAX_BATCH_SECONDS} s: send the rest in another batch"
            )
        question = read_plain_check(request) or validate(CheckRequest, request, notation or RowNotation())
        request_size = validate_request(question.op, tuple(question.inputs))
        reserve(memory_estimate(request_size))
        answer = check_to_dict(question, request_size)
        if "conflict" in answer or any("hint" in warning for warning in answer["warnings"]):
            reserve(HINTS_BYTES)
        return answer
    except Problem as problem:
        if problem.code == "overloaded":
            raise
        problem.pointer = f"/requests/{number}{problem.pointer or ''}"
        return {"error": problem.document()}
