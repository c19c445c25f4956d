"""/v1/check/batch"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from tensorcast.schema.messages import CheckBatchAnswer, CheckBatchRequest
from tensorcast.schema.problems import Problem
from tensorcast.schema.tensors import Array

from ..batch import check_columns, check_rows
from .exchange import encoded, receive
from .openapi import answers, body
from .stream import Outgoing, answer

router = APIRouter()

OFFLOAD_ROWS = 50
"""A batch of more rows is checked on a thread."""


@router.post(
    "/v1/check/batch",
    summary="Check many shapes",
    openapi_extra=body(CheckBatchRequest),
    responses=answers(CheckBatchAnswer),
)
async def post_check_batch(request: Request) -> Response:
    """Many checks at once: rows, each with an op of its own, one bad row spoiling no other; or columns, one op with
    an int64 tensor (n, rank) for each input, a million rows in some hundredths of a second."""
    exchange = await receive(request, CheckBatchRequest)
    message = exchange.message
    if (message.requests is None) == (message.inputs is None) or (message.requests is not None and message.op):
        raise Problem("invalid-request", "give either requests (rows), or op and inputs (columns)", pointer="")
    if message.requests is not None:
        rows = message.requests
        return await exchange.run(
            lambda: encoded({"results": check_rows(rows, exchange.reserve)}, exchange.media_type),
            large=len(rows) > OFFLOAD_ROWS,
        )
    columns = await exchange.run(check_columns, message, exchange.reserve, large=True)
    fields: dict[str, Outgoing | list[Outgoing]] = {
        "compatible": _whole(columns.compatible),
        "outputs": [_whole(output) for output in columns.outputs],
        "conflict_axis": _whole(columns.conflict_axis),
    }
    return await answer(exchange, fields, message.json_data)


def _whole(array: Array) -> Outgoing:
    return Outgoing(array, array.shape, strided=False)
