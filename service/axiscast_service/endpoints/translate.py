"""The resource /v1/translate, which translates an op to another framework."""

from __future__ import annotations

from fastapi import APIRouter

from axiscast.checks.estimates import memory_estimate, translate_time_estimate
from axiscast.checks.limits import validate_request
from axiscast.messages import TranslateAnswer, TranslateRequest
from axiscast.translation.translate import answer_translate

from .api_route import ApiRoute, OneStep

router = APIRouter(route_class=ApiRoute)


@router.post("/v1/translate", summary="Translate an op")
@OneStep(
    lambda message: translate_time_estimate(message.inputs, message.to),
    lambda message: memory_estimate(validate_request(message.op, tuple(message.inputs))),
)
def post_translate(message: TranslateRequest) -> TranslateAnswer:
    """Translate an operation to another framework. The response contains the steps and their source code."""
    return answer_translate(message)
