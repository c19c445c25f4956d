"""The resource /v1/translate, which translates an op to another framework."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from axiscast.checks.estimates import memory_estimate, translate_time_estimate
from axiscast.checks.limits import validate_request
from axiscast.messages import TranslateAnswer, TranslateRequest
from axiscast.translation.translate import answer_translate

from ..openapi import request_and_response
from .request_context import encoded, receive

router = APIRouter()


@router.post("/v1/translate", summary="Translate an op", **request_and_response(TranslateRequest, TranslateAnswer))
async def post_translate(request: Request) -> Response:
    """Translate an operation to another framework. The response contains the steps and their source code."""
    context = await receive(request, TranslateRequest)

    def work() -> Response:
        context.reserve(memory_estimate(validate_request(context.message.op, tuple(context.message.inputs))))
        # exclude_unset would remove the name of an op, because the name is a default value in the op's class.
        return encoded(answer_translate(context.message).model_dump(exclude_none=True), context.media_type)

    return await context.run(translate_time_estimate(context.message.inputs, context.message.to), work)
