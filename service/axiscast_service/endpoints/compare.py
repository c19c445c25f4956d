"""The resource /v1/compare, which returns the result of every framework for the same shapes."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from axiscast.checks.estimates import compare_memory_estimate, compare_time_estimate
from axiscast.comparison.compare import compare_to_dict
from axiscast.messages import CompareAnswer, CompareRequest
from axiscast.wire.codec import encode, map_of_lists

from ..openapi import request_and_response
from .request_context import receive, response_with

router = APIRouter()


@router.post("/v1/compare", summary="Compare frameworks", **request_and_response(CompareRequest, CompareAnswer))
async def post_compare(request: Request) -> Response:
    """Return the result of every framework for these shapes, to show whether code can be ported between frameworks."""
    context = await receive(request, CompareRequest)

    def work() -> Response:
        context.reserve(compare_memory_estimate(context.message.shapes))
        comparison = compare_to_dict(context.message)
        # No other thread can run during a call of the encoder. Therefore a separate call encodes each result.
        fields = {field: [encode(item, context.media) for item in items] for field, items in comparison.items()}
        return response_with(map_of_lists(fields, context.media), context.media_type)

    return await context.run(compare_time_estimate(context.message.shapes), work)
