"""The resource /v1/translate, which translates an op to another framework."""

from __future__ import annotations

from fastapi import APIRouter

from axiscast.checks.estimates import loading_time_estimate, memory_estimate, translate_time_estimate
from axiscast.checks.limits import validate_request
from axiscast.messages import TranslateAnswer, TranslateRequest

from ..middleware.answer import Answer
from .api_route import ApiRoute, encoded
from .request_context import Context

router = APIRouter(route_class=ApiRoute)


@router.post("/v1/translate", summary="Translate an op", response_model=TranslateAnswer)
async def post_translate(message: TranslateRequest, context: Context) -> Answer:
    """Translate an operation to another framework. The response contains the steps and their source code."""
    size = validate_request(message.op, tuple(message.inputs))

    def work() -> Answer:
        from axiscast.translation.translate import answer_translate

        context.reserve(memory_estimate(size))
        return encoded(answer_translate(message), context.media_type)

    loading = loading_time_estimate("axiscast.translation.translate")
    return await context.run(loading or translate_time_estimate(message.inputs, message.to), work)
