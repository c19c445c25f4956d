"""The resource /v1/check/columns, which checks one op many times, with the shapes in tensors."""

from __future__ import annotations

from fastapi import APIRouter, Response

from axiscast.checks.estimates import columns_time_estimate
from axiscast.messages.tensors import CheckColumnsAnswer, CheckColumnsRequest
from axiscast.wire.tensors import Array

from ..middleware.answer import Answer
from .api_route import ApiRoute
from .request_context import Context
from .tensor_response import OutgoingArray, TensorFields, tensor_response

router = APIRouter(route_class=ApiRoute)


@router.post("/v1/check/columns", summary="Check many shapes of one op", response_model=CheckColumnsAnswer)
async def post_check_columns(message: CheckColumnsRequest, context: Context) -> Answer | Response:
    """Check one op many times. Each input is an int64 tensor of shape (n, rank), and its row r is the shape in check r.

    A million checks take a few hundredths of a second.
    """
    from axiscast.checks.batch_columns import answer_columns

    checked = await context.run(columns_time_estimate(message.inputs), answer_columns, message, context.reserve)
    fields: TensorFields = {
        "compatible": _dense(checked.compatible),
        "shape": _dense(checked.shape),
        "broadcast_inputs": [*map(_dense, checked.broadcast_inputs)],
        "conflict_axis": _dense(checked.conflict_axis),
    }
    return await tensor_response(context, fields, message.json_data)


def _dense(array: Array) -> OutgoingArray:
    return OutgoingArray(array, array.shape, strided=False)
