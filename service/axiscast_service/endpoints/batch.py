"""The resource /v1/check/batch, which runs many checks in one request."""

from __future__ import annotations

from itertools import takewhile
from time import monotonic, thread_time
from typing import Any

from fastapi import APIRouter

from axiscast.messages.tensors import CheckBatchAnswer, CheckBatchRequest
from axiscast.wire.codec import encode, map_of_lists

from ..middleware.answer import Answer
from ..runtime.threads import LOOP_MILLISECONDS
from .api_route import ApiRoute
from .plain_checks import answer_fields
from .request_context import Context

router = APIRouter(route_class=ApiRoute)

TURN_SECONDS = 0.02
"""The time, in seconds, for which the thread checks rows before it serves other requests. This time is called a
turn."""


@router.post("/v1/check/batch", summary="Check many shapes", response_model=CheckBatchAnswer)
async def post_check_batch(message: CheckBatchRequest, context: Context) -> Answer:
    """Run many checks in one request. Each check has its own op, and an invalid check does not affect the others."""
    # The plain checks at the beginning of a short batch are answered on the event loop. All other rows are checked on a
    # thread, in several turns of TURN_SECONDS, so that other requests can use the thread between two turns.
    requests, spent = message.requests, 0.0
    answers: list[bytes] = []

    def plain(request: Any) -> bytes | None:
        content = answer_fields(request, context.media)
        context.reserve(len(content or b""))
        return content

    if context.milliseconds <= LOOP_MILLISECONDS:
        answers += takewhile(bool, map(plain, requests))  # type: ignore[arg-type]  # no content is empty
    from axiscast.checks.batch_rows import check_rows

    rows = check_rows(requests, context.reserve, lambda: spent, plain, len(answers))

    def turn() -> None:
        nonlocal spent
        start, end = thread_time(), monotonic() + TURN_SECONDS
        for row in rows:
            answers.append(row if isinstance(row, bytes) else encode(row, context.media))
            if monotonic() > end:
                break
        spent += thread_time() - start  # unlike elapsed time, processor time does not depend on the machine's load

    while len(answers) < len(requests):
        await context.run(1000 * TURN_SECONDS, turn)
    return Answer(map_of_lists({"results": answers}, context.media), context.media_type)
