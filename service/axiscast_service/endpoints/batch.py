"""The resource /v1/check/batch, which runs many checks in one request."""

from __future__ import annotations

from time import monotonic, thread_time

from fastapi import APIRouter

from axiscast.checks.batch_rows import check_rows
from axiscast.checks.estimates import row_time_estimate
from axiscast.messages.tensors import CheckBatchAnswer, CheckBatchRequest
from axiscast.wire.codec import map_of_lists

from ..middleware.answer import Answer
from ..runtime.threads import LOOP_MILLISECONDS
from .api_route import ApiRoute
from .check_codec import encode_check
from .request_context import Context

router = APIRouter(route_class=ApiRoute)

TURN_SECONDS = 0.02
"""The time, in seconds, for which the thread checks rows before it serves other requests. This time is called a
turn."""
FEW_ROWS = 50
"""The maximum number of rows in a batch that may be estimated and checked on the event loop."""


@router.post("/v1/check/batch", summary="Check many shapes", response_model=CheckBatchAnswer)
async def post_check_batch(message: CheckBatchRequest, context: Context) -> Answer:
    """Run many checks in one request. Each check has its own op, and an invalid check does not affect the others."""
    # A batch of a few short rows is checked on the event loop. Any other batch is checked on a thread, in several turns
    # of TURN_SECONDS, so that other requests can use the thread between two turns.
    requests, spent = message.requests, 0.0
    rows = check_rows(requests, context.reserve, lambda: spent)
    answers: list[bytes] = []

    def turn(seconds: float) -> None:
        nonlocal spent
        start, end = thread_time(), monotonic() + seconds
        for row in rows:
            answers.append(encode_check(row, context.media))
            if monotonic() > end:
                break
        spent += thread_time() - start  # unlike elapsed time, processor time does not depend on the machine's load

    is_short = len(requests) <= FEW_ROWS and context.milliseconds <= LOOP_MILLISECONDS
    if is_short and context.milliseconds + max(map(row_time_estimate, requests), default=0) <= LOOP_MILLISECONDS:
        turn(LOOP_MILLISECONDS / 1000)
    while len(answers) < len(requests):
        await context.run(1000 * TURN_SECONDS, turn, TURN_SECONDS)
    return Answer(map_of_lists({"results": answers}, context.media), context.media_type)
