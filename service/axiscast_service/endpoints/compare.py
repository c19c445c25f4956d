"""The resource /v1/compare, which returns the result of every framework for the same shapes."""

from __future__ import annotations

from fastapi import APIRouter

from axiscast.checks.estimates import compare_memory_estimate, compare_time_estimate, loading_time_estimate
from axiscast.messages import CompareAnswer, CompareRequest

from ..middleware.answer import Answer
from .api_route import ApiRoute, encoded
from .request_context import Context

router = APIRouter(route_class=ApiRoute)


@router.post("/v1/compare", summary="Compare frameworks", response_model=CompareAnswer)
async def post_compare(message: CompareRequest, context: Context) -> Answer:
    """Return the result of every framework for these shapes, to show whether code can be ported between frameworks."""

    def work() -> Answer:
        from axiscast.comparison.compare import compare_to_dict

        context.reserve(compare_memory_estimate(message.shapes))
        return encoded(compare_to_dict(message), context.media_type)

    loading = loading_time_estimate("axiscast.comparison.compare")
    return await context.run(loading or compare_time_estimate(message.shapes), work)
