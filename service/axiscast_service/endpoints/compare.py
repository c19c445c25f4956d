"""The resource /v1/compare, which returns the result of every framework for the same shapes."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from axiscast.checks.estimates import compare_memory_estimate, compare_time_estimate
from axiscast.comparison.compare import compare_to_dict
from axiscast.messages import CompareAnswer, CompareRequest

from .api_route import ApiRoute, OneStep

router = APIRouter(route_class=ApiRoute)


@router.post("/v1/compare", summary="Compare frameworks", response_model=CompareAnswer)
@OneStep(lambda message: compare_time_estimate(message.shapes), lambda message: compare_memory_estimate(message.shapes))
def post_compare(message: CompareRequest) -> dict[str, Any]:
    """Return the result of every framework for these shapes, to show whether code can be ported between frameworks."""
    return compare_to_dict(message)
