"""The resource /v1/check/batch, which runs many checks in one request."""

from __future__ import annotations

from time import monotonic, thread_time
from typing import Any

from fastapi import APIRouter, Request, Response

from axiscast.answers.batch_columns import answer_columns
from axiscast.answers.batch_rows import check_rows
from axiscast.answers.estimates import columns_time_estimate, row_time_estimate
from axiscast.messages.tensors import CheckBatchAnswer, CheckBatchRequest
from axiscast.wire.codec import map_of_lists
from axiscast.wire.problems import Problem
from axiscast.wire.tensors import Array

from ..openapi import request_and_response
from ..runtime.threads import LOOP_MILLISECONDS
from .check_codec import encode_check
from .request_context import RequestContext, receive, response_with
from .tensor_response import Outgoing, OutgoingArray, tensor_response

router = APIRouter()

TURN_SECONDS = 0.02
"""The time, in seconds, for which the thread checks rows before it serves other requests. This time is called a
turn."""
FEW_ROWS = 50
"""The maximum number of rows in a batch that may be estimated and checked on the event loop."""


@router.post(
    "/v1/check/batch", summary="Check many shapes", **request_and_response(CheckBatchRequest, CheckBatchAnswer)
)
async def post_check_batch(request: Request) -> Response:
    """Run many checks in one request, given as rows or as columns.

    Rows: each row has its own op, and an invalid row does not affect the other rows. Columns: all checks have the same
    op, and each input is an int64 tensor of shape (n, rank). A million checks in columns take a few hundredths of a
    second.
    """
    context = await receive(request, CheckBatchRequest)
    message = context.message
    if (message.requests is None) == (message.inputs is None) or (message.requests is not None and message.op):
        raise Problem("invalid-request", "send either requests (rows), or op and inputs (columns)", pointer="")
    if message.requests is not None:
        return await _rows(context, message.requests)
    columns = await context.run(columns_time_estimate(message.inputs or ()), answer_columns, message, context.reserve)
    fields: dict[str, Outgoing | list[Outgoing]] = {
        "compatible": _whole(columns.compatible),
        "outputs": [_whole(output) for output in columns.outputs],
        "conflict_axis": _whole(columns.conflict_axis),
    }
    return await tensor_response(context, fields, message.json_data)


async def _rows(context: RequestContext[CheckBatchRequest], requests: list[Any]) -> Response:
    """Return the response {"results": [answer, ...]}.

    A batch of a few short rows is checked on the event loop. Any other batch is checked on a thread, in several turns
    of TURN_SECONDS, so that other requests can use the thread between two turns.
    """
    spent = 0.0
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
    return response_with(map_of_lists({"results": answers}, context.media), context.media_type)


def _whole(array: Array) -> Outgoing:
    return OutgoingArray(array, array.shape, strided=False)
